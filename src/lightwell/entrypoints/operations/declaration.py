"""How an operation is declared, and what a client sends for it."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypeVar,
    get_type_hints,
)

from pydantic import JsonValue, TypeAdapter, create_model
from pydantic.alias_generators import to_pascal

from lightwell.domain.access import Reader, TagAuthority
from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.operations.calls import Call, ClientMethod, Response, segment
from lightwell.entrypoints.operations.replies import SERVER, Schema
from lightwell.text.regex import regex

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Shown = TypeVar("Shown", bound=Schema)

_IN_PATH = regex(r"\{(\w+)(?::path)?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls: a project's knowledge base, the reader, and the access tags that this caller may give to documents.

    `server` is the address under which the caller reaches this server, "" where there is none.
    """

    knowledge_base: "KnowledgeBase"
    reader: Reader
    authority: TagAuthority
    server: str = ""

    def reply(self, kind: type[Shown], value: object) -> Shown:
        """Return the reply that says a value, with addresses of this server."""
        return kind.model_validate(value, context={SERVER: self.server})


@dataclass(frozen=True, kw_only=True)
class Operation(ClientMethod[P, R_co]):
    """One thing that a caller can do: `run` does it, the other fields say how it is reached over HTTP.

    Its parameters behind the caller are parts of the path, where `path` names them in braces, or else the query of GET and DELETE, and the
    body of any other method. As an attribute of a client it is a method, which in `AsyncClient` is awaited; both raise `ServerError`.
    With `has_job` the reply's `job_id` is a job that a worker now finds. `audited` is the field of the reply whose ids the audit log has
    beside those of the path, "" for none. With the scope `alone`, and not `scope`, a person in a browser may do it to documents that nobody
    else sees; where both are the same, without `curate`. `headers` names the headers that say what fields of the reply are, which its JSON
    leaves out.
    """

    method: str
    path: str
    tag: str
    scope: Scope
    alone: Scope | None
    status: int
    is_repeatable: bool
    has_job: bool
    audited: str
    headers: Mapping[str, str]
    run: Callable[Concatenate[Caller, P], Awaitable[R_co]]

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The types of the parameters, and of the reply as `return`."""
        return get_type_hints(self.run, include_extras=True)

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        return tuple(_IN_PATH.findall(self.path))

    @cached_property
    def request_names(self) -> tuple[str, ...]:
        _, *names = inspect.signature(self.run).parameters  # behind the caller
        return tuple(name for name in names if name not in self.path_names)

    @property
    def has_query(self) -> bool:
        """Whether the request is the query, and not the body."""
        return self.method in ("GET", "DELETE")

    @cached_property
    def is_request_whole(self) -> bool:
        """Whether one parameter of `run` is the whole request, and not each a field of it."""
        types = [self.hints[name] for name in self.request_names]
        return len(types) == 1 and isinstance(types[0], type) and issubclass(types[0], Schema)

    @cached_property
    def request(self) -> type[Schema] | None:
        """The model of the query or the body; None where the path says all."""
        if not self.request_names:
            return None
        if self.is_request_whole:
            return self.hints[self.request_names[0]]
        declared = inspect.signature(self.run).parameters
        fields: dict[str, Any] = {
            name: (
                self.hints[name],
                ...
                if declared[name].default is inspect.Parameter.empty
                else declared[name].default,
            )
            for name in self.request_names
        }
        return create_model(f"{to_pascal(self.run.__name__)}Body", __base__=Schema, **fields)

    @property
    def only_reads(self) -> bool:
        """Whether whoever may read may do it, and it may be done twice: it has no other effect than its reply."""
        return self.scope is Scope.READ and self.is_repeatable and not self.has_job

    @property
    def has_reply(self) -> bool:
        return self.hints["return"] is not type(None)

    def read(self, response: Response) -> R_co:
        """Return the reply that a server sent; keys that a newer one has in addition are left out. Raises pydantic's `ValidationError`."""
        if not self.has_reply:
            return self._reply.validate_python(None)
        if not self.headers:
            return self._reply.validate_json(response.content, extra="ignore")
        fields = {name: response.headers.get(header) for name, header in self.headers.items()}
        document = TypeAdapter(dict[str, JsonValue]).validate_json(response.content) | fields
        return self._reply.validate_json(json.dumps(document), extra="ignore")

    @cached_property
    def _reply(self) -> TypeAdapter[R_co]:
        return TypeAdapter(self.hints["return"])

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R_co]:
        """Return what a client sends."""
        bound = inspect.signature(self.run).bind(None, *args, **kwargs).arguments
        parts = {name: segment(str(bound[name])) for name in self.path_names}
        values = {name: bound[name] for name in self.request_names if name in bound}
        request = None
        if self.request is not None:
            request = (
                next(iter(values.values()), None)
                if self.is_request_whole
                else self.request.model_validate(values)
            )
        return Call(
            method=self.method,
            path=_IN_PATH.sub(lambda match: parts[match[1]], self.path),
            read=self.read,
            query=request if self.has_query else None,
            body=None if self.has_query else request,
            is_repeatable=self.is_repeatable,
        )

    @property
    def description(self) -> str | None:
        return inspect.getdoc(self.run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The operations below one path, in the order in which they are declared; `tag` is their section in OpenAPI."""

    prefix: str
    tag: str
    operations: list[Operation[..., object]] = field(default_factory=list[Operation[..., object]])

    def operation(  # noqa: PLR0913 - the fields of an operation
        self,
        method: str,
        path: str = "",
        *,
        scope: Scope = Scope.READ,
        alone: Scope | None = None,
        status: int = 200,
        is_repeatable: bool | None = None,
        has_job: bool = False,
        audited: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Callable[[Callable[Concatenate[Caller, P], Awaitable[R]]], Operation[P, R]]:
        """Return a decorator that makes a function `(caller, ...) -> reply` an operation.

        One that may be repeated has no second effect; by default that is GET.
        """

        def declare(run: Callable[Concatenate[Caller, P], Awaitable[R]]) -> Operation[P, R]:
            made = Operation(
                method=method,
                path=self.prefix + path,
                tag=self.tag,
                scope=scope,
                alone=alone,
                status=status,
                is_repeatable=method == "GET" if is_repeatable is None else is_repeatable,
                has_job=has_job,
                audited=audited,
                headers=headers,
                run=run,
            )
            self.operations.append(made)
            return made

        return declare

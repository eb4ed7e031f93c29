"""What is sent to a server, and how its reply is read. Operations make calls; the clients send them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, ParamSpec, Protocol, Self, TypeVar, overload
from urllib.parse import quote, urlencode

from pydantic import BaseModel, TypeAdapter

from lightwell.entrypoints.operations.replies import Schema

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)

Parameters = dict[str, str | int | float | bool | list[str] | None]


class Response(Protocol):
    """What is read of a response, whoever received it."""

    @property
    def content(self) -> bytes: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Files, and the fields of the form that they are sent with. The files are read while they are sent."""

    files: tuple[Path, ...]
    fields: dict[str, str | list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T_co]):
    """A request, and how its reply is read; `read` raises pydantic's `ValidationError`.

    One that `is_repeatable` has no second effect, and may be sent again. `key` is its idempotency key, "" for none. `lines` are
    a body of one JSON object a line.
    """

    method: str
    path: str
    read: Callable[[Response], T_co]
    body: Schema | None = None
    query: Schema | None = None
    upload: Upload | None = None
    lines: bytes = b""
    key: str = ""
    is_repeatable: bool = True

    @property
    def content(self) -> bytes | None:
        """The body."""
        if self.lines:
            return self.lines
        return self.body.model_dump_json(by_alias=True).encode() if self.body else None

    @property
    def parameters(self) -> Parameters:
        """The query parameters that differ from what the server assumes."""
        if self.query is None:
            return {}
        return self.query.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def target(self) -> str:
        """The path with the query, as a request names it."""
        pairs = [
            (name, str(value).lower() if isinstance(value, bool) else value)
            for name, values in self.parameters.items()
            for value in (values if isinstance(values, list) else [values])
            if value is not None
        ]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    @property
    def headers(self) -> dict[str, str]:
        """The headers beside those of every request."""
        kind = {"Content-Type": "application/json"} if self.body else {}
        if self.lines:
            kind = {"Content-Type": "application/x-ndjson"}
        return {**kind, "Idempotency-Key": self.key} if self.key else kind


class _Sends(Protocol):
    """`Client`: the reply to a call is returned."""

    def send(self, call: Call[T]) -> T: ...


class _SendsLater(Protocol):
    """`AsyncClient`: the reply to a call is awaited."""

    async def send(self, call: Call[T]) -> T: ...


class ClientMethod(Generic[P, T_co]):
    """What becomes a method of both clients, which sends a call. In `AsyncClient` its reply is awaited; both raise `ServerError`."""

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[T_co]:
        """Return what a client sends."""
        raise NotImplementedError

    @property
    def description(self) -> str | None:
        """What the method says of itself."""
        raise NotImplementedError

    @overload
    def __get__(self, client: _Sends, owner: type) -> Callable[P, T_co]: ...

    @overload
    def __get__(self, client: _SendsLater, owner: type) -> Callable[P, Awaitable[T_co]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: _Sends | _SendsLater | None, owner: type) -> object:
        if client is None:
            return self
        send = client.send

        def method(*args: P.args, **kwargs: P.kwargs) -> object:
            return send(self.call(*args, **kwargs))

        method.__doc__ = self.description
        return method


@dataclass(frozen=True)
class Method(ClientMethod[P, T_co]):
    """A method whose call `make` makes by hand, since it carries more than JSON."""

    make: Callable[P, Call[T_co]]

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[T_co]:
        return self.make(*args, **kwargs)

    @property
    def description(self) -> str | None:
        return self.make.__doc__


def reader(adapter: TypeAdapter[T]) -> Callable[[Response], T]:
    """Return what reads a reply; keys that a newer server has in addition are left out."""
    return lambda reply: adapter.validate_json(reply.content, extra="ignore")


def reader_of(model: type[M]) -> Callable[[Response], M]:
    """Return what reads a reply as this model."""
    return reader(TypeAdapter(model))


def segment(name: str) -> str:
    """Return a name as one part of a path."""
    return quote(name, safe="")

"""What is sent to a server, and how its reply is read. Operations make calls; the clients send them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from lightwell.entrypoints.operations.replies import Schema

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)

Parameters = dict[str, str | int | float | bool | list[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Files, and the fields of the form that they are sent with. The files are read while they are sent."""

    files: tuple[Path, ...]
    fields: dict[str, str | list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T_co]):
    """A request, and how its reply is read; `read` raises pydantic's `ValidationError`.

    One that `is_repeatable` has no second effect, and may be sent again. `key` is its idempotency key, "" for none.
    """

    method: str
    path: str
    read: "Callable[[httpx.Response], T_co]"
    body: Schema | None = None
    query: Schema | None = None
    upload: Upload | None = None
    key: str = ""
    is_repeatable: bool = True

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        return self.body.model_dump_json(by_alias=True).encode() if self.body else None

    @property
    def parameters(self) -> Parameters:
        """The query parameters that differ from what the server assumes."""
        if self.query is None:
            return {}
        return self.query.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def headers(self) -> dict[str, str]:
        """The headers beside those of every request."""
        kind = {"Content-Type": "application/json"} if self.body else {}
        return {**kind, "Idempotency-Key": self.key} if self.key else kind


def reader(adapter: TypeAdapter[T]) -> "Callable[[httpx.Response], T]":
    """Return what reads a reply; keys that a newer server has in addition are left out."""
    return lambda reply: adapter.validate_json(reply.content, extra="ignore")


def reader_of(model: type[M]) -> "Callable[[httpx.Response], M]":
    """Return what reads a reply as this model."""
    return reader(TypeAdapter(model))


def segment(name: str) -> str:
    """Return a name as one part of a path."""
    return quote(name, safe="")

"""The bases of requests and replies, and what lists have in common."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self, TypeVar, cast
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from lightwell.domain.errors import Invalid

T = TypeVar("T")

MAX_PAGE = 1000

NextAfter = Annotated[
    str | None, Field(description="`after` of the next page; null on the last page.")
]
PageLimit = Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many items, at most.")]
After = Annotated[
    str, Field(max_length=4000, description="`nextAfter` of the page before; empty for the first.")
]
EntityName = Annotated[
    str, Field(description="A name, a reference or an id.", examples=["Nordwind Energie"])
]
Moment = Annotated[datetime, PlainSerializer(datetime.isoformat, when_used="json")]
"""A point in time in ISO 8601 with its offset, such as 2026-11-24T09:30:00+00:00."""
Rounded = Annotated[float, AfterValidator(lambda number: round(number, 4))]
"""A number with four digits behind the point."""


def _on_server(path: str, info: ValidationInfo) -> str:
    context = cast("Mapping[str, str]", info.context or {})
    return f"{context.get(SERVER, '')}{path}" if path.startswith("/") else path


SERVER = "server"
"""The key of the validation context that has the server's own address, for `OnServer`."""

OnServer = Annotated[
    str,
    AfterValidator(_on_server),
    Field(
        description="Where this server's page shows the place, to whoever may see it. A path, where the server's address is not known.",
        examples=["https://knowledge.example.com/d/019f0000-0000-7000-8000-000000000000#3249-3387"],
    ),
]
SourceAddress = Annotated[
    str,
    Field(description="Where a browser finds the document at its source; empty where nowhere."),
]

Sorted = Annotated[list[str], AfterValidator(sorted)]
"""The texts of a set, in order."""


def _listed(value: object) -> object:
    """Return a text as a list of it; an empty text is any, as it was before there were several, so it is left out."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)):
        return values
    return [text for text in cast("Sequence[object]", values) if text]


Values = Annotated[
    tuple[str, ...],
    BeforeValidator(_listed),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "maxLength": 256},
                {"type": "array", "items": {"type": "string", "maxLength": 256}, "maxItems": 20},
            ]
        }
    ),
]
"""One text or several, of which one must match."""


class Schema(BaseModel):
    """Keys in camelCase; an unknown key is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )

    def to_document(self) -> dict[str, Any]:
        """Return the JSON document that HTTP sends."""
        return self.model_dump(mode="json", by_alias=True)


class Reply(Schema):
    """What an operation returns: read from the attributes of a domain value, or from the JSON of a server."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_serialization_defaults_required=True
    )

    @classmethod
    def of(cls, shared: "Reply", **more: object) -> Self:
        """Return a reply with the fields of another one, and with more beside them or in their place."""
        return cls.model_validate({**shared.model_dump(by_alias=True), **more})


def read_from(key: str, attribute: str) -> Any:
    """Return the `Field` of a reply whose JSON key is `key`, where a domain value calls it `attribute`.

    A dotted attribute is one of a value inside it.
    """
    first, *rest = attribute.split(".")
    # The path comes first: the value that it leads through may have the name of the key.
    choices = (AliasPath(first, *rest), key) if rest else (key, first)
    return Field(validation_alias=AliasChoices(*choices))


class Locator(Reply):
    """Where in the document a quotation stands; `start` and `end` are characters of its text."""

    page: int | None
    last_page: int | None
    section: list[str]
    start: int
    end: int


class PageQuery(Schema):
    """The query parameters of a list; its filters are fields of a subclass."""

    limit: PageLimit = 100
    after: After = ""


def parse_after(after: str, kind: Callable[[UUID], T]) -> T | None:
    """Return where a list that is ordered by ids of this kind continues, None for its start; raise `Invalid` for what is no id."""
    try:
        return kind(UUID(after)) if after else None
    except ValueError:
        raise Invalid(f"{after!r} is not where this list continues; take `nextAfter`") from None


def page_of(
    items: Sequence[T], limit: int, key: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Return the page, and `nextAfter`; `items` has one more than the page where another page follows."""
    page = items[:limit]
    return page, key(page[-1]) if len(items) > limit else None

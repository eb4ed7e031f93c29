"""Lines that programs push into a source, as they are sent."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, cast

from pydantic import Discriminator, Field, JsonValue, Tag, TypeAdapter, ValidationError
from pydantic_core import from_json

from lightwell.connectors.pushed import ItemContent, make_item
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.pushes import (
    Audience,
    KeptItem,
    LineFailure,
    PushedItem,
    PushedLine,
    make_audience,
    make_group,
    make_item_ref,
)
from lightwell.domain.texts import metadata_texts
from lightwell.entrypoints.operations.replies import Schema

MAX_LINE_BYTES = 8_000_000
MAX_ALLOWED, MAX_MEMBERS = 500, 100_000
"""Names in each list of an `allow`, where more are better a group, and members of one group."""

Id = Annotated[str, Field(max_length=400, examples=["page/42"])]
Version = Annotated[
    int | None,
    Field(
        ge=0,
        le=2**63 - 1,
        description="A line of a lower version than the last one of this id changes nothing. null: the content alone is compared.",
    ),
]
Names = Annotated[tuple[str, ...], Field(max_length=MAX_ALLOWED)]


class Allow(Schema):
    """Who sees an item. Without any of it, nobody does."""

    people: Annotated[
        Names, Field(description="E-mail addresses.", examples=[["ada@halden.example"]])
    ] = ()
    groups: Annotated[Names, Field(description="Ids of groups at the pusher.")] = ()
    domains: Annotated[
        Names, Field(description="Everybody with an e-mail address at these domains.")
    ] = ()
    everyone: Annotated[bool, Field(description="Everybody in the directory of the project.")] = (
        False
    )

    def to_audience(self, source_name: str) -> Audience:
        """Return who sees the item; raise `Invalid`."""
        return make_audience(
            source_name,
            people=self.people,
            groups=self.groups,
            domains=self.domains,
            everyone=self.everyone,
        )


class Author(Schema):
    """Who wrote an item."""

    name: Annotated[str, Field(max_length=200)] = ""
    email: Annotated[str, Field(max_length=254)] = ""


class ItemLine(Schema):
    """An item as it is now: with its text in `content`, or with a file in Base64 in `file`."""

    kind: Literal["item"] = "item"
    id: Id
    version: Version = None
    title: Annotated[str, Field(max_length=500)] = ""
    content: str | None = None
    file: str | None = None
    file_name: Annotated[
        str, Field(max_length=500, description="Its extension tells the format of a file.")
    ] = ""
    format: Annotated[
        Format | None, Field(description="That of a text is markdown without it.")
    ] = None
    url: Annotated[
        str, Field(max_length=1000, description="Where people find it at its source.")
    ] = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    author: Author = Author()
    metadata: Annotated[dict[str, JsonValue], Field(max_length=50, default_factory=dict)]
    allow: Allow = Allow()

    def to_line(self, source_name: str, number: int, max_bytes: int) -> PushedItem:
        """Return the line; raise `Invalid`, `Unreadable`."""
        if (self.content is None) == (self.file is None):
            raise Invalid("An item has either content or file")
        content = _decode(self.file) if self.content is None else _encode(self.content)
        return self.with_content(source_name, number, content, max_bytes)

    def with_content(
        self, source_name: str, number: int, content: bytes, max_bytes: int
    ) -> PushedItem:
        """Return the line with this content; raise `Invalid`, `Unreadable`."""
        item = ItemContent(
            id=self.id,
            content=content,
            audience=self.allow.to_audience(source_name),
            version=self.version,
            title=self.title,
            format=self.format,
            name=self.file_name,
            is_file=self.content is None,
            url=self.url,
            author=self.author.name,
            author_email=self.author.email,
            created_at=self.created_at,
            updated_at=self.updated_at,
            metadata=metadata_texts(self.metadata),
        )
        return make_item(source_name, number, item, max_bytes)


def read_item(text: str) -> ItemLine:
    """Return the item that comes beside its file; raise `Invalid`."""
    try:
        item = ItemLine.model_validate_json(text)
    except ValidationError as error:
        raise Invalid(_describe(error, depth=0)) from None
    if item.content is not None or item.file is not None:
        raise Invalid("The item's content is the file beside it: leave content and file out")
    return item


class DeleteLine(Schema):
    """An item that is gone."""

    kind: Literal["delete"]
    id: Id
    version: Version = None


class KeepLine(Schema):
    """An item that is still there, unchanged: a sync of everything does not remove it."""

    kind: Literal["keep"]
    id: Id


class GroupLine(Schema):
    """A group with all its members, by their e-mail addresses: they replace those of before. One without members is gone."""

    kind: Literal["group"]
    id: Id
    version: Version = None
    members: Annotated[tuple[str, ...], Field(max_length=MAX_MEMBERS)] = ()


class CompleteLine(Schema):
    """The end of a sync of everything: what no line of it has named is removed."""

    kind: Literal["complete"]


def _kind(line: object) -> object:
    return cast("dict[str, object]", line).get("kind", "item") if isinstance(line, dict) else None


PushLine = Annotated[
    Annotated[ItemLine, Tag("item")]
    | Annotated[DeleteLine, Tag("delete")]
    | Annotated[KeepLine, Tag("keep")]
    | Annotated[GroupLine, Tag("group")]
    | Annotated[CompleteLine, Tag("complete")],
    Discriminator(_kind),
]
_Line = ItemLine | DeleteLine | KeepLine | GroupLine | CompleteLine
_LINE: TypeAdapter[_Line] = TypeAdapter(PushLine)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """Reads lines of a push into a source. `max_bytes` is the size of a file, at most."""

    source_name: str
    max_bytes: int

    def read(self, number: int, line: bytes) -> PushedLine | KeptItem | LineFailure | None:
        """Return what a line says, why it cannot be read, or None for the end of a sync of everything."""
        json: object = None
        try:
            json = from_json(line)
            return self._to_line(number, _LINE.validate_python(json))
        except ValidationError as error:
            return LineFailure(number=number, id=self._id_of(json), message=_describe(error))
        except LightwellError as error:
            return LineFailure(number=number, id=self._id_of(json), message=str(error))
        except ValueError as error:
            return LineFailure(number=number, id="", message=f"It is no JSON in UTF-8: {error}")

    def _to_line(self, number: int, line: _Line) -> PushedLine | KeptItem | None:
        match line:
            case ItemLine():
                return line.to_line(self.source_name, number, self.max_bytes)
            case DeleteLine(id=item, version=version):
                ref = make_item_ref(self.source_name, item)
                return PushedItem(number=number, ref=ref, version=version, item=None)
            case KeepLine(id=item):
                return KeptItem(number=number, ref=make_item_ref(self.source_name, item))
            case GroupLine(id=group, version=version, members=members):
                return make_group((number, version), self.source_name, group, members)
            case CompleteLine():
                return None

    def _id_of(self, json: object) -> str:
        """Return the id that a line names; "" where it names none that could be an item's."""
        if not isinstance(json, dict):
            return ""
        named = cast("Mapping[str, object]", json).get("id")
        try:
            return named if isinstance(named, str) and make_item_ref("", named) else ""
        except Invalid:
            return ""


_NO_KIND = "it is no object of the kind item, delete, keep, group or complete"
_PLAIN = {
    "extra_forbidden": "there is no such field",
    "union_tag_invalid": _NO_KIND,
    "union_tag_not_found": _NO_KIND,
}
_LONGEST_NAME = 80


def _describe(error: ValidationError, depth: int = 1) -> str:
    """Return what is wrong, without what it says: of the names of fields, which it may have made up, only the beginnings."""
    return "; ".join(
        f"{'.'.join(str(part)[:_LONGEST_NAME] for part in problem['loc'][depth:]) or 'the line'}: {_PLAIN.get(problem['type'], problem['msg'])}"
        for problem in error.errors(include_input=False, include_url=False)[:5]
    )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _decode(text: str | None) -> bytes:
    try:
        return b64decode(text or "", validate=True)
    except (NotBase64, ValueError) as error:
        raise Invalid(f"The file is no Base64: {error}") from None

"""A document as something to read, and who can see it."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.audiences import Reach
from lightwell.domain.document_views import Placement, ReadingPlace
from lightwell.domain.documents import DocumentState
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.documents import AudiencePart, DocumentName
from lightwell.entrypoints.operations.replies import (
    Locator,
    Moment,
    Reply,
    Schema,
    Sorted,
    SourceAddress,
    read_from,
)
from lightwell.text.reading import Kind, Style

reading = Subject(prefix="/v1/documents", tag="documents")

_MAX_BLOCKS = 400
_Spot = Annotated[int | None, Field(ge=0)]


class Run(Reply):
    """What is shown of the text from `start` to `end`, without the marks of markup. `text` has as many characters, or stands for them."""

    start: int
    end: int
    text: str
    styles: list[Style]


class Cell(Reply):
    """A cell of a row, or the name and the value of a field."""

    start: int
    end: int
    runs: list[Run]


class Block(Reply):
    """A block of a document: `text` is what stands from `start` to `end` in its text, `runs` (or `cells`) what is shown of it.

    `level` is that of a heading, from 1, or how deep an item stands, from 0; `marker` is an item's number or sign. `table` is where the
    table of a row begins, -1 elsewhere; `isHeader` marks its first row. `page` counts from 1. A `note` is what programs do not show:
    a comment, the target of a link.
    """

    kind: Annotated[Kind, read_from("kind", "block.kind")]
    start: Annotated[int, read_from("start", "block.start")]
    end: Annotated[int, read_from("end", "block.end")]
    text: Annotated[str, read_from("text", "block.text")]
    level: Annotated[int, read_from("level", "block.level")]
    marker: Annotated[str, read_from("marker", "block.marker")]
    runs: Annotated[list[Run], read_from("runs", "block.runs")]
    cells: Annotated[list[Cell], read_from("cells", "block.cells")]
    table: Annotated[int, read_from("table", "block.table")]
    is_header: Annotated[bool, read_from("isHeader", "block.is_header")]
    page: int | None


class DocumentView(Reply):
    """A part of a document, to be read. `before` and `after` are what to ask for to read on, null at the document's ends.

    `heads` are the header rows of tables that begin above the part. `quote` is what stands at the place that was asked for, and
    `locator` where that is: elsewhere, if the document has changed since (`placement`). `datedAt` is the date that the document or its source states, null where neither does.
    """

    document_id: Annotated[UUID, read_from("documentId", "document.id")]
    document_ref: Annotated[str, read_from("documentRef", "document.ref")]
    title: Annotated[str, read_from("title", "document.title")]
    breadcrumb: list[str]
    source_system: Annotated[str, read_from("sourceSystem", "document.system")]
    source_type: Annotated[str, read_from("sourceType", "document.kind")]
    source_address: Annotated[SourceAddress, read_from("sourceAddress", "document.source_address")]
    format: Annotated[str, read_from("format", "document.format")]
    language: Annotated[str, read_from("language", "document.language")]
    author: Annotated[str, read_from("author", "document.author")]
    status: Annotated[DocumentState, read_from("status", "document.state")]
    dated_at: Annotated[Moment | None, read_from("datedAt", "document.dated_at")]
    ingested_at: Annotated[Moment | None, read_from("ingestedAt", "document.ingested_at")]
    acl_tags: Annotated[Sorted, read_from("aclTags", "document.acl_tags")]
    has_original: Annotated[bool, read_from("hasOriginal", "document.has_original")]
    page_count: Annotated[int, read_from("pageCount", "document.page_count")]
    blocks: list[Block]
    heads: list[Block]
    before: int | None
    after: int | None
    locator: Locator | None
    quote: str
    placement: Placement | None


class ViewQuery(Schema):
    """Which part of a document to read: around `start`, from `after` on, or up to `before`; without any, from its beginning."""

    start: _Spot = None
    end: _Spot = None
    quote: Annotated[
        str,
        Field(
            max_length=8000,
            description="What stood at the place when it was cited: if it stands elsewhere now, that is the place.",
        ),
    ] = ""
    before: Annotated[_Spot, Field(description="`before` of the part that follows.")] = None
    after: Annotated[_Spot, Field(description="`after` of the part before.")] = None
    limit: Annotated[int, Field(ge=1, le=_MAX_BLOCKS, description="How many blocks, at most.")] = (
        200
    )

    def to_place(self) -> ReadingPlace:
        """Return the place."""
        return ReadingPlace(**self.model_dump())


class OwnWay(Reply):
    """Through what you see the document: a tag of your own (`person`), one of a group (`name`), or one of your key (`tag`)."""

    tag: str
    kind: Reach
    name: str


class Audience(Reply):
    """Who can see a document: whoever has one of its tags. `people` counts them, each once."""

    parts: list[AudiencePart]
    people: int
    mine: list[OwnWay]


_BEGINNING = ViewQuery()


@reading.operation("GET", "/{document}/view")
async def view_document(
    caller: Caller, document: DocumentName, query: ViewQuery = _BEGINNING
) -> DocumentView:
    """Return a document as something to read: headings, paragraphs, items, code and rows, each with its span in the text.

    All is text: nothing in it loads, runs or links anything. A citation's locator has the `start` and `end` to read around.
    """
    view = await caller.knowledge_base.documents.view(caller.reader, document, query.to_place())
    return DocumentView.model_validate(view)


@reading.operation("GET", "/{document}/audience")
async def show_audience(caller: Caller, document: DocumentName) -> Audience:
    """Return who can see a document, and through what you see it. People are named to administrators only."""
    audience = await caller.knowledge_base.documents.audience(
        caller.reader, document, shows_names=caller.authority.is_unlimited
    )
    return Audience.model_validate(audience)

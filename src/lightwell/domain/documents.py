"""Documents and chunks, and what a parser says of a document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lightwell.domain.access import Tags
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, GlobalRef

SHORTEST_CHUNK, TARGET_CHUNK, LONGEST_CHUNK = 100, (512, 1024), 2000
"""Tokens. A document that is short as a whole is one chunk, however short."""


_BYTES_PER_TOKEN = 4


class DocumentState(StrEnum):
    """A document's way in: pending → chunking → embedding → extracting → active; failed from any."""

    PENDING = "pending"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"
    ACTIVE = "active"
    FAILED = "failed"
    ARCHIVED = "archived"

    @property
    def coarse(self) -> str:
        """S0's four states: PENDING, PROCESSING, COMPLETED, FAILED; an archived one was completed."""
        match self:
            case DocumentState.PENDING | DocumentState.FAILED:
                return self.name
            case DocumentState.ACTIVE | DocumentState.ARCHIVED:
                return "COMPLETED"
            case _:
                return "PROCESSING"


class Format(StrEnum):
    MARKDOWN = "markdown"
    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a paged document: `text[start:end]`; `number` counts from 1."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under one heading, up to the next heading of any level: `text[start:end]`.

    `path` holds the headings from the outermost to this one; () before the first heading.
    The heading's own line belongs to its section.
    """

    path: tuple[str, ...]
    start: int
    end: int


class SpanKind(StrEnum):
    CODE = "code"
    FORMULA = "formula"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of text that should not be cut if it can be helped: `text[start:end]`."""

    kind: SpanKind
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document's plain text and where its parts stand; all offsets are characters of `text`.

    `sections` cover the text without gaps, in order. `pages` do too where there are pages, else ().
    `title` is the best the document itself offers, or "" when it offers none. `updated_at` is the date that it gives
    itself, however unlikely.
    """

    text: str
    title: str
    author: str
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    spans: tuple[Span, ...]
    updated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A slice of a parsed document before it has an identity: `text == document.text[start:end]`.

    `pages` and `sections` are those it touches; `section_path` is what the sections have in common. `tokens` counts
    cl100k tokens.
    """

    index: int
    start: int
    end: int
    text: str
    tokens: int
    section_path: tuple[str, ...]
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    has_code: bool
    has_formula: bool
    has_table: bool
    language: str


FRONT_MATTER = "front matter"
"""The origin of tags that a document names itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """What front matter, `.lightwell.yaml` or the command line say of one file.

    `acl_origin` names what set the tags: the path of a settings file or `FRONT_MATTER`, "" for the default.
    """

    acl_tags: Tags
    title: str
    topic: str
    acl_origin: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document as its source gives it, before it is read.

    `url` is unique in a project. `content_hash` is the SHA-256 of the bytes and of what else would
    change the chunks (title, topic), so equal hashes need no work at all. `acl_origin` names what set the tags where
    that is not the default of the source; it is not kept. `metadata` may name an `author`; `author_ref` is the source's
    own reference to that person, and `raw_payload` its own record of the document, as JSON.
    """

    system: str
    kind: str
    source_id: str
    url: str
    format: Format
    title: str
    topic: str
    acl_tags: Tags
    content: bytes
    content_hash: str
    updated_at: datetime | None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    acl_origin: str = ""
    author_ref: str = ""
    raw_payload: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def author(self) -> str:
        """The author whom the source names; the document itself may name one where this is ""."""
        return self.metadata.get("author", "").strip()


def estimated_chunks(document: NewDocument) -> int | None:
    """Return about how many chunks the text will be cut into; None for a format whose size says little about that."""
    if document.format in (Format.PDF, Format.DOCX):
        return None
    least, most = TARGET_CHUNK
    tokens = len(document.content) // _BYTES_PER_TOKEN
    return 1 if tokens <= most else round(2 * tokens / (least + most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as the system of record holds it.

    `updated_at` is when its source says it changed; of a file the date that it gives itself where it has one, not
    before 1970 and not to come. `author` is whom the source names, else the document itself, and `author_ref` the
    entity of that name, or the source's own reference. `metadata` is what front matter, `.lightwell.yaml` or the source
    say besides; `raw_payload` is the source's own record of it.
    """

    id: DocumentId
    ref: GlobalRef
    url: str
    title: str
    format: str
    author: str
    topic: str
    language: str
    acl_tags: Tags
    class_id: ClassId
    state: DocumentState
    error: str
    content_hash: str
    file_size: int
    chunk_count: int
    created_at: datetime
    updated_at: datetime
    ingested_at: datetime | None
    author_ref: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    raw_payload: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """Where in its document a text stands: pages from 1, headings, characters from 0."""

    page: int | None
    last_page: int | None
    section: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which pages and sections a chunk touches, so that a quote from it can be placed exactly."""

    sections: tuple[Section, ...]
    pages: tuple[Page, ...]

    def locate(self, start: int, end: int) -> Locator:
        """Return where the document's `text[start:end]` stands."""
        pages = [page.number for page in self.pages if page.start < end and page.end > start]
        sections = [section.path for section in self.sections if section.start <= start]
        return Locator(
            page=pages[0] if pages else None,
            last_page=pages[-1] if pages else None,
            section=sections[-1] if sections else (),
            start=start,
            end=end,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A published slice of a document, with what is needed to cite it; `index` counts from 0.

    `ingested_at` is when its document came to its end last, None while it does for the first time. `llm_cache_ids`
    refer to the kept replies of models that it was read from, `ENTITY_EXTRACTION:<SHA-256 of what was sent>` first, then
    each `GLEANING:…`; () where rules read it.
    """

    id: ChunkId
    document_id: DocumentId
    document_ref: GlobalRef
    index: int
    text: str
    tokens: int
    title: str
    url: str
    system: str
    kind: str
    topic: str
    language: str
    locator: Locator
    layout: Layout
    created_at: datetime
    updated_at: datetime
    ingested_at: datetime | None = None
    has_code: bool = False
    has_formula: bool = False
    has_table: bool = False
    llm_cache_ids: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return f"{self.document_ref}#{self.index}"

"""Documents, chunks, and the result of parsing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from lightwell.domain.access import Tags
from lightwell.domain.formats import ZIPPED, Format
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, GlobalRef
from lightwell.domain.item_structure import NO_STRUCTURE, ItemStructure

if TYPE_CHECKING:
    from lightwell.text.analysis.stored import StoredAnalysis

MIN_CHUNK_TOKENS, TARGET_CHUNK_TOKENS, MAX_CHUNK_TOKENS = 100, (512, 1024), 2000
"""Tokens. A document that is short as a whole is one chunk, however short."""


MAX_DOCUMENT_CHUNKS = 5000
"""Chunks of one document that are ingested by default: ten to fifteen million characters of prose."""

_BYTES_PER_TOKEN = 4


class DocumentState(StrEnum):
    """A document's progress: pending → chunking → embedding → extracting → active. It may fail in any state."""

    PENDING = "pending"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"
    ACTIVE = "active"
    FAILED = "failed"
    ARCHIVED = "archived"


FILE, UPLOAD, WEB, PUSHED = "file", "upload", "web", "push"
"""The source systems of files, of documents that are uploaded, that are fetched from a URL, and that programs push."""

SITE, BUCKET, IMAP = "site", "bucket", "imap"
"""The source systems of pages, objects and messages that a source reads."""

ADDRESS_SCHEMES = ("https", "http", "s3", "gs", "az", "imap")
"""The schemes that the addresses of items may have; browsers are led to the first two alone."""

PLAIN_SYSTEMS = frozenset({FILE, UPLOAD, WEB, PUSHED, SITE, BUCKET, IMAP})
"""The systems whose documents are no items of a business system, which have a header of fields."""


class WorkState(StrEnum):
    """Whether there is something left to do with an item, as its system says and not as words sound."""

    OPEN = "open"
    CLOSED = "closed"


def document_address(document_id: object, start: int = 0, end: int = 0) -> str:
    """Return the path under which this server's page shows a document, with the fragment of a place in it where one is named."""
    return f"/d/{document_id}" + (f"#{start}-{end}" if start < end else "")


SOURCE_ADDRESS = "source_address"
"""The name in metadata under which the address for browsers of a file is stored, as `base_url` of its folder says it, and that of a pushed item."""


def address_at_source(url: str, system: str, stated: str) -> str:
    """Return where a browser finds a document at its source, `stated` for a file whose folder says so and for a pushed item; "" where it finds nothing."""
    address = stated if system in (FILE, PUSHED) else url
    return address if address.startswith(("https://", "http://")) else ""


WORK_STATE = "work_state"
"""The name in a document's metadata under which the state of its item is stored."""

DUE, OWN_AUTHORS = "due", "own_authors"
"""The names in a document's metadata under which its item's deadline is stored, as `2026-06-30`, and who of our own people wrote in it, one a line."""


def work_metadata(
    *, work_state: WorkState | None, due: str | None, own_authors: Sequence[str]
) -> dict[str, str]:
    """Return what a document's metadata say of the work on its item, in this order, without what its system does not say; names are lines."""
    facts = {WORK_STATE: work_state, DUE: due, OWN_AUTHORS: "\n".join(own_authors)}
    return {name: value for name, value in facts.items() if value}


def parse_due(text: str | None) -> date | None:
    """Return the day that metadata name; None for none and for what is no day."""
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def parse_work_state(text: str | None) -> WorkState | None:
    """Return the state that metadata name; None for none and for another word, since anybody may supply metadata."""
    return WorkState(text) if text in tuple(WorkState) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a paged document: `text[start:end]`; `number` counts from 1."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text under one heading, up to the next heading of any level: `text[start:end]`.

    `path` holds the headings from the outermost to this one; () before the first heading. The heading's own
    line belongs to its section.
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
    """A stretch of text that a chunk boundary should avoid: `text[start:end]`."""

    kind: SpanKind
    start: int
    end: int


NO_TEXT = "the file contains no text; add text or remove the file"
OF_PROGRAMS = "it is written by programs for programs, and holds nothing to read; ignore it"
GENERATED = "it is code that a program wrote; ignore it, and read its source"
NOTHING_TO_READ = frozenset((NO_TEXT, OF_PROGRAMS, GENERATED))
"""What is said of files with nothing but markup or data; a folder's report counts them and calls them no failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document's plain text and the positions of its parts; all offsets are characters of `text`.

    `sections` cover the text without gaps, in order; so do `pages` in formats with pages, else (). `title` is
    the best title in the document, or "". `updated_at` is the date that the document gives, not checked.
    """

    text: str
    title: str
    author: str
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    spans: tuple[Span, ...]
    updated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A document that a file contains: a thread of a mailbox, a file that came with a mail.

    `key` is unique in the file, and stays while the part is there. `is_file`: the content is a file of its own, with this name.
    """

    key: str
    format: Format
    content: bytes
    is_file: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A slice of a parsed document before it has an id: `text == document.text[start:end]`.

    `pages` and `sections` are those that the slice touches; `section_path` is the common part of the sections'
    paths. `tokens` counts cl100k tokens.
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
"""The value of `acl_origin` where a document's own front matter sets its tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """The settings of one file from front matter, `.lightwell.yaml` or the command line.

    `acl_origin` names what set the tags: the path of a settings file or `FRONT_MATTER`, "" for the default.
    """

    acl_tags: Tags
    title: str
    topic: str
    acl_origin: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document as its source delivers it, before parsing.

    `url` is unique in a project. `content_hash` is the SHA-256 of the bytes and of the other values that
    determine chunks (title, topic): a document with an equal hash is not processed again. `acl_origin` names
    what set the tags, "" for the source's default; it is not stored. `metadata` may name an `author`;
    `author_ref` is the source's own reference to that person, and `raw_payload` its own record of the document,
    as JSON. `created_at` is when the source made the document, None where it does not say. `item_ref` names the item of a business system that it belongs to, None elsewhere; `structure` is what that item
    states apart from the text, and is part of what `content_hash` covers.

    `file_version` is that of the file whose content this is, "" for a text: as long as it stays, so does the content, and
    a document that is stored with it may come without its content (`has_content`). `is_file`: the content is that file itself, which
    is kept as the document's original, and no text about it.
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
    created_at: datetime | None = None
    item_ref: GlobalRef | None = None
    structure: ItemStructure = NO_STRUCTURE
    file_version: str = ""
    has_content: bool = True
    is_file: bool = False

    @property
    def author(self) -> str:
        """The author that the source names, "" if it names none; then the document itself may name one."""
        return self.metadata.get("author", "").strip()


def omission_warning(chunks: int, omitted: int) -> str:
    """Return what to tell about a document of which only the first chunks are ingested; "" if none was omitted."""
    if not omitted:
        return ""
    return (
        f"only its first {chunks:,} chunks are read, and {omitted:,} are left out: split it,"
        " or raise LIGHTWELL_MAX_DOCUMENT_CHUNKS and ingest it again"
    )


def estimate_chunks(document: NewDocument) -> int | None:
    """Return the approximate number of chunks; None for formats whose size says little about their text."""
    if document.format in {Format.PDF, Format.IMAGE, Format.FOREIGN, *ZIPPED}:
        return None
    least, most = TARGET_CHUNK_TOKENS
    tokens = len(document.content) // _BYTES_PER_TOKEN
    return 1 if tokens <= most else round(2 * tokens / (least + most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as the system of record stores it.

    `omitted_chunks` counts the chunks at its end that were left out, because it has too many; `waiting_chunks` those that are found by
    their words and in the graph alone, since they have no vector yet.

    `created_at` is when the source made it, else when it was first ingested. `updated_at` is the time of the last change in
    the source; of a file, the date that the document states, between 1970 and today, else the file's own time, which is no date
    of what is in it: `dated_at` is None then. `author` is the author that the source names, else the document; `author_ref`
    the entity of that name, or the source's own reference. `metadata` holds other values from front matter,
    `.lightwell.yaml` or the source; `raw_payload` the source's own record. `page_count` is that of a PDF, of which there are pictures.
    """

    id: DocumentId
    ref: GlobalRef
    system: str
    kind: str
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
    omitted_chunks: int = 0
    waiting_chunks: int = 0
    has_original: bool = False
    page_count: int = 0
    dated_at: datetime | None = None

    @property
    def source_address(self) -> str:
        """Where a browser finds it at its source; "" where it finds nothing."""
        return address_at_source(self.url, self.system, self.metadata.get(SOURCE_ADDRESS, ""))

    @property
    def cursor(self) -> str:
        """Where a list by URL continues after this document: its URL, with the id where several documents may have that URL."""
        return f"{self.url} {self.id}" if self.system == WEB else self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """The position of a text in its document: pages from 1, headings, characters from 0."""

    page: int | None
    last_page: int | None
    section: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The pages and sections that a chunk touches, so that a quote from it gets an exact position."""

    sections: tuple[Section, ...]
    pages: tuple[Page, ...]

    def locate(self, start: int, end: int) -> Locator:
        """Return the position of the document's `text[start:end]`."""
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
    """A published slice of a document, with what a citation needs; `index` counts from 0.

    `ingested_at` is the end of the document's last complete ingestion, None during the first one.
    `llm_cache_ids` name the cached model replies that the chunk's mentions come from:
    `ENTITY_EXTRACTION:<SHA-256 of the request>`, then each `GLEANING:…`; () for rule extraction.
    `work_state` is what the source says of the document's item, None where it says nothing, `due` its deadline, and `own_authors` are those
    of our own people who wrote in it. `dated_at` is `updated_at` where the
    document or its system states it, None where it is a file's own time. `is_supplied`: somebody handed the
    text in, in place of what the source says. `source_address` is where a browser finds the document at its source, "" where it finds nothing.
    `analysis` is what was read in the text, where it was asked for.
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
    dated_at: datetime | None = None
    ingested_at: datetime | None = None
    has_code: bool = False
    has_formula: bool = False
    has_table: bool = False
    llm_cache_ids: tuple[str, ...] = ()
    work_state: WorkState | None = None
    due: date | None = None
    own_authors: tuple[str, ...] = ()
    is_supplied: bool = False
    source_address: str = ""
    analysis: "StoredAnalysis | None" = field(default=None, repr=False, compare=False)

    @property
    def ref(self) -> str:
        return f"{self.document_ref}#{self.index}"

    @property
    def address(self) -> str:
        """Where this server shows the whole passage: the path of a page, with the passage as its fragment."""
        return document_address(self.document_id, self.locator.start, self.locator.end)

    @property
    def heading_path(self) -> str:
        """The title and the headings that it stands under, outermost first, each once."""
        return heading_path(self.title, self.locator.section)


def heading_path(title: str, section: Sequence[str]) -> str:
    """Return the title and the headings of a section, outermost first, each once."""
    return " › ".join(dict.fromkeys((title, *section)))


def text_between_chunks(length: int) -> str:
    """Return what stands for the white space between two chunks, of so many characters; chunks do not hold it.

    One character is a blank. More are line breaks, as between paragraphs: behind blanks a heading would not be recognised.
    The published text and passages of several chunks both use it, so that quotations across chunks match the document.
    """
    return " " if length == 1 else "\n" * length


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """Numbers of removed rows."""

    chunks: int
    vectors: int
    mentions: int
    relation_mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What a deletion removed, of what the deleting reader sees.

    An entity or relation counts as deleted when nothing that the reader sees mentions it any more, as rebuilt
    when something still does. Entities are given by reference, in order.
    """

    documents: tuple[DocumentId, ...]
    entities_deleted: tuple[str, ...]
    entities_rebuilt: tuple[str, ...]
    relations_deleted: int
    relations_rebuilt: int
    removed: RemovedRows
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts of what the reader may see; `open_jobs`, too, counts jobs of the reader's documents only.

    `waiting_chunks` are those of `chunks` that have no vector yet.
    """

    documents: dict[DocumentState, int]
    chunks: int
    waiting_chunks: int
    entities: int
    relations: int
    open_jobs: int

"""A document as something to read: a part of its text in blocks, and what stands above it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.documents import FILE, UPLOAD, WEB, Document, Locator
from lightwell.text.reading import ReadBlock

_GROUPING = ("team", "project", "repository", "inbox", "list")
"""Names in an item's metadata that say where it stands in its system, the outermost first."""

_MAX_FOLDERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlace:
    """Which blocks to read: those around a span, from `after` on, or up to `before`; without any, from the beginning."""

    start: int | None = None
    end: int | None = None
    before: int | None = None
    after: int | None = None
    limit: int = 200

    @property
    def anchor(self) -> int:
        """The character around which to read."""
        places = (self.start, self.after, self.before)
        return next((place for place in places if place is not None), 0)

    @property
    def counts(self) -> tuple[int, int]:
        """How many blocks to read above and below."""
        if self.start is not None:
            return self.limit // 2, self.limit - self.limit // 2
        return (self.limit, 0) if self.before is not None else (0, self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBlock:
    """A block with the page on which it begins, None in a document without pages."""

    block: ReadBlock
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """The part of a document that is read now.

    `before` and `after` continue it in both directions, None at an end of the document. `heads` are the header rows of tables
    that begin above it. `locator` is the place that was asked for, `quote` what stands there.
    """

    document: Document
    breadcrumb: Sequence[str]
    source_address: str
    text_length: int
    blocks: Sequence[ViewBlock]
    heads: Sequence[ViewBlock]
    before: int | None
    after: int | None
    locator: Locator | None
    quote: str


def breadcrumb(document: Document) -> tuple[str, ...]:
    """Return the folders, or the groups of its system, in which a document stands, the outermost first."""
    if document.system in (FILE, UPLOAD):
        path = document.raw_payload.get("path")
        folders = path.split("/")[:-1] if isinstance(path, str) else []
        return tuple(folder for folder in folders if folder.strip("."))[-_MAX_FOLDERS:]
    if document.system == WEB:
        return tuple(document.url.split("/")[2:3])
    return tuple(document.metadata[name] for name in _GROUPING if document.metadata.get(name))


def source_address(document: Document) -> str:
    """Return where a browser finds the document at its source; "" where it finds nothing."""
    return document.url if document.url.startswith(("https://", "http://")) else ""

"""A document as something to read: a part of its text in blocks, and what stands above it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from lightwell.domain.documents import FILE, UPLOAD, WEB, Document, Locator
from lightwell.text.reading import ReadBlock

_GROUPING = ("team", "project", "repository", "inbox", "list")
"""Names in an item's metadata that say where it stands in its system, the outermost first."""

_MAX_FOLDERS = 8


class Placement(StrEnum):
    """Whether a quotation stands where it was cited: it does, it stands elsewhere now, or the document does not have it any more."""

    HERE = "here"
    MOVED = "moved"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlace:
    """Which blocks to read: those around a span, from `after` on, or up to `before`; without any, from the beginning.

    `quote` is what stood at the span when it was cited, "" where nobody knows.
    """

    start: int | None = None
    end: int | None = None
    before: int | None = None
    after: int | None = None
    limit: int = 200
    quote: str = ""

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

    def found_in(self, text: str) -> tuple["ReadingPlace", Placement | None]:
        """Return the place in this text, nearest to itself where its quotation moved; and what became of it, None without a span."""
        if self.start is None:
            return replace(
                self, after=_within(self.after, text), before=_within(self.before, text)
            ), None
        start = min(self.start, len(text))
        end = max(start, min(self.start if self.end is None else self.end, len(text)))
        if self.quote and not text.startswith(self.quote, start):
            above, below = (
                text.rfind(self.quote, 0, start + len(self.quote)),
                text.find(self.quote, start),
            )
            places = [place for place in (above, below) if place >= 0]
            if places:
                start = min(places, key=lambda place: abs(place - start))
                return replace(self, start=start, end=start + len(self.quote)), Placement.MOVED
            return replace(self, start=start, end=end), Placement.GONE
        is_cut = end < (self.start if self.end is None else self.end)
        return replace(self, start=start, end=end), Placement.GONE if is_cut else Placement.HERE


def _within(place: int | None, text: str) -> int | None:
    return None if place is None else min(place, len(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBlock:
    """A block with the page on which it begins, None in a document without pages."""

    block: ReadBlock
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """The part of a document that is read now.

    `before` and `after` continue it in both directions, None at an end of the document. `heads` are the header rows of tables
    that begin above it. `locator` is the place that was asked for, or where its quotation stands now (`placement`), and `quote`
    what stands there.
    """

    document: Document
    breadcrumb: Sequence[str]
    blocks: Sequence[ViewBlock]
    heads: Sequence[ViewBlock]
    before: int | None
    after: int | None
    locator: Locator | None
    quote: str
    placement: Placement | None


def breadcrumb(document: Document) -> tuple[str, ...]:
    """Return the folders, or the groups of its system, in which a document stands, the outermost first."""
    if document.system in (FILE, UPLOAD):
        path = document.raw_payload.get("path")
        folders = path.split("/")[:-1] if isinstance(path, str) else []
        return tuple(folder for folder in folders if folder.strip("."))[-_MAX_FOLDERS:]
    if document.system == WEB:
        return tuple(document.url.split("/")[2:3])
    return tuple(document.metadata[name] for name in _GROUPING if document.metadata.get(name))

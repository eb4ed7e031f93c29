"""Lists of documents: which ones, in which order, and where a page continues."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from lightwell.domain.documents import Document, DocumentState
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import NO_FILTERS, Filters

ORDERED_TITLE = 200
"""By how many characters of their titles documents are ordered, as `records/documents` says; a cursor has as many of them."""


class DocumentOrder(StrEnum):
    """What a list of documents is ordered by: titles in any case, systems with the types of their documents."""

    URL = "url"
    TITLE = "title"
    CHANGED = "changed"
    CREATED = "created"
    SYSTEM = "system"
    STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    """Which documents to list: those that `filters` of a question are about, but for its topic; "" and () leave a condition out.

    `title` is a part of the title, in any case.
    """

    states: tuple[DocumentState, ...] = ()
    filters: Filters = NO_FILTERS
    title: str = ""
    order: DocumentOrder = DocumentOrder.URL
    is_descending: bool = False


def cursor_of(document: Document, order: DocumentOrder) -> str:
    """Return where a list in this order continues after the document."""
    match order:
        case DocumentOrder.URL:
            return document.cursor
        case DocumentOrder.TITLE:
            value = document.title[:ORDERED_TITLE]
        case DocumentOrder.CHANGED:
            value = document.updated_at.isoformat()
        case DocumentOrder.CREATED:
            value = document.created_at.isoformat()
        case DocumentOrder.SYSTEM:
            value = f"{document.system} {document.kind}"
        case DocumentOrder.STATUS:
            value = document.state.value
    return f"{value} {document.id}"


def parse_cursor(text: str, order: DocumentOrder, *, is_descending: bool) -> tuple[str, UUID]:
    """Return the value and the id after which a list continues; a URL alone stands for all documents that have it.

    Raises `Invalid` for a text that is no cursor of this order.
    """
    value, _, document_id = text.rpartition(" ")
    try:
        if order in (DocumentOrder.CHANGED, DocumentOrder.CREATED):
            value = datetime.fromisoformat(value).astimezone(UTC).isoformat()
        return value, UUID(document_id)
    except (ValueError, OverflowError):
        if order is DocumentOrder.URL:
            return text, UUID(int=0 if is_descending else 2**128 - 1)
        raise Invalid(f"{text!r} is not where this list continues; take `nextAfter`") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCount:
    """How many of a reader's documents come from one system, with one type and in one state."""

    system: str
    kind: str
    state: DocumentState
    documents: int

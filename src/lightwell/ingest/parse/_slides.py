"""What presentations of all kinds share: a slide is a section named by its number and title, and a page."""

from collections.abc import Sequence
from dataclasses import replace

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._sections import build_pages
from lightwell.ingest.parse._text import one_line
from lightwell.text.regex import regex

NOTES = "Notes"
"""The heading above what the speaker noted."""

_TEMPLATE_TITLES = frozenset(("powerpoint presentation", "powerpoint-präsentation"))
_BARE = regex(r"(?:Slide \d++\s*+)*+")


def add_slide(builder: Builder, number: int, title: str) -> None:
    """Begin a slide; each text until the next one is on it."""
    builder.add_heading(f"Slide {number}: {title}" if title.strip() else f"Slide {number}", 1)


def title_of_slides(stated: str, titles: Sequence[str]) -> str:
    """Return the title that a presentation states, unless its template does, else that of the first slide that has one."""
    is_own = stated and stated.casefold() not in _TEMPLATE_TITLES
    return stated if is_own else one_line(next(filter(None, titles), ""))


def with_pages(document: ParsedDocument) -> ParsedDocument:
    """Return a document of slides with a page for each; raise `Unreadable` where no slide has text."""
    if _BARE.fullmatch(document.text):
        raise Unreadable("no_text", "its slides hold no text; export it as PDF and run OCR")
    starts = (section.start for section in document.sections if len(section.path) == 1)
    pages = build_pages(dict(enumerate(starts, start=1)), len(document.text))
    return replace(document, pages=pages)

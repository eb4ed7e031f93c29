"""How a source is named and a refusal explained, in words without marks: every door that shows text uses these."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lightwell.answer.quotes import render_text
from lightwell.text.pieces import shorten
from lightwell.text.regex import regex

if TYPE_CHECKING:
    from lightwell.domain import answers, documents
    from lightwell.entrypoints.operations import citations, replies

    Citation = answers.Citation | citations.Citation
    Locator = documents.Locator | replies.Locator

_LONGEST_KEY = 160
_WORD = regex(r"\w+")


def pages_of(locator: "Locator") -> str:
    """Return `page 3`, or `pages 3–4`; "" where the document has no pages."""
    if locator.page is None:
        return ""
    several = locator.last_page is not None and locator.last_page > locator.page
    return f"pages {locator.page}–{locator.last_page}" if several else f"page {locator.page}"


def sections_of(locator: "Locator", title: str) -> Sequence[str]:
    """Return the headings above a place in the document with this title, without a first one that the title says already."""
    if not locator.section:
        return ()
    first, *others = locator.section
    named, words = _WORD.findall(title.casefold()), _WORD.findall(first.casefold())
    is_named = words == named[: len(words)] and (bool(others) or len(words) == len(named))
    return others if first == title or is_named else locator.section


def source_name(cited: "Citation") -> str:
    """Return a citation's place on one line: `Handbook › Leave › Carry over, page 3`."""
    return place_name(cited.document_title, cited.locator)


def place_name(title: str, locator: "Locator") -> str:
    """Return a place in the document with this title on one line."""
    name = " › ".join(filter(None, (title, *sections_of(locator, title))))
    return " ".join(", ".join(filter(None, (name, pages_of(locator)))).split())


def key_sentence(cited: "Citation") -> str:
    """Return what a citation quotes, or of a longer piece its key sentences, as people read it."""
    highlight = cited.highlight if cited.highlight and any(cited.highlight) else None
    return render_text(cited.snippet, highlight) or cited.snippet


def nearest_line(nearest: "Sequence[Citation]") -> str:
    """Return one line about the nearest of these; "" without one."""
    if not nearest:
        return ""
    key = " ".join(key_sentence(nearest[0]).split())
    return f"Nearest: {source_name(nearest[0])}: {shorten(key, _LONGEST_KEY)}"

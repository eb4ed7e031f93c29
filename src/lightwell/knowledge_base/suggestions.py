"""Questions that somebody's documents can answer, made of their titles and headings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from lightwell.domain.access import Reader
from lightwell.records.database import Database
from lightwell.records.documents import outlines
from lightwell.records.documents.outlines import Outline

MOST: Final = 3

_LONGEST_TITLE, _LONGEST_HEADING, _SHORTEST_HEADING = 70, 50, 4

_ASKED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": "What does “{title}” say about “{heading}”?",
        "de": "„{title}“: {heading}?",
        "fr": "Que dit « {title} » sur « {heading} » ?",
    }
)
"""By the document's language. Such a question has the words of the place that answers it, and few others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A question, and the title of the document that answers it."""

    question: str
    document_title: str


async def suggest(database: Database, reader: Reader, language: str) -> tuple[Suggestion, ...]:
    """Return up to three questions, each on another document that the reader sees, first on those in this language."""
    listed = await outlines.list_outlines(database, reader)
    return suggestions_of(sorted(listed, key=lambda outline: outline.language != language))


def suggestions_of(listed: Sequence[Outline]) -> tuple[Suggestion, ...]:
    """Return up to three questions on documents that have a heading to ask for, the first ones first; equal titles count once."""
    made = dict[str, Suggestion]()
    for outline in listed:
        heading = next((heading for heading in outline.headings if _is_askable(heading)), None)
        if heading is None or len(outline.title) > _LONGEST_TITLE or outline.title in made:
            continue
        form = _ASKED.get(outline.language, _ASKED["en"])
        question = form.format(title=outline.title, heading=heading)
        made[outline.title] = Suggestion(question=question, document_title=outline.title)
    return tuple(made.values())[:MOST]


def _is_askable(heading: str) -> bool:
    has_room = _SHORTEST_HEADING <= len(heading) <= _LONGEST_HEADING
    return has_room and heading[0].isalpha() and heading.isprintable()

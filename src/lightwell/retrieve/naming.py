"""Which names does a question use?"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from lightwell.domain.graph import normalized
from lightwell.domain.terms import STOP_WORDS

MOST_WORDS = 8
_WORD = re.compile(r"[^\s,;:!?()\[\]\"“”„«»]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A run of the question's words that may be a name: `words[start:end]`, normalised."""

    name: str
    start: int
    end: int


def spans(question: str) -> list[Span]:
    """Return every run of up to eight words that may be a name, longest first.

    A single word counts when it is written as a name: with a capital, a digit or an @.
    """
    words = [match.group().rstrip(".") for match in _WORD.finditer(question)]
    found: list[Span] = []
    for length in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if _may_name(run):
                found.append(Span(name=normalized(" ".join(run)), start=start, end=start + length))
    return [span for span in found if span.name]


def longest(candidates: list[Span], known: Collection[str]) -> list[str]:
    """Return the names among the known ones, longest first, no word used twice."""
    used: set[int] = set()
    names: list[str] = []
    for span in candidates:
        places = set(range(span.start, span.end))
        if span.name in known and not places & used:
            used |= places
            names.append(span.name)
    return list(dict.fromkeys(names))


def _may_name(run: list[str]) -> bool:
    if all(word.lower() in STOP_WORDS for word in run):
        return False
    return len(run) > 1 or any(sign.isupper() or sign.isdigit() or sign == "@" for sign in run[0])

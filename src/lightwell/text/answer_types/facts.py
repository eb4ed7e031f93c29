"""What a text holds of the kinds of things that questions ask for: figures, dates, names, and marks of how it tells them.

It depends on the text alone. Whether it answers a question is a comparison of this with what is expected (`answer_types`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag
from itertools import chain

from lightwell.text.dates import PartialDate, find_date_texts, find_dates
from lightwell.text.figures import Figure, find_quantities
from lightwell.text.proper_names import find_names
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, load_word_lists

LISTS = load_word_lists("lightwell.text.answer_types")

TIME = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
"""The units of a duration."""

_PART = regex(r"<(\w+)>")


def part_pattern(alternatives: Iterable[str]) -> str:
    """Return a pattern for one of the alternatives, with the parts that they name as `<part>`."""
    pattern = any_of(alternatives)
    return _PART.sub(lambda part: any_of(LISTS["parts"][part[1]]), pattern)


def list_pattern(table: str, name: str) -> str:
    """Return a pattern for what a list names, as whole words."""
    return rf"\b{part_pattern(LISTS[table][name])}\b"


class Mark(IntFlag):
    """What a text has: words for a share, for how often, for how long ("a fortnight"), for a figure ("several"), for a time or a role;
    money in another currency than figures have; an address; a day or a duration after "by".

    The numbers are stored: do not change them.
    """

    SHARE = 1
    OFTEN = 2
    SPOKEN_DURATION = 4
    VAGUE_FIGURE = 8
    OTHER_MONEY = 16
    TIME = 32
    ROLE = 64
    ADDRESS = 128
    DEADLINE = 256


NO_MARK = Mark(0)
_CURRENCY = any_of(LISTS["parts"]["currency"])
_MARKS = {
    Mark.SHARE: list_pattern("texts", "share"),
    Mark.OFTEN: list_pattern("texts", "often"),
    Mark.SPOKEN_DURATION: list_pattern("texts", "duration"),
    Mark.VAGUE_FIGURE: list_pattern("texts", "vague_figure"),
    Mark.OTHER_MONEY: rf"\d(?: (?:thousand|million|billion))? ?{_CURRENCY}\b|\b{_CURRENCY} ?\d|[¥₹₩₽₺] ?\d",
    Mark.TIME: list_pattern("texts", "time"),
    Mark.ROLE: rf"@\w|#\w|{list_pattern('texts', 'role')}",
    Mark.ADDRESS: r"\w@\w|\+?\d[\d ()/-]{6,}\d",
}
_PATTERNS = {mark: regex(pattern, re.IGNORECASE) for mark, pattern in _MARKS.items()}
_BY = regex(list_pattern("texts", "by") + ".{0,40}", re.IGNORECASE | re.DOTALL)
_PERSON = regex(
    r"\b(?!(?:The|This|That|Our|In|On|At|By)\b)[A-ZÀ-Þ][a-zß-ÿ]+(?:[ -][A-ZÀ-Þ]\.)?(?:[ -][A-ZÀ-Þ][a-zß-ÿ]+)+\b|\w@\w"
)
_YEAR = regex(r"(?<![\d.,:/€$£-])(?:1[5-9]|20)\d\d(?![\d.,:/-]\d|\d)")
_ROW = regex(r"^.*\|.*$", re.MULTILINE)
"""Rows of tables: the head of a column may stand for the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a text holds. `row_figures` are the figures in rows of tables, a part of `figures`; `date_texts` has the years, too.

    `dates` are the calendar dates in order. Of each name and each person's name that it has, `names` and `persons` have the terms, between blanks.
    """

    figures: frozenset[Figure] = frozenset()
    row_figures: frozenset[Figure] = frozenset()
    date_texts: frozenset[str] = frozenset()
    dates: tuple[PartialDate, ...] = ()
    names: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    marks: Mark = NO_MARK

    @property
    def has_duration(self) -> bool:
        """Whether a duration is named, in figures or in words."""
        return Mark.SPOKEN_DURATION in self.marks or any(
            figure.unit in TIME for figure in self.figures
        )

    @property
    def name_terms(self) -> frozenset[str]:
        """The terms of all names."""
        return frozenset(term for name in self.names for term in name.split())


NO_FACTS = Facts()


def read_facts(text: str) -> Facts:
    """Return what a text holds."""
    figures = find_quantities(text)
    rows = find_quantities("\n".join(_ROW.findall(text))) if "|" in text else frozenset[Figure]()
    facts = Facts(
        figures=figures,
        row_figures=rows,
        date_texts=find_stated_dates(text),
        dates=find_dates(text),
        names=tuple(dict.fromkeys(" ".join(sorted(name)) for name in find_names(text))),
        persons=tuple(
            dict.fromkeys(" ".join(sorted(set(terms(name[0])))) for name in _PERSON.finditer(text))
        ),
        marks=_find_marks(text),
    )
    return NO_FACTS if facts == NO_FACTS else facts


def join_facts(several: Iterable[Facts]) -> Facts:
    """Return what several texts hold together."""
    parts = [facts for facts in several if facts is not NO_FACTS]
    if len(parts) < 2:
        return parts[0] if parts else NO_FACTS
    marks = NO_MARK
    for part in parts:
        marks |= part.marks
    return Facts(
        figures=frozenset[Figure]().union(*(part.figures for part in parts)),
        row_figures=frozenset[Figure]().union(*(part.row_figures for part in parts)),
        date_texts=frozenset[str]().union(*(part.date_texts for part in parts)),
        dates=tuple(chain.from_iterable(part.dates for part in parts)),
        names=tuple(dict.fromkeys(chain.from_iterable(part.names for part in parts))),
        persons=tuple(dict.fromkeys(chain.from_iterable(part.persons for part in parts))),
        marks=marks,
    )


def find_stated_dates(text: str) -> frozenset[str]:
    """Return the dates, quarters, weekdays and years that a text names, verbatim."""
    return frozenset((*find_date_texts(text), *_YEAR.findall(text)))


def _find_marks(text: str) -> Mark:
    marks = NO_MARK
    for mark, pattern in _PATTERNS.items():
        if pattern.search(text):
            marks |= mark
    if any(_names_a_time(phrase[0]) for phrase in _BY.finditer(text)):
        marks |= Mark.DEADLINE
    return marks


def _names_a_time(phrase: str) -> bool:
    if find_stated_dates(phrase) or _PATTERNS[Mark.SPOKEN_DURATION].search(phrase):
        return True
    return any(figure.unit in TIME for figure in find_quantities(phrase))

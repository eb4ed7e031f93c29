"""Questions for what we owe, and by which day: commitments, deadlines, what is due or late."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from lightwell.text.answer_types.facts import LISTS
from lightwell.text.dates import (
    MONTH,
    MONTH_TERMS,
    MONTHS,
    WEEKDAY,
    WEEKDAYS,
    find_date_places,
    fold_name,
)
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, whole_words

_WORDS = LISTS["owed"]
_LIST = regex(rf"\b{any_of(_WORDS['list'])}", re.IGNORECASE)
_LATE = regex(whole_words(_WORDS["late"]), re.IGNORECASE)
_WHEN = regex(rf"\b{any_of(_WORDS['when'])}", re.IGNORECASE)
_LIGHT = frozenset(terms(" ".join(_WORDS["light"])))
_UNTIL = regex(rf"\b{any_of(_WORDS['until'])}\s+(?:the\s+)?(?:end\s+of\s+)?$", re.IGNORECASE)
_YEAR = regex(r"\b20\d\d\b")
_MONTH = regex(rf"(?<!\d )\b({MONTH})\b(?! ?\d)", re.IGNORECASE)
_DAY_OF_WEEK = regex(rf"\b(?:{WEEKDAY})\b", re.IGNORECASE)
_LEAD = 24
"""Characters before a date in which `by the end of` stands."""
_WEEK = 7
_MONTHS = 12
_RELATIVE = ("today", "tomorrow", "this_week", "next_week", "this_month", "next_month")
_RELATIVE_PATTERNS = tuple(
    (name, regex(whole_words(_WORDS[name]), re.IGNORECASE)) for name in _RELATIVE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedQuestion:
    """A question for all that is owed, or with `asks_when` for the day of one thing; `is_late` asks for what should be done already.

    `terms` are those of the question that may say what it is, without the words by which it asks.
    """

    is_late: bool
    asks_when: bool
    terms: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Days from `first` to `last`, both included; `first` may be the beginning of time."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


def read_owed(question: str) -> OwedQuestion | None:
    """Return how the question asks for what is owed, None for one that does not."""
    asks_when = bool(_WHEN.search(question))
    is_late = bool(_LATE.search(question))
    if not (asks_when or _LIST.search(question)):
        return None
    return OwedQuestion(
        is_late=is_late and not asks_when,
        asks_when=asks_when,
        terms=frozenset(
            term
            for term in terms(_DAY_OF_WEEK.sub(" ", question))
            if term not in _LIGHT and term not in MONTH_TERMS and not term.isdecimal()
        ),
    )


def asked_period(question: str, today: date) -> Period | None:
    """Return the days that the question is about: `in June 2026`, `by Friday`, `this week`; None for none.

    A day without its year is the next one.
    """
    for place, partial in find_date_places(question):
        span = _span(partial.year or _next_year(partial.month, today), partial.month, partial.day)
        if span is not None:
            return _until(question[:place], span)
    if month := _MONTH.search(question):
        number = MONTHS[fold_name(month[1])]
        span = _span(_next_year(number, today), number, 0)
        return _until(question[: month.start()], span) if span else None
    if year := _YEAR.search(question):
        whole = Period(first=date(int(year[0]), 1, 1), last=date(int(year[0]), 12, 31))
        return _until(question[: year.start()], whole)
    if weekday := _DAY_OF_WEEK.search(question):
        number = WEEKDAYS[fold_name(weekday[0])]
        day = today + timedelta(days=(number - today.weekday()) % _WEEK)
        return _until(question[: weekday.start()], Period(first=day, last=day))
    return next(
        (
            _relative(name, today)
            for name, pattern in _RELATIVE_PATTERNS
            if pattern.search(question)
        ),
        None,
    )


def _until(before: str, span: Period) -> Period:
    """Return all days up to the end of the span where `by` stands before it, else the span."""
    is_bound = _UNTIL.search(before[-_LEAD:])
    return Period(first=date.min, last=span.last) if is_bound else span


def _span(year: int, month: int, day: int) -> Period | None:
    try:
        if not day:
            return _month(year, month)
        return Period(first=date(year, month, day), last=date(year, month, day))
    except ValueError:
        return None


def _month(year: int, month: int) -> Period:
    last = date(year, month, monthrange(year, month)[1])
    return Period(first=last.replace(day=1), last=last)


def _next_year(month: int, today: date) -> int:
    return today.year + (month < today.month)


def _relative(name: str, today: date) -> Period:
    match name:
        case "today" | "tomorrow":
            day = today + timedelta(days=name == "tomorrow")
            return Period(first=day, last=day)
        case "this_week" | "next_week":
            monday = today - timedelta(days=today.weekday() - _WEEK * (name == "next_week"))
            return Period(first=monday, last=monday + timedelta(days=_WEEK - 1))
        case _:
            years, month = divmod(today.month - 1 + (name == "next_month"), _MONTHS)
            return _month(today.year + years, month + 1)

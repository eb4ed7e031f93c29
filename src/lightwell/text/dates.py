"""Dates in a text: calendar dates, quarters and weekdays, in English, German and French."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lightwell.text.regex import regex
from lightwell.text.terms import terms

ENGLISH_MONTHS = tuple(
    """january february march april may june july august september october november december""".split()
)
ENGLISH_MONTHS_SHORT = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
GERMAN_MONTHS = tuple(
    "januar februar märz april mai juni juli august september oktober november dezember".split()
)
_FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_OTHER_SPELLINGS = {
    "jänner": 1,
    "fevrier": 2,
    "fév": 2,
    "maerz": 3,
    "avr": 4,
    "juil": 7,
    "aout": 8,
    "sept": 9,
    "okt": 10,
    "decembre": 12,
    "dez": 12,
    "déc": 12,
}
_TABLES = (ENGLISH_MONTHS, ENGLISH_MONTHS_SHORT, GERMAN_MONTHS, _FRENCH.split())
MONTHS = {
    name: number for table in _TABLES for number, name in enumerate(table, start=1)
} | _OTHER_SPELLINGS
"""The number of a month by its name or abbreviation, in lower case."""

MONTH_TERMS = frozenset(terms(" ".join(MONTHS)))
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
"""A pattern of the names of months, for case-insensitive search."""

_NAMES_OF_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
)
WEEKDAYS = {name: day for names in _NAMES_OF_DAYS for day, name in enumerate(names.split())}
"""The number of a day of the week, 0 for Monday, by its name in lower case."""

WEEKDAY = (
    "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|"
    "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
"""A pattern of the names of weekdays as they are written."""

_DATE = regex(
    rf"""\b(?:
      (?P<y1>\d{{4}})-(?P<m1>\d{{2}})-(?P<d1>\d{{2}})
    | (?P<d2>\d{{1,2}})\.\s?(?P<m2>\d{{1,2}})\.\s?(?P<y2>\d{{4}})
    | (?P<d3>\d{{1,2}})(?:\.|st|nd|rd|th|er)?\s(?:of\s)?(?P<m3>{MONTH})\b\.?(?:,?\s(?P<y3>\d{{4}}))?
    | (?P<m4>{MONTH})\.?\s(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s(?P<y4>\d{{4}}))?
    | (?P<m5>{MONTH})\.?\s(?P<y5>\d{{4}})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_DIGIT = regex(r"\d")
"""What every date has."""
_TURKISH = str.maketrans({"ı": "i", "\u0307": ""})
_HEADER = regex(
    r"^\W{0,4}(?:date|datum|stand|last updated|updated|published)\W{0,4}[:|]\W{0,4}(.{0,60})",
    re.IGNORECASE | re.MULTILINE,
)
_BEGINNING = 1_000
"""So many characters of a document may be its header."""
_QUARTER_OR_WEEKDAY = regex(rf"\bQ[1-4](?: \d{{4}})?\b|\b(?:{WEEKDAY})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialDate:
    """A date as far as a text names it; 0 for a part that is missing."""

    year: int
    month: int
    day: int


def fold_name(name: str) -> str:
    """Return a name in lower case with `i` for the Turkish `ı` and `İ`, which a search in any case finds for it."""
    return name.casefold().translate(_TURKISH)


def find_dates(text: str) -> tuple[PartialDate, ...]:
    """Return the calendar dates that a text names, in order."""
    return tuple(date for _, date in find_date_places(text))


def find_date_places(text: str) -> Iterator[tuple[int, PartialDate]]:
    """Yield the calendar dates that a text names with the place where each begins, in order."""
    if not _DIGIT.search(text):  # the pattern tries the months at each word
        return iter(())
    return ((match.start(), _partial_date(match)) for match in _DATE.finditer(text))


def find_first_date(text: str) -> datetime | None:
    """Return the first day or month with a year that the text names, its beginning in UTC; None for none."""
    return first_moment(find_dates(text))


def first_moment(dates: Iterable[PartialDate]) -> datetime | None:
    """Return the beginning of the first of the dates that has a month and a year, in UTC; None for none."""
    return next(filter(None, map(_moment, dates)), None)


def _moment(date: PartialDate) -> datetime | None:
    try:
        return datetime(date.year, date.month, date.day or 1, tzinfo=UTC)
    except ValueError:
        return None


def find_first_day(text: str) -> datetime | None:
    """Return the first day with a month and a year, as in the name `2026-02-10-osprey.md`, in UTC; None for none."""
    days = (date for date in find_dates(text) if date.day and date.year)
    return next(filter(None, map(_moment, days)), None)


def find_header_date(parts: Sequence[str]) -> datetime | None:
    """Return the day in a line such as `Date: 10 February 2026` at the beginning of a document, of which these are the first parts; None for none."""
    header = _HEADER.search("\n".join(parts)[:_BEGINNING])
    return find_first_day(header[1]) if header else None


def find_date_texts(text: str) -> tuple[str, ...]:
    """Return the dates, quarters and weekdays that a text names, verbatim, each once, in order."""
    spans = [match.span() for match in _DATE.finditer(text)] if _DIGIT.search(text) else []
    apart = _QUARTER_OR_WEEKDAY.finditer(mask_dates(text))
    spans = sorted([*spans, *(match.span() for match in apart)])
    return tuple(dict.fromkeys(" ".join(text[start:end].split()) for start, end in spans))


def mask_dates(text: str) -> str:
    """Return the text with `|` for each character of its calendar dates, so that other places stay."""
    return _DATE.sub(lambda match: "|" * len(match[0]), text) if _DIGIT.search(text) else text


def _partial_date(match: re.Match[str]) -> PartialDate:
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    month = parts["m"]
    return PartialDate(
        year=int(parts.get("y", "0")),
        month=int(month) if month.isdecimal() else MONTHS[fold_name(month)],
        day=int(parts.get("d", "0")),
    )

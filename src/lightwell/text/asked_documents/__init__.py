"""Of which documents does a question say that it is asked? "Issues by Ada", "messages from last month", "in Linear".

A date, a person or a system in a question is mostly what it is about: "What is due in June 2026?". So each counts only where
it stands beside a word for documents, or for writing one.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from lightwell.text.dates import MONTH, MONTHS, WEEKDAY, WEEKDAYS, fold_name
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

_LISTS = load_word_lists("lightwell.text.asked_documents")
_MOST_IN_WORDS = 12
_NUMBERS = {
    word: int(number)
    for number, forms in load_word_lists("lightwell.text")["numbers"].items()
    if int(number) <= _MOST_IN_WORDS
    for word in forms
}


class Part(StrEnum):
    """What a phrase says of the documents."""

    SYSTEM = "system"
    TYPE = "type"
    AUTHOR = "author"
    SINCE = "since"
    UNTIL = "until"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words of a question, `question[start:end]`, that say of which documents it is asked: of one with one of the `values`."""

    part: Part
    values: tuple[str, ...]
    start: int
    end: int


def _of(table: str, *names: str) -> str:
    return any_of(form for name in names for form in _LISTS[table].get(name, ()))


_BORDERS = tuple(
    (name, regex(_of("days", name), re.IGNORECASE))
    for name in ("since", "after", "before", "until")
)
_UNITS = {unit: regex(_of("days", unit), re.IGNORECASE) for unit in ("week", "month", "year")}
_COUNTED = {
    unit: regex(_of("days", f"{unit}_count"), re.IGNORECASE)
    for unit in ("day", "week", "month", "year")
}
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
_UNIT = any_of(unit.pattern for unit in _UNITS.values())
_PREPOSITION = any_of(
    sorted(
        (*_LISTS["documents"]["of_days"], *(border.pattern for _, border in _BORDERS)),
        key=len,
        reverse=True,
    )
)
_RELATIVE = "|".join(
    (
        rf"(?P<today>{_of('days', 'today')})",
        rf"(?P<yesterday>{_of('days', 'yesterday')})",
        rf"{_of('days', 'this')}\s(?P<this>{_UNIT})",
        rf"(?:the\s)?{_of('days', 'last')}\s(?P<last>{_UNIT})",
        rf"(?:la\s|le\s|l['’])?(?P<past>{_UNIT})\s{_of('days', 'last_after')}",
        rf"{_of('days', 'recent')}\s(?P<count>\d{{1,3}}|{any_of(_NUMBERS)})\s"
        rf"(?P<counted>{any_of(unit.pattern for unit in _COUNTED.values())})",
    )
)
_CALENDAR = "|".join(
    (
        r"(?P<year1>(?:19|20)\d\d)-(?P<month1>\d\d)-(?P<day1>\d\d)",
        rf"(?:(?P<day2>\d{{1,2}})\.?\s)?(?P<month2>{MONTH})\b(?:\s(?P<day3>\d{{1,2}})(?!\d),?)?"
        r"(?:\s(?P<year2>(?:19|20)\d\d))?",
        r"(?P<year3>(?:19|20)\d\d)",
        rf"(?P<weekday>{WEEKDAY})",
    )
)
_DAYS = regex(
    rf"\b(?:(?P<preposition>{_PREPOSITION})\s+)?(?:{_RELATIVE}|(?P<calendar>{_CALENDAR}))\b",
    re.IGNORECASE,
)

_KINDS = {kind: regex(whole_words(forms), re.IGNORECASE) for kind, forms in _LISTS["kinds"].items()}
_KIND = any_of(form for forms in _LISTS["kinds"].values() for form in forms)
_NOUN = any_of((*_LISTS["documents"]["any"], _KIND))
_NOUN_BEFORE = regex(rf"\b{_NOUN}(?:\s+\w+)?\W*$", re.IGNORECASE)
_ANY_KIND = regex(rf"\b{_KIND}\b", re.IGNORECASE)
_KIND_BEFORE = regex(rf"\b({_KIND})\W*$", re.IGNORECASE)
_SYSTEM = "(?:Linear|[Aa]ttio|[Cc]hatwoot|[Gg]it[Hh]ub)"
_ALSO = rf"(?:\s*(?:,|and|or|und|oder|et|ou)\s+{_SYSTEM})*"


def _in_any_case(pattern: str) -> str:
    return f"(?i:{pattern})"


_IN_SYSTEM = regex(rf"\b{_in_any_case(_of('documents', 'in_system'))}\s({_SYSTEM}{_ALSO})\b")
_FROM_SYSTEM = regex(
    rf"\b{_in_any_case(_NOUN)}\s({_in_any_case(_of('documents', 'from_system'))}\s{_SYSTEM}{_ALSO})\b"
)
_SYSTEM_NOUN = regex(rf"\b({_SYSTEM})(?=\s{_in_any_case(_KIND)}\b)")
_ACCORDING = regex(rf"\b{_in_any_case(_of('documents', 'according'))}\s({_SYSTEM}{_ALSO})\b")
_ONE_SYSTEM = regex(_SYSTEM)

_NAME_PART = r"[A-ZÀ-ÖØ-Þ](?:[\w'’.-]{0,30}\w|\.)"
_NAME = rf"({_NAME_PART}(?:\s{_NAME_PART}){{0,2}})"
_WRITTEN = _in_any_case(_of("saying", "written"))
_AUTHORS = tuple(
    regex(pattern)
    for pattern in (
        rf"\b{_in_any_case(_NOUN)}\s(?P<words>{_in_any_case(_of('documents', 'from'))}\s{_NAME})",
        rf"\b{_WRITTEN}\s(?P<words>{_in_any_case(_of('documents', 'from'))}\s{_NAME})",
        rf"\b(?P<words>{_in_any_case(_of('saying', 'did'))}\s{_NAME}\s{_in_any_case(_of('saying', 'wrote'))})\b",
        rf"\b(?P<words>{_in_any_case(_of('saying', 'has'))}\s{_NAME})(?:\s[^\s?]+){{0,6}}?\s{_WRITTEN}\b",
        rf"\b(?P<words>{_NAME}\s{_in_any_case(_of('saying', 'has_before'))}\s{_WRITTEN})\b",
        rf"\b(?P<words>{_in_any_case('von')}\s{_NAME})\s{_WRITTEN}\b",
    )
)
_NO_AUTHOR = regex(rf"(?:{MONTH}|{_SYSTEM})$", re.IGNORECASE)

_HOW_TO = regex(rf"^\W*{_of('never', 'howto')}", re.IGNORECASE)
_DUE = regex(whole_words(_LISTS["never"]["due"]), re.IGNORECASE)
_FIGURE = regex(rf"^\W*{_of('never', 'figure')}\b", re.IGNORECASE)
_NEWS = regex(rf"^\W*{_of('saying', 'news')}\b", re.IGNORECASE)
_SAID = regex(rf"\b{_of('saying', 'said')}\b(?P<rest>[^?]*)$", re.IGNORECASE)
_SAID_AFTER = regex(rf"^(?P<rest>[^?]*?)\b{_of('saying', 'said_after')}\b", re.IGNORECASE)
_OTHER = regex(whole_words(_LISTS["saying"]["other"]), re.IGNORECASE)

_LOOSE = regex(r" (?=[?.,])|,(?= ?\?)")
"""A blank, or a comma, before the sign that ends the question."""

_COMMAND = regex(rf"^\W*{_of('documents', 'command')}\b(?: the\b)?", re.IGNORECASE)
_LISTING = regex(whole_words(_LISTS["documents"]["listing"]), re.IGNORECASE)


def find_phrases(question: str, today: date) -> tuple[Phrase, ...]:
    """Return what a question says of the documents that it is asked of, in order; `today` is what "last month" is told from."""
    phrases = [*_systems(question), *_authors(question)]
    phrases += _days(question, today, tuple(phrases))
    if phrases:
        phrases += _kinds(question, tuple(phrases))
    return tuple(sorted(phrases, key=lambda phrase: (phrase.start, phrase.part)))


def without(question: str, phrases: Sequence[Phrase]) -> str:
    """Return the question without these phrases, to search for; also without "show me", and "what is new" before such days."""
    cut = {(phrase.start, phrase.end) for phrase in phrases}
    for start, end in sorted(cut, reverse=True):
        question = f"{question[:start]} {question[end:]}"
    if any(phrase.part in (Part.SINCE, Part.UNTIL) for phrase in phrases):
        question = _NEWS.sub("", question)
    question = _COMMAND.sub("", question)
    return _LOOSE.sub("", " ".join(question.split())).lstrip(" ,")


def asks_for_documents(question: str, phrases: Sequence[Phrase]) -> bool:
    """Return whether a question says nothing but of which documents it is asked: "latest tickets in Linear".

    A type that no document has names nothing to search for either: "notes by Ada".
    """
    return not terms(_ANY_KIND.sub("", _LISTING.sub("", without(question, phrases))))


def _systems(question: str) -> Iterator[Phrase]:
    patterns = [_ACCORDING]
    if not _HOW_TO.search(question):
        patterns += [_IN_SYSTEM, _FROM_SYSTEM, _SYSTEM_NOUN]
    taken: set[str] = set()
    for pattern in patterns:
        for match in pattern.finditer(question):
            names = tuple(name.casefold() for name in _ONE_SYSTEM.findall(match[1]))
            if taken.isdisjoint(names):
                taken.update(names)
                start = match.start(1) if pattern in (_FROM_SYSTEM, _SYSTEM_NOUN) else match.start()
                yield Phrase(part=Part.SYSTEM, values=names, start=start, end=match.end(1))


def _authors(question: str) -> Iterator[Phrase]:
    for pattern in _AUTHORS:
        for match in pattern.finditer(question):
            name = match[2]
            if not _NO_AUTHOR.match(name):
                start, end = match.span("words")
                yield Phrase(part=Part.AUTHOR, values=(name,), start=start, end=end)
                return


def _kinds(question: str, phrases: tuple[Phrase, ...]) -> Iterator[Phrase]:
    """Yield the first type that the question names, if it names a system or a person too, or the type's days."""
    days = [phrase for phrase in phrases if phrase.part in (Part.SINCE, Part.UNTIL)]
    if len(days) == len(phrases):
        match = _KIND_BEFORE.search(question[: days[0].start])
        places = [match.span(1)] if match else []
    else:
        places = [match.span() for match in _ANY_KIND.finditer(question)]
    for start, end in places[:1]:
        values = tuple(kind for kind, form in _KINDS.items() if form.fullmatch(question[start:end]))
        yield Phrase(part=Part.TYPE, values=values, start=start, end=end)


def _days(question: str, today: date, beside: tuple[Phrase, ...]) -> Iterator[Phrase]:
    """Yield since when and until when the first span of days lasts that says of the documents when they were written."""
    if _DUE.search(question):
        return
    for match in _DAYS.finditer(question):
        since, until = _span(match, today)
        if (since or until) and (not since or since <= today) and _is_of_documents(match, beside):
            start, end = match.span()
            for part, day in ((Part.SINCE, since), (Part.UNTIL, until)):
                if day:
                    yield Phrase(part=part, values=(day.isoformat(),), start=start, end=end)
            return


def _is_of_documents(match: re.Match[str], beside: tuple[Phrase, ...]) -> bool:
    question, before, after = (
        match.string,
        match.string[: match.start()],
        match.string[match.end() :],
    )
    is_calendar = match["calendar"] is not None
    if is_calendar and match["preposition"] is None:
        return False
    if _NOUN_BEFORE.search(before) or any(
        not question[phrase.end : match.start()].strip() for phrase in beside
    ):
        return True
    if _FIGURE.search(question):
        return False
    if _NEWS.search(question) and (not is_calendar or _border(match) == "since"):
        return True
    for saying in (_SAID.search(before), _SAID_AFTER.search(after)):
        if saying and not _OTHER.search(saying["rest"]):
            return True
    return False


def _border(match: re.Match[str]) -> str:
    preposition = match["preposition"] or ""
    return next((name for name, form in _BORDERS if form.fullmatch(preposition)), "")


def _span(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    """Return the first and the last day that a phrase names, None for an open end and for what is no day."""
    first, last = _named_days(match, today)
    if first is None:
        return None, None
    match _border(match):
        case "since":
            return first, None
        case "after":
            return (last or today) + timedelta(days=1), None
        case "before":
            return None, first - timedelta(days=1)
        case "until":
            return None, last
        case _:
            return first, last if last and last < today else None


def _named_days(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    if match["today"]:
        return today, today
    if match["yesterday"]:
        return today - timedelta(days=1), today - timedelta(days=1)
    if match["this"]:
        return _first_day(_name_of(match["this"], _UNITS), today), today
    if past := match["last"] or match["past"]:
        unit = _name_of(past, _UNITS)
        last = _first_day(unit, today) - timedelta(days=1)
        return _first_day(unit, last), last
    if number := match["count"]:
        count = int(number) if number.isdecimal() else _NUMBERS[fold_name(number)]
        length = _LENGTHS[_name_of(match["counted"], _COUNTED)]
        return today - timedelta(days=count * length), today
    if match["weekday"]:
        day = WEEKDAYS[fold_name(match["weekday"])]
        first = today - timedelta(days=(today.weekday() - day) % 7)
        return first, first
    return _calendar_days(match, today)


def _calendar_days(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    try:
        if match["year1"]:
            day = date(int(match["year1"]), int(match["month1"]), int(match["day1"]))
            return day, day
        if match["year3"]:
            return date(int(match["year3"]), 1, 1), date(int(match["year3"]), 12, 31)
        month = MONTHS[fold_name(match["month2"])]
        year = int(match["year2"] or today.year - (month > today.month))
        if day := match["day2"] or match["day3"]:
            named = date(year, month, int(day))
            return named, named
        return date(year, month, 1), date(year, month, monthrange(year, month)[1])
    except ValueError:
        return None, None


def _first_day(unit: str, day: date) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def _name_of(text: str, forms: dict[str, re.Pattern[str]]) -> str:
    return next(name for name, form in forms.items() if form.fullmatch(text))

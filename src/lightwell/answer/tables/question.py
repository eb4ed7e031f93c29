"""The words of a question as far as they may ask for a computation: what is made of rows, and with what amounts and days they are compared."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from lightwell.domain.tables import Aggregate
from lightwell.text.dates import find_date_places, mask_dates
from lightwell.text.regex import regex
from lightwell.text.tables.cells import DAY, read_cell
from lightwell.text.tables.keys import word_key
from lightwell.text.terms import words
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

_LISTS = load_word_lists("lightwell.answer.tables")
_AGGREGATES = tuple(
    (aggregate, regex(whole_words(_LISTS["aggregates"][aggregate]), re.IGNORECASE))
    for aggregate in Aggregate
)
_TOGETHER = regex(whole_words(_LISTS["together"]["words"]), re.IGNORECASE)
_LIGHT, _SOFT = (
    frozenset(word_key(folded) for word in _LISTS[name]["words"] for folded in words(word))
    for name in ("light", "soft")
)
_YES_OR_NO = regex(rf"\W*{whole_words(_LISTS['yes_or_no']['words'])}", re.IGNORECASE)
_GROUPING = regex(whole_words(_LISTS["grouping"]["words"]), re.IGNORECASE)
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*")
_COMPARING = _LISTS["comparing"]
_OVER, _UNDER, _AT_LEAST, _AT_MOST, _WITHIN, _BETWEEN, _AND = (
    any_of(_COMPARING[name])
    for name in ("over", "under", "least", "most", "within", "between", "and")
)
_DIGITS = r"\d+(?:[.,'’]\d+)*"
_AMOUNT = (
    rf"(?:[€$£]\s?)?{_DIGITS}(?:\s?(?:k|m|mn|bn|million|millionen|mio|thousand)\b\.?)?"
    r"(?:\s?(?:[€$£%]|(?:eur|usd|gbp|chf|euros?|dollars?|percent|prozent)\b))?"
)
_DAY = r"\|+|(?:19|20)\d\d\b|Q[1-4] (?:19|20)\d\d\b"
"""Dates are masked by `|` when this is searched."""

_COMPARISON = regex(
    rf"(?<!\w)(?:(?P<between>{_BETWEEN})\s+(?P<low>{_DAY}|{_AMOUNT})\s+{_AND}\s+(?P<high>{_DAY}|{_AMOUNT})"
    rf"|(?:(?P<most>{_AT_MOST})|(?P<least>{_AT_LEAST})|(?P<over>{_OVER})|(?P<under>{_UNDER})|(?P<within>{_WITHIN}))\s*(?P<operand>{_DAY}|{_AMOUNT}))"
    r"(?!\w)",
    re.IGNORECASE,
)
_EXACTLY = regex(r"exactly|equal|genau|gleich|=", re.IGNORECASE)
_YEAR = regex(r"(?:19|20)\d\d")
_QUARTER = regex(r"Q([1-4]) (\d{4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of the question with its place and its key; `number` counts the words, and `text` is in small letters."""

    number: int
    start: int
    end: int
    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An amount or days that rows are compared with: `question[start:end]` says it, `span` as a range of figures, `unit` is `DAY` for days."""

    start: int
    end: int
    span: str
    unit: str
    text: str

    def is_below(self, figure: int) -> bool:
        """Return whether all figures that it names are below this one."""
        return all(Decimal(bound) < figure for bound in self.span.strip("[]()").split(",") if bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedComputation:
    """What a question asks for: `words` are those that a table has to know; `group` is the word that begins the name of the column whose values are
    told apart, None where none are.
    """

    aggregate: Aggregate
    words: tuple[Word, ...]
    comparisons: tuple[Comparison, ...]
    group: int | None = None


def read_question(question: str) -> AskedComputation | None:
    """Return what a question asks for; None where it asks for nothing of this, or for several at once."""
    if _YES_OR_NO.match(question):
        return None
    places = [
        (aggregate, match)
        for aggregate, pattern in _AGGREGATES
        for match in pattern.finditer(question)
    ]
    kinds = {aggregate for aggregate, _ in places}
    if Aggregate.COUNT in kinds and _TOGETHER.search(question):
        kinds.discard(Aggregate.SUM)
    if Aggregate.SUM in kinds and Aggregate.LIST in kinds:
        kinds.discard(Aggregate.LIST)
    if len(kinds) != 1:
        return None
    comparisons = _comparisons(question)
    covered = [match.span() for _, match in places]
    covered += [(comparison.start, comparison.end) for comparison in comparisons]
    groups = [
        match
        for match in _GROUPING.finditer(question)
        if not any(start <= match.start() < end for start, end in covered)
    ]
    covered += [match.span() for match in groups]
    remaining = tuple(
        word
        for word in _words(question)
        if not any(start <= word.start < end for start, end in covered)
    )
    if len(groups) > 1:
        return None
    return AskedComputation(
        aggregate=kinds.pop(),
        words=remaining,
        comparisons=tuple(comparisons),
        group=sum(word.start < groups[0].start() for word in remaining) if groups else None,
    )


def is_light(key: str, *, may_name: bool = False) -> bool:
    """Return whether a word says nothing that a table would have to know; with `may_name`, nor can be the name of a column."""
    return key in _LIGHT or (key in _SOFT and not may_name)


def _words(question: str) -> list[Word]:
    return [
        Word(
            number=number,
            start=match.start(),
            end=match.end(),
            key=" ".join(map(word_key, words(match[0]))),
            text=match[0].casefold(),
        )
        for number, match in enumerate(_WORD.finditer(question))
    ]


def _comparisons(question: str) -> list[Comparison]:
    masked = mask_dates(question)
    return [
        comparison
        for match in _COMPARISON.finditer(masked)
        if (comparison := _comparison(question, match))
    ]


def _comparison(question: str, match: re.Match[str]) -> Comparison | None:
    def read(name: str) -> tuple[Decimal, Decimal, str] | None:
        start, end = match.span(name)
        return _operand(question[start:end])

    text = " ".join(question[match.start() : match.end()].split())
    if match["between"]:
        low, high = read("low"), read("high")
        if low is None or high is None:
            return None
        if low[0] > high[1] or (low[2] == DAY) != (high[2] == DAY):
            return None
        span, unit = f"[{low[0]},{high[1]}]", high[2] or low[2]
    else:
        operand = read("operand")
        if operand is None:
            return None
        least, most, unit = operand
        if match["within"] and unit != DAY and not _EXACTLY.match(text):
            return None
        span = _span(match, least, most)
    return Comparison(start=match.start(), end=match.end(), span=span, unit=unit, text=text)


def _span(match: re.Match[str], least: Decimal, most: Decimal) -> str:
    if match["over"]:
        return f"({most},]"
    if match["least"]:
        return f"[{least},]"
    if match["under"]:
        return f"[,{least})"
    if match["most"]:
        return f"[,{most}]"
    return f"[{least},{most}]"


def _operand(text: str) -> tuple[Decimal, Decimal, str] | None:
    """Return the least and the greatest figure that an amount, a day, a month, a quarter or a year is, and its unit."""
    if days := _days(text):
        first, last = (Decimal(day.year * 10_000 + day.month * 100 + day.day) for day in days)
        return first, last, DAY
    amount = read_cell(text, decimal="'", is_scaled=True)
    return (amount.value, amount.value, amount.unit) if amount else None


def _days(text: str) -> tuple[date, date] | None:
    if _YEAR.fullmatch(text):
        return date(int(text), 1, 1), date(int(text), 12, 31)
    if quarter := _QUARTER.fullmatch(text):
        last = 3 * int(quarter[1])
        year = int(quarter[2])
        return date(year, last - 2, 1), date(year, last, monthrange(year, last)[1])
    partial = next((partial for _, partial in find_date_places(text)), None)
    if partial is None or not partial.year:
        return None
    try:
        last_day = partial.day or monthrange(partial.year, partial.month)[1]
        return (
            date(partial.year, partial.month, partial.day or 1),
            date(partial.year, partial.month, last_day),
        )
    except ValueError:
        return None

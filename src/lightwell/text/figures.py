"""Figures: numbers with their units, in digits or in words, in English, German and French; dates are in `dates`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from lightwell.text.dates import MONTHS, PartialDate, find_date_places, find_dates, mask_dates
from lightwell.text.regex import regex
from lightwell.text.terms import terms, words
from lightwell.text.word_lists import load_word_lists

_LISTS = load_word_lists("lightwell.text")
UNIT_NAMES = {name: unit for unit, names in _LISTS["units"].items() for name in names}
"""The unit that each word or sign names."""

ABBREVIATIONS = {"h": "hour", "s": "second", "m": "metre", "g": "gram", "t": "tonne", "l": "litre"}
"""Letters that name a unit only directly after a number."""

CURRENCIES = frozenset({"eur", "usd", "gbp", "chf"})
_KINDS = {
    "time": {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800},
    "calendar": {"month": 1, "year": 12},
    "data": {"byte": 1, "kilobyte": 10**3, "megabyte": 10**6, "gigabyte": 10**9, "terabyte": 10**12},
    "length": {"millimetre": 1, "centimetre": 10, "metre": 1000, "kilometre": 10**6},
    "mass": {"gram": 1, "kilogram": 1000, "tonne": 10**6},
    "volume": {"millilitre": 1, "litre": 1000},
    "power": {"watt": 1, "kilowatt": 1000, "megawatt": 10**6},
    "energy": {"kilowatt hour": 1, "megawatt hour": 1000, "gigawatt hour": 10**6},
    "money": {"cent": 1, **dict.fromkeys(CURRENCIES, 100)},
}  # fmt: skip
_CONVERSIONS = {
    unit: (kind, Decimal(factor))
    for kind, units in _KINDS.items()
    for unit, factor in units.items()
}

SCALES = {name: int(scale) for scale, names in _LISTS["scales"].items() for name in names}
_ONE = frozenset(_LISTS["numbers"]["1"])
"""They are a number only before a unit."""
_NUMBER_WORDS = {
    name: number for number, names in _LISTS["numbers"].items() for name in names if number != "1"
}
_ONES = {
    **dict.fromkeys(_ONE, 1),
    **{word: int(number) for word, number in _NUMBER_WORDS.items() if int(number) < 10},
}
_TENS = {word: int(number) for word, number in _NUMBER_WORDS.items() if int(number) >= 20}
"""Before one of `_ONES` they make one number: forty-two."""
_KNOWN_UNITS = frozenset(UNIT_NAMES.values())
_DATE_UNIT = "date"
_TOKEN = regex(
    r"(?P<number>(?:(?<![\w)])[-−])?(?:(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,:’']\d+)*))"
    r"|(?P<word>[^\W\d_]+(?:[’'][^\W\d_]+)*)|(?P<sign>[%€$£])|(?P<gap>(?:[\s*_°]|-(?!\d)|(?<=\w)-)+)|(?P<stop>.)"
)
_IDENTIFIER = regex(r"\b[^\W\d_]\w*(?:[-./:]\w+)*")
_GROUPED = regex(r"-?\d{1,3}(?:([., \u00a0\u202f’'])\d{3})(?:\1\d{3})*")
_GROUPING = regex(r"[., \u00a0\u202f’']")
_MAX_WORDS_TO_UNIT = 3
_MOST_BETWEEN = 3
"""Tokens between a number and its unit, such as those of "(10)"."""
_CURRENCY_WORDS = frozenset("€ $ £ eur usd gbp chf".split())
"""What names a currency before a figure."""
_WORDS_BEFORE, _WORDS_AFTER = 4, 3
_CONTEXT_SIZE = 300
"""Characters around a figure in which context words are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its unit: `18`, `percent`; `unit` is "" where the text names none."""

    value: str
    unit: str


def find_figures(text: str) -> frozenset[Figure]:
    """Return the numbers in a text with their units, also small numbers in words and the years of dates.

    Other numbers in dates, and those in identifiers such as `ENG-42`, do not count.
    """
    years = {Figure(value=str(day.year), unit=_DATE_UNIT) for day in find_dates(text) if day.year}
    return frozenset(years.union(figure for _, figure in _figures(text)))


def find_quantities(text: str) -> frozenset[Figure]:
    """Return the figures of a text as `find_figures` does, without the years of dates."""
    return frozenset(figure for _, figure in _figures(text))


def facts_with_context(text: str) -> list[tuple[Figure | PartialDate, frozenset[str]]]:
    """Return each figure and date of a text with the terms around it."""
    placed: list[tuple[int, Figure | PartialDate]] = [*_figures(text)]
    placed.extend(find_date_places(text))
    return [
        (fact, _context(text, start)) for start, fact in sorted(placed, key=lambda pair: pair[0])
    ]


def _context(text: str, start: int) -> frozenset[str]:
    before = text[max(0, start - _CONTEXT_SIZE) : start]
    behind = text[start : start + _CONTEXT_SIZE]
    near = [*words(before)[-_WORDS_BEFORE:], *words(behind)[: _WORDS_AFTER + 1]]
    bare = [
        word for word in near if word not in UNIT_NAMES and word not in MONTHS and word.isalpha()
    ]
    return frozenset(terms(" ".join(bare)))


def may_be_equal(fact: Figure | PartialDate, other: Figure | PartialDate) -> bool:
    """Return whether two facts may be equal: no differing unit or date part."""
    match fact, other:
        case Figure(), Figure():
            is_same = fact.value == other.value and _may_count_same_unit(fact.unit, other.unit)
            return is_same or are_equal_quantities(fact.value, fact.unit, other.value, other.unit)
        case PartialDate(), PartialDate():
            pairs = ((fact.year, other.year), (fact.month, other.month), (fact.day, other.day))
            return all(mine == others or not mine or not others for mine, others in pairs)
        case _:
            return False


def conflict(fact: Figure | PartialDate, other: Figure | PartialDate) -> bool:
    """Return whether two facts contradict: another number with one unit, or another date."""
    match fact, other:
        case Figure(), Figure():
            return bool(fact.unit) and fact.unit == other.unit and fact.value != other.value
        case PartialDate(), PartialDate():
            return not may_be_equal(fact, other)
        case _:
            return False


def _may_count_same_unit(unit: str, other: str) -> bool:
    if _DATE_UNIT in (unit, other):
        return unit not in _KNOWN_UNITS and other not in _KNOWN_UNITS
    is_known = unit in _KNOWN_UNITS or other in _KNOWN_UNITS
    return unit == other or not unit or not other or not is_known


def _figures(text: str) -> list[tuple[int, Figure]]:
    """Return each figure with its start offset."""
    plain = _IDENTIFIER.sub(_without_number, mask_dates(text))
    matches = [match for match in _TOKEN.finditer(plain) if match.lastgroup != "gap"]
    tokens = [(match.lastgroup or "", match[0].casefold()) for match in matches]
    return [
        (match.start(), figure)
        for place, match in enumerate(matches)
        for figure in _figure(tokens, place)
    ]


def _blank(match: re.Match[str]) -> str:
    return "|" * len(match[0])


def _without_number(match: re.Match[str]) -> str:
    word = match[0]
    return _blank(match) if not word.isalpha() and any(map(str.isdigit, word)) else word


def _figure(tokens: Sequence[tuple[str, str]], place: int) -> Iterable[Figure]:
    kind, text = tokens[place]
    before = tokens[place - 1][1] if place else ""
    if before in _TENS and text in _ONES:
        return
    behind = place + 1
    number = text if kind == "number" else _NUMBER_WORDS.get(text, "")
    if text in _TENS and tokens[behind : behind + 1] and tokens[behind][1] in _ONES:
        number = str(_TENS[text] + _ONES[tokens[behind][1]])
        behind += 1
    if not number and text not in _ONE:
        return
    after = _after_number(tokens[behind : behind + 1 + _MAX_WORDS_TO_UNIT + _MOST_BETWEEN])
    if not number:
        if not (after and after[0][1] in UNIT_NAMES):
            return
        number = "1"
    scale = SCALES.get(after[0][1], 1) if after else 1
    currency = before if before in _CURRENCY_WORDS else ""
    unit = UNIT_NAMES.get(currency) or _unit(after[1:] if scale > 1 else after[:_MAX_WORDS_TO_UNIT])
    yield Figure(value=_value(number, scale), unit=unit)


def _after_number(tokens: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the tokens behind a number without what may stand before its unit: "2.5+ years", "ten (10) years", "3 or more days"."""
    next_words = [text for _, text in tokens[:_MOST_BETWEEN]]
    if next_words[:1] == ["+"]:
        tokens = tokens[1:]
    elif next_words[:1] == ["("] and next_words[2:] == [")"] and tokens[1][0] == "number":
        tokens = tokens[_MOST_BETWEEN:]
    elif next_words[:1] == ["or"] and next_words[1:2] in (["more"], ["fewer"], ["less"]):
        tokens = tokens[2:]
    return tokens[: _MAX_WORDS_TO_UNIT + 1]


def _unit(after: Sequence[tuple[str, str]]) -> str:
    if after and after[0][1] in ABBREVIATIONS:
        return ABBREVIATIONS[after[0][1]]
    first = ""
    for kind, text in after:
        if kind not in ("word", "sign"):
            break
        if text in UNIT_NAMES:
            return UNIT_NAMES[text]
        if not first:
            first = next(iter(terms(text)), "-")
    return first.strip("-")


def _value(number: str, scale: int) -> str:
    bare = number.replace("−", "-")
    if _GROUPED.fullmatch(bare):
        bare = _GROUPING.sub("", bare)
    try:
        return format((Decimal(bare.replace(",", ".")) * scale).normalize(), "f")
    except InvalidOperation:
        return bare


def are_equal_quantities(value: str, unit: str, other_value: str, other_unit: str) -> bool:
    """Return whether two amounts in different units are the same: 36 months are three years, 80 cents are 0.80 dollars."""
    conversion, other = _CONVERSIONS.get(unit), _CONVERSIONS.get(other_unit)
    if (
        conversion is None
        or other is None
        or conversion[0] != other[0]
        or {unit, other_unit} <= CURRENCIES
    ):
        return False
    try:
        return Decimal(value) * conversion[1] == Decimal(other_value) * other[1]
    except ArithmeticError:
        return False


def possible_units(word: str) -> frozenset[str]:
    """Return the units that a figure before this word may have; none for a stop word."""
    return frozenset({UNIT_NAMES.get(word.casefold()) or next(iter(terms(word)), "")} - {""})

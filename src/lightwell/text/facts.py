"""Facts of a sentence that a statement must not change: figures, proper names, negation; dates are in `dates`.

The word lists cover English, German and French; the rest is independent of language.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from lightwell.text.dates import MONTHS, PartialDate, find_date_places, find_dates, mask_dates
from lightwell.text.terms import STOP_WORDS, terms, words
from lightwell.text.units_of_measure import ABBREVIATIONS, UNIT_NAMES, are_equal_quantities


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its unit: `18`, `percent`; `unit` is "" where the text names none."""

    value: str
    unit: str


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────

_KNOWN_UNITS = frozenset(UNIT_NAMES.values())
_DATE_UNIT = "date"
_SCALES = {
    name: scale
    for scale, names in {
        100: "hundred hundert",
        1_000: "thousand tausend mille",
        1_000_000: "million millions millionen mio",
        1_000_000_000: "billion billions milliarde milliarden milliard milliards mrd",
    }.items()
    for name in names.split()
}
_NUMBER_WORDS = {
    name: str(number)
    for number, names in {
        2: "two zwei deux",
        3: "three drei trois",
        4: "four vier quatre",
        5: "five fünf cinq",
        6: "six sechs",
        7: "seven sieben sept",
        8: "eight acht huit",
        9: "nine neun neuf",
        10: "ten zehn dix",
        11: "eleven elf onze",
        12: "twelve zwölf douze",
        13: "thirteen dreizehn treize",
        14: "fourteen vierzehn quatorze",
        15: "fifteen fünfzehn quinze",
        16: "sixteen sechzehn seize",
        17: "seventeen siebzehn",
        18: "eighteen achtzehn",
        19: "nineteen neunzehn",
        20: "twenty zwanzig vingt",
        30: "thirty dreißig trente",
        40: "forty vierzig quarante",
        50: "fifty fünfzig cinquante",
        60: "sixty sechzig soixante",
        70: "seventy siebzig",
        80: "eighty achtzig",
        90: "ninety neunzig",
    }.items()
    for name in names.split()
}
_ONES = {
    "one": 1,
    **{word: int(number) for word, number in _NUMBER_WORDS.items() if int(number) < 10},
}
_TENS = {word: int(number) for word, number in _NUMBER_WORDS.items() if int(number) >= 20}
"""Before one of `_ONES` they make one number: forty-two."""
_ONE = frozenset({"one", "ein", "eine", "einer", "einem", "einen", "un", "une"})
_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w)])[-−])?(?:(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,:’']\d+)*))"
    r"|(?P<word>[^\W\d_]+(?:[’'][^\W\d_]+)*)|(?P<sign>[%€$£])|(?P<gap>(?:[\s*_°]|-(?!\d)|(?<=\w)-)+)|(?P<stop>.)"
)
_IDENTIFIER = re.compile(r"\b[^\W\d_]\w*(?:[-./:]\w+)*")
_GROUPED = re.compile(r"-?\d{1,3}(?:([., \u00a0\u202f’'])\d{3})(?:\1\d{3})*")
_GROUPING = re.compile(r"[., \u00a0\u202f’']")
_MAX_WORDS_TO_UNIT = 3
_MOST_BETWEEN = 3
"""Tokens between a number and its unit, such as those of "(10)"."""
_CURRENCY_WORDS = frozenset("€ $ £ eur usd gbp chf".split())
"""What names a currency before a figure."""
_WORDS_BEFORE, _WORDS_AFTER = 4, 3
_CONTEXT_SIZE = 300
"""Characters around a figure in which context words are searched."""


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
    return _blank(match) if any(sign.isdigit() for sign in match[0]) else match[0]


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
    scale = _SCALES.get(after[0][1], 1) if after else 1
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


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────

_NAME_WORD = re.compile(r"[^\W_]+(?:[-.'’@&/_][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;|\n(„“\"«*•>#]|[-–—] )[\s*_]{0,8}$")
_NO_NAMES = frozenset(
    """dr mr mrs ms prof herr frau mme although since however according based additionally furthermore therefore thus moreover
    instead unless per upon yes currently finally overall yet still i""".split()
)


def find_names(text: str, known_terms: Collection[str] = ()) -> tuple[frozenset[str], ...]:
    """Return the terms of each proper name in the text, in order.

    A name is a run of capitalised words, an identifier or an address. The first word of a sentence counts only
    if it is one of the `known` terms, or has further capitals.
    """
    runs: list[list[str]] = []
    end = -1
    for match in _NAME_WORD.finditer(mask_dates(text)):
        word = match[0]
        first = _SENTENCE_END.search(text[max(0, match.start() - 8) : match.start()]) is not None
        if not _is_name(word, known_terms, is_first=first):
            continue
        if runs and text[end : match.start()].strip(" ") == "" and match.start() > end > 0:
            runs[-1].append(word)
        else:
            runs.append([word])
        end = match.end()
    return tuple(name for run in runs if (name := frozenset(terms(" ".join(run)))))


def _is_name(word: str, known_terms: Collection[str], *, is_first: bool) -> bool:
    folded = word.casefold()
    if len(word) == 1 or any(
        folded in word_list for word_list in (STOP_WORDS, _NO_NAMES, UNIT_NAMES, _SCALES)
    ):
        return False
    if "@" in word or (not word[0].isdigit() and any(sign.isdigit() for sign in word)):
        return True
    if not word[0].isupper():
        return False
    if not is_first or any(sign.isupper() for sign in word[1:]):
        return True
    return any(term in known_terms for term in terms(word))


# ── negation ─────────────────────────────────────────────────────────────────────────────────────────

_NEGATIONS = frozenset(
    """not no never none nobody nothing neither nor without cannot nicht kein keine keinen keinem keiner keines nie niemals
    niemand ohne pas jamais aucun aucune sans ni""".split()
)
_TRAILING_NEGATIONS = frozenset({"nicht", "nie", "niemals"})
_NOT_NEGATED = frozenset({"only", "just", "merely", "nur", "seulement"})
_FILLERS = frozenset({"longer", "yet", "ever", "mehr", "plus", "wird", "werden", "ist", "sind"})
_CLAUSE = re.compile(
    r"[.;:!?](?=\s|$)|[()|\n–—]|,\s|\s(?:and|but|und|aber|sondern|et|mais)\s", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The terms of a clause, and those that a negation applies to."""

    terms: frozenset[str]
    negated_terms: frozenset[str]
    is_negated: bool


def split_into_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text that contain terms, in order."""
    return tuple(clause for part in _CLAUSE.split(text) if (clause := _clause(words(part))).terms)


def has_negation(text: str) -> bool:
    """Return whether a text contains a negation, such as `not` or `nothing`."""
    return _clause(words(text)).is_negated


def differ_in_negation(clauses: Sequence[Clause], other: Sequence[Clause]) -> bool:
    """Return whether one text negates a term that the other affirms."""
    return _negates_affirmed_term(clauses, other) or _negates_affirmed_term(other, clauses)


def _negates_affirmed_term(clauses: Sequence[Clause], other: Sequence[Clause]) -> bool:
    denied = frozenset[str]().union(*(clause.negated_terms for clause in clauses))
    affirmed = frozenset[str]().union(
        *(clause.terms for clause in clauses if not clause.is_negated)
    )
    for term in denied - affirmed:
        containing = [clause for clause in other if term in clause.terms]
        if containing and not any(clause.is_negated for clause in containing):
            return True
    return False


def _clause(tokens: Sequence[str]) -> Clause:
    content = [next(iter(terms(word)), "") if word not in _NEGATIONS else "" for word in tokens]
    denied: set[str] = set()
    negated = False
    for place, word in enumerate(tokens):
        if not (word in _NEGATIONS or word.endswith("n't")):
            continue
        if tokens[place + 1 : place + 2] and tokens[place + 1] in _NOT_NEGATED:
            continue
        negated = True
        denied.update(_next_content(content[place + 1 :], tokens[place + 1 :]))
        if word in _TRAILING_NEGATIONS:
            denied.update(_next_content(content[:place][::-1], tokens[:place][::-1]))
    return Clause(
        terms=frozenset(term for term in content if term),
        negated_terms=frozenset(denied),
        is_negated=negated,
    )


def _next_content(content: Sequence[str], tokens: Sequence[str]) -> list[str]:
    following = (
        term for term, word in zip(content, tokens, strict=True) if term and word not in _FILLERS
    )
    return list(following)[:1]

"""What kind of thing a question asks for, and which texts hold one that the question itself does not."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from lightwell.text.dates import find_date_texts
from lightwell.text.figures import UNIT_NAMES, Figure, find_figures, find_quantities, possible_units
from lightwell.text.proper_names import find_names
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, load_word_lists


class AnswerType(StrEnum):
    PERSON = "person"
    DAY = "day"
    DEADLINE = "deadline"
    FIGURE = "figure"
    FREQUENCY = "frequency"
    ADDRESS = "address"
    NAME = "name"


_ASKED_KINDS = (
    AnswerType.ADDRESS,
    AnswerType.DEADLINE,
    AnswerType.DAY,
    AnswerType.FREQUENCY,
    AnswerType.FIGURE,
    AnswerType.PERSON,
)
"""What a question may ask for; some name, only where it asks for none of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """What a question asks for; a figure must count one of the `units`, where the question names any.

    Where it `counts` them ("how many"), a bare number only does where the text names one of them.
    `terms`, `figures` and `dates` are those that the question has itself.
    """

    kinds: frozenset[AnswerType]
    units: frozenset[str]
    counts: bool
    terms: frozenset[str]
    figures: frozenset[str]
    dates: frozenset[str]


_LISTS = load_word_lists("lightwell.text.answer_types")
_PART = regex(r"<(\w+)>")


def _pattern(alternatives: Iterable[str]) -> str:
    """Return a pattern for one of the alternatives, with the parts that they name as `<part>`."""
    pattern = any_of(alternatives)
    return _PART.sub(lambda part: any_of(_LISTS["parts"][part[1]]), pattern)


def _words(table: str, name: str) -> str:
    return rf"\b{_pattern(_LISTS[table][name])}\b"


_PATTERNS = tuple((kind, regex(_words("asking", kind), re.IGNORECASE)) for kind in _ASKED_KINDS)
_KEYWORD_PATTERNS = tuple(
    (kind, regex(_words("asking_in_keywords", kind), re.IGNORECASE))
    for kind in _ASKED_KINDS
    if kind in _LISTS["asking_in_keywords"]
)
"""What a question asks for that is no sentence: "password expiry period"."""
_ASKING_TERMS = {
    AnswerType(kind): frozenset(terms(" ".join(words)))
    for kind, words in _LISTS["asking_terms"].items()
}
"""The words by which a question says what it asks for: a text that holds such a thing need not say them."""
_ACTS = tuple(frozenset(terms(" ".join(words))) for words in _LISTS["acts"].values())
"""What people do in saying something; one of a row stands for the others."""

_RELATIVE = regex(_words("questions", "relative"), re.IGNORECASE)
_SENTENCE = regex(_words("questions", "sentence"), re.IGNORECASE)
_OPEN = regex(
    rf"^\W*{_pattern(_LISTS['questions']['what_is'])}\s+{_pattern(_LISTS['questions']['with'])}\s+\S",
    re.IGNORECASE,
)
_ANY_NAME = regex(_words("asking", "name"), re.IGNORECASE)
_COUNTED = regex(rf"\b{_pattern(_LISTS['questions']['counted'])}\s*(\w+)", re.IGNORECASE)
_PEOPLE = frozenset(terms(" ".join(_LISTS["questions"]["people"])))
_EXTENT = frozenset(terms(" ".join(_LISTS["questions"]["extent"])))

_TIME = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
_MONEY = frozenset({"eur", "usd", "gbp", "chf"})
_SHARE = frozenset({"percent"})
"""What a discount or a margin is told in. An amount of money may be one, and is where the text calls it so."""
_MEASURES = frozenset(UNIT_NAMES.values())
_UNITS_ASKED = tuple(
    (regex(_words("units", name), re.IGNORECASE), units)
    for name, units in {
        "extent": _TIME | _EXTENT,
        "time": _TIME,
        "share": _SHARE,
        "money": _MONEY,
    }.items()
)

_SHARE_WORDS = regex(_words("texts", "share"), re.IGNORECASE)
_BY = regex(_words("texts", "by") + ".{0,40}", re.IGNORECASE | re.DOTALL)
_OFTEN = regex(_words("texts", "often"), re.IGNORECASE)
_SPOKEN_DURATION = regex(_words("texts", "duration"), re.IGNORECASE)
_VAGUE_FIGURE = regex(_words("texts", "vague_figure"), re.IGNORECASE)
_TIME_WORDS = regex(_words("texts", "time"), re.IGNORECASE)
_ROLE = regex(rf"@\w|#\w|{_words('texts', 'role')}", re.IGNORECASE)
_CURRENCY = any_of(_LISTS["parts"]["currency"])
_OTHER_MONEY = regex(
    rf"\d(?: (?:thousand|million|billion))? ?{_CURRENCY}\b|\b{_CURRENCY} ?\d|[¥₹₩₽₺] ?\d",
    re.IGNORECASE,
)
"""Amounts in other currencies than those that figures have as units."""
_PERSON = regex(
    r"\b(?!(?:The|This|That|Our|In|On|At|By)\b)[A-ZÀ-Þ][a-zß-ÿ]+(?:[ -][A-ZÀ-Þ]\.)?(?:[ -][A-ZÀ-Þ][a-zß-ÿ]+)+\b|\w@\w"
)
_YEAR = regex(r"(?<![\d.,:/€$£-])(?:1[5-9]|20)\d\d(?![\d.,:/-]\d|\d)")
_ROW = regex(r"^.*\|.*$", re.MULTILINE)
"""Rows of tables: the head of a column may stand for the unit."""
_ADDRESS = regex(r"\w@\w|\+?\d[\d ()/-]{6,}\d")


def expected_answer(question: str) -> ExpectedAnswer:
    """Return what the question asks for: `when` a day, `how many` a figure, `who` a person, else `which` a name."""
    patterns = _PATTERNS if _SENTENCE.search(question) else (*_PATTERNS, *_KEYWORD_PATTERNS)
    bare_question = _RELATIVE.sub(" ", question)
    kinds = frozenset(kind for kind, pattern in patterns if pattern.search(bare_question))
    if not kinds and _ANY_NAME.search(question):
        kinds = frozenset({AnswerType.NAME})
    counted = {unit for match in _COUNTED.finditer(question) for unit in possible_units(match[1])}
    if counted & _PEOPLE:
        counted |= _PEOPLE
    counting = [units for pattern, units in _UNITS_ASKED if pattern.search(question)]
    return ExpectedAnswer(
        kinds=kinds,
        counts=bool(counted),
        units=frozenset(counted) or frozenset[str]().union(*counting[:1]),
        terms=frozenset(terms(question)),
        figures=frozenset(figure.value for figure in find_figures(question)),
        dates=_dates(question),
    )


def answer_types_in(
    text: str, expected: ExpectedAnswer, *, context: str = ""
) -> frozenset[AnswerType]:
    """Return which of the kinds that are asked for the text holds, in something that the question does not have.

    `context` is what it stands under: a table's head says what its numbers count.
    """
    return frozenset(kind for kind in expected.kinds if _holds(kind, text, context, expected))


def lacking_share(text: str, expected: ExpectedAnswer, *, context: str = "") -> float:
    """Return how much of what is asked for a text lacks, 0 to 1: the mean over the kinds, or the share of the question's dates.

    It is 0 where the question asks for nothing of a kind, or only for some name. A day may be told by its weekday or by how
    long after something it is, and a person by a role: where such words stand, neither is lacking. Half is lacking where a text may
    tell it in other words: it counts something else than the question names, or has a name that may be a person's.
    """
    kinds = expected.kinds - {AnswerType.NAME}
    lacking = sum(_lacking(kind, text, context, expected) for kind in kinds) / max(len(kinds), 1)
    dates = expected.dates and expected.dates - _dates(f"{context}\n{text}")
    return max(lacking, len(dates) / max(len(expected.dates), 1))


def _lacking(kind: AnswerType, text: str, context: str, expected: ExpectedAnswer) -> float:
    if _tells_otherwise(kind, text) or _holds(kind, text, context, expected):
        return 0.0
    return 0.5 if _may_hold(kind, text, expected) else 1.0


def _may_hold(kind: AnswerType, text: str, expected: ExpectedAnswer) -> bool:
    """Return whether a text has something that may be of this kind; where an amount of time or money is asked for, no other number is, and money may be a share."""
    match kind:
        case AnswerType.FIGURE if expected.units == _SHARE:
            is_money = _holds_figure(text, "", replace(expected, units=_MONEY))
            return is_money or _VAGUE_FIGURE.search(text) is not None
        case AnswerType.FIGURE if not expected.units & _MEASURES:
            figures = find_quantities(text)
            return (
                any(figure.value not in expected.figures for figure in figures)
                or _VAGUE_FIGURE.search(text) is not None
            )
        case AnswerType.PERSON:
            return _holds(AnswerType.NAME, text, "", expected)
        case _:
            return False


def terms_answered_by_type(
    kinds: Collection[AnswerType], expected: ExpectedAnswer
) -> frozenset[str]:
    """Return the terms of the question that a text answers by holding these kinds: `deadline` by a date."""
    term_sets = (_ASKING_TERMS.get(kind, frozenset[str]()) for kind in kinds)
    return expected.terms.intersection(frozenset[str]().union(*term_sets))


def speech_act_terms(text: str) -> frozenset[str]:
    """Return all the words for what is done in saying, of each kind of which the text has one: promising, deciding."""
    text_terms = frozenset(terms(text))
    return frozenset[str]().union(*(act for act in _ACTS if act & text_terms))


def asks_what_is_open(question: str) -> bool:
    """Return whether a question asks for all that is open with somebody or something: "What is open with Nordwind?"."""
    return bool(_OPEN.match(question))


def _holds(kind: AnswerType, text: str, context: str, expected: ExpectedAnswer) -> bool:
    match kind:
        case AnswerType.DAY:
            return bool(_dates(text) - expected.dates)
        case AnswerType.DEADLINE:
            return any(
                _dates(phrase[0]) or _has_duration(phrase[0]) for phrase in _BY.finditer(text)
            )
        case AnswerType.FIGURE:
            return _holds_figure(text, context, expected)
        case AnswerType.FREQUENCY:
            return _OFTEN.search(text) is not None
        case AnswerType.NAME:
            return any(not name & expected.terms for name in find_names(text))
        case AnswerType.ADDRESS:
            return _ADDRESS.search(text) is not None
        case AnswerType.PERSON:
            names = (frozenset(terms(match[0])) for match in _PERSON.finditer(text))
            return any(not name & expected.terms for name in names)


def _tells_otherwise(kind: AnswerType, text: str) -> bool:
    """Return whether a text may say it in other words than those of this kind."""
    match kind:
        case AnswerType.DAY | AnswerType.DEADLINE:
            return _TIME_WORDS.search(text) is not None or _has_duration(text)
        case AnswerType.PERSON:
            return _ROLE.search(text) is not None
        case _:
            return False


def _holds_figure(text: str, context: str, expected: ExpectedAnswer) -> bool:
    if expected.units >= _TIME and _SPOKEN_DURATION.search(text):
        return True
    if expected.units >= _MONEY and _OTHER_MONEY.search(text):
        return True
    if expected.units == _SHARE and _SHARE_WORDS.search(text):
        expected = replace(expected, units=_SHARE | _MONEY)
    figures = find_quantities(text)
    if any(_is_wanted(figure, expected, bare=not expected.units) for figure in figures):
        return True
    if not expected.units:
        return False
    if expected.counts:
        is_named = bool(expected.units.intersection(terms(f"{context} {text}")))
        return is_named and any(_is_wanted(figure, expected, bare=True) for figure in figures)
    rows = find_quantities("\n".join(_ROW.findall(text)))
    return any(_is_wanted(figure, expected, bare=True) for figure in rows)


def _has_duration(text: str) -> bool:
    if _SPOKEN_DURATION.search(text):
        return True
    return any(figure.unit in _TIME for figure in find_quantities(text))


def _is_wanted(figure: Figure, expected: ExpectedAnswer, *, bare: bool) -> bool:
    counts = not expected.units or figure.unit in expected.units or (bare and not figure.unit)
    return counts and figure.value not in expected.figures and ":" not in figure.value


def _dates(text: str) -> frozenset[str]:
    return frozenset((*find_date_texts(text), *_YEAR.findall(text)))

"""What kind of thing a question asks for, and which texts hold one that the question itself does not, by what `facts` read in them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from lightwell.text.answer_types.facts import (
    LISTS,
    TIME,
    Facts,
    Mark,
    find_stated_dates,
    list_pattern,
    part_pattern,
)
from lightwell.text.dates import PartialDate, find_dates
from lightwell.text.figures import UNIT_NAMES, Figure, find_figures, may_be_equal, possible_units
from lightwell.text.regex import regex
from lightwell.text.terms import terms


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


_PATTERNS = tuple(
    (kind, regex(list_pattern("asking", kind), re.IGNORECASE)) for kind in _ASKED_KINDS
)
_KEYWORD_PATTERNS = tuple(
    (kind, regex(list_pattern("asking_in_keywords", kind), re.IGNORECASE))
    for kind in _ASKED_KINDS
    if kind in LISTS["asking_in_keywords"]
)
"""What a question asks for that is no sentence: "password expiry period"."""
_ASKING_TERMS = {
    AnswerType(kind): frozenset(terms(" ".join(words)))
    for kind, words in LISTS["asking_terms"].items()
}
"""The words by which a question says what it asks for: a text that holds such a thing need not say them."""
_ACTS = tuple(frozenset(terms(" ".join(words))) for words in LISTS["acts"].values())
"""What people do in saying something; one of a row stands for the others."""

_RELATIVE = regex(list_pattern("questions", "relative"), re.IGNORECASE)
_SENTENCE = regex(list_pattern("questions", "sentence"), re.IGNORECASE)
_OPEN = regex(
    rf"^\W*{part_pattern(LISTS['questions']['what_is'])}\s+{part_pattern(LISTS['questions']['with'])}\s+\S",
    re.IGNORECASE,
)
_ANY_NAME = regex(list_pattern("asking", "name"), re.IGNORECASE)
_COUNTED = regex(rf"\b{part_pattern(LISTS['questions']['counted'])}\s*(\w+)", re.IGNORECASE)
_PEOPLE = frozenset(terms(" ".join(LISTS["questions"]["people"])))
_EXTENT = frozenset(terms(" ".join(LISTS["questions"]["extent"])))

_MONEY = frozenset({"eur", "usd", "gbp", "chf"})
_SHARE = frozenset({"percent"})
"""What a discount or a margin is told in. An amount of money may be one, and is where the text calls it so."""
_MEASURES = frozenset(UNIT_NAMES.values())
_UNITS_ASKED = tuple(
    (regex(list_pattern("units", name), re.IGNORECASE), units)
    for name, units in {
        "extent": TIME | _EXTENT,
        "time": TIME,
        "share": _SHARE,
        "money": _MONEY,
    }.items()
)


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
        dates=find_stated_dates(question),
    )


def answer_types_in(
    facts: Facts, expected: ExpectedAnswer, held_terms: Collection[str]
) -> frozenset[AnswerType]:
    """Return which of the kinds that are asked for a text with these facts holds, in something that the question does not have.

    `held_terms` are its terms with those of what it stands under: a table's head says what its numbers count.
    """
    return frozenset(kind for kind in expected.kinds if _holds(kind, facts, held_terms, expected))


def lacking_share(
    facts: Facts,
    expected: ExpectedAnswer,
    held_terms: Collection[str],
    *,
    dates_above: frozenset[str] = frozenset(),
) -> float:
    """Return how much of what is asked for a text lacks, 0 to 1: the mean over the kinds, or the share of the question's dates.

    It is 0 where the question asks for nothing of a kind, or only for some name. A day may be told by its weekday or by how
    long after something it is, and a person by a role: where such words stand, neither is lacking. Half is lacking where a text may
    tell it in other words: it counts something else than the question names, or has a name that may be a person's. `dates_above` are
    those of what it stands under; a month and a year are told by a day in them.
    """
    kinds = expected.kinds - {AnswerType.NAME}
    lacking = sum(_lacking(kind, facts, held_terms, expected) for kind in kinds) / max(
        len(kinds), 1
    )
    stated = (*facts.dates, *(date for text in dates_above for date in find_dates(text)))
    dates = [
        text
        for text in expected.dates - facts.date_texts - dates_above
        if not _is_told(text, stated)
    ]
    return max(lacking, len(dates) / max(len(expected.dates), 1))


def _is_told(text: str, stated: Iterable[PartialDate]) -> bool:
    wanted = _as_date(text)
    return wanted is not None and any(may_be_equal(wanted, date) for date in stated)


def _as_date(text: str) -> PartialDate | None:
    """Return a stated date, a month or a year as far as it belongs to the calendar; None for a weekday or a quarter."""
    if dates := find_dates(text):
        return dates[0]
    return PartialDate(year=int(text), month=0, day=0) if text.isdecimal() else None


def _lacking(
    kind: AnswerType, facts: Facts, held_terms: Collection[str], expected: ExpectedAnswer
) -> float:
    if _tells_otherwise(kind, facts) or _holds(kind, facts, held_terms, expected):
        return 0.0
    return 0.5 if _may_hold(kind, facts, expected) else 1.0


def _may_hold(kind: AnswerType, facts: Facts, expected: ExpectedAnswer) -> bool:
    """Return whether a text has something that may be of this kind; where an amount of time or money is asked for, no other number is, and money may be a share."""
    match kind:
        case AnswerType.FIGURE if expected.units == _SHARE:
            is_money = _holds_figure(facts, (), replace(expected, units=_MONEY))
            return is_money or Mark.VAGUE_FIGURE in facts.marks
        case AnswerType.FIGURE if not expected.units & _MEASURES:
            return Mark.VAGUE_FIGURE in facts.marks or any(
                figure.value not in expected.figures for figure in facts.figures
            )
        case AnswerType.PERSON:
            return _names_another(facts.names, expected)
        case _:
            return False


def terms_answered_by_type(
    kinds: Collection[AnswerType], expected: ExpectedAnswer
) -> frozenset[str]:
    """Return the terms of the question that a text answers by holding these kinds: `deadline` by a date."""
    term_sets = (_ASKING_TERMS.get(kind, frozenset[str]()) for kind in kinds)
    return expected.terms.intersection(frozenset[str]().union(*term_sets))


def speech_act_terms(text_terms: frozenset[str]) -> frozenset[str]:
    """Return all the words for what is done in saying, of each kind of which a text with these terms has one: promising, deciding."""
    return frozenset[str]().union(*(act for act in _ACTS if act & text_terms))


def asks_what_is_open(question: str) -> bool:
    """Return whether a question asks for all that is open with somebody or something: "What is open with Nordwind?"."""
    return bool(_OPEN.match(question))


def _holds(
    kind: AnswerType, facts: Facts, held_terms: Collection[str], expected: ExpectedAnswer
) -> bool:
    match kind:
        case AnswerType.DAY:
            return bool(facts.date_texts - expected.dates)
        case AnswerType.DEADLINE:
            return Mark.DEADLINE in facts.marks
        case AnswerType.FIGURE:
            return _holds_figure(facts, held_terms, expected)
        case AnswerType.FREQUENCY:
            return Mark.OFTEN in facts.marks
        case AnswerType.NAME:
            return _names_another(facts.names, expected)
        case AnswerType.ADDRESS:
            return Mark.ADDRESS in facts.marks
        case AnswerType.PERSON:
            return _names_another(facts.persons, expected)


def _names_another(names: Iterable[str], expected: ExpectedAnswer) -> bool:
    """Return whether one of the names has no term of the question."""
    return any(expected.terms.isdisjoint(name.split()) for name in names)


def _tells_otherwise(kind: AnswerType, facts: Facts) -> bool:
    """Return whether a text may say it in other words than those of this kind."""
    match kind:
        case AnswerType.DAY | AnswerType.DEADLINE:
            return Mark.TIME in facts.marks or facts.has_duration
        case AnswerType.PERSON:
            return Mark.ROLE in facts.marks
        case _:
            return False


def _holds_figure(facts: Facts, held_terms: Collection[str], expected: ExpectedAnswer) -> bool:
    if expected.units >= TIME and Mark.SPOKEN_DURATION in facts.marks:
        return True
    if expected.units >= _MONEY and Mark.OTHER_MONEY in facts.marks:
        return True
    if expected.units == _SHARE and Mark.SHARE in facts.marks:
        expected = replace(expected, units=_SHARE | _MONEY)
    if any(_is_wanted(figure, expected, bare=not expected.units) for figure in facts.figures):
        return True
    if not expected.units:
        return False
    if expected.counts:
        is_named = not expected.units.isdisjoint(held_terms)
        return is_named and any(_is_wanted(figure, expected, bare=True) for figure in facts.figures)
    return any(_is_wanted(figure, expected, bare=True) for figure in facts.row_figures)


def _is_wanted(figure: Figure, expected: ExpectedAnswer, *, bare: bool) -> bool:
    counts = not expected.units or figure.unit in expected.units or (bare and not figure.unit)
    return counts and figure.value not in expected.figures and ":" not in figure.value

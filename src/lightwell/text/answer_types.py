"""What kind of thing a question asks for, and which texts hold one that the question itself does not."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from lightwell.text import facts
from lightwell.text.dates import PartialDate, find_date_texts
from lightwell.text.terms import terms


class AnswerType(StrEnum):
    PERSON = "person"
    DAY = "day"
    DEADLINE = "deadline"
    FIGURE = "figure"
    ADDRESS = "address"
    NAME = "name"


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


_ASKING = (
    (AnswerType.ADDRESS, r"e-?mail|telephone number|phone number|telefonnummer"),
    (
        AnswerType.DEADLINE,
        r"deadlines?|due(?: dates?)?|(?:by|until|before) when|how soon|fristen?|termine?|bis wann|délais?|échéances?|avant quand",
    ),
    (
        AnswerType.DAY,
        r"when|(?:which|what) (?:day|date|month|year)|wann|an welchem tag|welches datum|quand|quel jour|quelles? dates?",
    ),
    (
        AnswerType.FIGURE,
        r"how (?:many|much|long|fast|soon|far|often|old|high|large|big|small)|what (?:amounts?|prices?|costs?|discounts?"
        r"|budgets?|margins?|rent|salary|share|rate)|what is the (?:[\w-]+ ){0,8}(?:amount|price|cost|discount|budget|margin|rent|rate)"
        r"|wie ?viele?|wie (?:lange|hoch|teuer|weit|oft)|combien|quel (?:prix|montant)",
    ),
    (AnswerType.PERSON, r"who|whom|whose|wer|wem|wen|(?:^|(?:à|par|de) )qui"),
)
_PATTERNS = tuple(
    (kind, re.compile(rf"\b(?:{asking})\b", re.IGNORECASE)) for kind, asking in _ASKING
)
_ASKING_TERMS = {
    kind: frozenset(terms(asking))
    for kind, asking in {
        AnswerType.ADDRESS: "e mail email address telephone phone number adresse telefonnummer",
        AnswerType.DEADLINE: "deadline due date soon frist fristen termin termine délai délais échéance échéances",
        AnswerType.DAY: "day date month year datum tag jour date",
        AnswerType.FIGURE: "amount price cost many much number",
    }.items()
}
"""The words by which a question says what it asks for: a text that holds such a thing need not say them."""

_OPEN = re.compile(
    r"^\W*(?:what(?:['’]s|\s+is|\s+are|\s+remains?)\s+(?:still\s+|currently\s+|now\s+)?(?:open|pending|outstanding|unresolved|left to do|going on)"
    r"|was\s+ist\s+(?:noch\s+|gerade\s+)?(?:offen|los)|was\s+steht\s+(?:noch\s+)?(?:aus|an)"
    r"|qu['’]est-ce\s+qui\s+(?:est|reste)\s+(?:encore\s+)?(?:ouvert|en (?:cours|suspens)|à faire))\s+"
    r"(?:with|for|at|about|on|bei|mit|für|avec|chez|pour)\s+\S",
    re.IGNORECASE,
)
_ANY_NAME = re.compile(r"\b(?:which|what|where|welche[rsnm]?|wo|quel(?:le)?s?|où)\b", re.IGNORECASE)
_ACTS = tuple(
    frozenset(terms(said))
    for said in (
        "promise promised promises commit committed commitment guarantee pledge assure undertake assured versprochen"
        " versprechen zugesagt zusage promis promettre promesse engagement engagé",
        "decide decided decision agree agreed agreement approve approved approval resolve resolved beschlossen beschluss"
        " entschieden entscheidung décidé décision",
        "offer offered propose proposed proposal angebot angeboten offre proposé",
        "ask asked request requested demand demanded require required verlangt gefordert demandé exige",
    )
)
"""What people do in saying something; one of a row stands for the others."""

_TIME = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
_MONEY = frozenset({"eur", "usd", "gbp", "chf"})
_UNITS_ASKED = (
    (re.compile(r"\b(?:how (?:long|soon|fast|old)|wie lange|combien de temps)\b", re.I), _TIME),
    (
        re.compile(r"\b(?:discount|margin|share|rate|rabatt|nachlass|remise)\b", re.I),
        frozenset({"percent"}) | _MONEY,
    ),
    (re.compile(r"\b(?:price|cost|budget|rent|salary|preis|kosten|prix|amount)\b", re.I), _MONEY),
)
_PEOPLE = frozenset(
    terms(
        "people persons employees staff workers colleagues mitarbeiter mitarbeitende beschäftigte personen leute salariés employés"
    )
)
_COUNTED = re.compile(r"\b(?:how many|wie viele|combien (?:de |d'))\s*(\w+)", re.IGNORECASE)
_PERSON = re.compile(
    r"\b(?!(?:The|This|That|Our|In|On|At|By)\b)[A-ZÀ-Þ][a-zß-ÿ]+(?:[ -][A-ZÀ-Þ]\.)?(?:[ -][A-ZÀ-Þ][a-zß-ÿ]+)+\b|\w@\w"
)
_BY = re.compile(
    r"\b(?:by|before|until|till|no later than|at the latest|due|deadline|within|bis|vor|spätestens|fällig|frist|avant|jusqu|échéance"
    r"|d[’']ici)\b.{0,40}",
    re.IGNORECASE | re.DOTALL,
)
_YEAR = re.compile(r"(?<![\d.,:/€$£-])(?:1[5-9]|20)\d\d(?![\d.,:/-]\d|\d)")
_ADDRESS = re.compile(r"\w@\w|\+?\d[\d ()/-]{6,}\d")


def expected_answer(question: str) -> ExpectedAnswer:
    """Return what the question asks for: `when` a day, `how many` a figure, `who` a person, else `which` a name."""
    kinds = frozenset(kind for kind, pattern in _PATTERNS if pattern.search(question))
    if not kinds and _ANY_NAME.search(question):
        kinds = frozenset({AnswerType.NAME})
    counted = {
        unit for match in _COUNTED.finditer(question) for unit in facts.possible_units(match[1])
    }
    if counted & _PEOPLE:
        counted |= _PEOPLE
    asked = [units for pattern, units in _UNITS_ASKED if pattern.search(question)]
    return ExpectedAnswer(
        kinds=kinds,
        counts=bool(counted),
        units=frozenset(counted) or frozenset[str]().union(*asked[:1]),
        terms=frozenset(terms(question)),
        figures=frozenset(figure.value for figure in facts.find_figures(question)),
        dates=_dates(question),
    )


def answer_types_in(
    text: str, expected: ExpectedAnswer, *, context: str = ""
) -> frozenset[AnswerType]:
    """Return which of the kinds that are asked for the text holds, in something that the question does not have.

    `context` is what it stands under: a table's head says what its numbers count.
    """
    return frozenset(kind for kind in expected.kinds if _holds(kind, text, context, expected))


def terms_answered_by_type(
    kinds: Collection[AnswerType], expected: ExpectedAnswer
) -> frozenset[str]:
    """Return the terms of the question that a text answers by holding these kinds: `deadline` by a date."""
    said = (_ASKING_TERMS.get(kind, frozenset[str]()) for kind in kinds)
    return expected.terms.intersection(frozenset[str]().union(*said))


def speech_act_terms(text: str) -> frozenset[str]:
    """Return all the words for what is done in saying, of each kind of which the text has one: promising, deciding."""
    said = frozenset(terms(text))
    return frozenset[str]().union(*(each for each in _ACTS if each & said))


def asks_what_is_open(question: str) -> bool:
    """Return whether a question asks for all that is open with somebody or something: "What is open with Nordwind?"."""
    return bool(_OPEN.match(question))


def _holds(kind: AnswerType, text: str, context: str, expected: ExpectedAnswer) -> bool:
    match kind:
        case AnswerType.DAY:
            return bool(_dates(text) - expected.dates)
        case AnswerType.DEADLINE:
            return any(_dates(match[0]) for match in _BY.finditer(text))
        case AnswerType.FIGURE:
            bare = not expected.counts or bool(
                expected.units.intersection(terms(f"{context} {text}"))
            )
            return any(
                _is_wanted(figure, expected, bare=bare)
                for figure, _ in facts.facts_with_context(text)
            )
        case AnswerType.NAME:
            return any(not name & expected.terms for name in facts.find_names(text))
        case AnswerType.ADDRESS:
            return _ADDRESS.search(text) is not None
        case AnswerType.PERSON:
            names = (frozenset(terms(match[0])) for match in _PERSON.finditer(text))
            return any(not name & expected.terms for name in names)


def _is_wanted(figure: facts.Figure | PartialDate, expected: ExpectedAnswer, *, bare: bool) -> bool:
    match figure:
        case facts.Figure(value=value, unit=unit):
            counts = not expected.units or unit in expected.units or (bare and not unit)
            return counts and value not in expected.figures and ":" not in value
        case PartialDate():
            return False


def _dates(text: str) -> frozenset[str]:
    return frozenset((*find_date_texts(text), *_YEAR.findall(text)))

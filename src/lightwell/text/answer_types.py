"""What kind of thing a question asks for, and which texts hold one that the question itself does not."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from lightwell.text.dates import find_date_texts
from lightwell.text.figures import UNIT_NAMES, Figure, find_figures, find_quantities, possible_units
from lightwell.text.proper_names import find_names
from lightwell.text.terms import terms


class AnswerType(StrEnum):
    PERSON = "person"
    DAY = "day"
    DEADLINE = "deadline"
    FIGURE = "figure"
    FREQUENCY = "frequency"
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


_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|will|would|can|could|should|must|has|have|had|may|might)"
)
_OWNED = r"what(?:['’]s|\s+(?:is|are|was|were))\s+(?:the|our|your|its)\s+(?:(?!(?:of|for|in|on|to|with|at|by|from|that|which|when|if|as)\b)[\w'’-]+\s+){0,6}"
"""Before the noun that a question asks for: "what is the minimum"."""
_QUANTITY = (
    r"(?:amount|price|cost|discount|budget|margin|rent|rate|fee|fine|salary|allowance|limit|maximum|minimum|max|cap|quota|size|length"
    r"|duration|period|interval|timeout|threshold|number|percentage|share|age)s?"
)
_SPAN = r"(?:target|response|recovery|waiting|lead|turnaround|processing|retention|reaction|notice) (?:time|period)s?"
"""What is told in hours or days, not a time of day."""
_CONDITION = (
    r"(?:is it (?:ok|okay|allowed|permitted|legal|safe|necessary|needed|required|mandatory|possible|worth|best|better|appropriate"
    r"|acceptable|fine|good|right)\b|(?:should|may|must|can|shall) (?:i|we|you|one|they|people|it)\b)"
)
"""What follows `when` in a question for a condition: "when is it safe", "when should I restart it"."""
_RELATIVE = re.compile(
    r"\b(?:(?:any|every|some|no)(?:body|one)|people|those|(?:person|member|user|customer|employee|colleague|teammate|developer|admin|friend"
    r"|visitor|manager|candidate|maintainer|author|reader|man|woman|men|women)s?)\s+(?:who|whom|whose)\b",
    re.IGNORECASE,
)
"""A clause that only says more about somebody: it does not ask who."""
_ASKING = (
    (
        AnswerType.ADDRESS,
        rf"e-?mail address(?:es)?|(?:tele)?phone numbers?|telefonnummer|{_OWNED}e-?mail|(?:which|what) e-?mail",
    ),
    (
        AnswerType.DEADLINE,
        rf"{_OWNED}(?:deadline|due date)s?|(?:which|what|about|any) (?:(?:the|our|their) )?deadlines?|due(?=\W*$)|(?:by|until|before) when|how soon"
        r"|fristen?|termine?|bis wann|délais?|échéances?|avant quand",
    ),
    (
        AnswerType.DAY,
        rf"when\s+(?!{_CONDITION}){_AUXILIARY}|when(?=\W*$)|(?:since|from|know|tell me|say) when"
        rf"|(?:which|what) (?:day|date|month|year)|{_OWNED}dates?"
        r"|wann|an welchem tag|welches datum|quand|quel jour|quelles? dates?",
    ),
    (
        AnswerType.FREQUENCY,
        r"how (?:often|frequently)|wie oft|wie häufig|(?:à quelle|combien de) (?:fréquence|fois)",
    ),
    (
        AnswerType.FIGURE,
        r"how (?:many|much|long|fast|soon|quickly|far|old|high|large|big|small)|what (?:amounts?|prices?|costs?|discounts?"
        rf"|budgets?|margins?|rent|salary|share|rate|percentage|prize money)|{_OWNED}(?:{_QUANTITY}|{_SPAN})"
        rf"|what {_AUXILIARY} [^?.]{{1,80}} (?:cost|earn|charge|pay|owe|deduct)"
        r"|wie ?viele?|wie (?:lange|hoch|teuer|weit)|combien|quel (?:prix|montant)",
    ),
    (AnswerType.PERSON, r"who|whom|whose|wer|wem|wen|(?:^|(?:à|par|de) )qui"),
)
_ASKING_IN_KEYWORDS = (
    (AnswerType.ADDRESS, r"e-?mail"),
    (AnswerType.DEADLINE, r"deadlines?|due"),
    (AnswerType.DAY, r"dates?"),
    (AnswerType.FIGURE, rf"(?:{_QUANTITY}|{_SPAN})"),
    (AnswerType.PERSON, r"leader|founder|inventor|author|chair(?:wo)?man|c[efto]o|head of"),
)
"""What a question asks for that is no sentence: "password expiry period"."""
_SENTENCE = re.compile(
    rf"\b(?:{_AUXILIARY}|who|whom|whose|what|which|when|where|why|how|am|i|we|you|my|our|wer|was|wann|wo|wie|warum|welche\w*|ist|sind|qui|que|quoi|quand|où|comment|est|sont)\b",
    re.IGNORECASE,
)
_PATTERNS = tuple(
    (kind, re.compile(rf"\b(?:{asking})\b", re.IGNORECASE)) for kind, asking in _ASKING
)
_KEYWORD_PATTERNS = tuple(
    (kind, re.compile(rf"\b(?:{asking})\b", re.IGNORECASE)) for kind, asking in _ASKING_IN_KEYWORDS
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
    frozenset(terms(act))
    for act in (
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
_SHARE = frozenset({"percent"})
"""What a discount or a margin is told in. An amount of money may be one, and is where the text calls it so."""
_SHARE_WORDS = re.compile(
    r"\b(?:discount|rebate|margin|share|rabatt|nachlass|marge|remise)s?\b", re.I
)
_EXTENT = frozenset(terms("lines characters letters words pages slides bytes metres meters feet"))
_UNITS_ASKED = (
    (
        re.compile(r"\bhow long (?:may|can|should|must|shall)\b[^?]*\bbe\b", re.I),
        _TIME | _EXTENT,
    ),
    (
        re.compile(
            rf"\b(?:how (?:long|soon|fast|quickly|old)|duration|period|interval|timeout|{_SPAN}|wie lange|combien de temps)\b",
            re.I,
        ),
        _TIME,
    ),
    (
        re.compile(r"\b(?:discount|margin|share|rabatt|nachlass|remise)\b", re.I),
        _SHARE,
    ),
    (
        re.compile(
            r"\b(?:price|cost|budget|rent|salary|fee|fine|allowance|earn|charge|pay|owe|deduct|prize money|preis|kosten|prix|amount)\b",
            re.I,
        ),
        _MONEY,
    ),
)
_MEASURES = frozenset(UNIT_NAMES.values())
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
_OFTEN = re.compile(
    r"\b(?:once|twice|times|every|each|daily|nightly|hourly|weekly|monthly|quarterly|yearly|annual(?:ly)?|always|never"
    r"|mal|täglich|wöchentlich|monatlich|jährlich|jede[rsnm]?|fois|chaque|tous|toutes|quotidien\w*|hebdomadaire\w*|mensuel\w*)\b",
    re.IGNORECASE,
)
_SPOKEN_DURATION = re.compile(
    r"\b(?:half an? hour|(?:within|for|after|in|takes?|lasts?|about|least|most|than|every) an? (?:hour|day|week|month|year)|a (?:couple|few) of (?:minute|hour|day|week|month|year)s"
    r"|(?:a few|several|some) (?:minute|hour|day|week|month|year)s|fortnight|overnight|indefinitely|forever|perpetuity)\b",
    re.IGNORECASE,
)
_CURRENCY = (
    r"(?:crowns?|kron(?:a|e|er|or)|koruna|yen|yuan|rupees?|zloty|forint|lira|rand|pesos?|reais|roubles?|rubles?"
    r"|sek|nok|dkk|czk|pln|huf|jpy|cny|inr|cad|aud|nzd|zar|brl|mxn|try|krw|sgd|hkd)"
)
_OTHER_MONEY = re.compile(
    rf"\d(?: (?:thousand|million|billion))? ?{_CURRENCY}\b|\b{_CURRENCY} ?\d|[¥₹₩₽₺] ?\d",
    re.IGNORECASE,
)
"""Amounts in other currencies than those that figures have as units."""
_VAGUE_FIGURE = re.compile(
    r"\b(?:half|a third|a quarter|two thirds|three quarters|dozens?|hundreds?|thousands?|millions?|free|unlimited|no (?:limit|maximum|minimum|charge|cost)"
    r"|any number|as (?:many|long|much) as|none|single|both|multiple|several)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d.,:/€$£-])(?:1[5-9]|20)\d\d(?![\d.,:/-]\d|\d)")
_TIME_WORDS = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october|november"
    r"|december|q[1-4]|quarter|noon|midnight|\d{1,2}(?::\d\d)? ?(?:am|pm|utc|uhr)|daily|nightly|weekly|monthly|yearly|immediately|tomorrow)\b",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"@\w|#\w|\b(?:team|manager|lead|leader|officer|head|director|department|committee|maintainer|owner|helpdesk|vp|c[efto]o)s?\b",
    re.IGNORECASE,
)
_ROW = re.compile(r"^.*\|.*$", re.MULTILINE)
"""Rows of tables: the head of a column may stand for the unit."""
_ADDRESS = re.compile(r"\w@\w|\+?\d[\d ()/-]{6,}\d")


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

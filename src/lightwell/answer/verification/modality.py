"""Small words that turn a sentence: bounds, causes, wholes, plans, frequencies, what must and what may be, and opposites.

Words of English, German and a few of French are known. Where the source says nothing of the kind, a bound, a cause and a whole are not
believed: a duty, a frequency or an opposite counts as changed where the source has another one instead.
"""

import re

from lightwell.text.terms import terms

_NUMBER = (
    r"(?=\s+(?:about\s+|some\s+|etwa\s+)?(?:[€$£]|\d|two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
    r"|zehn|half|an?\s+hour)\w*)"
)
_UNDENIED = r"(?<!not )(?<!not be )(?<!no )(?<!nicht )"
_SAID_AND_MEANT = (
    (
        rf"{_UNDENIED}\b(?:at\s+least|more\s+than|over|above|no(?:t)?\s+less\s+than|a\s+minimum\s+of|mindestens|wenigstens|mehr\s+als|über|au\s+moins|plus\s+de){_NUMBER}",
        r"\b(?:at\s+least|(?:more|longer|higher|older|larger|later)\s+than|over|above|beyond|not?\s+(?:be\s+)?(?:less|fewer|shorter|under|below)|min(?:imum|imal)?"
        r"|or\s+more|from|(?<!not )exceed\w*|mindestens|wenigstens|mehr\s+als|über|ab|au\s+moins|plus\s+de)\b|[≥>]",
    ),
    (
        rf"{_UNDENIED}\b(?:at\s+most|up\s+to|less\s+than|fewer\s+than|under|below|no(?:t)?\s+more\s+than|a\s+maximum\s+of|höchstens|maximal|bis\s+zu|weniger\s+als|unter"
        rf"|au\s+plus|moins\s+de|jusqu['’]à){_NUMBER}",
        r"\b(?:at\s+(?:the\s+)?(?:most|latest)|up\s+to|(?:less|fewer|shorter|lower|smaller|earlier)\s+than|under|below|within|until|by|not?\s+(?:\w+\s+)?(?:more|exceed|longer|later|above|over)"
        r"|max(?:imum|imal)?|limit\w*|ceiling|or\s+less|höchstens|bis|weniger\s+als|unter|innerhalb|au\s+plus|moins\s+de|jusqu)\b|[≤<]",
    ),
    (
        rf"{_UNDENIED}\b(?:(?:just|merely){_NUMBER}|only|solely|exclusively|nur|lediglich|ausschließlich|seulement)\b",
        r"\b(?:only|just|merely|solely|sole|single|exclusive\w*|alone|nobody\s+(?:else|but)|no\s+other|nothing\s+but|nur|lediglich|bloß"
        r"|ausschließlich|allein\w*|einzige?\w*|seule?\w*)\b",
    ),
    (
        r"\b(?:because|due\s+to|owing\s+to|thanks\s+to|as\s+a\s+result|therefore|caused?|weil|denn|wegen|aufgrund|dank|daher|deshalb|parce\s+que|car|en\s+raison|grâce\s+à|à\s+cause)\b",
        r"\b(?:because|since|due\s+to|owing\s+to|thanks\s+to|as\s+a\s+result|therefore|so|caus\w+|reasons?|trigger\w*|led\s+to|lead\w*\s+to|result\w*|by|for|to|why|after|when|if|as|weil|da|denn|wegen|aufgrund|dank|daher|deshalb|grund|ursache|damit|um|parce|car|raison|grâce|cause|afin|pour)\b",
    ),
    (
        r"\b(?:all|every|each|any|always|everyone|everybody|anyone|anybody|regardless|anytime|alle[nrsm]?|jede[rsmn]?|immer|stets|sämtliche\w*|tous|toutes|chaque|toujours)\b",
        r"\b(?:all|every|each|any|always|everyone|everybody|anyone|anybody|regardless|anytime|no|never|none|nobody|both|daily|weekly|monthly|yearly|annual\w*|alle[nrsm]?|jede\w*|immer|stets|sämtliche\w*|jährlich|wöchentlich|täglich|monatlich|tous|toutes|tout|chaque|toujours)\b",
    ),
    (
        r"\b(?:formerly|previously|used\s+to|in\s+the\s+past|no\s+longer|früher|ehemals|damals|autrefois|auparavant)\b",
        r"\b(?:former\w*|previous\w*|used\s+to|past|no\s+longer|not|was|were|until|since|instead|früher|ehemal\w*|damals|bis|nicht|autrefois|auparavant|ancien\w*|plus)\b",
    ),
)
_CLAIMS = tuple(
    (re.compile(said, re.IGNORECASE), re.compile(meant, re.IGNORECASE))
    for said, meant in _SAID_AND_MEANT
)
"""How a statement bounds a figure or gives a cause, a whole or a past, and how a source may have said as much."""

_PLANNED = re.compile(
    r"\b(?:planned|plans?\s+to|propos\w+|going\s+to|appl(?:y|ied|ication)\s+for|under\s+discussion|consider(?:s|ed|ing)|expect(?:s|ed)|intend\w*|pending|waiting"
    r"|postponed|not\s+(?:\w+\s+)?yet|soll(?:en|te|ten)?|geplant|vorgesehen|beantragt|vorgeschlagen|erwartet|noch\s+nicht|prévu\w*|propos[eé]\w*|demandé\w*)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(r"\b(?:will|shall|to\s+be|wird|werden|sera|seront)\b", re.IGNORECASE)
_DONE = re.compile(
    r"\b(?:was|were|has|have|had|already|wurden?|worden|bereits|ont|déjà|a\s+été)\b", re.IGNORECASE
)

_PERIODS = {
    name: period
    for period, names in {
        "hour": "hour hourly stunde stündlich heure",
        "day": "day night daily nightly tag nacht täglich nächtlich jour quotidien quotidienne",
        "week": "week weekly woche wöchentlich semaine hebdomadaire",
        "month": "month monthly monat monatlich mois mensuel mensuelle",
        "quarter": "quarter quarterly quartal vierteljährlich trimestre trimestriel trimestrielle",
        "year": "year yearly annual annually jahr jährlich an annuel annuelle",
    }.items()
    for name in names.split()
}
_HOW_OFTEN = re.compile(
    r"\b(?:(?:every|each|an?|per|jede[ns]?|pro|chaque|par)\s+"
    r"(hour|day|night|week|month|quarter|year|stunde|tag|nacht|woche|monat|quartal|jahr|heure|jour|semaine|mois|trimestre|an)"
    r"|(hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual(?:ly)?|(?:stünd|täg|nächt|wöchent|monat|vierteljähr|jähr)lich"
    r"|quotidien(?:ne)?|hebdomadaire|mensuel(?:le)?|trimestriel(?:le)?|annuel(?:le)?))\b",
    re.IGNORECASE,
)
"""How often something is done, in a phrase or in a word."""

_MUST = re.compile(
    r"\b(?:must|shall|ha(?:s|ve)\s+to|(?:is|are)\s+(?:required|obliged|bound)\s+to|need(?:s)?\s+to|muss|müssen|verpflichtet|doit|doivent)\b(?!\s+(?:not|nicht|pas)\b)"
)
_MAY = re.compile(
    r"\b(?:may|can|might|could|(?:is|are)\s+(?:allowed|permitted|free|entitled)\s+to|darf|dürfen|kann|können|peut|peuvent)\b(?!\s+(?:not|nicht|pas)\b)"
)
_OPPOSITES = tuple(
    (frozenset(terms(one)), frozenset(terms(other)))
    for one, other in (
        (
            "receive receives received get gets gain gains obtain obtains keep keeps granted grant grants",
            "lose loses lost forfeit forfeits refused refuse refuses declined decline declines denied deny denies",
        ),
        (
            "accept accepts accepted approve approved",
            "reject rejected rejects refuse refused declined",
        ),
        ("allowed allow allows permitted", "forbidden forbid forbids prohibited prohibit"),
        ("open opens opened", "close closes closed"),
        ("start starts started begin begins began", "end ends ended stop stops stopped"),
        (
            "increase increases increased rise rises rose",
            "decrease decreases decreased fall falls fell",
        ),
        (
            "erhält erhalten bekommt bekommen gewährt",
            "verliert verlieren verloren verweigert abgelehnt",
        ),
        ("angenommen genehmigt", "abgelehnt zurückgewiesen"),
        ("erlaubt gestattet", "verboten untersagt"),
        ("beginnt begann", "endet endete"),
        ("steigt stieg erhöht", "sinkt sank gesenkt"),
        ("reçoit accordé", "perd refusé"),
    )
)


def changes_modality(statement: str, source: str, *, context: str, denies: bool) -> bool:
    """Return whether a statement has a bound, a cause, a whole or a past that its source lacks, or another duty, time, frequency or the opposite word.

    `context` are the headings and the lead-in of the source. Where one of them `denies` something, an opposite may be the same.
    """
    whole = f"{context}\n{source}"
    changes = (_says_too_much, _changes_obligation, _changes_frequency)
    # "Plan" is also the heading of what has been done, so a plan must stand in the source's own words.
    if any(each(statement, whole) for each in changes) or _changes_time(statement, source):
        return True
    return not denies and _is_opposite(statement, whole)


def _says_too_much(statement: str, source: str) -> bool:
    return any(said.search(statement) and not meant.search(source) for said, meant in _CLAIMS)


def _changes_time(statement: str, source: str) -> bool:
    """Return whether a statement tells as a fact what the source plans, or as done what it says will be."""
    if _PLANNED.search(statement):
        return False
    if _PLANNED.search(source) and not _FUTURE.search(statement):
        return True
    return (
        _FUTURE.search(source) is not None
        and _DONE.search(statement) is not None
        and not (_DONE.search(source) or _FUTURE.search(statement))
    )


def _changes_frequency(statement: str, source: str) -> bool:
    """Return whether a statement says how often, and the source says it otherwise."""
    said, meant = _frequencies(statement), _frequencies(source)
    return bool(said and meant) and not said & meant


def _frequencies(text: str) -> frozenset[str]:
    return frozenset(
        _PERIODS[(each[1] or each[2]).casefold()] for each in _HOW_OFTEN.finditer(text)
    )


def _changes_obligation(statement: str, source: str) -> bool:
    pairs = ((_MUST, _MAY), (_MAY, _MUST))
    return any(
        one.search(statement)
        and not one.search(source)
        and other.search(source)
        and not other.search(statement)
        for one, other in pairs
    )


def _is_opposite(statement: str, source: str) -> bool:
    """Return whether one says a word and the other only its opposite."""
    said, meant = frozenset(terms(statement)), frozenset(terms(source))
    for one, other in _OPPOSITES:
        for mine, turned in ((one, other), (other, one)):
            if said & mine and not said & turned and meant & turned and not meant & mine:
                return True
    return False

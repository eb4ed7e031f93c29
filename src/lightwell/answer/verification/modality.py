"""Small words that turn a sentence: bounds of figures, what must and what may be, and words for the opposite.

Words of English, German and a few of French are known. Where the source says nothing of the kind, only a bound is not believed:
a duty or an opposite counts as changed where the source has the other one instead.
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
)
_BOUNDS = tuple(
    (re.compile(said, re.IGNORECASE), re.compile(meant, re.IGNORECASE))
    for said, meant in _SAID_AND_MEANT
)
"""How a statement bounds a figure, and how a source may have said as much."""

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


def changes_modality(statement: str, source: str, *, denies: bool) -> bool:
    """Return whether a statement bounds a figure as its source does not, or has the other duty or the opposite word.

    Where one of them `denies` something, an opposite may be the same.
    """
    if _changes_bound(statement, source) or _changes_obligation(statement, source):
        return True
    return not denies and _is_opposite(statement, source)


def _changes_bound(statement: str, source: str) -> bool:
    return any(said.search(statement) and not meant.search(source) for said, meant in _BOUNDS)


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

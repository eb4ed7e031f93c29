"""What in a sentence, a list item or a heading says that something is open."""

import re

from lightwell.text.dates import MONTH, WEEKDAY
from lightwell.text.terms import terms

_STRONG = re.compile(
    r"\[ \]|\bto do:|\b(?:todo|to-do|tbd|tba|pending|blocked|blockers?|waiting|awaits?|awaiting|overdue|deadlines?"
    r"|(?<!was )(?<!were )due(?! to\b)|unresolved|undecided|outstanding|at risk|(?:still|remains?|is|are) open"
    r"|open (?:point|question|issue|item|task|action)s?"
    r"|next steps?|action items?|offen|offene[rns]?|ausstehend|fällig|überfällig|wartet|blockiert|en attente|à faire"
    r"|échéance|bloquée?s?|questions? ouvertes?)\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:risks?|promised|promises?|not yet|owes?|needs? to|follow[- ]?up|risiko|versprochen|noch nicht|risques?|promis)\b",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:by|before|until|no later than|bis(?: zum)?|vor dem|avant(?: le)?|d’ici|d'ici)\s+(?:the\s+)?"
    rf"(?:end of\s+)?(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s+)?(?:(?:{MONTH})\b|\d{{4}}\b|{WEEKDAY}|q[1-4]\b|tomorrow"
    r"|tonight|next (?:week|month|year)|\d{1,2}[./]\d)",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\[x\]|~~|✅|\b(?:done|closed|resolved|fixed|shipped|completed|finished|no longer|kept|erledigt|geschlossen|terminée?|fait)\b",
    re.IGNORECASE,
)
_OPEN_HEADING = re.compile(
    r"\b(?:open (?:point|question|issue|item|task|action|matter|end)s?|to[- ]?dos?|next steps?|action items?|risks?"
    r"|pending|(?:we|they|he|she) promised|promises|deadlines?|offene|aufgaben|ouvertes?|à faire)\b|^(?:open|actions)\W*$",
    re.IGNORECASE,
)
CUES = tuple(
    dict.fromkeys(
        terms(
            "open todo tbd tba pending blocked blocker waiting await due overdue deadline unresolved undecided"
            " outstanding risk promised owe action offen fällig ausstehend attente échéance bloqué"
        )
    )
)
"""The terms by which passages are found that say what is open."""

_HASHES, _FIRST_LETTER = re.compile(r"#{1,6}\s"), re.compile(r"\w")
_COLON_LAST = re.compile(r"\w[^\w:]*(:)\W*$")
_LONGEST_HEADING = 60


def open_issue_score(text: str, context: str) -> int:
    """Return how surely the text says that something is open: 0 not at all, from 2 plainly.

    `context` is what it stands under; a heading such as "Open points" makes its items open.
    """
    if is_heading(text) or _CLOSED.search(text):
        return 0
    score = 2 * bool(_STRONG.search(text)) + bool(_WEAK.search(text)) + bool(_BY.search(text))
    return score + 2 * bool(_OPEN_HEADING.search(context))


def is_heading(text: str) -> bool:
    """Return whether a text is a heading: marked as one, or a few words before a colon."""
    if _HASHES.match(text):
        return True
    first, last = _FIRST_LETTER.search(text), _COLON_LAST.search(text)
    if first is None or last is None:
        return False
    label = text[first.start() : last.start(1)]
    return len(label) <= _LONGEST_HEADING and not any(sign in label for sign in "\n.!?")

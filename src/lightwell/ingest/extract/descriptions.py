"""The sentence of a passage that says best what a name is, or how two names are related.

Quotations, chosen by their words alone: a sentence that defines the name before one that is about it, before one that has it.
"""

import re
from collections.abc import Iterable

from lightwell.domain.graph import NO_QUOTE, Predicate, Quote
from lightwell.text.markup import strip_markup
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS

MAX_CHARACTERS = 240
TELLING = 100
"""Characters of a sentence that says enough and not too much: of several, the one that is nearest. `profiles.py` orders alike."""
_MIN_WORDS = 3
_ENDS = (".", "!", ".)", '."', ".”")
_MAX_GAP = 60

DEFINES, APPOSES, BEGINS, NAMES = range(4)
"""How a sentence has a name: it says what it is, gives it an apposition, begins with it, or names it."""

_IS = regex(
    r"(?: \([^()]{1,60}\))?,? (?:(?:is|are|was|were|ist|sind|war|est|sont) (?:an?|the|our|one|another|ein|eine|der|die|das|un|une|le|la)"
    r"|means?|refers? to|stands? for|provides?|describes?)\b"
)
_APPOSITION = regex(
    r"(?: \([^()]{3,60}\)|, (?:an?|the|our|their|his|her|its|ein|eine|der|die|das|un|une|le|la) \w)"
)
_ARTICLE = regex(r"(?:The|An?|Our|Der|Die|Das|Le|La|Un|Une) ", re.IGNORECASE)
_REFERS_BACK = regex(
    r"(?:It|This|That|These|Those|They|He|She|However|Also|But|And|Then|So|Er|Sie|Es|Dies\w{0,2})\b"
)

_PREDICATES: tuple[tuple[re.Pattern[str], Predicate], ...] = tuple(
    (regex(rf"(?: (?:\w{{1,20}}ly|also|only|now|itself))? (?:{verbs})(?: [\w-]{{1,20}}){{0,2}} ?"), predicate)
    for verbs, predicate in (
        (r"(?:is|are) (?:an? )?(?:\w{1,20} )?(?:part|component|module|member|subsidiary) of|belongs? to", Predicate.PART_OF),
        (r"requires?|needs?|depends? on|benötigt|braucht", Predicate.PREREQUISITE),
        (r"uses?|runs? on|rel(?:y|ies) on|is (?:built|based|hosted) (?:on|with|in)|is powered by|nutzt|verwendet|utilise", Predicate.USES),
        (r"implements?", Predicate.IMPLEMENTS),
        (r"(?:is|are) an? (?:\w{1,20} )?examples? of", Predicate.EXAMPLE_OF),
        (r"versus|vs\.?|compared (?:to|with)|rather than|as opposed to", Predicate.COMPARED_TO),
    )
)  # fmt: skip
"""The words between two names, all of them, that state a predicate."""
_NEGATION = regex(r"\b(?:not|no|never|n't|kein|keine|nicht|pas)\b|n['’]t\b")
_WORD = regex(r"[^\W\d_]{3,}")
_MAX_KEYWORDS = 3


def quote_about(sentence: str, name: str) -> Quote:
    """Return a `readable` sentence as a description of a name that it has, NO_QUOTE if it says too little."""
    if len(sentence.split()) < len(name.split()) + _MIN_WORDS or sentence.endswith("?"):
        return NO_QUOTE
    article = _ARTICLE.match(sentence)
    start = article.end() if article else 0
    begins = sentence.startswith(name, start)
    rank = NAMES
    if begins and _IS.match(sentence, start + len(name)):
        rank = DEFINES
    elif (place := sentence.find(name)) >= 0 and _APPOSITION.match(sentence, place + len(name)):
        rank = APPOSES
    elif begins:
        rank = BEGINS
    elif _REFERS_BACK.match(sentence) or sentence[0].islower() or not sentence.endswith(_ENDS):
        rank = NAMES + 1
    return ranked(sentence, rank)


def ranked(text: str, rank: int) -> Quote:
    """Return a text, cut if it is long, as a quote: whole ones before cut ones of the same rank."""
    short = shortened(text)
    return Quote(text=short, rank=2 * rank + (short != text))


def best(quotes: Iterable[Quote]) -> Quote:
    """Return the best of the quotes by their words alone, NO_QUOTE if there is none."""
    present = (quote for quote in quotes if quote.text)
    return min(
        present,
        key=lambda quote: (quote.rank, abs(len(quote.text) - TELLING), quote.text),
        default=NO_QUOTE,
    )


def readable(sentence: str) -> str:
    """Return a sentence as people read it, without markup and backquotes."""
    return strip_markup(sentence).replace("`", "").strip()


def shortened(text: str) -> str:
    """Return the text, cut after a whole word if it is long."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return text[: MAX_CHARACTERS - 1].rpartition(" ")[0].rstrip(",;:- ") + "…"


def predicate_between(gap: str) -> Predicate:
    """Return what the words between two names say of them, RELATED_TO where they say nothing that has a predicate."""
    if len(gap) > _MAX_GAP or _NEGATION.search(gap):
        return Predicate.RELATED_TO
    return next(
        (predicate for pattern, predicate in _PREDICATES if pattern.fullmatch(gap)),
        Predicate.RELATED_TO,
    )


def keywords_between(gap: str) -> str:
    """Return the first words between two names that say something, separated by commas."""
    if len(gap) > _MAX_GAP:
        return ""
    words = [word for word in _WORD.findall(gap) if word.islower() and word not in STOP_WORDS]
    return ", ".join(dict.fromkeys(words[:_MAX_KEYWORDS]))

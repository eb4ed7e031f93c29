"""Sentence boundaries: those of nupunkt, without those after German abbreviations and ordinals."""

import nupunkt

from lightwell.text.dates import ENGLISH_MONTHS, GERMAN_MONTHS
from lightwell.text.regex import regex

_NEVER_SENTENCE_END = frozenset(
    """abzgl bspw bzw ca evtl exkl ggf ggü i.d.r inkl insb insbes mio mrd sog tsd u.a vgl z.b z.t zzgl""".split()
)
_RARELY_SENTENCE_END = frozenset(
    """abt anm aufl dez dipl dipl-ing fr frl geb gem gest hrsg ing jan jh kap lt max min mind mwst nr nrn okt rz
    sek sept std str tel usw ziff""".split()
)
"""Abbreviations that may end a sentence, except before a lower-case letter or a number."""

_DAY = regex(r"(?:\d{1,2}\.?[-–/])?\d{1,2}")
_MONTH = regex(
    rf"(?:Jänner|{'|'.join(name.title() for name in GERMAN_MONTHS if name not in ENGLISH_MONTHS)})\b"
    rf"|(?:{'|'.join(name.title() for name in GERMAN_MONTHS if name in ENGLISH_MONTHS)})\s+\d{{4}}\b"
)
_WORDS_BEFORE_ORDINAL = frozenset("am beim das dem den der des die im vom zum zur".split())


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences as (start, end), each with the white space after it; together they cover the text."""
    spans: list[tuple[int, int]] = []
    for start, end in nupunkt.sent_spans(text):
        if spans and _continues(text, *spans[-1]):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, in front of quotation marks, brackets and marks of emphasis at most."""
    return text.rstrip("\"'”’)*_ ").endswith("?")


def split_sentences(text: str) -> list[str]:
    """Return the sentences in order, without the white space around them."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]


def _continues(text: str, start: int, end: int) -> bool:
    sentence = text[start:end].rstrip()
    if not sentence.endswith("."):
        return False
    word = (
        sentence[max(sentence.rfind(" "), sentence.rfind("\n")) + 1 : -1]
        .lstrip("(\"'„»")
        .casefold()
    )
    if word[-1:].isdecimal():
        return _DAY.fullmatch(word) is not None and (
            _MONTH.match(text, end) is not None or _is_ordinal(sentence.split())
        )
    if word in _NEVER_SENTENCE_END:
        return True
    is_short = word in _RARELY_SENTENCE_END or word.endswith("str")
    return is_short and (text[end].islower() or text[end].isdecimal() or text[end] in "§(")


def _is_ordinal(words: list[str]) -> bool:
    """Return whether the number at the end belongs to the word before it: `im 3. Stock`, not `I am 3. He`."""
    before = words[-2:-1]
    return (
        bool(before)
        and before[0].casefold() in _WORDS_BEFORE_ORDINAL
        and words[-3:-1] != ["I", "am"]
    )

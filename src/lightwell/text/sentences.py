"""Where sentences end: as nupunkt says, apart from German dots that end none."""

import re

import nupunkt

_BEFORE_ANYTHING = frozenset(
    """abzgl bspw bzw ca evtl exkl ggf ggü i.d.r inkl insb insbes mio mrd sog tsd u.a vgl z.b z.t zzgl""".split()
)
_BEFORE_MORE = frozenset(
    """abt anm aufl dez dipl dipl-ing fr frl geb gem gest hrsg ing jan jh kap lt max min mind mwst nr nrn okt rz
    sek sept std str tel usw ziff""".split()
)
"""What may end a sentence, and does not before a small letter or a number."""

_DAY = re.compile(r"(?:\d{1,2}\.?[-–/])?\d{1,2}")
_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
    r"|(?:April|August|September|November)\s+\d{4}\b"
)
_LEADS = frozenset("am beim das dem den der des die im vom zum zur".split())


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences as (start, end), each with the white space after it; together they are the text."""
    spans: list[tuple[int, int]] = []
    for start, end in nupunkt.sent_spans(text):
        if spans and _goes_on(text, *spans[-1]):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def sentences_of(text: str) -> list[str]:
    """Return the sentences in order, without the white space around them."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]


def _goes_on(text: str, start: int, end: int) -> bool:
    said = text[start:end].rstrip()
    if not said.endswith("."):
        return False
    word = said[max(said.rfind(" "), said.rfind("\n")) + 1 : -1].lstrip("(\"'„»").casefold()
    if word[-1:].isdecimal():
        return _DAY.fullmatch(word) is not None and (
            _MONTH.match(text, end) is not None or _leads(said.split())
        )
    if word in _BEFORE_ANYTHING:
        return True
    is_short = word in _BEFORE_MORE or word.endswith("str")
    return is_short and (text[end].islower() or text[end].isdecimal() or text[end] in "§(")


def _leads(words: list[str]) -> bool:
    """Return whether the number at the end is an ordinal for the word before it: `im 3. Stock`, not `I am 3. He`."""
    before = words[-2:-1]
    return bool(before) and before[0].casefold() in _LEADS and words[-3:-1] != ["I", "am"]

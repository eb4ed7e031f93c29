"""Proper names: runs of capitalised words, identifiers and addresses."""

from collections.abc import Collection

from lightwell.text.dates import mask_dates
from lightwell.text.figures import SCALES, UNIT_NAMES
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, terms

_NAME_WORD = regex(r"[^\W_]+(?:[-.'’@&/_][^\W_]+)*")
_SENTENCE_END = regex(r"(?:^|[.!?:;|\n(„“\"«*•>#]|[-–—] )[\s*_]{0,8}$")
_NO_NAMES = frozenset(
    """dr mr mrs ms prof herr frau mme although since however according based additionally furthermore therefore thus moreover
    instead unless per upon yes currently finally overall yet still i""".split()
)


def find_names(text: str, known_terms: Collection[str] = ()) -> tuple[frozenset[str], ...]:
    """Return the terms of each proper name in the text, in order.

    A name is a run of capitalised words, an identifier or an address. The first word of a sentence counts only
    if it is one of the `known_terms`, or has further capitals.
    """
    runs: list[list[str]] = []
    end = -1
    for match in _NAME_WORD.finditer(mask_dates(text)):
        word = match[0]
        if word.islower() and word.isalpha():
            continue
        first = _SENTENCE_END.search(text[max(0, match.start() - 8) : match.start()]) is not None
        if not _is_name(word, known_terms, is_first=first):
            continue
        if runs and text[end : match.start()].strip(" ") == "" and match.start() > end > 0:
            runs[-1].append(word)
        else:
            runs.append([word])
        end = match.end()
    return tuple(name for run in runs if (name := frozenset(terms(" ".join(run)))))


def _is_name(word: str, known_terms: Collection[str], *, is_first: bool) -> bool:
    folded = word.casefold()
    if len(word) == 1 or any(
        folded in word_list for word_list in (STOP_WORDS, _NO_NAMES, UNIT_NAMES, SCALES)
    ):
        return False
    if "@" in word or (not word[0].isdigit() and any(map(str.isdigit, word))):
        return True
    if not word[0].isupper():
        return False
    if not is_first or (not word[1:].islower() and any(map(str.isupper, word[1:]))):
        return True
    return any(term in known_terms for term in terms(word))

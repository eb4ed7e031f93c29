"""Which names a question may hold, and which of them it does hold."""

import re
from collections.abc import Collection

from lightwell.domain.graph import normalize_name
from lightwell.text.terms import STOP_WORDS, terms

_LONGEST_NAME = 8
_WORD = re.compile(r"[^\s?!,;:()\[\]{}\"“”]+")
_CAMEL = re.compile(r"(?<=[a-z])(?<!\bMc)(?<!Mac)(?=[A-Z])")


def candidate_names(question: str) -> tuple[str, ...]:
    """Return every run of up to eight words that may be a name, normalised, each once, in order.

    A single word may be one when it has a capital, a digit or an @; a run of small words from two on.
    """
    words = _words(question)
    return tuple(dict.fromkeys(name for _, _, name in _runs(words)))


def match_names(question: str, known: Collection[str]) -> tuple[str, ...]:
    """Return those of the known normalised names that the question holds, the longest first; none overlap."""
    words = _words(question)
    taken = [False] * len(words)
    held: list[str] = []
    for start, end, name in _runs(words):
        if name in known and not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            held.append(name)
    return tuple(dict.fromkeys(held))


def proper_name_terms(question: str) -> frozenset[str]:
    """Return the terms of the words written as names: with a digit, or with a capital that begins no question."""
    words = _WORD.findall(question)
    written = [
        word
        for place, word in enumerate(words)
        if any(sign.isdigit() for sign in word) or (place > 0 and word[0].isupper())
    ]
    return frozenset(terms(" ".join(written)))


def _words(question: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", question))


def _runs(words: list[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            name = normalize_name(" ".join(run))
            if name and _may_be_name(run):
                found.append((start, start + length, name))
    return found


def _may_be_name(run: list[str]) -> bool:
    if run[0].casefold() in STOP_WORDS and len(run) > 1 and not run[0][0].isupper():
        return False
    if all(word.casefold() in STOP_WORDS for word in run):
        return False
    return len(run) > 1 or any(sign.isupper() or sign.isdigit() or sign == "@" for sign in run[0])

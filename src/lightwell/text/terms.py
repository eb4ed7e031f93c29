"""Text analysis for full-text search: the same for documents and questions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Protocol, cast

import Stemmer

from lightwell.text.regex import regex

MAX_TERM_FREQUENCY = 8
"""The highest term frequency that is stored; beyond it, BM25's curve is nearly flat."""

_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = regex(r"(?<=[a-z])(?=[A-Z])")
_MAY_COMBINE = regex(r"[\u0300-\U0010ffff]+")
"""Runs in which combining signs are looked for: none comes before U+0300."""
_CJK = regex(r"[぀-ヿ㐀-鿿가-힯豈-﫿]")
_MAX_TERM_LENGTH = 60
_STEM_CACHE_SIZE = 100_000  # four times as fast as the stemmer's own cache

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both
    but by can could did do does doing don down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just me more most my no nor not now of off on once only or other
    our ours out over own same she should so some such than that the their theirs them then there these they this
    those through to too under until up very was we were what when where which while who whom whose why will with
    would you your yours""".split()
)


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _stemmer() -> _Stemmer:
    return cast("_Stemmer", Stemmer.Stemmer("english", maxCacheSize=0))


@lru_cache(maxsize=_STEM_CACHE_SIZE)
def _stem(word: str) -> str:
    return _stemmer().stemWord(word)


def words(text: str) -> list[str]:
    """Return the words in order, folded: NFKC, lower case, without accents.

    `LiHua` becomes two words, and a run of CJK characters becomes overlapping pairs.
    """
    separated = _CAMEL.sub(" ", text)
    if text.isascii():
        return [
            word.removesuffix("'s")[:_MAX_TERM_LENGTH]
            for word in _WORD.findall(separated.casefold())
        ]
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", separated).casefold())
    unaccented = _MAY_COMBINE.sub(_without_combining, folded)
    folded_words: list[str] = []
    for word in _WORD.findall(unaccented):
        if _CJK.search(word):
            folded_words.extend(_pairs(word))
        else:
            folded_words.append(word.replace("’", "'").removesuffix("'s")[:_MAX_TERM_LENGTH])
    return folded_words


def _without_combining(run: re.Match[str]) -> str:
    return "".join(sign for sign in run[0] if not unicodedata.combining(sign))


def terms(text: str) -> list[str]:
    """Return the stemmed words in order, without stop words."""
    return [_stem(word) for word in words(text) if word not in STOP_WORDS]


def stem_words(folded: Iterable[str]) -> list[str]:
    """Return the terms of folded words, which are no stop words."""
    return list(map(_stem, folded))


def count_terms(text: str) -> dict[str, int]:
    """Return the frequency of each term in the text, at most eight."""
    return {term: min(count, MAX_TERM_FREQUENCY) for term, count in Counter(terms(text)).items()}


def _pairs(run: str) -> list[str]:
    signs = unicodedata.normalize("NFC", run)
    return [signs[place : place + 2] for place in range(max(1, len(signs) - 1))]

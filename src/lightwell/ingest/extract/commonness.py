"""How ordinary a word is: whether a capital letter alone can make a name of it."""

from collections.abc import Sequence
from enum import IntEnum
from functools import cache, lru_cache
from importlib import resources

from lightwell.text.dictionary import ENGLISH, count_uses, has_dictionary, is_word
from lightwell.text.terms import terms

_ORDINARY_USES = 7000
"""Names that are in the dictionary were counted less often in lower case."""
_NOUN_USES = 200
_SHORTEST_PART = 3
_ENDINGS = ("s", "es", "er", "ers")
_VERBAL_ENDINGS = ("ed", "ing", "ings", "ly", "able", "ies", "ity", "ities", "ize", "ise")
_PREFIXES = ("un", "re", "pre", "sub", "non")
_GERMAN = "de"


class Commonness(IntEnum):
    """Words of the dictionary that are rare in lower case may be names: without other forms (`london`), or with (`docker`, `dockers`)."""

    UNKNOWN = 0
    NAME_LIKE = 1
    INFLECTED = 2
    ORDINARY = 3


@cache
def common_words() -> frozenset[str]:
    """Return some five thousand English words that running text writes in lower case."""
    page = resources.files("lightwell.ingest.extract").joinpath("common_words.txt")
    return frozenset(page.read_text(encoding="utf-8").split())


@lru_cache(maxsize=50_000)
def commonness(word: str, language: str = ENGLISH) -> Commonness:
    """Return how ordinary a word in lower case is in a language; without a dictionary of it, in English."""
    if language != ENGLISH and has_dictionary(language):
        return _in_other_language(word, language)
    uses = count_uses(word)
    if word in common_words() or uses >= _ORDINARY_USES:
        return Commonness.ORDINARY
    if not uses:
        return (
            Commonness.INFLECTED
            if _is_form(word, (*_ENDINGS, *_VERBAL_ENDINGS))
            else Commonness.UNKNOWN
        )
    is_form = not _common_stems().isdisjoint(terms(word))
    if is_form:
        return Commonness.ORDINARY
    stem = word.removesuffix("e").removesuffix("y")
    longer = (f"{word}s", f"{word}es", f"{stem}ed", f"{stem}ing", f"{stem}ies")
    is_noun = uses >= _NOUN_USES and (any(map(is_word, longer)) or _is_form(word, _ENDINGS))
    is_inflected = is_noun or _is_form(word, _VERBAL_ENDINGS)
    return Commonness.INFLECTED if is_inflected else Commonness.NAME_LIKE


@lru_cache(maxsize=50_000)
def is_function_word(word: str, language: str) -> bool:
    """Return whether a word in lower case is so frequent in a language other than English that it begins no name: `ihrem`, `sehr`."""
    return (
        language != ENGLISH
        and has_dictionary(language)
        and count_uses(word, language) >= _ORDINARY_USES
    )


def _is_form(word: str, endings: Sequence[str]) -> bool:
    """Return whether the word is a regular form of a word in the dictionary: `linters`, `importantly`, `untick`."""
    bases = [word.removesuffix(ending) for ending in endings if word.endswith(ending)]
    bases += [word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)]
    return any(
        is_word(form)
        for base in bases
        if len(base) >= _SHORTEST_PART
        for form in (base, f"{base}e", f"{base}y")
    )


def _in_other_language(word: str, language: str) -> Commonness:
    """German writes every noun with a capital, so there each word of the dictionary is ordinary, and what is made of two."""
    if language == _GERMAN:
        is_ordinary = is_word(word, language) or _is_compound(word)
        return Commonness.ORDINARY if is_ordinary else Commonness.UNKNOWN
    uses = count_uses(word, language)
    if uses >= _ORDINARY_USES or word in common_words():
        return Commonness.ORDINARY
    return Commonness.NAME_LIKE if uses or is_word(word) else Commonness.UNKNOWN


def _is_compound(word: str) -> bool:
    return any(
        is_word(word[cut:], _GERMAN)
        and (is_word(word[:cut], _GERMAN) or is_word(word[:cut].removesuffix("s"), _GERMAN))
        for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    )


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(stem for word in common_words() for stem in terms(word))

"""The words of some languages, in every form, as pyspellchecker counted and cleaned them in film subtitles.

It counted words in lower case: of names few are left, so that a high count tells an ordinary word.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from spellchecker import SpellChecker

ENGLISH = "en"


def is_word(word: str, language: str = ENGLISH) -> bool:
    """Return whether a word in lower case is in the dictionary; the first call for a language takes up to 0.6 s and 50 MB."""
    return word in _counts(language)


def count_uses(word: str, language: str = ENGLISH) -> int:
    """Return how often a word in lower case was counted, 0 if the dictionary lacks it."""
    return _counts(language).get(word, 0)


@cache
def has_dictionary(language: str) -> bool:
    """Return whether there is a dictionary for a language, given as its ISO 639 code."""
    return resources.files("spellchecker").joinpath("resources", f"{language}.json.gz").is_file()


@cache
def _counts(language: str) -> Mapping[str, int]:
    return dict(SpellChecker(language=language).word_frequency.items())

"""The words of English, in every form: pyspellchecker's list of 160,000, which it counted in film subtitles and cleaned."""

from functools import cache

from spellchecker import SpellChecker


def is_word(word: str) -> bool:
    """Return whether a word in lower case is an ordinary English one; the first call takes 0.1 s and 15 MB."""
    return word in _words()


@cache
def _words() -> frozenset[str]:
    return frozenset(SpellChecker(language="en").word_frequency.words())

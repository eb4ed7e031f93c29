"""The key of a word: equal for its forms in English and German, so that `offene` finds `offen` and `deals` finds `Deal`."""

from lightwell.text.regex import regex
from lightwell.text.terms import stem_words, words

_ENDING = regex(r"(?<=\w\w\w\w)(?:en|er|es|em|e|n|s)$")


def word_key(folded: str) -> str:
    """Return the key of a folded word."""
    (stem,) = stem_words([folded])
    return _ENDING.sub("", stem)


def keys_of(text: str) -> list[str]:
    """Return the keys of the words of a text, in order, with those of stop words."""
    return [word_key(word) for word in words(text)]


def cell_key(text: str, *, most_words: int) -> str:
    """Return the key of a whole cell, by which a question names it; "" for one of more words."""
    keys = keys_of(text)
    return " ".join(keys) if len(keys) <= most_words else ""

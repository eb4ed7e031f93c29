"""Texts compared by their letters and digits alone: what white space, hyphens, ligatures and accents do not change."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters and digits of a text in small form; `places` says of each where in the text it comes from."""

    text: str
    places: tuple[int, ...]

    def find_all(self, sought: str) -> list[tuple[int, int]]:
        """Return where these letters stand in the text, each place as start and end; none for no letters."""
        matches: list[tuple[int, int]] = []
        start = self.text.find(sought) if sought else -1
        while start >= 0:
            matches.append((self.places[start], self.places[start + len(sought) - 1] + 1))
            start = self.text.find(sought, start + 1)
        return matches


def letters_of(signs: Iterable[str]) -> Letters:
    """Return the letters of a text, or of a sequence of its signs."""
    parts: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(signs):
        letters = _letters_of_sign(sign)
        parts.append(letters)
        places.extend([place] * len(letters))
    return Letters("".join(parts), tuple(places))


@lru_cache(maxsize=4096)
def _letters_of_sign(sign: str) -> str:
    folded = unicodedata.normalize("NFKD", sign).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def end_with_punctuation(signs: Sequence[str], end: int, quote: str) -> int:
    """Return where a quotation ends whose letters end there, together with the full stop or bracket that it ends in."""
    ending = sum(1 for _ in takewhile(_is_punctuation, reversed(quote.rstrip())))
    return end + sum(1 for _ in takewhile(_is_punctuation, signs[end : end + ending]))


def place_of_quote(signs: Sequence[str], quote: str, occurrence: int) -> tuple[int, int] | None:
    """Return where a quotation stands, by its letters: the place with this number, from 0, or the last one; None where it is not there."""
    places = letters_of(signs).find_all(letters_of(quote).text)
    if not places:
        return None
    start, end = places[min(occurrence, len(places) - 1)]
    return start, end_with_punctuation(signs, end, quote)


def _is_punctuation(sign: str) -> bool:
    return not sign.isalnum() and not sign.isspace()

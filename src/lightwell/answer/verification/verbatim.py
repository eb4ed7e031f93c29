"""Quotes that a model copied, found word for word where they stand.

The same letters and digits stand there in the same order. Case, accents, white space, quotation marks, dashes and marks of markdown do not
count, nor do targets of links and tags, which nobody reads. What is cited are the words of the document, never the copy.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from lightwell.text.analysis.chunk import Span
from lightwell.text.markup import find_links
from lightwell.text.regex import regex
from lightwell.text.terms import words

FEWEST_WORDS = 2
"""A quote of fewer words says nothing by itself."""

LONGEST_QUOTE = 1500
"""Characters of a passage that one quote may span: who quotes everything has quoted nothing."""

MOST_PLACES = 20
"""So many places of the same words are looked at."""

_RUN = regex(r"[^\W_]+")
_TAG = regex(r"</?[a-z][^<>\n]{0,300}>|<!--(?:[^-]|-(?!->)){0,2000}-->", re.IGNORECASE)
_LEFT_OUT = regex(r"\.\s?\.\s?\.|…")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedText:
    """The letters and digits of a text, folded, and the place of each in the text."""

    text: str
    folded: str
    places: Sequence[int]

    def find(self, folded: str) -> Iterator[Span]:
        """Yield where folded words stand in the text, from the beginning of a word to the end of one, in order."""
        start = self.folded.find(folded) if folded else -1
        while start >= 0:
            first, last = self.places[start], self.places[start + len(folded) - 1] + 1
            if not self._is_in_word(first) and not self._is_in_word(last):
                yield first, last
            start = self.folded.find(folded, start + 1)

    def _is_in_word(self, place: int) -> bool:
        """Return whether a word goes on at a place of the text; scripts with wide signs part no words."""
        around = self.text[max(0, place - 1) : place + 1]
        return len(around) == 2 and all(map(_is_narrow_letter, around))


def fold(text: str) -> FoldedText:
    """Return the letters and digits of a text, without those of targets of links and of tags."""
    folded: list[str] = []
    places: list[int] = []
    for match in _RUN.finditer(_without_hidden(text)):
        run = match[0]
        if run.isascii():
            folded.append(run.lower())
            places.extend(range(match.start(), match.end()))
            continue
        for place, sign in enumerate(run, match.start()):
            letters = _fold_sign(sign)
            folded.append(letters)
            places.extend([place] * len(letters))
    return FoldedText(text=text, folded="".join(folded), places=places)


def find_quote(quote: str, passage: FoldedText) -> list[list[Span]]:
    """Return for each part of a quote where it stands in a passage; [] where one does not, or says too little or too much.

    Dots part a quote where a model left something out.
    """
    places: list[list[Span]] = []
    for part in filter(str.strip, _LEFT_OUT.split(quote)):
        if len(words(part)) < FEWEST_WORDS:
            return []
        spans = [*islice(passage.find(fold(part).folded), MOST_PLACES)]
        fitting = [span for span in spans if span[1] - span[0] <= LONGEST_QUOTE]
        if not fitting:
            return []
        places.append(fitting)
    return places


def _is_narrow_letter(sign: str) -> bool:
    return sign.isalnum() and unicodedata.east_asian_width(sign) not in "WF"


def _fold_sign(sign: str) -> str:
    plain = unicodedata.normalize("NFKD", sign.casefold()).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def _without_hidden(text: str) -> str:
    """Return the text with a blank for each character that nobody reads, so that other places stay."""
    signs = list(text)
    hidden = [(text.index("]", start), end) for start, end in find_links(text)]
    for start, end in [*hidden, *(match.span() for match in _TAG.finditer(text))]:
        signs[start:end] = " " * (end - start)
    return "".join(signs)

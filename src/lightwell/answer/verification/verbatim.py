"""Quotes that a model copied, found word for word where they stand.

The same letters and digits stand there in the same order. Case, accents, white space, quotation marks, dashes and marks of markdown do not
count, nor do targets of links and tags, which nobody reads. What is cited are the words of the document, never the copy.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lightwell.text.analysis.chunk import Span
from lightwell.text.letters import Letters, letters_of
from lightwell.text.markup import find_links
from lightwell.text.regex import regex
from lightwell.text.terms import words

FEWEST_WORDS = 2
"""A quote of fewer words says nothing by itself."""

LONGEST_QUOTE = 1500
"""Characters of a passage that one quote may span: who quotes everything has quoted nothing."""

MOST_PLACES = 20
"""So many places of the same words are looked at."""

_TAG = regex(r"</?[a-z][^<>\n]{0,300}>|<!--(?:[^-]|-(?!->)){0,2000}-->", re.IGNORECASE)
_LEFT_OUT = regex(r"\.\s?\.\s?\.|…")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedText:
    """A text, and the letters and digits by which quotes are found in it."""

    text: str
    letters: Letters

    def find(self, quote: "FoldedText") -> Iterator[Span]:
        """Yield where the letters of a quote stand in the text, from the beginning of a word to the end of one, in order."""
        for start, end in self.letters.find_all(quote.letters.text):
            if not self._is_in_word(start) and not self._is_in_word(end):
                yield start, end

    def _is_in_word(self, place: int) -> bool:
        """Return whether a word goes on at a place of the text; scripts with wide signs part no words."""
        around = self.text[max(0, place - 1) : place + 1]
        return len(around) == 2 and all(map(_is_narrow_letter, around))


def fold(text: str) -> FoldedText:
    """Return the letters and digits of a text, without those of targets of links and of tags."""
    signs = [sign if sign.isalnum() else " " for sign in text]  # ™ is a mark, too
    hidden = [(text.index("]", start), end) for start, end in find_links(text)]
    for start, end in [*hidden, *(match.span() for match in _TAG.finditer(text))]:
        signs[start:end] = " " * (end - start)
    return FoldedText(text=text, letters=letters_of(signs))


def find_quote(quote: str, passage: FoldedText) -> list[list[Span]]:
    """Return for each part of a quote where it stands in a passage; [] where one does not, or says too little or too much.

    Dots part a quote where a model left something out.
    """
    places: list[list[Span]] = []
    for part in filter(str.strip, _LEFT_OUT.split(quote)):
        if len(words(part)) < FEWEST_WORDS:
            return []
        spans = [*islice(passage.find(fold(part)), MOST_PLACES)]
        fitting = [span for span in spans if span[1] - span[0] <= LONGEST_QUOTE]
        if not fitting:
            return []
        places.append(fitting)
    return places


def _is_narrow_letter(sign: str) -> bool:
    return sign.isalnum() and unicodedata.east_asian_width(sign) not in "WF"

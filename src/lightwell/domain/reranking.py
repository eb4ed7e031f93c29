"""What rerankers and late interaction are given, and what they say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lightwell.domain.multi_vectors import MultiVector

ENCODED_LANGUAGE = "en"
"""The language of the passages that are encoded for late interaction: its model has learned no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankedPassage:
    """A passage, by its index in the input from 0, and its calibrated relevance in [0, 1]."""

    index: int
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadedPassage:
    """A passage as late interaction encodes it: `head` says where `text` stands (its title and headings)."""

    head: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSpan:
    """A part of a chunk's text, `text[start:end]`, by the chunk's vectors; what lies outside of the text does not count."""

    vectors: MultiVector
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """How a text compares with a question, each from 0 to 1.

    `similarity` is how similar in meaning the two are as wholes. `token_match` is the mean, over the tokens of the question, of how like each
    is to that token of the text that is most like it (after ColBERT's MaxSim), where the lesser half counts three times; 0 where one of
    them has no tokens. `words` is the mean of it for each word of the question as it is written there, the best one of a word that occurs again.
    """

    similarity: float
    token_match: float
    words: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedChunk:
    """The vectors of a chunk whose text begins at this character of a passage."""

    start: int
    vectors: MultiVector

    def span(self, start: int, end: int) -> EncodedSpan:
        """Return a part of the passage, as a part of the chunk."""
        return EncodedSpan(vectors=self.vectors, start=start - self.start, end=end - self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMatch:
    """How a window of a chunk, `text[start:end]`, compares with a question: measures as of `TextMatch`, from stored vectors."""

    start: int
    end: int
    similarity: float
    token_match: float

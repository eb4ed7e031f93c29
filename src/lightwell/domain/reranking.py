"""What rerankers and the cross-encoder are given, and what they say."""

from dataclasses import dataclass

READ_LANGUAGE = "en"
"""The language of the passages that the cross-encoder reads: it has learned no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankedPassage:
    """A passage, by its index in the input from 0, and its calibrated relevance in [0, 1]."""

    index: int
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadablePassage:
    """A passage as a cross-encoder reads it: `head` says where `text` stands (its title and headings)."""

    head: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindow:
    """A part of a passage that was read with the question, `text[start:end]`, and the log odds, uncalibrated, that it answers."""

    start: int
    end: int
    logit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """How a text compares with a question, each from 0 to 1.

    `similarity` is how similar in meaning the two are as wholes. For each token of the question there is a token of the text that is
    most like it: `mean` is how like these are on average (ColBERT's MaxSim, by the number of tokens), `weakest` the same of the third of
    the question that the text matches least. A text without tokens matches nothing.
    """

    similarity: float
    mean: float
    weakest: float

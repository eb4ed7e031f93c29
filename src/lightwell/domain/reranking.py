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
    """A part of a passage that was read with the question, `text[start:end]`, and the log odds, uncalibrated, that it answers.

    `similarity` is how similar in meaning it is to the question, 0 to 1; 0 where it was not compared.
    """

    start: int
    end: int
    logit: float
    similarity: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """How a text compares with a question, each from 0 to 1.

    `similarity` is how similar in meaning the two are as wholes. `token_match` is the mean, over the tokens of the question, of how like each
    is to that token of the text that is most like it (after ColBERT's MaxSim), where the lesser half counts three times; 0 where one of
    them has no tokens.
    """

    similarity: float
    token_match: float

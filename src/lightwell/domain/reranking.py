"""What rerankers and the token matcher are given, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass

MATCHED_LANGUAGE = "en"
"""The language of the passages that the token matcher compares: it has learned no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankedPassage:
    """A passage, by its index in the input from 0, and its calibrated relevance in [0, 1]."""

    index: int
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchablePassage:
    """A passage as the token matcher gets it: `head` says where `text` stands (its title and headings)."""

    head: str
    text: str


TokenMatches = tuple[float, ...]
"""For each token of the question, in its order, the cosine similarity of the token that is most like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedUnit:
    """A unit of a passage, `text[start:end]`, and how its tokens match those of the question."""

    start: int
    end: int
    best: TokenMatches


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedWindow:
    """A part of a passage, `text[start:end]`, whose tokens were compared with those of the question.

    `similarity` is how similar in meaning it is as a whole, 0 to 1. `head` are the matches of the title and the headings that it
    stands under, `units` those of the units in it.
    """

    start: int
    end: int
    similarity: float
    head: TokenMatches
    units: tuple[MatchedUnit, ...]

    @property
    def best(self) -> TokenMatches:
        """The matches of all its tokens, the head's included."""
        return merge_matches([self.head, *(each.best for each in self.units)])


def merge_matches(matches: Sequence[TokenMatches]) -> TokenMatches:
    """Return the matches of several texts taken together; () of none."""
    return tuple(max(column) for column in zip(*matches, strict=True))


def mean_match(best: TokenMatches) -> float:
    """Return how well a text matches the whole question, the mean over its tokens (ColBERT's MaxSim, by their number); 0 of none."""
    return sum(best) / len(best) if best else 0.0


def weakest_match(best: TokenMatches) -> float:
    """Return how well a text matches what it matches least: the mean over the lowest third of the question's tokens; 0 of none."""
    lowest = sorted(best)[: max(1, len(best) // 3)]
    return sum(lowest) / len(lowest) if lowest else 0.0

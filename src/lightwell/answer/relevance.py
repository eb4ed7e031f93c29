"""How relevant an answer without a model is: how likely the pieces that were chosen answer the question.

A passage that is relevant may be quoted at the wrong place, so it is judged what was chosen: how far the piece leads before the next
best one, how similar it is to the question as a whole, how much of the question it speaks to, in whatever words, and what it lacks of what is asked for.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from lightwell.answer.extractive import ScoredPiece
from lightwell.domain.answers import HIGH_RELEVANCE, MEDIUM_RELEVANCE
from lightwell.domain.calibration import logit, sigmoid
from lightwell.domain.evidence import Retrieval, missing_share
from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.domain.reranking import TextMatch
from lightwell.text.answer_types import lacking_share
from lightwell.text.answer_types.facts import find_stated_dates, join_facts
from lightwell.text.terms import terms

Floats = NDArray[np.float64]

PIECE = ("token_match", "similarity", "unit", "passage")
"""The measures of a piece in the order of their columns: how it compares with the question token by token, and as a whole, how well the
unit answers that it is around, and the log odds that its passage is relevant."""

CHOICE = ("lead", "similarity", "covered", "lacking", "missing")
"""The measures of what was chosen: by how much the first piece leads, how similar it is as a whole, how much of the question it covers
in whatever words, how much of what is asked for (a figure, a person, a day) it lacks, and which of the proper names its passage lacks."""

MOST_LEAD = 3.0
"""By how much a piece leads at most; one without a rival leads by as much."""

LIKE, UNLIKE = 0.7, 0.42
"""The likeness of two tokens in their contexts from which they mean the same, and below which they have nothing in common.

Words that stand in the piece are alike by 0.71 (half of them by 0.66 to 0.74), others by 0.51 (0.45 to 0.57)."""

FILE = "relevance.toml"
_NEARLY_SURE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceWeights:
    """`piece` orders pieces (`PIECE`); `base` and `choice` make the log odds that what was chosen answers (`CHOICE`).

    A second piece is `close` behind the first one at most, with `more` for what it adds to it: all of the question would be 1. `possible`, `medium` and `high` are the chances from which an answer is
    possibly one, and one of medium and of high confidence.
    """

    piece: Floats
    close: float
    more: float
    base: float
    choice: Floats
    possible: float
    medium: float
    high: float

    def score(self, measures: Floats) -> float:
        """Return how well a piece answers, on the scale on which a difference of one makes it e times as likely."""
        return float(measures @ self.piece)

    def chance(self, measures: Floats) -> float:
        """Return the chance, 0 to 1, that what was chosen answers."""
        return sigmoid(self.base + float(measures @ self.choice))

    def relevance(self, measures: Floats) -> float:
        """Return the relevance of what was chosen, 0 to 1: from 0.6 it is shown, and from 0.7 and 0.85 as often right as `Confidence` says."""
        chances = (0.0, self.possible, self.medium, self.high, 1.0)
        scale = (0.0, SUFFICIENT_RELEVANCE, MEDIUM_RELEVANCE, HIGH_RELEVANCE, 1.0)
        return round(float(np.interp(self.chance(measures), chances, scale)), 6)


@cache
def load_weights() -> RelevanceWeights:
    """Return the shipped weights."""
    page = tomllib.loads(resources.files("lightwell.answer").joinpath(FILE).read_text("utf-8"))
    return RelevanceWeights(
        piece=np.array([float(page["piece"][name]) for name in PIECE]),
        close=float(page["second"]["close"]),
        more=float(page["second"]["more"]),
        base=float(page["choice"]["base"]),
        choice=np.array([float(page["choice"][name]) for name in CHOICE]),
        possible=float(page["scale"]["possible"]),
        medium=float(page["scale"]["medium"]),
        high=float(page["scale"]["high"]),
    )


def piece_measures(piece: ScoredPiece, match: TextMatch) -> Floats:
    """Return the measures of a piece that was compared with the question, (`PIECE`,)."""
    odds = logit(piece.passage.relevance, margin=_NEARLY_SURE)
    return np.array([match.token_match, match.similarity, piece.unit.base_score, odds])


def choice_measures(
    retrieval: Retrieval, piece: ScoredPiece, match: TextMatch, lead: float
) -> Floats:
    """Return the measures of a piece that was chosen to answer, (`CHOICE`,); `lead` is by how much it scores higher than the next best one."""
    passage, quotes = piece.passage, piece.piece.quotes
    around = _terms_around(piece)
    passage_terms = passage.analysis.terms.union(terms(passage.chunk.title))
    units = [
        unit.facts
        for unit in passage.analysis.units
        if any(quote.start <= unit.start < quote.end for quote in quotes)
    ]
    expected = retrieval.analysis.expected
    dates = find_stated_dates(passage.chunk.title) if expected.dates else frozenset[str]()
    return np.array(
        [
            min(lead, MOST_LEAD),
            match.similarity,
            sum(piece.covers.values()),
            lacking_share(join_facts(units), expected, around, dates_above=dates),
            missing_share(retrieval.analysis.proper_name_terms, retrieval.weights, passage_terms),
        ]
    )


def covers(piece: ScoredPiece, match: TextMatch, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the words of the question that a piece speaks to, each with the share of the question, by weight, that it is covered by.

    A word counts wholly where it stands in the piece or above it, else by how much what is most like it means the same.
    """
    around = _terms_around(piece)
    shares: dict[str, float] = {}
    whole = 0.0
    for word, likeness in match.words.items():
        word_terms = terms(word)
        weight = max((weights.get(term, 0.0) for term in word_terms), default=0.0)
        alike = min(max((likeness - UNLIKE) / (LIKE - UNLIKE), 0.0), 1.0)
        shares[word] = weight * (alike if around.isdisjoint(word_terms) else 1.0)
        whole += weight
    return {word: share / whole for word, share in shares.items() if share}


def _terms_around(piece: ScoredPiece) -> frozenset[str]:
    """Return the terms of a piece, with those above its unit and of its title."""
    title = terms(piece.passage.chunk.title)
    own_terms = (quote.terms for quote in piece.piece.quotes)
    return piece.unit.quote.terms_above.union(title, *own_terms)

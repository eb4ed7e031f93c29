"""Answers without a model: pieces of the evidence, chosen by how well each as a whole matches the question, token by token.

A unit may hold the question's words while what stands around it is about something else. `benchmarks/README.md` says how many
answers become right by it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from lightwell.answer.extractive import (
    PartCandidates,
    ScoredPiece,
    choose_pieces,
    list_pieces,
    report_instructions,
)
from lightwell.answer.quotes import SupportedSentence
from lightwell.domain.evidence import Retrieval
from lightwell.domain.reranking import MatchedWindow, mean_match, merge_matches

MAX_BEHIND = 0.07
"""By how much a second piece may score lower than the best one."""

_UNIT_COUNTS = 0.2
"""The weight of the score of the unit that a piece stands around."""

_LENGTH_COSTS = 0.02
"""What each e-fold of length costs, since in a longer text each token of the question finds more to be like."""

_SHORT = 100
"""Characters below which no piece counts as shorter."""


def extract_pieces(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return up to three coherent pieces of the evidence that together answer, the best first; [] where none does.

    Each is what a document says around a unit that answers. A second piece matches nearly as well, or contains what is
    asked for about a name that the first one brought up. A question of several parts has one piece for each, chosen by its units,
    since matches belong to the question as a whole. Where the question names a date, units about other dates do not answer.
    """
    if reported := report_instructions(retrieval):
        return reported
    parts = list_pieces(retrieval)
    return choose_pieces([compare_pieces(each) for each in parts] if len(parts) == 1 else parts)


def compare_pieces(candidates: PartCandidates) -> PartCandidates:
    """Return the candidates with pieces in the order of their matches; unchanged where there is no choice, or one is unmatched.

    Pieces of windows that were not compared have no matches: they come last, in the order they have.
    """
    scores = [_match_score(each) for each in candidates.pieces]
    matched = [
        replace(piece, score=score)
        for piece, score in zip(candidates.pieces, scores, strict=True)
        if score is not None
    ]
    if not matched:
        return candidates
    others = [
        replace(piece, score=0.0)
        for piece, score in zip(candidates.pieces, scores, strict=True)
        if score is None
    ]
    ordered = sorted(matched, key=lambda each: -each.score)
    return replace(candidates, pieces=(*ordered, *others), max_behind=MAX_BEHIND)


def _match_score(scored: ScoredPiece) -> float | None:
    """Return how well the piece below its headings matches, None where no unit of it was compared."""
    spans = [(each.start, each.end) for each in scored.piece.quotes]
    windows = [
        (window, units)
        for window in scored.unit.quote.evidence.windows
        if (units := _units_within(window, spans))
    ]
    if not windows:
        return None
    best = merge_matches(
        [*(window.head for window, _ in windows), *(each for _, some in windows for each in some)]
    )
    length = math.log(max(_SHORT, len(scored.piece.text)))
    return mean_match(best) + _UNIT_COUNTS * scored.unit.score - _LENGTH_COSTS * length


def _units_within(
    window: MatchedWindow, spans: Sequence[tuple[int, int]]
) -> list[tuple[float, ...]]:
    return [
        unit.best
        for unit in window.units
        if any(unit.start < end and start < unit.end for start, end in spans)
    ]

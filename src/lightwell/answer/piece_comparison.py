"""The choice of pieces by late interaction: it compares each piece with the question, token by token and as a whole.

A unit may match the question's words while what stands around it is about something else.
"""

from dataclasses import replace

from lightwell.answer.extractive import (
    PartCandidates,
    choose_pieces,
    list_pieces,
    report_instructions,
)
from lightwell.answer.quotes import SupportedSentence
from lightwell.domain.evidence import Retrieval
from lightwell.ports import LateInteraction

_MAX_BEHIND = 0.02
"""By how much a second piece may match less well than the best one."""

_SIMILARITY_WEIGHT = 1 / 4
_UNIT_WEIGHT = 1 / 10
"""What the similarity of the whole, and how well the unit answers that it is around, count beside the match of the tokens."""


async def extract_compared_pieces(
    retrieval: Retrieval, late_interaction: LateInteraction
) -> list[SupportedSentence]:
    """Return what `extractive.extract_pieces` does, with pieces chosen by comparison; raise `ModelFailed`."""
    if reported := report_instructions(retrieval):
        return reported
    parts = list_pieces(retrieval)
    return choose_pieces([await _compare(part, late_interaction) for part in parts])


async def _compare(candidates: PartCandidates, late_interaction: LateInteraction) -> PartCandidates:
    """Return the candidates with pieces ordered by comparison, unchanged where there is no choice, or a passage is not encoded."""
    pieces = candidates.pieces
    if len(pieces) < 2 or not all(piece.unit.quote.evidence.encoded for piece in pieces):
        return candidates
    texts = [
        [
            span
            for quote in piece.piece.quotes
            for span in quote.evidence.spans(quote.start, quote.end)
        ]
        for piece in pieces
    ]
    matches = await late_interaction.compare(candidates.part.question.text, texts)
    compared = [
        replace(
            piece,
            score=match.token_match
            + _SIMILARITY_WEIGHT * match.similarity
            + _UNIT_WEIGHT * piece.unit.base_score,
        )
        for piece, match in zip(pieces, matches, strict=True)
    ]
    ordered = tuple(sorted(compared, key=lambda piece: -piece.score))
    return replace(candidates, pieces=ordered, max_behind=_MAX_BEHIND)

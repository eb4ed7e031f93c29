"""What is quoted where no model answers: pieces are chosen, and then it is judged how likely they answer.

Late interaction compares each piece with the question, token by token and as a whole: a unit may match the question's words while
what stands around it is about something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lightwell.answer.extractive import (
    PartCandidates,
    ScoredPiece,
    choose_pieces,
    find_rival,
    join_pieces_of_parts,
    list_pieces,
    report_instructions,
)
from lightwell.answer.quotes import SupportedSentence
from lightwell.answer.relevance import (
    MOST_LEAD,
    Floats,
    choice_measures,
    chosen_relevance,
    load_weights,
    piece_measures,
    piece_score,
)
from lightwell.domain.evidence import Retrieval
from lightwell.domain.reranking import TextMatch
from lightwell.ports import LateInteraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracts:
    """The pieces of the evidence that together answer most likely, the best first, and how likely they do: from 0.6 they are an answer."""

    pieces: Sequence[SupportedSentence]
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceChooser:
    """Chooses pieces and judges them.

    Without `late_interaction`, and where `is_judged` by an endpoint that reranks passages, pieces are as relevant as their passages; so are
    those of passages that are not encoded.
    """

    late_interaction: LateInteraction | None = None
    is_judged: bool = False

    async def extract(self, retrieval: Retrieval) -> Extracts:
        """Return the best piece, one or two for each part of the question, whose relevance is that of the least relevant part; raise `ModelFailed`.

        Where the question names a date, units about other dates do not answer.
        """
        if reported := report_instructions(retrieval):
            return Extracts(pieces=reported, relevance=retrieval.best_relevance)
        parts = [await self._compare(part) for part in list_pieces(retrieval)]
        pieces = join_pieces_of_parts([choose_pieces(part) for part in parts])
        return Extracts(pieces=pieces, relevance=min(map(self._relevance, parts)))

    async def _compare(self, candidates: PartCandidates) -> PartCandidates:
        """Return the candidates with pieces ordered by comparison; unchanged, but for pieces of relevant passages first, where a passage is not encoded."""
        pieces = candidates.pieces
        if self.late_interaction is None or not _is_encoded(candidates):
            ordered = sorted(pieces, key=lambda piece: not piece.passage.is_sufficient)
            return replace(candidates, pieces=tuple(ordered))
        texts = [
            [
                span
                for quote in piece.piece.quotes
                for span in quote.evidence.spans(quote.start, quote.end)
            ]
            for piece in pieces
        ]
        text = candidates.part.analysis.text
        matches = await self.late_interaction.compare(text, texts)
        compared = [
            replace(piece, score=piece_score(measure_piece(piece, match)), match=match)
            for piece, match in zip(pieces, matches, strict=True)
        ]
        ordered = sorted(compared, key=lambda piece: -piece.score)
        return replace(candidates, pieces=tuple(ordered), max_behind=load_weights().close)

    def _relevance(self, candidates: PartCandidates) -> float:
        if not candidates.pieces:
            return 0.0
        first = candidates.pieces[0]
        if first.match is None or self.is_judged:
            return first.passage.relevance
        measures = choice_measures(candidates.part, first, first.match, lead(candidates))
        return chosen_relevance(measures)


def measure_piece(piece: ScoredPiece, match: TextMatch) -> Floats:
    """Return the measures of a piece that was compared with the question."""
    return piece_measures(match, piece.unit.base_score, piece.passage.relevance)


def lead(candidates: PartCandidates) -> float:
    """Return by how much the first piece scores higher than the best other one."""
    rival = find_rival(candidates)
    return candidates.pieces[0].score - rival.score if rival else MOST_LEAD


def _is_encoded(candidates: PartCandidates) -> bool:
    return all(piece.passage.encoded for piece in candidates.pieces)

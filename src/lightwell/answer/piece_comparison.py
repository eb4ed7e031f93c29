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
    join_pieces_of_parts,
    list_pieces,
    list_rivals,
    report_instructions,
)
from lightwell.answer.quotes import SupportedSentence
from lightwell.answer.relevance import (
    MOST_LEAD,
    Floats,
    RelevanceWeights,
    choice_measures,
    covers,
    load_weights,
    piece_measures,
)
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, with_left_out
from lightwell.domain.reranking import EncodedSpan, TextMatch
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

        Where only some parts are answered, these have pieces, and the whole is only just relevant enough.
        Where the question names a date, units about other dates do not answer.
        """
        if reported := report_instructions(retrieval):
            return Extracts(pieces=reported, relevance=retrieval.best_relevance)
        parts = [await self._compare(part) for part in list_pieces(retrieval)]
        relevances = [self._relevance(part) for part in parts]
        least, best = min(relevances), max(relevances)
        is_partial = least < SUFFICIENT_RELEVANCE <= best
        shown = [
            part
            for part, relevance in zip(parts, relevances, strict=True)
            if relevance >= (SUFFICIENT_RELEVANCE if is_partial else least)
        ]
        pieces = join_pieces_of_parts([choose_pieces(part) for part in shown])
        return Extracts(pieces=pieces, relevance=SUFFICIENT_RELEVANCE if is_partial else least)

    async def _compare(self, candidates: PartCandidates) -> PartCandidates:
        """Return the candidates with pieces ordered by comparison; unchanged, but for pieces of relevant passages first, where a passage is not encoded."""
        pieces = candidates.pieces
        if self.late_interaction is None or not _is_encoded(candidates):
            ordered = sorted(pieces, key=lambda piece: not piece.passage.is_sufficient)
            return replace(candidates, pieces=tuple(ordered))
        texts = [encoded_spans(piece) for piece in pieces]
        matches = await _match(self.late_interaction, candidates.part, texts)
        return arrange(candidates, matches, load_weights())

    def _relevance(self, candidates: PartCandidates) -> float:
        if not candidates.pieces:
            return 0.0
        first = candidates.pieces[0]
        if first.match is None or self.is_judged:
            return first.passage.relevance
        return load_weights().relevance(measure_choice(candidates, first.match))


async def _match(
    late_interaction: LateInteraction, part: Retrieval, texts: Sequence[Sequence[EncodedSpan]]
) -> Sequence[TextMatch]:
    """Return how texts compare with the question: with the subject of the conversation where it leaves one out.

    Token by token it is its own words alone that choose, because the subject's would choose what the last answer said of it.
    """
    text, subject = part.analysis.text, part.question.subject
    if not subject:
        return await late_interaction.compare(text, texts)
    matches = await late_interaction.compare(with_left_out(text, subject), texts)
    own_matches = await late_interaction.compare(text, texts)
    return [
        replace(match, token_match=own_match.token_match)
        for match, own_match in zip(matches, own_matches, strict=True)
    ]


def arrange(
    candidates: PartCandidates, matches: Sequence[TextMatch], weights: RelevanceWeights
) -> PartCandidates:
    """Return the candidates with their pieces ordered by how they compare with the question."""
    terms_weighed = candidates.part.weights
    compared = [
        replace(
            piece,
            score=weights.score(piece_measures(piece, match)),
            match=match,
            covers=covers(piece, match, terms_weighed),
        )
        for piece, match in zip(candidates.pieces, matches, strict=True)
    ]
    ordered = tuple(sorted(compared, key=lambda piece: -piece.score))
    return replace(candidates, pieces=ordered, max_behind=weights.close, worth_of_more=weights.more)


def measure_choice(candidates: PartCandidates, match: TextMatch) -> Floats:
    """Return the measures of the first of these pieces, which compares with the question as `match` says."""
    first, rivals = candidates.pieces[0], list_rivals(candidates)
    lead = first.score - rivals[0].score if rivals else MOST_LEAD
    return choice_measures(candidates.part, first, match, lead)


def encoded_spans(piece: ScoredPiece) -> list[EncodedSpan]:
    """Return a piece by the vectors of its passage's chunks."""
    return [
        span
        for quote in piece.piece.quotes
        for span in quote.evidence.spans(quote.start, quote.end)
    ]


def _is_encoded(candidates: PartCandidates) -> bool:
    return all(piece.passage.encoded for piece in candidates.pieces)

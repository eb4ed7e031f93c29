"""What a refusal shows: the pieces of the evidence that are nearest to an answer, and the question's words that none of them has."""

from collections.abc import Sequence

from lightwell.answer.extractive import ScoredPiece, list_quotable_units, trusted_evidence
from lightwell.answer.quotes import (
    NEAREST_PIECE,
    SupportedSentence,
    holds,
    make_citation,
    make_nearest_citation,
    piece_quote,
    render_quote,
)
from lightwell.domain.answers import Citation
from lightwell.domain.evidence import Retrieval
from lightwell.text.terms import terms, words

MAX_NEAREST = 5
_MAX_UNRELATED = 3
_LEAST_SHARE = 0.5
"""A unit that scores less than this share of the best one's score is not possibly relevant."""

_QUESTION_WORDS = frozenset(
    terms("much many long often soon far fast quickly viel viele lange oft combien quel quelle")
)
"""Words that ask for something, and that no passage needs to have."""


def list_nearest(retrieval: Retrieval, most: int = MAX_NEAREST) -> tuple[ScoredPiece, ...]:
    """Return pieces around the units that match best, by their passages' relevance; () where no unit bears on the question."""
    units = sorted(list_quotable_units(retrieval), key=lambda each: -each.score)
    found: list[ScoredPiece] = []
    for unit in units:
        if unit.score < _LEAST_SHARE * units[0].score or len(found) == most:
            break
        if not holds([each.piece.quotes[0] for each in found], unit.quote):
            quote = piece_quote(unit.quote, retrieval, NEAREST_PIECE)
            piece = SupportedSentence(text=render_quote(quote), quotes=(quote,))
            found.append(ScoredPiece(unit=unit, piece=piece, score=unit.score))
    return tuple(sorted(found, key=lambda each: -each.unit.quote.evidence.relevance))


def cite_nearest(pieces: Sequence[ScoredPiece], retrieval: Retrieval) -> tuple[Citation, ...]:
    """Return citations of the pieces in their order, numbered from 1.

    Without pieces, they are of the best units of the three best passages, without injected instructions.
    """
    if pieces:
        quotes = [quote for each in pieces for quote in each.piece.quotes]
        return tuple(make_citation(number, each) for number, each in enumerate(quotes, 1))
    trusted = trusted_evidence(retrieval)
    best = sorted(trusted, key=lambda entry: -entry.relevance)[:_MAX_UNRELATED]
    return tuple(make_nearest_citation(number, entry) for number, entry in enumerate(best, 1))


def missing_words(retrieval: Retrieval) -> tuple[str, ...]:
    """Return the words of the question that no passage found has, in order; () without passages."""
    if not retrieval.evidence:
        return ()
    known = frozenset(
        term
        for entry in retrieval.evidence
        for term in terms(f"{entry.chunk.title}\n{entry.chunk.text}")
    )
    return tuple(
        word
        for word in dict.fromkeys(words(retrieval.analysis.text))
        if (own := frozenset(terms(word)) - _QUESTION_WORDS) and known.isdisjoint(own)
    )

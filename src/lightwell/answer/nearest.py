"""What a refusal shows: the pieces of the evidence that are nearest to an answer, and the question's words that none of them has."""

from dataclasses import replace

from lightwell.answer.extractive import QuotableUnit, list_quotable_units, trusted_evidence
from lightwell.answer.quotes import (
    NEAREST_PIECE,
    Quote,
    add_or_join,
    holds,
    join_quotes,
    make_citation,
    make_nearest_citation,
    piece_quote,
    render_quote,
)
from lightwell.domain.answers import Citation
from lightwell.domain.evidence import Retrieval
from lightwell.text.terms import terms, words
from lightwell.text.word_lists import load_word_lists

_MAX_NEAREST = 5
_MAX_CONSIDERED = 8
"""Pieces of which the nearest are shown."""
_MAX_UNRELATED = 3
_LEAST_SHARE = 0.5
"""A unit that scores less than this share of the best one's score is not possibly relevant."""
_TOKEN_MATCH_WEIGHT = 2.0
"""What a unit's token match counts beside its score without it, for what is shown."""

_LIGHT_WORDS = frozenset(load_word_lists("lightwell.answer")["light"]["words"])
"""Words of questions that are about nothing, so that no passage needs to have them."""


def nearest_citations(retrieval: Retrieval) -> tuple[Citation, ...]:
    """Return citations of the nearest pieces, at most five, by their passages' relevance, numbered from 1.

    Where no unit bears on the question, they are of the best units of the three best passages, without injected instructions.
    """
    if pieces := _nearest_pieces(retrieval):
        pieces.sort(key=lambda piece: -piece.evidence.relevance)
        return tuple(make_citation(number, piece) for number, piece in enumerate(pieces, 1))
    trusted = trusted_evidence(retrieval)
    best = sorted(trusted, key=lambda entry: -entry.relevance)[:_MAX_UNRELATED]
    return tuple(make_nearest_citation(number, entry) for number, entry in enumerate(best, 1))


def _nearest_pieces(retrieval: Retrieval) -> list[Quote]:
    """Return up to five of the pieces around the eight units with the best scores, to which token matches add nothing.

    Where units were compared, those that match best token by token come first among themselves; others, such as those in another language,
    keep their places. Pieces that overlap become one.
    """
    scored = [(_score_apart(unit), unit) for unit in list_quotable_units(retrieval)]
    scored.sort(key=lambda entry: -entry[0])
    pieces: list[tuple[float, QuotableUnit, Quote]] = []
    for score, unit in scored:
        if score < _LEAST_SHARE * scored[0][0] or len(pieces) == _MAX_CONSIDERED:
            break
        if render_quote(unit.quote) and not holds([piece for *_, piece in pieces], unit.quote):
            piece = piece_quote(unit.quote, retrieval, NEAREST_PIECE)
            pieces.append((score + _TOKEN_MATCH_WEIGHT * unit.token_match, unit, piece))
    places = [place for place, (_, unit, _) in enumerate(pieces) if unit.token_match > 0]
    by_match = sorted(places, key=lambda place: -pieces[place][0])
    taken = dict(zip(places, by_match, strict=True))
    shown: list[Quote] = []
    for place in range(min(_MAX_NEAREST, len(pieces))):
        add_or_join(shown, pieces[taken.get(place, place)][2], join_quotes)
    return shown


def _score_apart(unit: QuotableUnit) -> float:
    """Return the unit's score as it is where nothing was compared token by token, so that its token match counts once, by its own weight."""
    return replace(unit, token_match=0.0).score


def missing_words(retrieval: Retrieval) -> tuple[str, ...]:
    """Return the words of the question that no passage found has, in order; () without passages."""
    if not retrieval.evidence:
        return ()
    evidence_terms = frozenset(
        term
        for entry in retrieval.evidence
        for term in (*terms(entry.chunk.title), *entry.analysis.terms)
    )
    return tuple(
        word
        for word in dict.fromkeys(words(retrieval.analysis.text))
        if word not in _LIGHT_WORDS
        and (word_terms := terms(word))
        and evidence_terms.isdisjoint(word_terms)
    )

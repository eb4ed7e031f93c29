"""Answers without a model: the sentences that carry the question, word for word."""

from collections.abc import Mapping, Sequence

from lightwell.answer.quotes import Quote, cover, quotes
from lightwell.domain.evidence import Evidence

MOST_SENTENCES = 4
_LEAST_SCORE = 0.2
_LEAST_GAIN = 0.12
_SHORTEST = 3
"""Terms: a heading or a label of one or two words is no statement."""


def extracted(
    evidence: Sequence[Evidence],
    weights: Mapping[str, float],
    similarities: Mapping[str, float],
) -> list[Quote]:
    """Return up to four quotes that together cover the question, in the order of their worth.

    A quote's worth is the share of the question's term weights it carries and its similarity to the question, times
    its chunk's relevance; each further quote must add to what the ones before it cover.
    """
    candidates = [quote for entry in evidence for quote in quotes(entry)]
    scored = [(quote, _worth(quote, weights, similarities)) for quote in candidates]
    scored = [(quote, worth) for quote, worth in scored if worth >= _LEAST_SCORE]
    chosen: list[Quote] = []
    covered = frozenset[str]()
    while scored and len(chosen) < MOST_SENTENCES:
        gains = [_gain(quote, worth, covered, weights) for quote, worth in scored]
        best = max(range(len(gains)), key=gains.__getitem__)
        if chosen and gains[best] < _LEAST_GAIN:
            break
        quote = scored[best][0]
        chosen.append(quote)
        covered |= quote.terms
        scored = [pair for pair in scored if pair[0].text != quote.text]
    return chosen


def _worth(quote: Quote, weights: Mapping[str, float], similarities: Mapping[str, float]) -> float:
    similar = max(0.0, similarities.get(quote.text, 0.0))
    label = 0.5 if len(quote.terms) < _SHORTEST else 1.0
    return label * (0.5 * cover(quote.terms, weights) + 0.5 * similar) * quote.evidence.relevance


def _gain(
    quote: Quote, worth: float, covered: frozenset[str], weights: Mapping[str, float]
) -> float:
    if not covered:
        return worth
    return worth * cover(quote.terms - covered, weights)

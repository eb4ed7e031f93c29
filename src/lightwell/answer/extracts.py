"""Answers without a model: the sentences that carry the question, word for word."""

from collections.abc import Mapping, Sequence

from lightwell.answer.quotes import Quote, cover, quote
from lightwell.domain.evidence import Evidence

MOST_QUOTES = 4
_LEAST_WORTH = 0.3
_LEAST_SHARE = 0.75
_LEAST_GAIN = 0.1


def extracted(evidence: Sequence[Evidence], weights: Mapping[str, float]) -> list[Quote]:
    """Return up to four of the evidence's highlights that together cover the question, the best first.

    A further quote must either be worth nearly as much as the best, or add terms of the question that the ones
    before it lack.
    """
    left = [
        (quote(entry, each.start, each.end), each.worth)
        for entry in evidence
        for each in entry.highlights
        if each.worth >= _LEAST_WORTH
    ]
    left.sort(key=lambda pair: (-pair[1], pair[0].evidence.chunk.url, pair[0].start))
    chosen = [each for each, _ in left[:1]]
    for each, worth in left[1:]:
        covered = frozenset[str]().union(*(one.terms for one in chosen))
        adds = worth * cover(each.terms - covered, weights)
        if worth >= _LEAST_SHARE * left[0][1] or adds >= _LEAST_GAIN:
            chosen.append(each)
        if len(chosen) == MOST_QUOTES:
            break
    return chosen

"""The evidence for each part of a question that asks several things."""

from collections.abc import Mapping
from dataclasses import replace

from lightwell.domain.evidence import Retrieval
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.question_parts import split_question
from lightwell.text.terms import terms


def question_parts(retrieval: Retrieval) -> list[Retrieval]:
    """Return the retrieval of each part, where parts were searched one by one, else the whole evidence with each part's words and weights."""
    if retrieval.parts:
        return list(retrieval.parts)
    parts = [
        _part(text, weights, retrieval)
        for text in split_question(retrieval.analysis.text)
        if (weights := _weights_of(text, retrieval))
    ]
    return parts if len(parts) > 1 else [retrieval]


def _part(text: str, weights: Mapping[str, float], retrieval: Retrieval) -> Retrieval:
    return replace(
        retrieval,
        question=replace(retrieval.question, text=text),
        analysis=retrieval.analysis.of_part(analyze_question(text)),
        weights=weights,
    )


def _weights_of(text: str, retrieval: Retrieval) -> dict[str, float]:
    part_terms = frozenset(terms(text))
    return {term: weight for term, weight in retrieval.weights.items() if term in part_terms}

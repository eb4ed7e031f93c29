"""The parts of a question that asks several things: "How long is it, and who signs it?"."""

import re
from collections.abc import Mapping
from dataclasses import replace

from lightwell.domain.evidence import Retrieval
from lightwell.domain.question_analysis import analyze_question
from lightwell.text.terms import terms

_PARTS = re.compile(
    r"(?:[,;?]?\s(?:and|und|et)|\?)\s(?=(?:how|what|who|which|when|where|why|whose|whom|is|are|do|does|can|wie|was|wer|wann|wo|welche[rs]?"
    r"|qui|que|quand|combien|comment|où)\b)",
    re.IGNORECASE,
)
"""Where one question ends and another begins."""


def question_parts(retrieval: Retrieval) -> list[Retrieval]:
    """Return the retrieval once for each part of a question that asks several things, with that part's words and weights."""
    texts = [part for part in _PARTS.split(retrieval.analysis.text) if part]
    parts = [
        _part(text, weights, retrieval)
        for text in texts
        if (weights := _weights_of(text, retrieval))
    ]
    return parts if len(parts) > 1 else [retrieval]


def _part(text: str, weights: Mapping[str, float], retrieval: Retrieval) -> Retrieval:
    analysis = analyze_question(text)
    asks_for_content = retrieval.analysis.asks_for_message_content
    return replace(
        retrieval,
        question=replace(retrieval.question, text=text),
        # A part alone must not unlock injected instructions: the whole question decides.
        analysis=replace(
            analysis,
            asks_for_message_content=asks_for_content and analysis.asks_for_message_content,
        ),
        weights=weights,
    )


def _weights_of(text: str, retrieval: Retrieval) -> dict[str, float]:
    own = frozenset(terms(text))
    return {term: weight for term, weight in retrieval.weights.items() if term in own}

"""From evidence to an answer: what do we say, and on whose word?

enough? ─ no ─► insufficient evidence, with what came nearest
  └ yes ─► written by the model and checked, or extracted ─► statements with quotes ─► citations ─► answer
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from lightwell.answer import extracts, writing
from lightwell.answer.quotes import citation, nearest
from lightwell.answer.writing import Statement
from lightwell.domain.evidence import (
    INSUFFICIENT,
    Answer,
    Citation,
    Confidence,
    Evidence,
    Retrieval,
    confidence,
)
from lightwell.domain.ids import QueryId, new_id
from lightwell.ports import ChatModel

EXTRACTS = "extracts"
"""The model's name in answers that no model wrote."""

MOST_REPLY_TOKENS = 800
_MOST_NEAREST = 3

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How answers are made: by `model` where there is one, else by extracts; `most_tokens` of evidence are used."""

    model: ChatModel | None
    most_tokens: int

    async def compose(self, retrieval: Retrieval) -> Answer:
        """Return an answer whose every sentence is carried by its citations, or insufficient evidence."""
        if not retrieval.is_enough:
            return _insufficient(retrieval, self._name)
        evidence = _within(retrieval.evidence, self.most_tokens)
        if self.model is None:
            statements = _extracted(retrieval, evidence)
        else:
            statements = await _written(self.model, retrieval, evidence)
        if not statements:
            return _insufficient(retrieval, self._name)
        return _answer(retrieval, statements, self._name)

    @property
    def _name(self) -> str:
        return EXTRACTS if self.model is None else self.model.model


def _extracted(retrieval: Retrieval, evidence: Sequence[Evidence]) -> list[Statement]:
    chosen = extracts.extracted(evidence, retrieval.weights)
    return [Statement(text=quote.text, quotes=(quote,)) for quote in chosen]


async def _written(
    model: ChatModel, retrieval: Retrieval, evidence: Sequence[Evidence]
) -> list[Statement]:
    sent = writing.messages(retrieval.question.text, evidence)
    reply = await model.reply(sent, most_tokens=MOST_REPLY_TOKENS)
    if writing.REFUSAL in reply.text:
        return []
    statements = writing.checked(reply.text, evidence)
    _log.info("answer checked", written=len(reply.text), statements=len(statements))
    return statements


def _within(evidence: Sequence[Evidence], most_tokens: int) -> list[Evidence]:
    """Return the first evidence that fits the budget; the best always does."""
    chosen: list[Evidence] = []
    left = most_tokens
    for entry in evidence:
        if not chosen or entry.chunk.tokens <= left:
            chosen.append(entry)
            left -= entry.chunk.tokens
    return chosen


def _answer(retrieval: Retrieval, statements: Sequence[Statement], model: str) -> Answer:
    citations: list[Citation] = []
    sentences: list[str] = []
    numbers: dict[tuple[str, int], int] = {}
    for statement in statements:
        marks: list[str] = []
        for quote in statement.quotes:
            key = (str(quote.evidence.chunk.id), quote.start)
            if key not in numbers:
                numbers[key] = len(numbers) + 1
                citations.append(citation(numbers[key], quote))
            marks.append(f"[{numbers[key]}]")
        sentences.append(f"{statement.text} {''.join(dict.fromkeys(marks))}")
    return Answer(
        query_id=QueryId(new_id()),
        question=retrieval.question.text,
        text="\n".join(sentences),
        citations=tuple(citations),
        confidence=confidence(retrieval.best),
        relevance=retrieval.best,
        nearest=(),
        model=model,
        metrics=retrieval.metrics,
    )


def _insufficient(retrieval: Retrieval, model: str) -> Answer:
    return Answer(
        query_id=QueryId(new_id()),
        question=retrieval.question.text,
        text=INSUFFICIENT,
        citations=(),
        confidence=Confidence.INSUFFICIENT,
        relevance=retrieval.best,
        nearest=tuple(nearest(entry) for entry in retrieval.evidence[:_MOST_NEAREST]),
        model=model,
        metrics=retrieval.metrics,
    )

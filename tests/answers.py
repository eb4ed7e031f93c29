"""Answers, refusals and questions with expected words, for tests of measures."""

from collections.abc import Sequence

from lightwell.answer.quotes import make_nearest_citation
from lightwell.domain.answers import (
    Answer,
    Answered,
    CitedSentence,
    InsufficientEvidence,
    Outcome,
)
from lightwell.domain.evidence import NO_METRICS, Evidence
from lightwell.domain.ids import new_query_id
from lightwell.evaluation.collection import CollectionQuestion
from lightwell.evaluation.correctness import AnswerGroup
from tests.passages import chunk, passage

GROUPS: tuple[AnswerGroup, ...] = (("25 days", "twenty-five days"), ("manager",))


def answer(text: str, *, relevance: float = 0.9) -> Answer:
    """Return an answer of one sentence with the citation `[1]`."""
    cited = make_nearest_citation(1, passage(chunk("A passage.")))
    return _made(Answered(sentences=(CitedSentence(text=text, citations=(cited,)),)), relevance)


def refusal(nearest: Sequence[Evidence] = (), *, relevance: float = 0.2) -> Answer:
    """Return insufficient evidence that shows these passages."""
    shown = tuple(make_nearest_citation(at, each) for at, each in enumerate(nearest, 1))
    return _made(InsufficientEvidence(nearest=shown), relevance)


def _made(outcome: Outcome, relevance: float) -> Answer:
    return Answer(
        query_id=new_query_id(),
        question="How many days?",
        outcome=outcome,
        relevance=relevance,
        author=None,
        metrics=NO_METRICS,
    )


def question(
    groups: tuple[AnswerGroup, ...] = GROUPS,
    *,
    gold: Sequence[str] = ("file:///1.pdf",),
    is_one_gold_enough: bool = False,
) -> CollectionQuestion:
    """Return a question with these answer groups; () means that no document answers it."""
    return CollectionQuestion(
        id="q1",
        text="How many days, and who approves them?",
        kind="policy" if groups else "unanswerable",
        style="plain",
        split="dev",
        gold=frozenset(gold) if groups else frozenset(),
        is_one_gold_enough=is_one_gold_enough,
        groups=groups,
    )

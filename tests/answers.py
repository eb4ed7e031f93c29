"""Answers, refusals and questions with expected words, for tests of what is measured on them."""

from collections.abc import Sequence

from lightwell.answer.quotes import make_nearest_citation
from lightwell.domain.evidence import INSUFFICIENT, NO_METRICS, Answer, Confidence, Evidence
from lightwell.domain.ids import new_query_id
from lightwell.evaluation.collection import CollectionQuestion
from lightwell.evaluation.correctness import AnswerGroup
from tests.passages import chunk, passage

GROUPS: tuple[AnswerGroup, ...] = (("25 days", "twenty-five days"), ("manager",))


def answer(text: str, *, relevance: float = 0.9) -> Answer:
    """Return an answer with the citation `[1]`."""
    return Answer(
        query_id=new_query_id(),
        question="How many days?",
        text=text,
        citations=(make_nearest_citation(1, passage(chunk("A passage."))),),
        confidence=Confidence.HIGH,
        relevance=relevance,
        nearest=(),
        model="extracts",
        metrics=NO_METRICS,
    )


def refusal(nearest: Sequence[Evidence] = (), *, relevance: float = 0.2) -> Answer:
    """Return insufficient evidence that shows these passages."""
    return Answer(
        query_id=new_query_id(),
        question="How many days?",
        text=INSUFFICIENT,
        citations=(),
        confidence=Confidence.INSUFFICIENT,
        relevance=relevance,
        nearest=tuple(make_nearest_citation(at, each) for at, each in enumerate(nearest, 1)),
        model="extracts",
        metrics=NO_METRICS,
    )


def question(
    groups: tuple[AnswerGroup, ...] = GROUPS,
    *,
    gold: Sequence[str] = ("file:///1.pdf",),
    is_one_gold_enough: bool = False,
) -> CollectionQuestion:
    """Return a question of which these groups are the answer; one that no document answers for ()."""
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

"""With a chat model the model judges whether the evidence answers; what it writes is still verified."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.answer.pipeline import QUOTED_INSTEAD, AnswerGenerator
from lightwell.domain.answers import (
    EXTRACTS,
    INSUFFICIENT,
    Confidence,
    InsufficientEvidence,
    judged_relevance,
)
from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Retrieval
from lightwell.testing.models import ScriptedModel, ScriptedReply
from tests.generation import examples
from tests.passages import chunk, found, passage

CONTRACT = "Nordwind receives a discount of 18 percent on all items. The term is three years."
ASKED = "What discount does Nordwind receive?"


def retrieval(relevance: float) -> Retrieval:
    return found(ASKED, passage(chunk(CONTRACT), relevance=relevance))


def reply(*sentences: tuple[str, Sequence[int]], answerable: bool = True) -> str:
    listed = [{"text": text, "citations": list(numbers)} for text, numbers in sentences]
    return json.dumps({"answerable": answerable, "sentences": listed})


def asked(said: ScriptedReply) -> tuple[AnswerGenerator, ScriptedModel]:
    model = ScriptedModel([said])
    return AnswerGenerator(model=model), model


RIGHT = reply(("Nordwind receives a discount of 18 percent.", [1]))


@pytest.mark.parametrize("relevance", [0.06, 0.3, 0.59, 0.9])
async def test_the_threshold_keeps_no_evidence_from_a_model(relevance: float) -> None:
    answers, model = asked(RIGHT)
    answer = await answers.answer(retrieval(relevance))
    assert answer.text == "Nordwind receives a discount of 18 percent. [1]"
    assert answer.relevance >= SUFFICIENT_RELEVANCE
    assert (answer.model, answer.notes) == ("scripted", ("a note",))
    schema = model.sent[0].schema
    assert schema is not None
    assert schema["required"] == ["answerable", "sentences"]


@pytest.mark.parametrize("relevance", [0.06, 0.59, 0.95, 1.0])
@pytest.mark.parametrize(
    "said",
    [
        reply(answerable=False),
        reply(("The term is three years.", [1]), answerable=False),
        "INSUFFICIENT",
    ],
)
async def test_what_a_model_judges_unanswerable_is_refused(said: str, relevance: float) -> None:
    answer = await asked(said)[0].answer(retrieval(relevance))
    assert isinstance(answer.outcome, InsufficientEvidence)
    assert answer.relevance < SUFFICIENT_RELEVANCE
    assert (answer.text, answer.citations, answer.model) == (INSUFFICIENT, (), "scripted")
    assert [each.document_title for each in answer.nearest] == ["Document 1"]


@pytest.mark.parametrize(
    "said",
    [
        reply(("Nordwind receives a discount of 81 percent.", [1])),
        reply(("Nordwind receives a discount of 18 percent.", [])),
        reply(),
        '{"answerable": true, "sentences": nonsense [1]}',
        "Nordwind owns the moon [1].",
    ],
)
async def test_what_is_not_supported_is_replaced_by_extracts_above_the_threshold_alone(
    said: str,
) -> None:
    above = await asked(said)[0].answer(retrieval(0.7))
    assert (above.sentences[0].text, above.model) == (CONTRACT, EXTRACTS)
    assert (above.relevance, above.notes[-1]) == (0.7, QUOTED_INSTEAD)
    below = await asked(said)[0].answer(retrieval(0.5))
    assert (below.text, below.relevance) == (INSUFFICIENT, 0.5)
    assert QUOTED_INSTEAD not in below.notes


async def test_a_model_that_fails_leaves_the_decision_to_the_threshold() -> None:
    above = await asked(ModelFailed("It is down."))[0].answer(retrieval(0.7))
    assert above.sentences[0].text == CONTRACT
    below = await asked(ModelFailed("It is down."))[0].answer(retrieval(0.5))
    assert (below.text, below.notes[-1]) == (INSUFFICIENT, "It is down.")


async def test_a_list_of_statements_is_judged_too() -> None:
    listed = await asked(RIGHT)[0].statements(retrieval(0.3))
    assert [each.text for each in listed.sentences] == [
        "Nordwind receives a discount of 18 percent."
    ]
    assert listed.relevance >= SUFFICIENT_RELEVANCE
    none = await asked(reply(answerable=False))[0].statements(retrieval(0.9))
    assert (none.sentences, none.confidence) == ((), Confidence.INSUFFICIENT)


@examples(20)
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_judged_relevance_keeps_the_order_and_its_side_of_the_threshold(
    one: float, other: float
) -> None:
    low, high = sorted((one, other))
    for is_answerable in (True, False):
        first, second = (
            judged_relevance(each, is_answerable=is_answerable) for each in (low, high)
        )
        assert 0 <= first <= second <= 1
        assert (first >= SUFFICIENT_RELEVANCE) is (second >= SUFFICIENT_RELEVANCE) is is_answerable

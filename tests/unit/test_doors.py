"""Every door says the same of a question in each of the three states, in words and in fields."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from lightwell.answer.forms import Part, chat_response, shown_answer, stream_events
from lightwell.answer.nearest import nearest_citations
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.answers import (
    INSUFFICIENT,
    MAY_NOT_ANSWER,
    Answer,
    AnswerState,
    Confidence,
    InsufficientEvidence,
    confidence,
)
from lightwell.domain.chat import NO_INFORMATION
from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.entrypoints.cli import text_output
from lightwell.entrypoints.cli.text_output import Shown
from lightwell.entrypoints.http.openai_api import Outcome
from lightwell.entrypoints.markdown import render_answer, render_rest, render_token
from lightwell.entrypoints.operations.conversations import ShownAnswer
from lightwell.entrypoints.operations.questions import Answer as Reply
from lightwell.entrypoints.operations.questions import Statements, StreamEvent
from lightwell.testing.models import ScriptedModel
from tests.generation import examples
from tests.passages import chunk, found, passage

ABOUT = "The store keeps its papers in boxes, which stand in the cellar of the old house near the river. "
KEY = "Plover ends in May 2031."
LATE = f"{ABOUT * 3}{KEY} {ABOUT * 3}"
RETRIEVAL = found("When does Plover end?", passage(chunk(LATE), relevance=0.9))
STATES = {
    AnswerState.ANSWERED: (0.9, "high"),
    AnswerState.POSSIBLY: (0.65, "low"),
    AnswerState.INSUFFICIENT: (0.2, "insufficient"),
}


@pytest.fixture(params=STATES, ids=str)
async def answer(request: pytest.FixtureRequest) -> Answer:
    """Return an answer to one question in this state."""
    state: AnswerState = request.param
    made = await AnswerGenerator(model=None).answer(RETRIEVAL)
    if state is AnswerState.INSUFFICIENT:
        nearest = nearest_citations(RETRIEVAL)
        refused = InsufficientEvidence(nearest=nearest * 2, missing_words=("denver",))
        made = replace(made, outcome=refused)
    return replace(made, relevance=STATES[state][0], remarks=())


def read(text: RenderableType) -> str:
    console = Console(width=10_000, no_color=True)
    with console.capture() as capture:
        console.print(text)
    return capture.get()


def opening(answer: Answer) -> str:
    """Return how each door begins."""
    return {
        AnswerState.ANSWERED: "",
        AnswerState.POSSIBLY: f"{MAY_NOT_ANSWER}\n",
        AnswerState.INSUFFICIENT: f"{INSUFFICIENT}\n",
    }[answer.state]


def test_words_begin_with_the_state_and_hold_the_key_sentences_alone(answer: Answer) -> None:
    shown = read(text_output.answer(Reply.model_validate(answer)))
    markdown = render_answer(answer)
    chat = chat_response(answer, RETRIEVAL, (), milliseconds=1, counted=None).response
    for text in (shown, markdown, answer.text + "\n", chat + "\n"):
        assert text.replace(NO_INFORMATION, INSUFFICIENT).startswith(opening(answer))
        assert text.count("The store keeps") < 6
        assert KEY in text or not answer.is_answered
    assert len(answer.text) < len(LATE) / 2


def test_a_refusal_is_three_lines_and_the_rest_is_on_demand(answer: Answer) -> None:
    if answer.nearest:
        reply = Reply.model_validate(answer)
        first, nearest, missing = read(text_output.answer(reply)).splitlines()
        assert first == INSUFFICIENT
        assert nearest.startswith("Nearest: Document 1 › Contract, page")
        assert nearest.endswith("(--nearest lists all 2)")
        assert missing == "None of the closest passages mentions: denver."
        assert [line for line in render_answer(answer).splitlines() if line] == [
            first,
            nearest.removesuffix(" (--nearest lists all 2)"),
            missing,
        ]
        whole = read(text_output.answer(reply, Shown(nearest=True)))
        assert "Possibly relevant:" in whole
        assert KEY in whole


def test_context_is_shown_on_demand(answer: Answer) -> None:
    reply = Reply.model_validate(answer)
    assert [piece.text for piece in reply.context] == [piece.text for piece in answer.context]
    assert bool(answer.context) == answer.is_answered
    shown = read(text_output.answer(reply, Shown(context=True)))
    assert (
        (answer.sentences[0].context in shown.replace("\n    ", "\n")) if answer.context else True
    )
    assert ("“" in read(text_output.answer(reply))) is False  # no quote that the answer has already


async def test_fields_are_the_same_wherever_there_is_json(answer: Answer) -> None:
    relevance, confidence = STATES[answer.state]
    wanted = {
        "state": answer.state.value,
        "confidence": confidence,
        "relevance": relevance,
        "threshold": SUFFICIENT_RELEVANCE,
    }
    events = [event async for event in stream_events(parts(answer), RETRIEVAL.metrics)]
    done = StreamEvent.model_validate(events[-1])
    told = [json.loads(StreamEvent.model_validate(event).data).get("state") for event in events]
    is_doubtful = answer.state is AnswerState.POSSIBLY
    assert told[0] == ("possibly" if is_doubtful else None)
    assert set(told[1:-1]) == {None}
    kept = shown_answer(answer)
    assert kept is not None
    for document in (
        Reply.model_validate(answer).to_document(),
        Statements.model_validate(answer).to_document(),
        done.model_dump(mode="json", by_alias=True),
        Outcome.model_validate(answer).model_dump(mode="json"),
        ShownAnswer.model_validate(kept).to_document(),
    ):
        assert {name: document[name] for name in wanted} == wanted
    assert "".join(event.content for event in events) == answer.text
    streamed = "".join(render_token(event) for event in events if event.content)
    assert streamed + render_rest(answer) == render_answer(answer)


@examples(30)
@given(
    relevance=st.floats(0, 1),
    said=st.sampled_from(["", "yes", "no", "nonsense"]),
    is_elsewhere=st.booleans(),
)
@example(relevance=0.59999, said="", is_elsewhere=False)
@example(relevance=0.69999, said="", is_elsewhere=False)
@example(relevance=0.84999, said="", is_elsewhere=True)
@example(relevance=0.24999, said="yes", is_elsewhere=False)
def test_no_reply_contradicts_itself(*, relevance: float, said: str, is_elsewhere: bool) -> None:
    """State, confidence and relevance as they are shown, with four digits, agree, whatever was found and whatever a model says of it."""
    retrieval = replace(
        found("When does Plover end?", passage(chunk(LATE), relevance=relevance)),
        is_elsewhere=is_elsewhere,
    )
    sentence = json.dumps({"quotes": [KEY], "text": KEY})
    model = {
        "yes": ScriptedModel([f'{{"answerable": true, "sentences": [{sentence}]}}'] * 3),
        "no": ScriptedModel(['{"answerable": false, "sentences": []}'] * 3),
        "nonsense": ScriptedModel(['{"answerable": true, "sentences": [{"text": "Mars."}]}'] * 3),
    }.get(said)
    generator = AnswerGenerator(model=model)

    async def ask() -> list[Answer]:
        streamed = [event async for event in generator.stream(retrieval)]
        done = streamed[-1].answer
        assert done is not None
        assert "".join(event.content for event in streamed) == done.text
        return [done, await generator.answer(retrieval), await generator.statements(retrieval)]

    for answer in asyncio.run(ask()):
        shown = Reply.model_validate(answer)
        assert shown.confidence is confidence(shown.relevance)
        assert (
            (shown.relevance >= shown.threshold) is bool(shown.sentences) is bool(shown.citations)
        )
        assert shown.state.value == {
            Confidence.LOW: "possibly",
            Confidence.INSUFFICIENT: "insufficient",
        }.get(shown.confidence, "answered")
        assert not is_elsewhere or shown.state is not AnswerState.ANSWERED


async def parts(answer: Answer) -> AsyncGenerator[Part, None]:
    """Yield an answer as it is made."""
    if answer.lines_before:
        yield answer.lines_before
    for sentence in answer.sentences:
        yield sentence
    yield answer

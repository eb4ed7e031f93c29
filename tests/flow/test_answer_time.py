"""A model that hangs costs one limited time, however many calls a question makes; then the documents are quoted."""

import asyncio

import pytest
from pydantic import SecretStr

from lightwell.answer.model_calls import TimeLimitedModel
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.answers import EXTRACTS
from lightwell.domain.briefs import Brief
from lightwell.domain.errors import ModelFailed
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.endpoint import Endpoint, connect
from lightwell.models.limiter import Priority
from lightwell.models.openai_chat import OpenAIChat
from lightwell.ports import Message
from lightwell.retrieve import query_rewriting
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import Project

TAGS = ["team:v"]
ASKED = "What discount does Nordwind Energie receive?"
TOO_SLOW = (
    "scripted did not finish within 0.2 seconds; LIGHTWELL_ANSWER_TIMEOUT_SECONDS allows more"
)
TEXT = "Nordwind Energie is a utility. Nordwind Energie receives a discount of 18 percent on all items."


@pytest.fixture
async def hanging(project: Project) -> KnowledgeBase:
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("contract.md", TEXT, TAGS),))
    )
    answers = AnswerGenerator(model=ScriptedModel(lambda _: "never", latency=86_400), seconds=0.2)
    return KnowledgeBase(
        project.context,
        make_retriever(project.context),
        answers,
    )


async def test_an_answer_is_quoted(hanging: KnowledgeBase) -> None:
    answer = await hanging.questions.ask(ASKED, await hanging.reader(TAGS))
    assert "18 percent" in answer.text
    assert answer.model == EXTRACTS
    assert answer.notes[-1].startswith(TOO_SLOW)


async def test_a_stream_ends_with_the_quoted_answer(hanging: KnowledgeBase) -> None:
    events = [event async for event in hanging.questions.stream(ASKED, await hanging.reader(TAGS))]
    assert events[-1].answer is not None
    assert "18 percent" in events[-1].answer.text
    assert events[-1].answer.notes[-1].startswith(TOO_SLOW)


async def test_statements_are_quoted(hanging: KnowledgeBase) -> None:
    listed = await hanging.questions.statements(ASKED, await hanging.reader(TAGS))
    assert listed.sentences
    assert listed.notes[-1].startswith(TOO_SLOW)


async def test_a_brief_is_quoted(hanging: KnowledgeBase) -> None:
    brief = await hanging.questions.brief("Nordwind Energie", await hanging.reader(TAGS))
    assert isinstance(brief, Brief)
    assert brief.about
    assert brief.model == EXTRACTS
    assert brief.notes[-1].startswith(TOO_SLOW)


async def test_in_a_chat_a_follow_up_and_its_answer_share_the_time(hanging: KnowledgeBase) -> None:
    reader = await hanging.reader(TAGS)
    first = await hanging.questions.chat(ASKED, reader)
    then = await hanging.questions.chat(
        "And what is Nordwind Energie?", reader, conversation=first.conversation_id
    )
    assert "18 percent" in first.response.response
    assert query_rewriting.UNANSWERED in then.notes


BUSY = Behaviour(status=429, headers={"retry-after": "9"})
BROKEN = Behaviour(status=500)
ASKING = [Message(role="user", content="Why?")]


async def streamed(model: TimeLimitedModel) -> list[str]:
    return [part async for part in model.stream(ASKING, max_tokens=5)]


@pytest.mark.parametrize("method", ["reply", "stream"])
@pytest.mark.parametrize(
    ("behaves", "cause"),
    [
        (BUSY, "its last attempt failed: {} answered 429: too many requests"),
        (BROKEN, "its last attempt failed: {} answered 500: the server has an internal error"),
    ],
)
async def test_a_call_that_runs_out_of_time_names_its_last_failed_attempt(
    behaves: Behaviour, cause: str, method: str
) -> None:
    fake = FakeEndpoint(behaviour=behaves)
    with fake.running():
        there = Endpoint(base_url=fake.base_url, api_key=SecretStr("key"), model="owl")
        async with connect(there) as connection:
            chat = OpenAIChat(connection, priority=Priority.QUESTION)
            until = asyncio.get_running_loop().time() + 1.5
            model = TimeLimitedModel(inner=chat, deadline=until, seconds=1.5)
            with pytest.raises(ModelFailed, match="did not finish within") as caught:
                await (model.reply(ASKING, max_tokens=5) if method == "reply" else streamed(model))
        assert fake.requests
        assert cause.format(fake.base_url) in str(caught.value)

import asyncio
import json
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from lightwell.domain.errors import ModelBusy, ModelFailed, SchemaUnsupported
from lightwell.models.endpoint import Connection, Endpoint, RetryPolicy, connect, without_secrets
from lightwell.models.limiter import Priority
from lightwell.models.openai_chat import OpenAIChat
from lightwell.ports import Message
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from tests.clocks import InstantClock

KEY = "sk-very-secret-1234"
TEXT = "The merger with Borealis is confidential."
ASKED = [
    Message(role="system", content="Answer briefly."),
    Message(role="user", content=f"Why? {TEXT}"),
]
SCHEMA = {"type": "object", "properties": {"why": {"type": "string"}}}


def endpoint(url: str, *, timeout_seconds: float = 5, attempts: int = 5) -> Endpoint:
    return Endpoint(
        base_url=url,
        api_key=SecretStr(KEY),
        model="owl",
        timeout_seconds=timeout_seconds,
        retry_policy=RetryPolicy(attempts=attempts),
    )


@asynccontextmanager
async def chatting(
    fake: FakeEndpoint, clock: InstantClock | None = None, *, timeout_seconds: float = 5
) -> AsyncGenerator[OpenAIChat]:
    with fake.running():
        there = endpoint(fake.base_url, timeout_seconds=timeout_seconds)
        async with connect(there, clock=clock or InstantClock()) as connection:
            yield OpenAIChat(connection, priority=Priority.QUESTION)


async def failure(fake: FakeEndpoint, *, timeout_seconds: float = 5) -> ModelFailed:
    """How a reply from this endpoint fails; it never repeats the key or what was sent."""
    async with chatting(fake, timeout_seconds=timeout_seconds) as chat:
        with pytest.raises(ModelFailed) as caught:
            await chat.reply(ASKED, max_tokens=50)
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert TEXT not in told
    return caught.value


async def test_a_reply_comes_whole_with_what_it_cost() -> None:
    fake = FakeEndpoint(lambda body: "Because of the owls.")
    async with chatting(fake) as chat:
        reply = await chat.reply(ASKED, max_tokens=50)
    assert (reply.text, reply.complete, reply.usage.model) == ("Because of the owls.", True, "owl")
    assert (reply.usage.input_tokens > 10, reply.usage.output_tokens) == (True, 6)
    sent = fake.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert "openai-organization" not in sent.headers
    assert sent.body == {
        "model": "owl",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": f"Why? {TEXT}"},
        ],
        "max_tokens": 50,
        "temperature": 0,
    }


async def test_what_the_environment_means_for_another_endpoint_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "somebody-else")
    fake = FakeEndpoint()
    async with chatting(fake) as chat:
        await chat.reply(ASKED, max_tokens=50)
    assert "somebody-else" not in fake.requests[0].headers.values()


async def test_a_reply_cut_at_its_limit_says_so() -> None:
    async with chatting(FakeEndpoint(behaviour=Behaviour(finish_reason="length"))) as chat:
        assert not (await chat.reply(ASKED, max_tokens=2)).complete


async def test_usage_is_counted_here_when_the_endpoint_does_not_tell() -> None:
    raw = json.dumps({"choices": [{"message": {"content": "Two words"}}]}).encode()
    async with chatting(FakeEndpoint(behaviour=Behaviour(raw_body=raw))) as chat:
        reply = await chat.reply(ASKED, max_tokens=50)
    assert (reply.complete, reply.usage.output_tokens) == (True, 2)
    assert reply.usage.input_tokens > 5


async def test_a_schema_is_sent_where_the_endpoint_takes_it() -> None:
    fake = FakeEndpoint()
    async with chatting(fake) as chat:
        await chat.reply(ASKED, max_tokens=50, schema=SCHEMA)
        assert [part async for part in chat.stream(ASKED, max_tokens=50, schema=SCHEMA)]
    (format_of_reply, format_of_stream) = (each.body["response_format"] for each in fake.requests)
    assert (
        format_of_reply
        == format_of_stream
        == {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        }
    )


async def test_what_an_endpoint_declines_is_left_out_from_then_on() -> None:
    declines = frozenset({"response_format", "temperature", "max_tokens"})
    fake = FakeEndpoint(declined_parameters=declines)
    async with chatting(fake) as chat:
        await chat.reply(ASKED, max_tokens=50, schema=SCHEMA)
        assert chat.declined == declines
        tries = len(fake.requests)
        await chat.reply(ASKED, max_tokens=50, schema=SCHEMA)
    assert tries == 4
    assert len(fake.requests) == 5
    assert fake.requests[-1].body.keys() == {"model", "messages", "max_completion_tokens"}


async def test_a_schema_that_cannot_be_left_out_is_asked_without_no_more() -> None:
    fake = FakeEndpoint(declined_parameters=frozenset({"response_format", "temperature"}))
    with fake.running():
        async with connect(endpoint(fake.base_url), clock=InstantClock()) as connection:
            chat = OpenAIChat(connection, priority=Priority.QUESTION, requires_schema=True)
            for _ in range(2):
                with pytest.raises(SchemaUnsupported):
                    await chat.reply(ASKED, max_tokens=50, schema=SCHEMA)
            assert len(fake.requests) == 1
            assert (await chat.reply(ASKED, max_tokens=50)).text == "understood"
            assert connection.limiter.state == "closed"


async def test_trouble_that_passes_is_waited_out() -> None:
    clock = InstantClock()
    fake = FakeEndpoint(
        script=[Behaviour(status=500), Behaviour(status=502), Behaviour(closes_connection=True)]
    )
    async with chatting(fake, clock) as chat:
        assert (await chat.reply(ASKED, max_tokens=50)).text == "understood"
    assert len(fake.requests) == 4
    assert all(
        most / 2 <= slept <= most for slept, most in zip(clock.waits, [0.5, 1, 2], strict=True)
    )


async def test_the_wait_that_the_endpoint_asks_for_is_kept() -> None:
    clock = InstantClock()
    busy = Behaviour(status=429, headers={"Retry-After": "7"})
    async with chatting(FakeEndpoint(script=[busy, busy]), clock) as chat:
        await chat.reply(ASKED, max_tokens=50)
    assert clock.waits == [pytest.approx(7), pytest.approx(7)]


async def test_a_wait_of_nothing_is_not_taken_at_its_word() -> None:
    clock = InstantClock()
    busy = Behaviour(status=429, headers={"Retry-After": "0"})
    async with chatting(FakeEndpoint(script=[busy] * 3), clock) as chat:
        await chat.reply(ASKED, max_tokens=50)
    assert [slept >= 0.25 for slept in clock.waits] == [True] * 3


async def test_nobody_waits_an_hour_for_an_answer() -> None:
    busy = Behaviour(status=429, headers={"Retry-After": "3600"})
    error = await failure(FakeEndpoint(behaviour=busy))
    assert isinstance(error, ModelBusy)
    assert "gets no calls until 13:00" in str(error)


async def test_a_garbled_answer_is_asked_for_again() -> None:
    fake = FakeEndpoint(
        script=[Behaviour(raw_body=b"<html>"), Behaviour(raw_body=b'{"choices": []}')]
    )
    async with chatting(fake) as chat:
        assert (await chat.reply(ASKED, max_tokens=50)).text == "understood"


@pytest.mark.parametrize(
    ("behaves", "asked", "message"),
    [
        (Behaviour(status=401), 1, "answered 401: check LIGHTWELL_CHAT_API_KEY"),
        (Behaviour(status=404), 1, "answered 404: there is no model 'owl' at this URL"),
        (Behaviour(status=400), 1, "answered 400: it rejects this request"),
        (Behaviour(status=500), 5, "answered 500: the server has an internal error"),
        (Behaviour(closes_connection=True), 5, "cannot be reached: check that it is running"),
        (Behaviour(raw_body=b"{}"), 5, "sent an unexpected reply"),
        (Behaviour(raw_body=b'{"choices": []}'), 5, "sent an unexpected reply"),
        (Behaviour(refusal="I would rather not."), 1, "refused to answer"),
        (Behaviour(finish_reason="content_filter"), 1, "refused to answer"),
        (
            Behaviour(status=429, error={"code": "insufficient_quota"}),
            1,
            "answered 429 (insufficient_quota): the account has no credit left",
        ),
        (
            Behaviour(status=400, error={"code": TEXT, "message": f"{KEY} {TEXT}"}),
            1,
            "answered 400: it rejects this request",
        ),
    ],
)
async def test_a_failure_says_how_to_mend_it(behaves: Behaviour, asked: int, message: str) -> None:
    fake = FakeEndpoint(behaviour=behaves)
    error = await failure(fake)
    assert message in str(error)
    assert fake.url in str(error)
    assert len(fake.requests) == asked


async def test_an_empty_reply_is_a_failure() -> None:
    assert "sent an empty reply" in str(await failure(FakeEndpoint(lambda body: "")))


async def test_an_endpoint_that_is_not_there_is_named() -> None:
    with FakeEndpoint().running() as gone:
        url = gone.base_url
    async with connect(endpoint(url), clock=InstantClock()) as connection:
        chat = OpenAIChat(connection, priority=Priority.QUESTION)
        with pytest.raises(ModelFailed, match=f"{url} cannot be reached: check that it is running"):
            await chat.reply(ASKED, max_tokens=50)
        assert connection.limiter.state == "open"
        with pytest.raises(ModelBusy, match="5 calls in a row failed, the last because it cannot"):
            await chat.reply(ASKED, max_tokens=50)


async def test_an_endpoint_that_is_too_slow_is_named() -> None:
    slow = FakeEndpoint(behaviour=Behaviour(latency=0.3))
    error = await failure(slow, timeout_seconds=0.05)
    assert "did not answer within 0.05 s" in str(error)
    assert "LIGHTWELL_ENDPOINT_TIMEOUT_SECONDS" in str(error)


def test_a_url_is_shown_without_its_secrets() -> None:
    assert without_secrets("https://ada:pw@host:8000/v1/?key=1") == "https://host:8000/v1"


async def test_a_question_overtakes_waiting_extraction() -> None:
    fake = FakeEndpoint(behaviour=Behaviour(latency=0.05))
    with fake.running():
        there = Endpoint(base_url=fake.base_url, api_key=SecretStr(""), model="owl", concurrency=1)
        async with connect(there) as connection:
            await _three_extractions_and_a_question(connection)
    order = [json.dumps(request.body["messages"]) for request in fake.requests]
    assert ["question" in one for one in order] == [False, True, False, False]
    assert fake.max_at_once == 1


async def _three_extractions_and_a_question(connection: Connection) -> None:
    extraction = OpenAIChat(connection, priority=Priority.INGESTION)
    question = OpenAIChat(connection, priority=Priority.QUESTION)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            said = [Message(role="user", content="extract")]
            group.create_task(extraction.reply(said, max_tokens=50))
        await asyncio.sleep(0.02)
        group.create_task(question.reply([Message(role="user", content="question")], max_tokens=50))


async def test_a_stream_comes_word_by_word() -> None:
    fake = FakeEndpoint(lambda body: "One two\nthree", behaviour=Behaviour(word_delay=0.05))
    async with chatting(fake) as chat:
        parts = [part async for part in chat.stream(ASKED, max_tokens=50)]
    assert parts == ["One", " two", "\nthree"]
    assert fake.requests[0].body["stream"] is True


async def test_a_stream_is_tried_again_until_its_first_word() -> None:
    fake = FakeEndpoint(
        lambda body: "One two",
        script=[Behaviour(status=503), Behaviour(status=429, headers={"retry-after-ms": "20"})],
        declined_parameters=frozenset({"max_tokens"}),
    )
    async with chatting(fake) as chat:
        assert [part async for part in chat.stream(ASKED, max_tokens=50)] == ["One", " two"]
    assert len(fake.requests) == 4


@pytest.mark.parametrize(
    ("behaves", "message"),
    [
        (Behaviour(sends_half=True), "the stream ended early"),
        (Behaviour(refusal="No."), "refused to answer"),
        (Behaviour(finish_reason="content_filter"), "refused to answer"),
        (Behaviour(raw_body=b"data: {broken\n\n"), "sent an unexpected reply"),
        (Behaviour(status=401), "check LIGHTWELL_CHAT_API_KEY"),
    ],
)
async def test_a_stream_that_fails_says_so_and_frees_its_slot(
    behaves: Behaviour, message: str
) -> None:
    with FakeEndpoint(lambda body: "One two", behaviour=behaves).running() as fake:
        async with connect(endpoint(fake.base_url), clock=InstantClock()) as connection:
            chat = OpenAIChat(connection, priority=Priority.QUESTION)
            with pytest.raises(ModelFailed, match=message) as caught:
                _ = [part async for part in chat.stream(ASKED, max_tokens=50)]
            assert connection.limiter.in_flight == 0
    assert TEXT not in "".join(traceback.format_exception(caught.value))

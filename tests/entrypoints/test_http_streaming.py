"""Streams of answers: pings, errors, cancellation when a client leaves, and the rest for a client that comes back."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import anyio
import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI

from lightwell.domain.api_keys import ApiKey, Scope, user_of_key
from lightwell.domain.errors import Invalid, LightwellError, ModelFailed
from lightwell.entrypoints.http import event_streams
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.http.event_streams import EventStream
from lightwell.entrypoints.http.slots import StreamSlots
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.answer_streams import AnswerStreams, StreamedEvent
from lightwell.records import answer_streams
from lightwell.settings import ChatSettings, Settings
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
QUESTION = {"query": "What discount does Nordwind receive?"}
SLOW = Behaviour(word_delay=0.02)
"""A model that would write for a minute."""


@dataclass(frozen=True)
class Site:
    app: FastAPI
    client: httpx.AsyncClient
    endpoint: FakeEndpoint

    @property
    def streams(self) -> AnswerStreams:
        return AnswerStreams(database=self.app.state.projects.keys.database)

    async def kb(self) -> KnowledgeBase:
        return await self.app.state.projects.open("default")

    async def key(self, *tags: str) -> tuple[ApiKey, Mapping[str, str]]:
        """Create a key and return it with the headers that show it."""
        keys = self.app.state.projects.keys
        key, token = await keys.create("default", "test", scopes=(Scope.READ,), tags=tags)
        return key, {"Authorization": f"Bearer {token.text}"}

    async def stream(self, headers: Mapping[str, str], last: str = "") -> httpx.Response:
        more = {"Last-Event-ID": last} if last else {}
        return await self.client.post(
            "/v1/query/stream", json=QUESTION, headers={**headers, **more}
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    """A server on a socket, whose chat model refuses, so that answers are extracts."""
    model = FakeEndpoint(lambda _: "word " * 3000, behaviour=Behaviour(status=400))
    with databases.lent() as url, model.running() as endpoint:
        app = create_app(
            Settings(
                database_url=url,  # pyright: ignore[reportArgumentType]
                chat=ChatSettings(url=endpoint.base_url, model="fake"),
            )
        )
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        listening = socket.create_server(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve([listening]))
        await until(lambda: server.started)
        url = "http://{}:{}".format(*listening.getsockname())
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            yield Site(app=app, client=client, endpoint=endpoint)
        server.should_exit = True
        await running


async def until(met: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not met():  # noqa: ASYNC110 - other threads and processes meet it
            await asyncio.sleep(0.02)


def events_of(reply: httpx.Response) -> list[tuple[str, str, Any]]:
    """Return the id, the kind and the data of each event."""
    found = re.findall(r"event: (\w+)\ndata: (.*)\n(?:id: (.*)\n)?", reply.text)
    return [(place, kind, json.loads(data)) for kind, data, place in found]


async def ingest(site: Site, name: str, tag: str) -> None:
    source = InMemorySource(documents=(make_document(f"{name}.md", DISCOUNT, [tag]),))
    await (await site.kb()).ingestion.ingest(source, name)


async def test_a_client_that_comes_back_gets_the_rest(site: Site) -> None:
    await ingest(site, "rest", "team:rest")
    _, headers = await site.key("team:rest")
    reply = await site.stream(headers)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-accel-buffering"] == "no"
    whole = events_of(reply)
    kinds = [kind for _, kind, _ in whole]
    assert (kinds[0], kinds[-2:]) == ("token", ["metadata", "done"])
    assert DISCOUNT in "".join(data.get("content", "") for _, _, data in whole)
    stream = whole[0][0].partition(":")[0]
    assert [place for place, _, _ in whole] == [f"{stream}:{n + 1}" for n in range(len(whole))]
    for number in (1, len(whole)):
        assert events_of(await site.stream(headers, f"{stream}:{number}")) == whole[number:]


async def test_only_the_same_key_may_resume(site: Site) -> None:
    await ingest(site, "own", "team:own")
    _, headers = await site.key("team:own")
    _, others = await site.key("team:own")
    last = events_of(await site.stream(headers))[0][0]
    refused = await site.stream(others, last)
    absent = await site.stream(headers, "0" * 32 + ":1")
    assert (refused.status_code, absent.status_code) == (404, 404)
    assert refused.json()["detail"] == absent.json()["detail"]
    assert (await site.stream(headers, "x")).status_code == 422


@pytest.mark.parametrize("change", ["delete", "erase", "move", "replace"])
async def test_nothing_that_was_withdrawn_is_sent_again(site: Site, change: str) -> None:
    tag = f"team:{change}"
    await ingest(site, change, tag)
    await ingest(site, f"{change}-hidden", "team:hidden")
    _, headers = await site.key(tag)
    last = events_of(await site.stream(headers))[0][0]
    kb = await site.kb()
    hidden = await kb.reader(["team:hidden"])
    await kb.documents.delete(hidden, [each.url async for each in kb.documents.iterate(hidden)])
    assert (await site.stream(headers, last)).status_code == 200
    reader = await kb.reader([tag])
    (url,) = [each.url async for each in kb.documents.iterate(reader)]
    match change:
        case "delete":
            await kb.documents.delete(reader, [url])
        case "erase":
            await kb.documents.erase(reader, [url])
        case "move":
            moved = make_document(f"{change}.md", DISCOUNT, ["team:board"])
            await kb.ingestion.enqueue(InMemorySource(documents=(moved,)), change)
        case _:
            replaced = make_document(f"{change}.md", "Nordwind pays the list price.", [tag])
            await kb.ingestion.ingest(InMemorySource(documents=(replaced,)), change)
    assert (await site.stream(headers, last)).status_code == 404
    kept = await site.streams.database.rows(
        "SELECT FROM answer_stream_events WHERE stream_id::text = %(id)s",
        {"id": last.partition(":")[0]},
    )
    assert kept == []


async def test_a_stream_under_way_in_another_process_is_followed_to_its_end(site: Site) -> None:
    key, headers = await site.key("team:follow")
    reader = await (await site.kb()).reader(["team:follow"], user=user_of_key(key.id))
    goes_on = asyncio.Event()

    async def written() -> AsyncGenerator[StreamedEvent, None]:
        yield StreamedEvent(kind="token", data='{"n": 1}')
        await goes_on.wait()
        yield StreamedEvent(kind="done", data='{"n": 2}')

    kept = await site.streams.open(reader, f"key:{key.id}")
    async with aclosing(kept.record(written())) as sent:
        await anext(sent)
        resumed = asyncio.create_task(site.stream(headers, f"{kept.id.hex}:0"))
        await asyncio.sleep(0.1)
        goes_on.set()
        assert [event.kind async for _, event in sent] == ["done"]
    assert [data["n"] for _, _, data in events_of(await resumed)] == [1, 2]


async def test_a_stream_whose_process_died_ends_with_an_error(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, headers = await site.key("team:died")
    reader = await (await site.kb()).reader(["team:died"], user=user_of_key(key.id))
    kept = await site.streams.open(reader, f"key:{key.id}")
    monkeypatch.setattr(answer_streams, "SILENT_SECONDS", 0)
    found = events_of(await site.stream(headers, f"{kept.id.hex}:0"))
    assert [(place, kind) for place, kind, _ in found] == [("", "error")]
    assert "ask the question again" in found[0][2]["error"]


@pytest.mark.parametrize("path", ["/v1/query/stream", "/v1/chat/completions"])
async def test_a_client_that_leaves_ends_the_call_of_the_model(site: Site, path: str) -> None:
    await ingest(site, "left", "team:left")
    _, headers = await site.key("team:left")
    asked = [{"role": "user", "content": QUESTION["query"]}]
    body = (
        QUESTION if "query" in path else {"model": "lightwell", "messages": asked, "stream": True}
    )
    site.endpoint.expect(SLOW)
    before = len(site.endpoint.requests)
    asking = asyncio.create_task(site.client.post(path, json=body, headers=headers))
    await until(lambda: len(site.endpoint.requests) > before)
    assert site.endpoint.in_progress == 1
    asking.cancel()
    await until(lambda: site.endpoint.in_progress == 0)
    if "query" in path:
        query = "SELECT state FROM answer_streams ORDER BY created_at DESC LIMIT 1"
        with anyio.fail_after(10):
            while await site.streams.database.rows(query, {}) != [("interrupted",)]:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_s3_7_the_request_of_a_stream_may_say_that_it_is_one(site: Site) -> None:
    _, headers = await site.key("team:us")
    for stream, status in ((True, 200), (False, 422)):
        body = {**QUESTION, "stream": stream}
        reply = await site.client.post("/v1/query/stream", json=body, headers=headers)
        assert reply.status_code == status, reply.text


async def test_a_key_has_a_limit_of_open_streams_and_one_that_ends_makes_room(site: Site) -> None:
    await ingest(site, "many", "team:many")
    (_, headers), (_, others) = await site.key("team:many"), await site.key("team:many")
    chat = {
        "model": "lightwell",
        "messages": [{"role": "user", "content": QUESTION["query"]}],
        "stream": True,
    }
    usual, slots = site.app.state.stream_slots, StreamSlots(most=1)
    site.app.state.stream_slots = slots
    try:
        site.endpoint.expect(SLOW)
        asking = asyncio.create_task(site.stream(headers))
        await until(lambda: site.endpoint.in_progress == 1)
        refused = await site.stream(headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert int(refused.headers["retry-after"]) >= 1
        again = await site.client.post("/v1/chat/completions", json=chat, headers=headers)
        assert again.status_code == 429
        assert (await site.stream(others)).status_code == 200
        asking.cancel()
        await until(lambda: not slots.is_any_open)
        assert (await site.stream(headers)).status_code == 200
        assert not slots.is_any_open
    finally:
        site.app.state.stream_slots = usual


async def test_each_stream_of_openais_api_has_its_own_id(site: Site) -> None:
    _, headers = await site.key("team:own")
    asked = [{"role": "user", "content": QUESTION["query"]}]
    body = {"model": "lightwell", "messages": asked, "stream": True}
    found: list[set[str]] = []
    for _ in range(2):
        reply = await site.client.post("/v1/chat/completions", json=body, headers=headers)
        found.append(set(re.findall(r'"id": "(chatcmpl-\w+)"', reply.text)))
        assert reply.text.endswith("data: [DONE]\n\n")
    assert [len(each) for each in found] == [1, 1]
    assert found[0] != found[1]


async def send_to(stream: EventStream, client: Any) -> list[bytes]:
    """Send a stream to a client that never leaves, and return what it got."""
    got: list[bytes] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: Any) -> None:
        got.append(message.get("body", b""))
        await client()

    app = SimpleNamespace(state=SimpleNamespace(stream_slots=StreamSlots(most=1)))
    state = {"principal": SimpleNamespace(caller="key:1")}
    await stream({"type": "http", "app": app, "state": state}, cast("Any", receive), send)
    return got


def render(error: LightwellError) -> bytes:
    return f"error {error}".encode()


async def no_delay() -> None:
    pass


async def test_pings_come_while_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "PING_SECONDS", 0.05)
    pings = 0

    async def slow() -> AsyncGenerator[bytes, None]:
        await until(lambda: pings >= 3)
        yield b"late"

    async def count() -> None:
        nonlocal pings
        pings += 1

    got = await send_to(EventStream(slow(), render_error=render, on_ping=count), no_delay)
    assert got[1:4] == [b": ping\n\n"] * 3
    assert b"late" in got


async def test_a_slow_client_makes_the_answer_wait() -> None:
    made: list[int] = []
    taken = 0

    async def eager() -> AsyncGenerator[bytes, None]:
        for number in range(50):
            made.append(number)
            yield b"x"

    async def slow() -> None:
        nonlocal taken
        taken += 1
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(made) <= taken + 3

    got = await send_to(EventStream(eager(), render_error=render), slow)
    assert got.count(b"x") == 50


async def test_an_error_is_a_problem_before_the_first_event_and_an_event_after_it() -> None:
    async def at_once() -> AsyncGenerator[bytes, None]:
        raise Invalid("no")
        yield b""

    async def later() -> AsyncGenerator[bytes, None]:
        yield b"first"
        raise ModelFailed("gone")

    with pytest.raises(Invalid, match="no"):
        await send_to(EventStream(at_once(), render_error=render), no_delay)
    got = await send_to(EventStream(later(), render_error=render), no_delay)
    assert got == [b"", b"first", b"error gone", b""]

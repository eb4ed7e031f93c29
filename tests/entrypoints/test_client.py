"""The Python client against a real server on a socket."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn

from lightwell.client import AsyncClient, Client, ServerError
from lightwell.domain.answers import StreamType
from lightwell.entrypoints.client import clients
from lightwell.entrypoints.client.event_parser import EventParser, read_answer_event
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind Energie receives a discount of 18 percent on all items."
QUESTION = "What discount does Nordwind Energie receive?"
UNAVAILABLE = {"title": "x", "status": 503, "detail": "Busy", "code": "store_failed"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            document = make_document("contract.md", DISCOUNT, ["team:sales"], title="Contract")
            await opened.kb.ingest(InMemorySource(documents=(document,)))
            yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(site: Site) -> AsyncIterator[str]:
    """The site on a socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(site.app, lifespan="off", log_config=None))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        await serving


async def test_both_clients_get_the_same_cited_answer(site: Site, url: str) -> None:
    key = await site.key("team:sales")

    def ask() -> Any:
        with Client(url, api_key=key) as client:
            return client.query(QUESTION), [*client.stream(QUESTION)], client.search(QUESTION)

    reply, events, found = await asyncio.to_thread(ask)
    async with AsyncClient(url, api_key=key) as client:
        same = await client.query(QUESTION)
        streamed = [event async for event in client.stream(QUESTION)]
        brief = await client.brief("Nordwind Energie")
    assert reply.citations[0].snippet == DISCOUNT
    assert (same.answer, same.citations) == (reply.answer, reply.citations)
    assert [event.type for event in events] == [event.type for event in streamed]
    assert "".join(event.content for event in events) == reply.answer
    assert events[-1].type is StreamType.DONE
    assert found.results[0].content == DISCOUNT
    assert brief


async def test_a_conversation_is_continued_by_its_id(site: Site, url: str) -> None:
    async with AsyncClient(url, api_key=await site.key("team:sales")) as client:
        first = await client.chat(QUESTION)
        second = await client.chat("And who receives it?", conversation=first.conversation_id)
    assert second.conversation_id == first.conversation_id
    assert second.query_id != first.query_id


async def test_who_may_not_see_it_gets_nothing_over_the_client(site: Site, url: str) -> None:
    async with AsyncClient(url, api_key=await site.key("team:support")) as client:
        reply = await client.query(QUESTION)
    assert (reply.confidence, reply.citations, reply.nearest) == ("insufficient", [], [])


async def test_a_problem_is_an_error_with_its_code_and_request_id(url: str) -> None:
    async with AsyncClient(url, api_key="lw_wrong") as client:
        with pytest.raises(ServerError, match="valid API key") as refused:
            await client.query(QUESTION)
        with pytest.raises(ServerError) as streamed:
            await anext(client.stream(QUESTION))
    assert (refused.value.status, refused.value.problem) == (401, "unauthenticated")
    assert refused.value.request_id
    assert streamed.value.status == 401


def answering(*replies: httpx.Response) -> tuple[AsyncClient, list[httpx.Request]]:
    """Return a client of a server that gives these replies, one after the other, and what it was sent."""
    sent: list[httpx.Request] = []
    left: Iterator[httpx.Response] = iter(replies)

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return next(left)

    http = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    return AsyncClient("http://server", api_key="lw_x", http=http), sent


async def test_what_changes_nothing_is_repeated_after_a_temporary_failure() -> None:
    busy = httpx.Response(503, json=UNAVAILABLE, headers={"Retry-After": "0"})
    gone = httpx.Response(404, json={**UNAVAILABLE, "status": 404, "detail": "Gone"})
    client, sent = answering(busy, busy, gone)
    with pytest.raises(ServerError, match="Gone"):
        await client.search(QUESTION)
    assert len(sent) == 3


async def test_what_is_remembered_is_sent_once() -> None:
    busy = httpx.Response(503, json=UNAVAILABLE, headers={"Retry-After": "0"})
    client, sent = answering(busy, busy)
    with pytest.raises(ServerError, match="Busy"):
        await client.chat("Hello")
    assert len(sent) == 1


async def test_a_page_of_a_proxy_is_not_shown() -> None:
    client, _ = answering(httpx.Response(403, text="<html>secret</html>"))
    with pytest.raises(ServerError) as refused:
        await client.query(QUESTION)
    assert "secret" not in str(refused.value)


async def test_a_stream_that_breaks_off_is_resumed_after_its_last_event() -> None:
    def part(text: str) -> httpx.Response:
        return httpx.Response(200, text=text, headers={"Content-Type": "text/event-stream"})

    one = 'event: token\nid: s:1\ndata: {"type": "token", "content": "One."}\n\n'
    two = 'event: token\nid: s:2\ndata: {"type": "token", "content": "Two."}\n\n'
    done = 'event: done\nid: s:3\ndata: {"type": "done", "new": 1}\n\n'
    client, sent = answering(part(f"{one}: ping\n\nid: s:2\ndata: {{"), part(f"{two}{done}"))
    events = [event async for event in client.stream(QUESTION)]
    assert [event.content for event in events] == ["One.", "Two.", ""]
    assert [each.headers.get("Last-Event-ID") for each in sent] == [None, "s:1"]


async def test_a_stream_that_always_breaks_off_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "MAX_WAIT", 0.0)
    client, sent = answering(*(httpx.Response(200, text=": ping\n\n") for _ in range(9)))
    with pytest.raises(ServerError, match="before its last event"):
        _ = [event async for event in client.stream(QUESTION)]
    assert len(sent) == clients.ATTEMPTS


async def test_a_server_that_is_not_there_is_named() -> None:
    threads = threading.active_count()
    with (
        Client("http://127.0.0.1:9", api_key="lw_x") as client,
        pytest.raises(ServerError, match=r"127\.0\.0\.1:9 cannot be reached") as failed,
    ):
        client.chat("Hello")
    assert (failed.value.status, threading.active_count()) == (0, threads)


async def test_events_of_several_lines_are_joined() -> None:
    parser = EventParser(read_answer_event)
    lines = ['data: {"type": "token",', 'data: "content": "a"}', "id: 7", ""]
    events = [parser.feed(line) for line in lines]
    assert events[-1] is not None
    assert (events[-1].value.content, parser.last_id, events[:-1]) == ("a", "7", [None] * 3)

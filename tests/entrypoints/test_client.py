"""The Python client against a real server on a socket."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from lightwell.client import AsyncClient, Client, ServerError
from lightwell.domain.answers import StreamType
from lightwell.domain.api_keys import Scope
from lightwell.domain.links import LinkStatus
from lightwell.entrypoints.client import connections
from lightwell.entrypoints.client.clients import read_answer_event
from lightwell.entrypoints.client.event_parser import EventParser
from lightwell.entrypoints.operations.documents import DocumentQuery
from lightwell.entrypoints.operations.graph import EntityQuery
from lightwell.entrypoints.operations.jobs import FollowedJob, Job
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site, serving_on_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind Energie receives a discount of 18 percent on all items."
QUESTION = "What discount does Nordwind Energie receive?"
UNAVAILABLE = {"title": "x", "status": 503, "detail": "Busy", "code": "store_failed"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            document = make_document("contract.md", DISCOUNT, ["team:sales"], title="Contract")
            await opened.kb.ingestion.ingest(InMemorySource(documents=(document,)))
            yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(site: Site) -> AsyncIterator[str]:
    """The site on a socket."""
    async with serving_on_socket(site.app) as address:
        yield address


async def test_both_clients_get_the_same_cited_answer(site: Site, url: str) -> None:
    key = await site.key("team:sales")

    def ask() -> Any:
        with Client(url, api_key=key) as client:
            return client.query(QUESTION), [*client.stream(QUESTION)], client.search(QUESTION)

    reply, events, passages = await asyncio.to_thread(ask)
    async with AsyncClient(url, api_key=key) as client:
        same = await client.query(QUESTION)
        streamed = [event async for event in client.stream(QUESTION)]
        brief = await client.brief("Nordwind Energie")
    assert reply.citations[0].snippet == DISCOUNT
    assert (same.answer, same.citations) == (reply.answer, reply.citations)
    assert [event.type for event in events] == [event.type for event in streamed]
    assert "".join(event.content for event in events) == reply.answer
    assert events[-1].type is StreamType.DONE
    assert passages.results[0].content == DISCOUNT
    assert brief


async def test_a_conversation_is_continued_by_its_id(site: Site, url: str) -> None:
    async with AsyncClient(url, api_key=await site.key("team:sales")) as client:
        first = await client.chat(QUESTION)
        second = await client.chat("And who receives it?", conversation_id=first.conversation_id)
    assert second.conversation_id == first.conversation_id
    assert second.query_id != first.query_id


async def test_who_may_not_see_it_gets_nothing_over_the_client(site: Site, url: str) -> None:
    async with AsyncClient(url, api_key=await site.key("team:support")) as client:
        reply = await client.query(QUESTION)
    assert (reply.confidence, reply.citations, reply.nearest) == ("insufficient", [], [])


async def test_s3_7_a_file_is_handed_in_followed_read_and_deleted(
    site: Site, url: str, tmp_path: Path
) -> None:
    tags = ("team:sales", "team:bids")
    key = await site.key(*tags, scopes=ALL_BUT_ADMIN)
    file = tmp_path / "osprey.txt"
    file.write_text("Osprey Plant receives 24 pumps from Hebden Works.")

    def hand_in() -> tuple[str, list[Job], Job]:
        with Client(url, api_key=key) as client:
            uploaded = client.upload([file], tags=["team:sales"], title="Osprey", topic="plants")
            job = uploaded.documents[0].job_id
            return (
                str(uploaded.documents[0].document_id),
                [*client.follow_job(job)],
                client.get_job(job),
            )

    document, progress, job = await asyncio.to_thread(hand_in)
    assert (job.job_state, job.progress, progress[-1]) == ("complete", 100, FollowedJob.of(job))
    async with AsyncClient(url, api_key=key) as client:
        assert await client.wait_for_job(job.job_id) == FollowedJob.of(job)
        page = await client.list_documents(DocumentQuery(title="OSPREY", limit=1))
        assert [str(listed.document_id) for listed in page.documents] == [document]
        assert (await client.get_document(document)).topic == "plants"
        assert "24 pumps" in (await client.get_text(document)).text
        changed = await client.change_access(document, list(tags))
        assert changed.acl_tags == sorted(tags)
        jobs = await client.list_jobs(document=document)
        assert [listed.job_id for listed in jobs.jobs] == [job.job_id]
        for refused in (client.cancel_job(job.job_id), client.retry_job(job.job_id)):
            with pytest.raises(ServerError):
                await refused
        deleted = await client.delete_documents([document])
        assert (deleted.document_ids, deleted.errors) == ([UUID(document)], [])
        with pytest.raises(ServerError) as gone:
            await client.get_document(document)
        with pytest.raises(ServerError) as unknown:
            await client.wait_for_job(job.job_id)
    assert (gone.value.status, unknown.value.status) == (404, 404)


async def test_the_graph_links_and_feedback_are_reached(site: Site, url: str) -> None:
    key = await site.key("team:sales", scopes=ALL_BUT_ADMIN)
    async with AsyncClient(url, api_key=key) as client:
        page = await client.list_entities(EntityQuery(query="nordwind", limit=1))
        name = page.entities[0].entity_name
        assert (await client.get_entity(name)).sources[0].snippet == DISCOUNT
        near = await client.explore_neighbourhood(name, depth=2)
        assert near.entities[0].entity_name == name
        assert (await client.list_relations(limit=5)).next_after is None
        assert (await client.list_merge_proposals(about=name)).proposals == []
        with pytest.raises(ServerError, match="one entity"):
            await client.merge_entities([name], name)
        assert (await client.list_merges()).merges == []
        assert (await client.list_links(status=LinkStatus.PROPOSED)).links == []
        with pytest.raises(ServerError) as unknown:
            await client.confirm_link(UUID(int=1))
        assert unknown.value.status == 404
        answer = await client.query(QUESTION)
        feedback = await client.give_feedback(answer.query_id, 5, comment="Right")
        assert (await client.list_feedback()).feedback[0] == feedback
        session = await client.begin_session()
        assert (await client.end_session(session.session_id)).ended_at
        logged = (await client.list_queries()).queries
        assert answer.query_id in {query.query_id for query in logged}
        with pytest.raises(ServerError) as refused:
            await client.list_sources()
        assert refused.value.status == 403
    admin = await site.key("team:sales", scopes=(Scope.ADMIN,))
    async with AsyncClient(url, api_key=admin) as client:
        assert (await client.list_sources()).sources == []


async def test_what_is_handed_in_is_sent_again_with_its_idempotency_key(tmp_path: Path) -> None:
    job = {
        "jobId": str(UUID(int=1)),
        "documentId": str(UUID(int=2)),
        "status": "queued",
        "estimatedChunks": None,
    }
    busy = httpx.Response(503, json=UNAVAILABLE, headers={"Retry-After": "0"})
    taken = httpx.Response(202, json={"documents": [{**job, "fileName": "a.txt"}]})
    client, sent = answering(busy, taken, busy, httpx.Response(202, json=job))
    file = tmp_path / "a.txt"
    file.write_text("One.")
    assert (await client.upload([file], tags=["a", "b"])).documents[0].job_id == UUID(int=1)
    assert (await client.ingest("https://example.org/a")).document_id == UUID(int=2)
    keys = [request.headers["Idempotency-Key"] for request in sent]
    assert (keys[0], keys[2]) == (keys[1], keys[3])
    assert keys[0] != keys[2]
    assert sent[1].content.count(b'name="aclTags"') == 2
    assert b"One." in sent[1].content


async def test_what_is_refused_for_its_rate_is_sent_again_and_nothing_else_twice() -> None:
    limited = {**UNAVAILABLE, "status": 429}
    wait = httpx.Response(429, json=limited, headers={"Retry-After": "0"})
    client, sent = answering(wait, httpx.Response(503, json=UNAVAILABLE))
    with pytest.raises(ServerError, match="Busy"):
        await client.delete_documents(["d"])
    assert len(sent) == 2


async def test_a_problem_is_an_error_with_its_code_and_request_id(url: str) -> None:
    async with AsyncClient(url, api_key="lw_wrong") as client:
        with pytest.raises(ServerError, match="valid API key") as refused:
            await client.query(QUESTION)
        with pytest.raises(ServerError) as streamed:
            await anext(client.stream(QUESTION))
    assert (refused.value.status, refused.value.code) == (401, "unauthenticated")
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


@pytest.mark.parametrize("text", ["<html>secret</html>", '["secret"]', '{"response": "secret"}'])
async def test_a_message_that_another_program_answers_is_an_error_without_its_text(
    text: str,
) -> None:
    client, _ = answering(httpx.Response(200, text=text))
    with pytest.raises(ServerError, match="has not the form") as refused:
        await client.chat(QUESTION)
    assert "secret" not in str(refused.value)


async def test_a_stream_that_breaks_off_is_resumed_after_its_last_event() -> None:
    def part(text: str) -> httpx.Response:
        return httpx.Response(200, text=text, headers={"Content-Type": "text/event-stream"})

    first = 'event: token\nid: s:1\ndata: {"type": "token", "content": "One."}\n\n'
    two = 'event: token\nid: s:2\ndata: {"type": "token", "content": "Two."}\n\n'
    done = 'event: done\nid: s:3\ndata: {"type": "done", "new": 1}\n\n'
    client, sent = answering(part(f"{first}: ping\n\nid: s:2\ndata: {{"), part(f"{two}{done}"))
    events = [event async for event in client.stream(QUESTION)]
    assert [event.content for event in events] == ["One.", "Two.", ""]
    assert [request.headers.get("Last-Event-ID") for request in sent] == [None, "s:1"]


async def test_a_stream_that_always_breaks_off_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MAX_WAIT", 0.0)
    client, sent = answering(*(httpx.Response(200, text=": ping\n\n") for _ in range(9)))
    with pytest.raises(ServerError, match="before its last event"):
        _ = [event async for event in client.stream(QUESTION)]
    assert len(sent) == connections.ATTEMPTS


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

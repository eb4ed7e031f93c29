"""The HTTP server: keys let callers in, answers keep their citations, and what one may not see is not there."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import openai
import pytest
import uvicorn
from fastapi import HTTPException
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection
from uvicorn.server import ServerState

from lightwell.domain.answers import INSUFFICIENT
from lightwell.domain.api_keys import Scope, Token, new_token, parse_token
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.http import body_limit
from lightwell.entrypoints.http import serving as http_serving
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.http.body_limit import BodyLimit
from lightwell.entrypoints.http.problems import CONTENT_TYPE
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.knowledge_base.questions import Questions
from lightwell.records.database import Database, connect
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.entrypoints.served import serving
from tests.patience import PATIENCE

QUESTION = {"query": "What discount does Nordwind receive?"}
DISCOUNT = "Nordwind receives a discount of 18 percent on all items."


@dataclass(frozen=True)
class Site:
    client: httpx.AsyncClient
    keys: ApiKeys

    async def key(self, *tags: str, scopes: tuple[str, ...] = (Scope.READ,), **more: Any) -> str:
        _, token = await self.keys.create("default", "test", scopes=scopes, tags=tags, **more)
        return token.text

    async def post(self, path: str, body: object, key: str = "") -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return await self.client.post(path, json=body, headers=headers)


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    """A server in this process on a store with one document of team:sales."""
    settings = Settings(database_url=database_url)  # pyright: ignore[reportArgumentType]
    app = create_app(settings)
    source = InMemorySource(documents=(make_document("contract.md", DISCOUNT, ["team:sales"]),))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
        connect(database_url) as database,
    ):
        await (await app.state.projects.open("default")).ingestion.ingest(source)
        yield Site(client=client, keys=ApiKeys(database=database, tenant="default"))


async def test_a_question_gets_a_cited_answer_and_whoever_may_not_see_it_none(site: Site) -> None:
    seeing = await site.post("/v1/query", QUESTION, await site.key("team:sales"))
    assert seeing.status_code == 200
    found = seeing.json()
    assert DISCOUNT in found["answer"]
    assert found["citations"][0]["snippet"] == DISCOUNT
    other = (await site.post("/v1/query", QUESTION, await site.key("team:support"))).json()
    assert other["confidence"] == "insufficient"
    assert "18 percent" not in json.dumps(other)


async def test_without_a_valid_key_there_is_nothing(site: Site) -> None:
    unknown = ("", "lw_", "Bearer", "lw_" + "0" * 32 + "_" + "A" * 43, new_token().text)
    for shown in unknown:
        for path in ("/v1/query", "/v1/query/stream", "/v1/chat/completions"):
            reply = await site.post(path, QUESTION, shown)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert reply.headers["content-type"] == CONTENT_TYPE
            assert reply.json()["code"] == "unauthenticated"


async def test_a_wrong_secret_an_expired_and_a_revoked_key_are_refused_alike(
    site: Site, database: Database
) -> None:
    key = await site.key("team:sales")
    token = parse_token(key)
    assert token is not None
    wrong = Token(token.key_id, new_token().secret).text
    expired = await site.key("team:sales", expires_at=await database.now() + timedelta(days=1))
    await database.execute(
        "UPDATE api_keys SET expires_at = now() WHERE expires_at IS NOT NULL", {}
    )
    revoked = await site.key("team:sales")
    gone = parse_token(revoked)
    assert gone is not None
    assert (await site.post("/v1/query", QUESTION, revoked)).status_code == 200
    await site.keys.revoke("default", gone.key_id)
    replies = [await site.post("/v1/query", QUESTION, each) for each in (wrong, expired, revoked)]
    said = [{**each.json(), "requestId": ""} for each in replies]
    assert [each.status_code for each in replies] == [401, 401, 401]
    assert said[0] == said[1] == said[2]
    assert (await site.post("/v1/query", QUESTION, key)).status_code == 200


async def test_a_key_needs_the_scope(site: Site) -> None:
    reply = await site.post("/v1/query", QUESTION, await site.key("team:sales", scopes=("ingest",)))
    assert (reply.status_code, reply.json()["code"]) == (403, "missing_scope")
    admin = await site.key("team:sales", scopes=("admin",))
    assert (await site.post("/v1/query", QUESTION, admin)).status_code == 200


async def test_a_key_of_another_tenant_or_project_opens_only_its_own(
    site: Site, database: Database
) -> None:
    elsewhere = ApiKeys(database=database, tenant="other")
    _, token = await elsewhere.create("default", "x", scopes=["read"], tags=["team:sales"])
    assert (await site.post("/v1/query", QUESTION, token.text)).status_code == 401
    _, token = await site.keys.create("empty", "x", scopes=["read"], tags=["team:sales"])
    reply = await site.post("/v1/query", QUESTION, token.text)
    assert reply.json()["confidence"] == "insufficient"


async def test_the_database_holds_no_secret(site: Site, database: Database) -> None:
    token = parse_token(await site.key("team:sales"))
    assert token is not None
    rows = await database.rows("SELECT api_keys::text FROM api_keys", {})
    assert token.secret not in str(rows)
    assert token.secret not in repr(token)


async def test_what_is_wrong_with_a_request_is_named(site: Site) -> None:
    wrong: list[tuple[object, str]] = [
        ({"query": " "}, "Query cannot be empty"),
        ({"query": "x", "topk": 3}, "topk"),
        ({"query": "x", "topK": 21}, "topK"),
        ({}, "query"),
        ({"query": "x", "mode": "local", "includeGraph": False}, "includeGraph"),
        ([], "body"),
    ]
    key = await site.key("team:sales")
    for body, said in wrong:
        reply = await site.post("/v1/query", body, key)
        assert reply.status_code == 422
        problem = reply.json()
        assert said in problem["detail"]
        assert problem["requestId"] == reply.headers["x-request-id"]
        assert reply.headers["content-type"] == CONTENT_TYPE


async def test_errors_of_routing_are_problems_too(site: Site) -> None:
    for reply in (await site.client.get("/v1/nothing"), await site.client.get("/v1/query")):
        assert reply.headers["content-type"] == CONTENT_TYPE
        assert reply.json()["status"] == reply.status_code


async def test_health_needs_no_key(site: Site) -> None:
    assert (await site.client.get("/health/live")).json() == {"status": "ok"}
    assert (await site.client.get("/health/ready")).json()["status"] == "ok"


async def test_the_interface_is_described(site: Site) -> None:
    described = (await site.client.get("/openapi.json")).json()
    assert described["openapi"].startswith("3.1")
    operation = described["paths"]["/v1/query"]["post"]
    assert {"200", "401", "403", "422", "503"} <= operation["responses"].keys()
    assert operation["security"]


async def openai_client(site: Site, *tags: str) -> openai.AsyncOpenAI:
    """Return the official client, which reaches the server in this process."""
    return openai.AsyncOpenAI(
        api_key=await site.key(*tags),
        base_url="http://localhost/v1",
        http_client=cast("Any", site.client),
        max_retries=0,
    )


async def test_the_official_openai_client_gets_a_cited_answer(site: Site) -> None:
    client = await openai_client(site, "team:sales")
    assert [each.id async for each in client.models.list()] == ["lightwell"]
    asked: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION["query"]},
    ]
    reply = await client.chat.completions.create(model="lightwell", messages=asked)
    message = reply.choices[0].message
    assert message.content is not None
    assert message.content.startswith(f"{DISCOUNT} [1]\n\n[1]: <")
    assert message.annotations
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == f"{DISCOUNT} [1]"
    assert cited.url.startswith("http://localhost/d/")


async def test_the_official_client_streams_the_same_text(site: Site) -> None:
    client = await openai_client(site, "team:sales")
    asked: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION["query"]}]}]
    whole = await client.chat.completions.create(model="lightwell", messages=asked)
    stream = await client.chat.completions.create(
        model="lightwell", messages=asked, stream=True, stream_options={"include_usage": True}
    )
    chunks = [each async for each in stream]
    said = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
    assert said == whole.choices[0].message.content
    assert chunks[-1].usage is not None
    assert [each.choices[0].finish_reason for each in chunks[:-1]][-1] == "stop"


async def test_a_follow_up_is_understood_from_the_conversation(site: Site) -> None:
    client = await openai_client(site, "team:sales")
    asked: list[Any] = [
        {"role": "user", "content": "What is Nordwind?"},
        {"role": "assistant", "content": "A customer."},
        {"role": "user", "content": "What discount do they receive?"},
    ]
    reply = await client.chat.completions.create(model="lightwell", messages=asked)
    assert DISCOUNT in str(reply.choices[0].message.content)


async def test_whoever_may_not_see_it_gets_no_citation_by_openais_api(site: Site) -> None:
    client = await openai_client(site, "team:support")
    asked: list[Any] = [{"role": "user", "content": QUESTION["query"]}]
    reply = await client.chat.completions.create(model="lightwell", messages=asked)
    assert reply.choices[0].message.content == INSUFFICIENT
    assert reply.choices[0].message.annotations == []


@pytest.mark.parametrize(
    ("model", "role", "kind"),
    [
        ("gpt", "user", openai.NotFoundError),
        ("lightwell", "assistant", openai.UnprocessableEntityError),
    ],
)
async def test_another_model_or_a_conversation_without_a_question_is_refused(
    site: Site, model: str, role: str, kind: type[Exception]
) -> None:
    client = await openai_client(site, "team:sales")
    asked: Any = [{"role": role, "content": "x"}]
    with pytest.raises(kind, match=r"lightwell|last message"):
        await client.chat.completions.create(model=model, messages=asked)


async def test_the_official_client_gets_the_same_answer_as_a_response(site: Site) -> None:
    client = await openai_client(site, "team:sales")
    said: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is Nordwind?"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "A customer."}]},
        {"role": "user", "content": "What discount do they receive?"},
    ]
    followed = await client.responses.create(model="lightwell", input=said)
    assert DISCOUNT in followed.output_text
    whole = await client.responses.create(model="lightwell", input=QUESTION["query"])
    assert whole.output_text.startswith(f"{DISCOUNT} [1]\n\n[1]: <")
    (part,) = cast("Any", whole.output[0]).content
    cited = part.annotations[0]
    assert whole.output_text[cited.start_index : cited.end_index] == f"{DISCOUNT} [1]"
    assert whole.usage is not None
    stream = await client.responses.create(model="lightwell", input=QUESTION["query"], stream=True)
    events: list[Any] = [each async for each in stream]
    assert [each.sequence_number for each in events] == [*range(len(events))]
    deltas = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text == events[-1].response.output_text
    assert events[-1].type == "response.completed"
    async with client.responses.stream(model="lightwell", input=QUESTION["query"]) as following:
        assert (await following.get_final_response()).output_text == whole.output_text
    stranger = await openai_client(site, "team:support")
    refused = await stranger.responses.create(model="lightwell", input=QUESTION["query"])
    assert refused.output_text == INSUFFICIENT
    for wrong in ({"model": "gpt"}, {"previous_response_id": "resp_1"}):
        asked: Any = {"model": "lightwell", "input": "x", **wrong}
        with pytest.raises(openai.APIStatusError, match=r"lightwell|stored"):
            await client.responses.create(**asked)


@pytest.mark.parametrize("scopes", [[], ["reed"]])
async def test_a_key_needs_a_known_scope(database: Database, scopes: list[str]) -> None:
    keys = ApiKeys(database=database, tenant="default")
    with pytest.raises(Invalid, match=r"read, ingest"):
        await keys.create("default", "x", scopes=scopes, tags=["team:us"])


async def test_the_server_answers_in_a_process_of_its_own_and_stops_on_a_signal(
    site: Site, database_url: str, tmp_path: Path
) -> None:
    key = await site.key("team:sales")
    headers = {"Authorization": f"Bearer {key}"}
    with serving(tmp_path, database_url) as (process, url):
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            reply = await client.post(f"{url}/v1/query", json=QUESTION, headers=headers)
        assert DISCOUNT in reply.json()["answer"]
        process.send_signal(signal.SIGTERM)
        _, said = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        assert process.returncode == 0
        # After the line that names where it listens: how its owner signs in, and nothing else.
        opening = f"\nOpen this address in a browser; it signs you in, once, within an hour:\n{url}/sign-in#"
        assert re.fullmatch(re.escape(opening) + r"[\w-]{43}\n", said)


@pytest.mark.parametrize("is_length_named", [True, False])
async def test_a_body_without_end_is_refused_before_it_fills_memory(
    site: Site, *, is_length_named: bool
) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(300):
            sent += 1
            yield b" " * 100_000

    # Without `Expect` the rest would be read and thrown away, so that the client gets to the reply.
    headers = {"Content-Type": "application/json", "Expect": "100-continue"}
    if is_length_named:
        headers["Content-Length"] = "30000000"
    reply = await site.client.post("/v1/query", content=body(), headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert sent <= (0 if is_length_named else 11)


async def test_a_method_that_a_route_has_not_is_answered_with_those_it_has(site: Site) -> None:
    reply = await site.client.put("/v1/query")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "POST")


async def test_no_redirect_repeats_the_name_that_a_caller_sent(site: Site) -> None:
    reply = await site.client.get("/v1/query/")
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


async def fine(_scope: Connection, _receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"4"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"fine"})


@asynccontextmanager
async def connected(
    head: bytes, app: ASGIApp = fine
) -> AsyncGenerator[Callable[[], Awaitable[bytes]]]:
    """Serve an application that answers `fine`; yield what connects, sends this, and returns all that comes back."""
    config = uvicorn.Config(app, http=http_serving.Connection, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    make = partial(http_serving.Connection, config, state, {})
    async with await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0) as server:

        async def answer() -> bytes:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            try:
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
                    return await reader.read()
            except ConnectionResetError:
                return b""
            finally:
                writer.close()

        yield answer


async def test_a_connection_without_a_request_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stay(_scope: Connection, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"fine"})

    monkeypatch.setattr(http_serving, "HEAD_SECONDS", 0.01)
    whole, begun = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX: "
    for head, expected in ((b"", b""), (begun, b""), (whole + begun, b"fine")):
        async with connected(head, stay) as answer:
            assert (await answer()).endswith(expected)


async def test_more_connections_than_there_are_files_for_end_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for most, expected in ((0, b""), (1, b"fine")):
        monkeypatch.setattr(http_serving, "most_connections", lambda most=most: most)
        async with connected(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as answer:
            assert (await answer()).endswith(expected)


@pytest.mark.parametrize("length", ["Content-Length: 20000000", "Transfer-Encoding: chunked"])
async def test_a_client_that_sends_all_before_it_reads_learns_why_it_was_refused(
    length: str,
) -> None:
    async def refuse(scope: Connection, receive: Receive, send: Send) -> None:
        try:
            while (await receive()).get("more_body", False):
                pass
        except HTTPException as error:
            status = error.status_code
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"refused"})

    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    body = 20 * chunk + b"0\r\n\r\n" if "chunked" in length else bytes(20_000_000)
    head = f"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{length}\r\n\r\n"
    async with connected(head.encode() + body, BodyLimit(refuse)) as answer:
        assert (await answer()).startswith(b"HTTP/1.1 413 ")


async def test_json_that_is_not_utf_8_is_refused(site: Site) -> None:
    key = await site.key("team:sales")
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    text = json.dumps(QUESTION)
    for codec, status in (("utf-8", 200), ("utf-16", 400), ("utf-16-le", 400), ("utf-32", 400)):
        reply = await site.client.post("/v1/query", content=text.encode(codec), headers=headers)
        assert reply.status_code == status, codec


async def test_a_body_must_arrive_in_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "BODY_SECONDS", 0.01)

    async def dripping() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    kind = {"Content-Type": "application/json"}
    reply = await site.client.post("/v1/query", content=dripping(), headers=kind)
    assert (reply.status_code, reply.json()["code"]) == (408, "request_timeout")


async def test_an_unexpected_error_is_logged_without_its_message(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("It quotes Nordwind.")

    monkeypatch.setattr(Questions, "ask", fail)
    with caplog.at_level("INFO"):
        reply = await site.post("/v1/query", QUESTION, await site.key("team:sales"))
    assert (reply.status_code, reply.json()["code"]) == (500, "internal_error")
    assert f"request_id={reply.json()['requestId']}" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "Nordwind" not in caplog.text

"""MCP: the official client finds, reads and asks over HTTP and stdio, with the access of its key and nothing more."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.mcp_server import AS_DATA, MAX_FETCHED_CHARACTERS
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
QUESTION = "What discount does Nordwind receive?"
DOCUMENTS = (
    make_document("contract.md", DISCOUNT, ["team:sales"]),
    make_document("incident.md", "Osprey failed in March. Nordwind was told.", ["team:support"]),
    make_document("long.md", "Nordwind " + "pumps water. " * 20_000, ["team:archive"]),
)


@dataclass(frozen=True)
class Site:
    app: FastAPI
    url: str
    keys: ApiKeys

    async def key(self, *tags: str, scopes: tuple[str, ...] = (Scope.READ,)) -> str:
        _, token = await self.keys.create("default", "test", scopes=scopes, tags=tags)
        return token.text

    @asynccontextmanager
    async def http(
        self, key: str, host: str = "127.0.0.1:8000"
    ) -> AsyncGenerator[httpx2.AsyncClient]:
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app),
            base_url=f"http://{host}",
            headers={"Authorization": f"Bearer {key}"} if key else {},
        ) as client:
            yield client

    @asynccontextmanager
    async def client(self, *tags: str, mode: Any = "auto") -> AsyncGenerator[Client]:
        """Yield the official client, which reaches the server in this process."""
        async with self.http(await self.key(*tags)) as http:
            transport = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        app = create_app(Settings(database_url=url))  # pyright: ignore[reportArgumentType]
        async with app.router.lifespan_context(app):
            await (await app.state.projects.open("default")).ingestion.ingest(
                InMemorySource(documents=DOCUMENTS)
            )
            yield Site(app=app, url=url, keys=app.state.projects.keys)


def text_of(result: CallToolResult) -> str:
    assert [type(each) for each in result.content] == [TextContent]
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    if tool != "ask":
        assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def failure(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_finds_reads_and_asks(site: Site, mode: str) -> None:
    async with site.client("team:sales", mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [each.name for each in tools] == ["search", "fetch", "ask"]
        assert all(AS_DATA in (each.description or "") for each in tools)
        (found,) = (await call(client, "search", query=QUESTION))["results"]
        assert found.keys() == {"id", "title", "url"}
        read = await call(client, "fetch", id=found["id"])
        assert read.keys() == {"id", "title", "text", "url", "metadata"}
        assert (read["id"], read["text"], read["url"]) == (found["id"], DISCOUNT, found["url"])
        assert read["metadata"]["notice"] == AS_DATA
        other = {"query": QUESTION, "filters": {"system": ["linear", "attio"]}}
        assert (await call(client, "search", **other))["results"] == []
        nothing = await call(client, "ask", question=QUESTION, filters={"author": "Ada"})
        assert nothing["state"] == "insufficient"
        result = await client.call_tool("ask", {"question": QUESTION})
        assert text_of(result).startswith(f"{DISCOUNT} [1]\n\n[1]: <")
        assert result.structured_content["citations"][0]["snippet"] == DISCOUNT


async def test_what_the_key_may_not_see_is_as_what_does_not_exist(site: Site) -> None:
    async with site.client("team:sales") as sales, site.client("team:support") as support:
        (hidden,) = (await call(sales, "search", query=QUESTION))["results"]
        assert hidden not in (await call(support, "search", query=QUESTION))["results"]
        assert "18 percent" not in json.dumps(await call(support, "ask", question=QUESTION))
        absent = str(uuid4())
        for name in (hidden["id"], hidden["url"]):
            assert await failure(support, "fetch", id=name) == (
                await failure(support, "fetch", id=absent)
            ).replace(absent, name)


async def test_wrong_arguments_are_named_and_a_long_text_is_cut(site: Site) -> None:
    async with site.client("team:archive") as client:
        assert "query" in await failure(client, "search")
        assert "topK" in await failure(client, "search", query="x", topK=3)
        assert "empty" in await failure(client, "ask", question=" ")
        (found,) = (await call(client, "search", query="Nordwind pumps"))["results"]
        read = await call(client, "fetch", id=found["id"])
        assert len(read["text"]) == MAX_FETCHED_CHARACTERS
        assert "truncated" in read["metadata"]


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def test_without_a_key_that_may_read_there_is_nothing(site: Site) -> None:
    ingest = await site.key("team:sales", scopes=("ingest",))
    for key, status in (("", 401), ("lw_x", 401), (ingest, 403)):
        async with site.http(key) as http:
            reply = await http.post("/mcp", json=PING, headers=ACCEPT)
            assert reply.status_code == status
            assert reply.json()["status"] == status


async def test_other_names_and_origins_than_the_servers_are_refused(site: Site) -> None:
    key = await site.key("team:sales")
    cases: list[tuple[str, dict[str, str], int]] = [
        ("evil.example", {}, 421),
        ("127.0.0.1:8000", {"Origin": "https://evil.example"}, 403),
        ("localhost:8000", {"Origin": "http://localhost:8000"}, 200),
    ]
    for host, headers, status in cases:
        async with site.http(key, host) as http:
            reply = await http.post("/mcp", json=PING, headers={**ACCEPT, **headers})
            assert reply.status_code == status
    async with site.http(key) as http:
        assert (await http.get("/mcp", headers=ACCEPT)).status_code == 405
        assert (await http.post("/mcp", content=b"x" * 1_100_000)).status_code == 413


def program(site: Site, home: Path, *arguments: str, **settings: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", "from lightwell.entrypoints.cli import main; main()", "mcp", *arguments],
        env={"LIGHTWELL_DATABASE_URL": site.url, "PATH": os.environ["PATH"], **settings},
        cwd=home,
    )


async def test_over_stdio_a_client_has_the_access_of_its_key(site: Site, tmp_path: Path) -> None:
    key = await site.key("team:sales")
    async with Client(program(site, tmp_path, LIGHTWELL_API_KEY=key)) as client:
        assert DISCOUNT in text_of(await client.call_tool("ask", {"question": QUESTION}))
        for each in await site.keys.list("default"):
            await site.keys.revoke("default", each.id)
        assert "not a valid key" in await failure(client, "ask", question=QUESTION)


async def test_a_signal_ends_the_program_while_its_client_is_silent(
    site: Site, tmp_path: Path
) -> None:
    started = program(site, tmp_path, "--as", "team:sales")
    process = await asyncio.create_subprocess_exec(
        started.command,
        *started.args,
        env=started.env,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(PING).encode() + b"\n")
    assert await process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    try:
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 130
    finally:
        if process.returncode is None:
            process.kill()

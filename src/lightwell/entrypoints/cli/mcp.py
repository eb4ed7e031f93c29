"""`mcp`: the tools of the Model Context Protocol over stdin and stdout, for a client that starts this program."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, cast

from rich.text import Text

from lightwell.domain.access import TagAuthority
from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import open_store_project, parse_reader_tags, settings_of_store
from lightwell.entrypoints.operations.declaration import Caller

if TYPE_CHECKING:
    from anyio import AsyncFile

    from lightwell.domain.access import Reader, Tags
    from lightwell.entrypoints.mcp_server import GetCaller
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.settings import Settings

mcp = single_command()

_MAX_LINE_BYTES = 1_000_000

_REFUSED = (
    "LIGHTWELL_API_KEY is not a valid key with the scope read; `lightwell keys create` makes one"
)


@command(mcp, "mcp", "lightwell mcp --as team:sales")
async def serve_mcp(*, who: As = None) -> Report:
    """Serve the tools `search`, `fetch` and `ask` to an MCP client on stdin and stdout, until stdin ends.

    The client starts this command. The tools see what --as names, or what the key in LIGHTWELL_API_KEY may see.
    """
    from mcp.server.stdio import stdio_server

    from lightwell.entrypoints.mcp_server import make_server

    chosen = settings_of_store()
    callers = _callers(chosen, who)  # wrong input is reported before stdin is read
    lines = await _open_stdin()
    async with callers as get_caller, stdio_server(lines) as (incoming, outgoing):
        server = make_server(get_caller)
        await server.run(incoming, outgoing, server.create_initialization_options())
    return Report(document={}, text=Text(""), printed=True)


async def _open_stdin() -> "AsyncFile[str]":
    """Return the lines of stdin. The SDK would read them in a thread, which no signal interrupts while a client is silent."""
    reader = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def lines() -> "AsyncGenerator[str]":
        while line := await reader.readline():
            yield line.decode(errors="replace")

    return cast("AsyncFile[str]", lines())  # the SDK only iterates over it


def _callers(chosen: "Settings", who: list[str] | None) -> "AbstractAsyncContextManager[GetCaller]":
    """Open the project for the tags of `--as`, or without them for the key in the settings."""
    if chosen.api_key is None or who:
        return _open_with_tags(chosen, parse_reader_tags(who))
    return _open_with_key(chosen, chosen.api_key.get_secret_value())


@asynccontextmanager
async def _open_with_tags(chosen: "Settings", tags: "Tags") -> "AsyncGenerator[GetCaller]":
    async with open_store_project(chosen) as kb:

        async def get_caller(_: object) -> Caller:
            return _caller(chosen, kb, await kb.reader(tags))

        yield get_caller


@asynccontextmanager
async def _open_with_key(chosen: "Settings", shown: str) -> "AsyncGenerator[GetCaller]":
    from lightwell.knowledge_base.principals import Principals
    from lightwell.wiring import open_project, open_resources

    async with open_resources(chosen) as resources:
        principals = Principals(database=resources.database, tenant=chosen.tenant)
        first = await principals.of_key(shown)
        if first is None:
            raise Invalid(_REFUSED)
        kb = await open_project(resources, first.project)

        async def get_caller(_: object) -> Caller:
            principal = await principals.of_key(shown)  # it may have been revoked meanwhile
            if principal is None or not principal.allows(Scope.READ):
                raise Invalid(_REFUSED)
            return _caller(chosen, kb, await kb.reader(principal.tags, user=principal.user))

        yield get_caller


def _caller(chosen: "Settings", kb: "KnowledgeBase", reader: "Reader") -> Caller:
    return Caller(
        knowledge_base=kb,
        reader=reader,
        authority=TagAuthority(tags=reader.tags),
        server=chosen.server.public_url.rstrip("/"),
    )

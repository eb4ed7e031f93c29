"""MCP over streamable HTTP at `/mcp`: with an API key as bearer token, and without sessions, so that any process may answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from lightwell.domain.api_keys import Scope
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints import mcp_server
from lightwell.entrypoints.http.authentication import Caller, caller_of
from lightwell.entrypoints.http.body_limit import MAX_BODY_BYTES
from lightwell.settings import Settings

PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@asynccontextmanager
async def open_manager(settings: Settings) -> AsyncGenerator[StreamableHTTPSessionManager]:
    """Open what serves requests; it refuses names of the server that the settings do not name.

    It runs in a task of its own, because the SDK requires that the task which opens it closes it.
    """
    manager = StreamableHTTPSessionManager(
        mcp_server.make_server(_caller),
        stateless=True,
        security_settings=_protection(settings),
        max_request_body_size=MAX_BODY_BYTES,
    )
    opened, closing = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        async with manager.run():
            opened.set()
            await closing.wait()

    running = asyncio.create_task(run())
    await opened.wait()
    try:
        yield manager
    finally:
        closing.set()
        await running


def make_route() -> Route:
    """Return the route of a running manager, which `app.state.mcp` holds."""
    return Route(PATH, _Endpoint(), methods=["POST"])


class _Endpoint:
    """Lets callers with a key in, and leaves the request to the SDK."""

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        request = Request(connection, receive)
        request.state.caller = await caller_of(request, Scope.READ)
        await request.app.state.mcp.handle_request(connection, receive, send)


async def _caller(context: ServerRequestContext) -> Caller:
    assert context.request is not None  # noqa: S101  # the SDK attaches the HTTP request
    return context.request.state.caller


def _protection(settings: Settings) -> TransportSecuritySettings:
    """Return which `Host` and `Origin` a request may have, so that a web page cannot rebind its name to this server."""
    public = urlsplit(settings.server.public_url).hostname
    named = [*split_at_commas(settings.http.hosts), *([public] if public else [])]
    hosts = [*_LOOPBACK, settings.http.host, *named]
    with_ports = [*hosts, *(f"{host}:*" for host in hosts)]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=with_ports,
        allowed_origins=[
            f"{scheme}://{host}" for host in with_ports for scheme in ("http", "https")
        ],
    )

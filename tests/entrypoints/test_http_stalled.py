"""Clients that take nothing."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request, Response

from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.http import serving
from lightwell.entrypoints.http.event_streams import EventStream
from lightwell.entrypoints.http.slots import StreamSlots
from tests.patience import PATIENCE


async def endless() -> AsyncGenerator[bytes, None]:
    while True:
        yield b": more\n\n" * 1000


def render(error: LightwellError) -> bytes:
    return f"error {error}".encode()


def streaming_app(slots: StreamSlots) -> FastAPI:
    app = FastAPI()
    app.state.stream_slots = slots

    @app.get("/stream")
    async def stream(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        request.state.principal = SimpleNamespace(caller="key")
        return EventStream(endless(), render_error=render)

    return app


async def wait_until_open(slots: StreamSlots, *, wanted: bool) -> None:
    async with asyncio.timeout(PATIENCE):
        while slots.is_any_open is not wanted:  # noqa: ASYNC110 - slots have no event
            await asyncio.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such socket option")
async def test_a_client_that_never_reads_gives_its_stream_back() -> None:
    slots = StreamSlots(most=1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving.set_socket_options(listening, stalled=0.5)
        serving_it = asyncio.create_task(serving.serve(streaming_app(slots), listening, proxies=""))
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await wait_until_open(slots, wanted=True)
            await wait_until_open(slots, wanted=False)
        serving_it.cancel()
        await asyncio.gather(serving_it, return_exceptions=True)


async def test_a_client_that_takes_a_response_slowly_gets_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    size, app = 20_000_000, FastAPI()

    @app.get("/large")
    async def large() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(bytes(size))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving_it = asyncio.create_task(serving.serve(app, listening, proxies=""))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(1)
        async with asyncio.timeout(PATIENCE):
            assert len(await reader.readexactly(size)) == size
        writer.close()
        serving_it.cancel()
        await asyncio.gather(serving_it, return_exceptions=True)

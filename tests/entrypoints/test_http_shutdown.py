"""A server that stops answers what it cannot finish, so that clients send it again."""

import asyncio
import os
import socket

import httpx
import pytest

from lightwell.entrypoints.http import serving
from lightwell.entrypoints.http.openapi import Application
from tests.patience import PATIENCE


async def test_a_request_that_outlasts_the_grace_of_a_stop_is_answered_with_503(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "GRACE_SECONDS", 0)
    app, arrived = Application(), asyncio.Event()

    @app.get("/endless")
    async def endless() -> None:  # pyright: ignore[reportUnusedFunction]
        arrived.set()
        await asyncio.Event().wait()

    orphaned, parent = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = "http://{}:{}/endless".format(*listening.getsockname())
        server = asyncio.create_task(serving.serve(app, listening, proxies="", orphaned=orphaned))
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            request = asyncio.create_task(client.get(url))
            await arrived.wait()
            os.close(parent)
            reply = await request
        await server
    os.close(orphaned)
    assert (reply.status_code, reply.json()["code"]) == (503, "stopping")
    assert reply.headers["Retry-After"]
    assert reply.headers["X-Request-Id"] == reply.json()["requestId"]

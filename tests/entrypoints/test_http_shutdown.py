"""A server that stops answers what it cannot finish, so that clients send it again."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

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


async def test_a_signal_that_comes_while_the_server_starts_ends_it_with_its_door(
    tmp_path: Path,
) -> None:
    """The door of its owner, too, which is opened only afterwards."""

    @asynccontextmanager
    async def starting(app: FastAPI) -> AsyncGenerator[None, None]:
        del app
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(10):  # the event loop comes round to the signal
            await asyncio.sleep(0)
        yield

    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX) as owners,
    ):
        owners.bind(str(tmp_path / "door"))
        serving_ended = serving.serve(
            FastAPI(lifespan=starting),
            listening,
            proxies="",
            signals=[signal.SIGUSR1],
            door=_Door(owners),
        )
        await asyncio.wait_for(serving_ended, PATIENCE)


@dataclass(frozen=True)
class _Door:
    owners: socket.socket
    connection: type[serving.Connection] = serving.Connection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    @contextmanager
    def listening(self) -> Generator[list[socket.socket]]:
        yield [self.owners]

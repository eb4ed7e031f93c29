"""A server in this process, on a database of its own, and clients with keys."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.http.app import create_app
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.records.database import connect
from lightwell.settings import Settings
from tests.patience import PATIENCE

T = TypeVar("T")

ALL_BUT_ADMIN = tuple(each for each in Scope if each not in (Scope.ADMIN, Scope.PUSH))
"""All that one key can have: what pushes does nothing else."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A running application; each set of tags and scopes gets one key."""

    app: FastAPI
    client: httpx.AsyncClient
    keys: ApiKeys
    kb: KnowledgeBase
    made: dict[object, str] = field(default_factory=dict[object, str])

    async def key(
        self, *tags: str, scopes: tuple[str, ...] = (Scope.READ,), person: str = ""
    ) -> str:
        wanted = (tags, scopes, person)
        if wanted not in self.made:
            _, token = await self.keys.create(
                "default", "test", scopes=scopes, tags=tags, person=person
            )
            self.made[wanted] = token.text
        return self.made[wanted]

    async def request(
        self,
        method: str,
        path: str,
        *tags: str,
        scopes: tuple[str, ...] = (Scope.READ,),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request with a key that has these tags and scopes."""
        shown = f"Bearer {await self.key(*tags, scopes=scopes)}"
        own = {"Authorization": shown, **(headers or {})}
        return await self.client.request(method, path, headers=own, **more)

    async def get(self, path: str, *tags: str, **query: object) -> Any:
        """Return the JSON that a reader with these tags gets; only 200 is expected."""
        reply = await self.request("GET", path, *tags, params={**query})
        assert reply.status_code == 200, reply.text
        return reply.json()


@asynccontextmanager
async def open_site(
    database_url: str, values: Mapping[str, object] = MappingProxyType({})
) -> AsyncGenerator[Site]:
    """Yield the application on this database; without limits of requests unless the settings name them, since a test has few keys."""
    unlimited = {"server.key_requests_per_minute": 0}
    settings = Settings(database_url=SecretStr(database_url))
    app = create_app(settings.with_values({**unlimited, **values}))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
        connect(database_url) as database,
    ):
        keys = ApiKeys(database=database, tenant="default")
        kb = await app.state.projects.open("default")
        yield Site(app=app, client=client, keys=keys, kb=kb)


@asynccontextmanager
async def serving_on_socket(app: FastAPI) -> AsyncGenerator[str]:
    """Serve an application that has started on a socket; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        ended = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await ended


@contextmanager
def serving_in_thread(
    database_url: str,
    prepare: Callable[[Site], Awaitable[T]],
    values: Mapping[str, object] = MappingProxyType({}),
) -> Generator[tuple[str, T]]:
    """Serve on a socket from a thread of its own, since the program has the main thread's event loop.

    Yields the URL, and what `prepare` returns.
    """
    started, stop = threading.Event(), threading.Event()
    made: list[tuple[str, T]] = []

    async def serve() -> None:
        async with open_site(database_url, values) as site, serving_on_socket(site.app) as url:
            made.append((url, await prepare(site)))
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait(PATIENCE)
    try:
        yield made[0]
    finally:
        stop.set()
        thread.join()

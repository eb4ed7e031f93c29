"""`kill -9` of each process of a server with its embedded database, during uploads and streams: what was acknowledged is there afterwards, once."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from pydantic import SecretStr

from lightwell.client import AsyncClient, ServerError
from lightwell.domain.answers import StreamType
from lightwell.domain.api_keys import Scope
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.records.database import connect
from lightwell.settings import Settings
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.entrypoints.test_server_processes import children, is_running
from tests.patience import PATIENCE
from tests.ports import free_port

pytestmark = pytest.mark.slow

UPLOADS = 24
EARLY = 6
AT_ONCE = 3
QUESTIONS = 6
QUESTION = "What discount does Nordwind receive?"
FACT = "Nordwind receives a discount of 18 percent on all items."


@dataclass(kw_only=True)
class Server:
    """`lightwell serve` on a data directory and a port, which can be killed and started again."""

    data: Path
    port: int
    workers: int
    token: str
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = [sys.executable, "-c", "from lightwell.entrypoints.cli import main; main()"]
        number = ["--workers", str(self.workers)] if self.workers > 1 else []
        with (self.data / "served.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*program, "serve", "--port", str(self.port), *number],
                cwd=self.data,
                env={
                    "LIGHTWELL_DATA": str(self.data),
                    "LIGHTWELL_LEASE_SECONDS": "5",
                    "PATH": os.environ["PATH"],
                },
                stdout=log,
                stderr=log,
            )

    def own(self) -> set[int]:
        assert self.process is not None
        return {self.process.pid, *children(self.process.pid)}

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture
def data() -> Generator[Path]:
    with temporary_folder() as folder:
        yield folder


async def prepare(data: Path, workers: int) -> Server:
    """Ingest a document into an embedded database, stop it, and return a server that is not started."""
    with run_server(data) as uri:
        async with open_knowledge_base(Settings(database_url=SecretStr(uri))) as kb:
            fact = make_document("fact.md", FACT, ["team:sales"])
            await kb.ingestion.ingest(InMemorySource(documents=(fact,)))
        async with connect(uri) as database:
            keys = ApiKeys(database=database, tenant="default")
            scopes = (Scope.READ, Scope.INGEST)
            _, token = await keys.create("default", "test", scopes=scopes, tags=("team:sales",))
    return Server(data=data, port=free_port(), workers=workers, token=token.text)


@contextmanager
def running(server: Server) -> Generator[None]:
    server.start()
    try:
        yield
    finally:
        assert server.process is not None
        server.process.kill()
        server.process.wait()


@dataclass(kw_only=True)
class Uploads:
    """Documents that are handed in, each until a server acknowledges it. `jobs` are the addresses of those that one did."""

    client: httpx.AsyncClient
    jobs: dict[int, str] = field(default_factory=dict[int, str])
    early: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, start: int) -> None:
        for n in range(start, UPLOADS, AT_ONCE):
            reply = await repeat(
                self.client,
                "POST",
                "/v1/documents",
                files={"files": (f"{n}.txt", f"Pump {n} stands in valley {n}.")},
                data={"aclTags": "team:sales"},
                headers={"Idempotency-Key": f"upload {n}"},
            )
            assert reply.status_code == 202, reply.text
            self.jobs[n] = reply.headers["Location"]
            if len(self.jobs) == EARLY:
                self.early.set()

    async def finish(self, n: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                job = (await repeat(self.client, "GET", self.jobs[n])).json()
                if job["status"] == "complete":
                    return
                assert job["status"] not in ("failed", "cancelled"), job
                await asyncio.sleep(0.1)


async def repeat(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> httpx.Response:
    """Send a request until a server answers it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(httpx.TransportError):
                reply = await client.request(method, path, **more)
                assert reply.status_code != 500, reply.text
                if not reply.is_server_error:
                    return reply
            await asyncio.sleep(0.1)


async def ask_all(server: Server) -> None:
    for _ in range(QUESTIONS):
        assert FACT in await streamed(server)


ALSO_OF_TWO = {(1, "parent"), (1, "database")}


@pytest.mark.parametrize(
    ("workers", "victim"),
    [
        (1, "parent"),
        (1, "ingesting"),
        (1, "database"),
        (2, "parent"),
        (2, "answering"),
        (2, "database"),
        (2, "all"),
    ],
)
async def test_what_was_acknowledged_survives_the_kill_of_a_process(
    data: Path, workers: int, victim: str
) -> None:
    if (workers, victim) in ALSO_OF_TWO and settings.get_current_profile_name() != "thorough":
        pytest.skip(
            "`make test-long` runs it: each waits for leases, and two processes are the harder case"
        )
    server = await prepare(data, workers)
    headers = {"Authorization": f"Bearer {server.token}"}
    with running(server):
        async with httpx.AsyncClient(
            base_url=server.url, headers=headers, timeout=PATIENCE
        ) as client:
            await repeat(client, "GET", "/health/live")
            await started(server)
            uploads, before = Uploads(client=client), server.own()
            async with asyncio.TaskGroup() as tasks:
                for start in range(AT_ONCE):
                    tasks.create_task(uploads.send(start))
                    tasks.create_task(ask_all(server))
                await uploads.early.wait()
                kill(server, victim)
            for n in range(UPLOADS):
                await uploads.finish(n)
            listed = (await repeat(client, "GET", "/v1/documents?limit=100")).json()["documents"]
        titles = [each["title"] for each in listed]
        assert sorted(titles) == sorted(["fact", *map(str, range(UPLOADS))])
        async with asyncio.timeout(PATIENCE):
            while any(is_running(each) for each in before - server.own()):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert server.stop() == 0
        assert status(data).pid is None


def ingesting(server: Server) -> set[int]:
    """Return the process that ingests: the one with a lower priority."""
    assert server.process is not None
    own = children(server.process.pid)
    usual = os.getpriority(os.PRIO_PROCESS, server.process.pid)
    return {child for child in own if os.getpriority(os.PRIO_PROCESS, child) > usual}


async def started(server: Server) -> None:
    async with asyncio.timeout(PATIENCE):
        while not ingesting(server):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


def kill(server: Server, victim: str) -> None:
    """Kill -9 one process of the server, or all; start it again at once if its parent is killed."""
    assert server.process is not None
    if victim == "database":
        pid = status(server.data).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return
    parent, own = server.process.pid, sorted(children(server.process.pid))
    chosen = {
        "parent": {parent},
        "ingesting": ingesting(server),
        "answering": set(own) - ingesting(server),
        "all": {parent, *own},
    }[victim]
    assert chosen
    for each in chosen:
        os.kill(each, signal.SIGKILL)
    if parent in chosen:
        server.process.wait()
        server.start()


async def streamed(server: Server) -> str:
    """Return the answer of a streamed question, which is asked again where its stream ended with an error."""
    async with asyncio.timeout(PATIENCE), AsyncClient(server.url, api_key=server.token) as client:
        while True:
            try:
                events = [each async for each in client.stream(QUESTION)]
            except ServerError as error:
                if error.is_temporary:
                    continue
                raise
            if events[-1].type is StreamType.DONE:
                assert [each.type for each in events].count(StreamType.DONE) == 1
                return "".join(each.content for each in events if each.type is StreamType.TOKEN)
            assert events[-1].error

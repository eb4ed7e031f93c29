"""`lightwell serve` as its users start it: processes that answer, and one that ingests; dead ones are replaced, and none is left."""

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from lightwell.domain.api_keys import Scope
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.records.database import connect
from lightwell.settings import Settings
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.entrypoints.program import run
from tests.entrypoints.served import PROGRAM, serving
from tests.patience import PATIENCE

DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
QUESTION = {"query": "What discount does Nordwind receive?"}


async def prepare(url: str) -> dict[str, str]:
    """Ingest a document, and return the headers of a caller who reads it."""
    async with open_knowledge_base(Settings(database_url=SecretStr(url))) as kb:
        await kb.ingestion.ingest(
            InMemorySource(documents=(make_document("a.md", DISCOUNT, ["team:sales"]),))
        )
    async with connect(url) as database:
        keys = ApiKeys(database=database, tenant="default")
        _, token = await keys.create(
            "default", "test", scopes=(Scope.READ, Scope.INGEST), tags=("team:sales",)
        )
    return {"Authorization": f"Bearer {token.text}"}


def children(process: int) -> set[int]:
    """Return the processes of the server that this one has started, without those that end meanwhile."""
    started: set[int] = set()
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                started.add(int(child))
    return started


async def replaced(process: int, killed: int, count: int) -> set[int]:
    """Return the processes of the server once there are as many again."""
    async with asyncio.timeout(PATIENCE):
        while len(now := children(process) - {killed}) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return now


def is_running(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


async def upload(client: httpx.AsyncClient, name: str, text: str) -> None:
    """Hand in a document, and wait until it is ingested."""
    files = {"files": (name, text)}
    reply = await client.post("/v1/documents", files=files, data={"aclTags": "team:sales"})
    assert reply.status_code == 202, reply.text
    async with asyncio.timeout(PATIENCE):
        while (job := (await client.get(reply.headers["Location"])).json())["status"] != "complete":
            assert job["status"] != "failed", job
            await asyncio.sleep(0.1)


async def test_two_workers_share_a_socket_replace_a_dead_one_and_end_with_their_parent(
    database_url: str, tmp_path: Path
) -> None:
    headers = await prepare(database_url)
    with serving(tmp_path, database_url, "--workers", "2") as (process, url):
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            reply = await client.post(f"{url}/v1/query", json=QUESTION, headers=headers)
            assert DISCOUNT in reply.json()["answer"]
            first = children(process.pid)
            assert len(first) == 3
            os.kill(min(first), signal.SIGKILL)
            now = await replaced(process.pid, min(first), 3)
            assert (await client.get(f"{url}/health/live")).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, log = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        assert process.returncode == 0
        assert "is replaced" in log
        assert not any(map(is_running, now))


async def test_ingestion_has_a_process_that_is_replaced_yields_to_questions_and_ends_with_its_parent(
    database_url: str, tmp_path: Path
) -> None:
    headers = await prepare(database_url)
    with serving(tmp_path, database_url) as (process, url):
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as client:
            await upload(client, "heron.md", "The Heron pump weighs 31 kg.")
            (ingesting,) = children(process.pid)
            assert os.getpriority(os.PRIO_PROCESS, ingesting) > os.getpriority(
                os.PRIO_PROCESS, process.pid
            )
            os.kill(ingesting, signal.SIGKILL)
            (again,) = await replaced(process.pid, ingesting, 1)
            await upload(client, "kestrel.md", "The Kestrel pump weighs 44 kg.")
            question = {"query": "How much does the Kestrel pump weigh?"}
            assert "44 kg" in (await client.post("/v1/query", json=question)).json()["answer"]
        process.kill()
        process.wait()
        async with asyncio.timeout(PATIENCE):
            while is_running(again):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


@pytest.mark.parametrize(("arguments", "answering"), [((), 0), (("--workers", "2"), 2)])
async def test_without_a_worker_of_its_own_a_server_ingests_nothing(
    database_url: str, tmp_path: Path, arguments: tuple[str, ...], answering: int
) -> None:
    await prepare(database_url)
    (tmp_path / ".env").write_text("LIGHTWELL_HTTP_WORKER=false\n")
    with serving(tmp_path, database_url, *arguments) as (process, url):
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            assert (await client.get(f"{url}/health/live")).status_code == 200
        assert len(children(process.pid)) == answering


@pytest.mark.slow
async def test_a_server_whose_ingestion_does_not_start_answers_and_tries_again(
    database_url: str, tmp_path: Path
) -> None:
    await prepare(database_url)
    with serving(tmp_path, database_url) as (process, url):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            ingesting = 0
            for _ in range(5):
                (ingesting,) = await replaced(process.pid, ingesting, 1)
                os.kill(ingesting, signal.SIGKILL)
                async with asyncio.timeout(PATIENCE):
                    while ingesting in children(process.pid):  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            assert (await client.get("/health/live")).status_code == 200
            await replaced(process.pid, ingesting, 1)
        process.send_signal(signal.SIGTERM)
        _, log = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert process.returncode == 0
    assert "ingestion does not start and is tried again" in log


def test_a_new_server_needs_nothing_but_a_key_and_an_upload() -> None:
    with temporary_folder() as home, serving(home, "") as (process, url):
        scopes = ("--scope", "read", "--scope", "ingest")
        made = run(home, "keys", "create", "first", "--acl", "team:sales", *scopes)
        headers = {"Authorization": f"Bearer {made.stdout.split()[0]}"}
        asyncio.run(upload_and_ask(url, headers))
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    assert f"{url}/sign-in#" in log


def test_a_new_server_that_others_reach_says_how_a_key_is_made_and_logs_no_link() -> None:
    with temporary_folder() as home:
        reached = {"LIGHTWELL_PUBLIC_URL": "https://knowledge.example"}
        with subprocess.Popen(
            [*PROGRAM, "serve", "--port", "0"],
            cwd=home,
            env={"PATH": os.environ["PATH"], "LIGHTWELL_DATA": str(home / "data"), **reached},
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            lines = list[str]()
            while not lines or (lines[-1] and "Listening on" not in lines[-1]):
                lines.append(process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            log = "".join(lines) + process.stderr.read()
        assert "`lightwell keys create" in log
        assert "sign-in#" not in log


async def upload_and_ask(url: str, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as client:
        await upload(client, "nordwind.md", DISCOUNT)
        assert DISCOUNT in (await client.post("/v1/query", json=QUESTION)).json()["answer"]

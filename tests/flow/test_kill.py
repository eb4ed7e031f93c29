"""Real worker processes, killed with SIGKILL at many points; others take over."""

import asyncio
import random
import signal
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from lightwell.domain.documents import DocumentState
from lightwell.ingest.worker import run_claimable
from lightwell.records.database import connect
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import project_on
from .processes import (
    LEASE_SECONDS,
    as_worker,
    finish,
    kill,
    kill_worker,
    running,
    send,
    stop_worker,
)
from .store_state import differences, state
from .test_ingestion import residue


def worker(
    url: str, diary: Path, model: str = "endpoint"
) -> AbstractContextManager[ForkServerProcess]:
    """Return a worker whose documents are embedded before they are published, by an endpoint, or afterwards, by a bundled model."""
    bundled = ("bundled",) if model == "bundled" else ()
    return running(
        "tests.flow.slow_worker", as_worker(url), str(diary), str(LEASE_SECONDS), *bundled
    )


def text(number: int) -> str:
    return f"# Note {number}\n\n" + " ".join(
        f"Paragraph {n} of note {number} speaks of Acme Corp and ENG-{n}." for n in range(120)
    )


@pytest.mark.parametrize("model", ["endpoint", "bundled"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_a_killed_worker_repeats_at_most_the_step_in_flight(
    database_url: str, tmp_path: Path, seed: int, model: str
) -> None:
    diary = tmp_path / "diary"
    documents = tuple(make_document(f"{n:02}.md", text(n), ["team:a"]) for n in range(20))
    async with connect(database_url) as database:
        project = await project_on(database)
        await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
        source = random.Random(seed)
        kills = 4
        for _ in range(kills):
            with worker(database_url, diary, model) as process:
                await asyncio.sleep(source.uniform(0.02, 0.5))
                await kill_worker(process, database)
        with worker(database_url, diary, model) as last:
            finish(last)

        reader = await project.kb.reader(["team:a"])
        states = [(d.url, d.state) async for d in project.kb.documents.iterate(reader)]
        assert states == [(d.url, DocumentState.ACTIVE) for d in documents]
        status = await project.kb.documents.status(reader)
        embedded = Counter(diary.read_text().split())
        assert len(embedded) == status.chunks
        repeated = sum(count - 1 for count in embedded.values())
        assert repeated <= kills * 32

        fresh = await project_on(database, "never killed")
        await fresh.kb.ingestion.ingest(InMemorySource(documents=documents))
        unhurt = await fresh.kb.documents.status(await fresh.kb.reader(["team:a"]))
        assert (status.chunks, status.entities, status.relations) == (
            unhurt.chunks,
            unhurt.entities,
            unhurt.relations,
        )


async def test_a_worker_that_is_killed_while_it_reads_what_is_published_repeats_at_most_the_passages_in_flight(
    database_url: str, tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    documents = tuple(make_document(f"{n:02}.md", text(n), ["team:a"]) for n in range(20))
    async with connect(database_url) as database:
        project = await project_on(database)
        bundled = SpaceModel(embedder=project.embedder, sentences=project.embedder, is_bundled=True)
        context = replace(project.context, models=(bundled,))
        await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
        await run_claimable(context, lambda outcome: None, asyncio.Event())
        assert project.embedder.texts == []
        waiting = "SELECT count(*) FROM chunk_gaps"
        claimed = f"{waiting} WHERE taken_until > now()"
        chunks, source, kills = await database.value(waiting, {}), random.Random(1), 3
        for _ in range(kills):
            with worker(database_url, diary, "bundled") as process:
                while not await database.value(claimed, {}):  # noqa: ASYNC110 - the worker claims
                    await asyncio.sleep(0.01)
                await asyncio.sleep(source.uniform(0.0, 0.1))
                await kill_worker(process, database)
        with worker(database_url, diary, "bundled") as last:
            finish(last)
        embedded = Counter(diary.read_text().split())
        assert (
            len(embedded)
            == chunks
            == await database.value("SELECT count(*) FROM chunk_vectors_1", {})
        )
        assert sum(count - 1 for count in embedded.values()) <= kills * 32
        assert await database.value(waiting, {}) == 0


@pytest.mark.parametrize("model", ["endpoint", "bundled"])
async def test_two_workers_share_the_work_and_lose_none(
    database_url: str, tmp_path: Path, model: str
) -> None:
    diary = tmp_path / "diary"
    documents = tuple(make_document(f"{n:02}.md", text(n), ["team:a"]) for n in range(24))
    async with connect(database_url) as database:
        project = await project_on(database)
        await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
        with (
            worker(database_url, diary, model) as first,
            worker(database_url, diary, model) as second,
        ):
            finish(first)
            finish(second)
        status = await project.kb.documents.status(await project.kb.reader(["team:a"]))
        embedded = Counter(diary.read_text().split())
        assert len(embedded) == status.chunks
        assert set(embedded.values()) == {1}


async def test_a_paused_worker_that_lost_its_lease_writes_nothing(
    database_url: str, tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    documents = tuple(make_document(f"{n:02}.md", text(n), ["team:a"]) for n in range(6))
    async with connect(database_url) as database:
        project = await project_on(database)
        await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
        with worker(database_url, diary) as paused:
            await stop_worker(paused, database)
            with worker(database_url, diary) as other:
                finish(other)
            send(paused, signal.SIGCONT)
            finish(paused)
        status = await project.kb.documents.status(await project.kb.reader(["team:a"]))
        rows = await database.rows(
            "SELECT count(*), count(DISTINCT chunk_index || document_id::text) FROM document_chunks",
            {},
        )
        assert rows[0] == (status.chunks, status.chunks)


async def test_a_killed_erasure_leaves_no_name_and_exact_counts(database_url: str) -> None:
    """Whatever step it dies in, the same command again ends it, and nothing is counted that is not there."""
    secret = [
        make_document(f"{n}.md", f"Zephyrine Quark met Acme Corp about lot {n}.", ["team:s"])
        for n in range(8)
    ]
    kept = [
        make_document(f"k{n}.md", "Acme Corp sells pumps in Oslo.", ["team:a"]) for n in range(2)
    ]
    async with connect(database_url) as database:
        project = await project_on(database)
        await project.kb.ingestion.ingest(InMemorySource(documents=(*secret, *kept)))
        source = random.Random(3)
        for _ in range(4):
            with running("tests.flow.erasing_process", database_url, "team:s") as process:
                await asyncio.sleep(source.uniform(0, 0.3))
                kill(process)
        with running("tests.flow.erasing_process", database_url, "team:s") as last:
            finish(last)
        # what died between the tombstone and its removal has no name any more by which it could be erased
        reader = await project.kb.reader(["team:s"])
        assert [one async for one in project.kb.documents.iterate(reader)] == []
        await project.kb.ingestion.ingest(InMemorySource(documents=tuple(kept)))
        assert await residue(project, "zephyrine") == []
        rows = await database.rows("SELECT count(*) FROM source_documents WHERE is_deleted", {})
        assert rows == [(0,)]
        fresh = await project_on(database, "never killed")
        await fresh.kb.ingestion.ingest(InMemorySource(documents=tuple(kept)))
        assert differences(await state(project), await state(fresh)) == {}

"""Workers on a real server that restarts, and whose answers fail to come: they wait, and they tell."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from lightwell.domain.errors import StoreFailed
from lightwell.domain.exports import ExportConfig, ExportFormat, ExportTable
from lightwell.domain.graph import Extraction
from lightwell.ingest import worker
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.rule_extractor import RuleExtractor
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ports import ExtractionInput
from lightwell.records.database import Database, connect
from lightwell.records.jobs import queue
from lightwell.records.locks import LeaseHolder
from lightwell.stores.embedded.server import run_server
from lightwell.testing.sources import InMemorySource, make_document
from tests.patience import PATIENCE

from .conftest import Project, project_on

TAGS = ["team:a"]


def note(number: int) -> InMemorySource:
    named = [
        make_document(f"{n}.md", f"Acme Corp wrote note {n}.", TAGS) for n in range(number + 1)
    ]
    return InMemorySource(documents=tuple(named))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a server of this test's own, which it may stop."""
    made = Path(tempfile.mkdtemp(prefix="lightwell-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


async def test_a_worker_waits_for_a_database_that_restarts(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    stop = asyncio.Event()
    server = run_server(folder)
    uri = await asyncio.to_thread(server.__enter__)
    async with connect(uri, max_connections=4) as database:
        project = await project_on(database)
        working = asyncio.create_task(
            project.kb.ingestion.work(stop, lambda outcome: done.append(outcome.url))
        )
        await project.kb.ingestion.enqueue(note(0))
        await until(lambda: len(done) == 1)
        await asyncio.to_thread(server.__exit__, None, None, None)
        await until(lambda: "a service failed; the worker waits" in caplog.text)
        server = run_server(folder)
        assert await asyncio.to_thread(server.__enter__) == uri
        await enqueued(project, note(1))
        await until(lambda: len(done) == 2)
        assert not working.done()
        await until(lambda: "the worker has recovered" in caplog.text)
        stop.set()
        await working
    await asyncio.to_thread(server.__exit__, None, None, None)
    assert done == ["file:///shelf/0.md", "file:///shelf/1.md"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110 - another task's doing
            await asyncio.sleep(0.05)


async def enqueued(project: Project, shelf: InMemorySource) -> None:
    """Follow the source, again while the connections of before are found to be dead."""
    async with asyncio.timeout(120):
        while True:
            try:
                await project.kb.ingestion.enqueue(shelf)
            except StoreFailed:
                await asyncio.sleep(0.05)
            else:
                return


async def test_a_heartbeat_survives_a_connection_that_breaks(
    database: Database, database_url: str, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    context = await holding_a_job(project)
    async with worker.heartbeat(context):
        async with await psycopg.AsyncConnection.connect(database_url) as other:
            await other.execute(_TERMINATE)
        await until(lambda: "a heartbeat was missed" in caplog.text)
        await database.execute(_LEASE_ENDS, {"seconds": PATIENCE})
        before = (await database.rows(_LEASE, {}))[0][0]
        async with asyncio.timeout(120):
            while (await database.rows(_LEASE, {}))[0][0] == before:  # noqa: ASYNC110 - the heartbeat's doing
                await asyncio.sleep(0.05)


_LEASE_ENDS = "UPDATE ingestion_jobs SET leased_until = now() + make_interval(secs => %(seconds)s)"
_LEASE = "SELECT leased_until FROM ingestion_jobs"
_TERMINATE = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


async def test_a_heartbeat_that_ends_is_told_at_once_and_raised(
    database: Database, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    context = await holding_a_job(project)

    async def work_on() -> None:
        async with worker.heartbeat(context):
            await database.execute("ALTER TABLE ingestion_jobs RENAME TO jobs_gone", {})
            await until(lambda: "the heartbeat ended" in caplog.text)

    with pytest.raises(psycopg.errors.UndefinedTable):
        await work_on()


async def test_a_clock_that_is_set_back_does_not_keep_the_jobs_of_a_dead_worker(
    database: Database, project: Project
) -> None:
    """Its lease then ends far in the future; one that ends soon is another worker's."""
    await holding_a_job(project)
    other = LeaseHolder(name="other", seconds=30)
    for seconds, count in ((600, 0), (86_400, 1)):
        await database.execute(_LEASE_ENDS, {"seconds": seconds})
        claimed = await queue.claim(database, project.kb.project_id, other, limit=1)
        assert len(claimed) == count


async def holding_a_job(project: Project) -> IngestContext:
    """Return a way whose worker holds a job, and beats a few times a second."""
    await project.kb.ingestion.enqueue(note(0))
    context = replace(project.context, worker=LeaseHolder(name="beating", seconds=0.6))
    assert (
        len(await queue.claim(context.database, project.kb.project_id, context.worker, limit=1))
        == 1
    )
    return context


async def test_a_document_that_is_replaced_does_not_count_against_its_neighbours(
    database: Database, project: Project
) -> None:
    """However often that happens, they are not set aside as crashing their workers."""
    await project.kb.ingestion.enqueue(note(1))
    replaced: list[str] = []

    async def replace_first() -> None:
        name = f"Acme Corp wrote version {len(replaced)}."
        replaced.append(name)
        shelf = InMemorySource(
            documents=(make_document("0.md", name, TAGS), *note(1).documents[1:])
        )
        await project.kb.ingestion.enqueue(shelf)

    class Replacing(RuleExtractor):
        async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
            if len(replaced) < queue.MAX_ATTEMPTS + 2 and len(chunks) > 1:
                await replace_first()
            return await super().extract(chunks)

    context = replace(project.context, extractor=Replacing())
    outcomes: list[DocumentOutcome] = []
    await worker.run_until_done(context, outcomes.append)
    assert len(replaced) == queue.MAX_ATTEMPTS + 2
    assert {outcome.error for outcome in outcomes} == {""}


async def test_an_answer_does_not_depend_on_the_query_log(
    database: Database, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    await project.kb.ingestion.ingest(note(0))
    reader = await project.kb.reader(TAGS)
    question = "Who wrote note 0?"
    answer = await project.kb.questions.ask(question, reader)
    await database.execute("ALTER TABLE rag_queries RENAME TO queries_gone", {})
    again = await project.kb.questions.ask(question, reader)
    assert again.text == answer.text
    assert (await project.kb.questions.chat(question, reader)).response.messages
    assert caplog.text.count("the query log was not written") == 2
    assert question not in caplog.text


async def test_many_exports_leave_the_pool_to_others(database_url: str, tmp_path: Path) -> None:
    """Each reads one snapshot and its vectors meanwhile; none holds a connection that another waits for."""
    async with connect(database_url, max_connections=1) as database:
        project = await project_on(database)
        await project.kb.ingestion.ingest(note(3))
        reader = await project.kb.reader(TAGS)
        configs = [
            ExportConfig(
                format=ExportFormat.CSV,
                output_path=tmp_path / f"{n}.csv",
                include_chunks=True,
                include_vectors=True,
            )
            for n in range(12)
        ]
        done, found = await asyncio.gather(
            asyncio.gather(*(project.kb.documents.export(reader, config) for config in configs)),
            project.kb.questions.search("Who wrote note 0?", reader),
        )
    assert {each.rows[ExportTable.VECTORS] for each in done} == {4}
    assert found.evidence

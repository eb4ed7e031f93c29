"""Backfills without Ray: what is handed out, what comes again, what a host refuses."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from lightwell.domain.errors import BudgetSpent, EngineFailed, Invalid, StoreFailed
from lightwell.domain.ids import DocumentId
from lightwell.domain.jobs import JobState
from lightwell.ingest import backfill
from lightwell.ingest.backfill import Backfill, BackfillOptions, Engine, Portion, PortionResult
from lightwell.ingest.derived_data import describe_profiles
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ingest.worker import run_claimable
from lightwell.models.meter import Meter
from lightwell.records.database import Database, connect
from lightwell.records.graph.profile_queue import ALL_DUE
from lightwell.records.jobs import queue
from lightwell.records.locks import new_lease_holder
from lightwell.settings import settings_from_environment
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring.backfill_host import encode, ingest_portion, make_assignment
from lightwell.wiring.backfills import Watch, run_backfill
from lightwell.wiring.clusters import Cluster
from tests.conftest import Databases

from .conftest import Project, project_on
from .notes import noted

TAGS = ["team:a"]
SLOTS = 2


async def enqueue(project: Project, count: int) -> None:
    documents = (make_document(f"{n}.md", f"Acme Corp wrote note {n}.", TAGS) for n in range(count))
    await project.kb.ingestion.enqueue(InMemorySource(documents=tuple(documents)))


@dataclass
class Hosts:
    """An engine in this process: it remembers what it was given and how many portions ran at once."""

    project: Project
    given: list[Portion] = field(default_factory=list[Portion])
    described: list[str] = field(default_factory=list[str])
    ingested: Counter[str] = field(default_factory=Counter[str])
    results: list[PortionResult] = field(default_factory=list[PortionResult])
    most: int = 0
    running: int = 0

    async def run(self, portion: Portion) -> PortionResult:
        if portion.profiles:
            self.described.append("share")
            await describe_profiles(self.project.context, ALL_DUE)
            return PortionResult(host="here")
        self.given.append(portion)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self.ingest(portion)
        finally:
            self.running -= 1

    async def ingest(self, portion: Portion) -> PortionResult:
        ended: list[DocumentOutcome] = []
        context = replace(self.project.context, only=portion.documents, worker=new_lease_holder())
        await run_claimable(context, ended.append, asyncio.Event())
        self.ingested.update(each.url for each in ended)
        return PortionResult(host="here", ingested=len(ended))

    def backfill(
        self,
        run: Callable[[Portion], Awaitable[PortionResult]] | None = None,
        *,
        documents: int = 4,
        tokens: int = 0,
    ) -> Backfill:
        return Backfill(
            self.project.database,
            self.project.context.project_id,
            Engine(run=run or self.run, slots=lambda: SLOTS),
            BackfillOptions(documents=documents, tokens=tokens),
            self.results.append,
        )


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(backfill, "_MAX_PAUSE_SECONDS", 0.01)


async def test_each_document_is_handed_out_once_and_few_portions_wait(project: Project) -> None:
    await enqueue(project, 30)
    hosts = Hosts(project)
    await hosts.backfill().run()
    handed = [each for portion in hosts.given for each in portion.documents]
    assert len(handed) == len(set(handed)) == 30
    assert [len(portion.documents) for portion in hosts.given] == [4] * 7 + [2]
    assert set(hosts.ingested.values()) == {1}
    assert sum(result.ingested for result in hosts.results) == 30
    assert 1 < hosts.most <= 2 * SLOTS


async def test_profiles_are_described_once_on_the_hosts_when_all_documents_are_done(
    database: Database,
) -> None:
    project = (await noted(database)).project
    documents = (
        make_document(f"{n}.txt", f"Acme Corp (organization): did {n}", TAGS) for n in range(9)
    )
    await project.kb.ingestion.enqueue(InMemorySource(documents=tuple(documents)))
    hosts, open_then = Hosts(project), list[int]()

    async def look(portion: Portion) -> PortionResult:
        if portion.profiles:
            open_then.append(await queue.count_open(database, project.context.project_id))
        return await hosts.run(portion)

    await hosts.backfill(look).run()
    assert open_then == [0] * SLOTS
    (described,) = [text for text in project.embedder.texts if "): " in text and "\n" not in text]
    assert all(f"did {n}" in described for n in range(9))


async def test_profiles_that_no_host_describes_are_left_to_the_caller(project: Project) -> None:
    await enqueue(project, 3)
    hosts = Hosts(project)

    async def lose(portion: Portion) -> PortionResult:
        if portion.profiles:
            raise EngineFailed("a host was lost")
        return await hosts.run(portion)

    await hosts.backfill(lose).run()
    assert len(hosts.ingested) == 3


async def test_a_portion_that_the_engine_loses_comes_again(project: Project) -> None:
    await enqueue(project, 12)
    hosts, lost = Hosts(project), set[tuple[DocumentId, ...]]()

    async def lose_first(portion: Portion) -> PortionResult:
        if portion.documents not in lost and len(lost) < 2:
            lost.add(portion.documents)
            raise EngineFailed("a host was lost")
        return await hosts.run(portion)

    await hosts.backfill(lose_first).run()
    assert len(lost) == 2
    assert len(hosts.ingested) == 12
    assert set(hosts.ingested.values()) == {1}


async def test_jobs_of_another_worker_are_left_to_it_until_its_lease_expires(
    project: Project,
) -> None:
    await enqueue(project, 8)
    database, project_id = project.database, project.context.project_id
    other = new_lease_holder(0.5)
    held = await queue.claim(database, project_id, other, limit=3)
    hosts = Hosts(project)
    await hosts.backfill().run()
    first = hosts.given[0].documents
    assert not {claim.document_id for claim in held} & set(first)
    assert len(hosts.ingested) == 8
    assert await queue.count_open(database, project_id) == 0


async def test_a_service_that_stays_down_ends_it_and_the_jobs_stay(project: Project) -> None:
    await enqueue(project, 4)
    hosts = Hosts(project)

    async def fail(portion: Portion) -> PortionResult:
        hosts.given.append(portion)
        return PortionResult(host="far", end="store", message="no answer")

    with pytest.raises(StoreFailed, match="far: no answer"):
        await hosts.backfill(fail).run()
    assert len(hosts.given) == 10
    assert await queue.count_open(project.database, project.context.project_id) == 4


async def test_a_host_that_refuses_ends_it_at_once(project: Project) -> None:
    await enqueue(project, 4)
    hosts = Hosts(project)

    async def refuse(portion: Portion) -> PortionResult:
        hosts.given.append(portion)
        return PortionResult(host="far", end="refused", message="another database")

    with pytest.raises(Invalid, match="far: another database"):
        await hosts.backfill(refuse).run()
    assert len(hosts.given) == 1


async def test_no_portion_begins_beyond_the_budget(project: Project) -> None:
    await enqueue(project, 40)
    hosts = Hosts(project)

    async def spend(portion: Portion) -> PortionResult:
        return replace(await hosts.run(portion), spent=60)

    with pytest.raises(BudgetSpent, match="100"):
        await hosts.backfill(spend, tokens=100).run()
    assert hosts.given[0].tokens == 100
    assert len(hosts.given) <= 2 * SLOTS + 2


async def test_a_cancelled_backfill_gives_its_jobs_back(project: Project) -> None:
    await enqueue(project, 8)
    hosts, begun = Hosts(project), asyncio.Event()

    async def hang(portion: Portion) -> PortionResult:
        worker = new_lease_holder()
        await queue.claim(
            project.database,
            project.context.project_id,
            worker,
            limit=9,
            only=portion.documents,
        )
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await queue.release_without_attempt(project.database, worker)
        raise AssertionError

    running = asyncio.create_task(hosts.backfill(hang).run())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await hosts.backfill().run()
    assert len(hosts.ingested) == 8
    assert set(hosts.ingested.values()) == {1}


@pytest.fixture
def host_settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a host that has the project of the test."""
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.setenv("LIGHTWELL_TENANT", "tenant")
    monkeypatch.setenv("LIGHTWELL_PROJECT", "notes")
    return database_url


async def assignment_of(url: str, count: int) -> tuple[str, Portion]:
    """Enqueue documents of a new project, and return the assignment of a command with these settings."""
    async with connect(url) as database:
        project = await project_on(database, "notes")
        project_id = project.context.project_id
        await enqueue(project, count)
        claims = await queue.claim(database, project_id, worker := new_lease_holder(), limit=count)
        await queue.release_without_attempt(database, worker)
        assignment = await make_assignment(settings_from_environment(), database)
    portion = Portion(documents=tuple(claim.document_id for claim in claims))
    return encode(assignment, portion), portion


async def test_a_host_with_other_settings_refuses(
    host_settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment, _ = await assignment_of(host_settings, 1)
    monkeypatch.setenv("LIGHTWELL_MAX_SOURCE_IDS", "7")
    result = await ingest_portion(assignment, "far")
    assert result.end == "refused"
    assert "LIGHTWELL_MAX_SOURCE_IDS" in result.message


async def test_a_host_with_another_version_refuses(host_settings: str) -> None:
    assignment, _ = await assignment_of(host_settings, 1)
    result = await ingest_portion(assignment.replace('"version":"', '"version":"9'), "far")
    assert result.end == "refused"
    assert "install the same version" in result.message


async def test_a_host_with_another_database_refuses_even_a_copy(
    host_settings: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment, _ = await assignment_of(host_settings, 1)
    with databases.lent() as other:
        monkeypatch.setenv("LIGHTWELL_DATABASE_URL", other)
        async with connect(other) as database:
            await project_on(database, "notes")
        result = await ingest_portion(assignment, "far")
    assert result.end == "refused"
    assert "LIGHTWELL_DATABASE_URL" in result.message


async def test_a_host_makes_no_project(host_settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assignment, _ = await assignment_of(host_settings, 1)
    async with connect(host_settings) as database:
        await database.execute("DELETE FROM ingestion_jobs", {})
        await database.execute("UPDATE projects SET name = 'renamed'", {})
        result = await ingest_portion(assignment, "far")
        assert result.end == "refused"
        assert await database.rows("SELECT name FROM projects", {}) == [("renamed",)]


async def test_a_host_without_a_store_refuses_and_makes_none(
    host_settings: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment, _ = await assignment_of(host_settings, 1)
    with databases.lent() as other:
        async with connect(other) as database:
            await database.execute("DROP TABLE migrations", {})
        monkeypatch.setenv("LIGHTWELL_DATABASE_URL", other)
        result = await ingest_portion(assignment, "far")
    assert result.end == "refused"


async def test_a_host_ingests_its_portion_and_no_other_document(host_settings: str) -> None:
    assignment, portion = await assignment_of(host_settings, 3)
    only = portion.documents[:2]
    named = assignment.replace(f',"{portion.documents[2]}"', "")
    async with connect(host_settings) as database:
        await database.execute("DELETE FROM embedding_spaces", {})
        result = await ingest_portion(named, "far")
        assert (result.end, result.ingested, result.failed) == ("done", 2, 0), result.message
        states = dict(
            await database.rows("SELECT document_id, status FROM ingestion_jobs", {}),
        )
    assert {states[each] for each in only} == {JobState.COMPLETE.value}
    assert states[portion.documents[2]] != JobState.COMPLETE.value
    again = await ingest_portion(named, "far")
    assert (again.end, again.ingested) == ("done", 0)


async def test_without_the_extra_the_error_says_what_to_install(
    host_settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    watch = Watch(on_start=lambda waiting: None, on_result=lambda result: None)
    settings = settings_from_environment()
    with pytest.raises(Invalid, match=r"uv tool install '\.\[ray\]'"):
        await run_backfill(settings, Meter(), Cluster(), BackfillOptions(), watch)
    assert "RAY_AUTH_TOKEN" not in os.environ

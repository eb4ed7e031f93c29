"""Two at once on real transactions; each interleaving is forced, so that no test depends on luck."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lightwell.domain.documents import NewDocument
from lightwell.domain.graph import Extraction, Mention
from lightwell.domain.ids import ChunkId, DocumentId, JobId, SpaceId
from lightwell.domain.jobs import JobState
from lightwell.ingest import deletion
from lightwell.ingest import sync as following
from lightwell.ingest import worker as work
from lightwell.ingest.derived_data import sync_index
from lightwell.ports import Change, ChangedDocument, RemovedDocument, UnchangedDocument, Vectors
from lightwell.records.database import Connection, Database, connect, repeatable
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import documents, publishing, registration
from lightwell.records.graph import mentions, profiles
from lightwell.records.jobs import queue
from lightwell.records.locks import LeaseHolder, lock_project, new_lease_holder
from lightwell.stores.postgres.vectors import PostgresVectors
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, project_on
from .store_state import differences, state
from .test_ingestion import residue

TAGS, OTHER = ["team:a"], ["team:b"]
A = make_document("a.md", "Zephyrine Quark met Acme Corp in Oslo.", TAGS)
B = make_document("b.md", "Acme Corp sells pumps.", TAGS)


def shelf(*given: NewDocument) -> InMemorySource:
    return InMemorySource(documents=given)


async def require_as_if_fresh(project: Project, *given: NewDocument) -> None:
    """Require that every table says what it would say had only these documents ever been ingested."""
    fresh = await project_on(project.database, "fresh")
    await fresh.kb.ingestion.ingest(shelf(*given))
    assert differences(await state(project), await state(fresh)) == {}


async def id_of(project: Project, document: NewDocument) -> DocumentId:
    return (
        await project.kb.documents.get(await project.kb.reader([*TAGS, *OTHER]), document.url)
    ).id


class Interrupted(PostgresVectors):
    """A vector index beside which something else happens when chunks are first removed from it."""

    def __init__(self, database: Database, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(database)
        self._meanwhile: list[Callable[[], Awaitable[object]]] = [meanwhile]

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        while self._meanwhile:
            await self._meanwhile.pop()()
        await super().remove(space, chunks)


# ── erasing ───────────────────────────────────────────────────────────────────────────────────────────


async def test_an_erasure_that_meets_a_new_ingestion_keeps_counts_exact(
    database: Database, project: Project
) -> None:
    """The file is still in its folder, and another process reads it again before its tombstone is erased."""
    await project.kb.ingestion.ingest(shelf(A, B))
    other = await project_on(database)
    index = Interrupted(database, lambda: other.kb.ingestion.ingest(shelf(A, B)))
    reader = await project.kb.reader(TAGS)
    gone = [await id_of(project, A)]
    report = await deletion.erase(replace(project.context, vectors=index), reader, gone)
    assert [error for error in report.errors if A.url in error] == [
        f"{A.url} was ingested again during the deletion, so it still exists; delete it again"
    ]
    await require_as_if_fresh(project, A, B)


async def test_what_came_back_during_its_erasure_leaves_no_name_when_it_goes(
    database: Database, project: Project
) -> None:
    await project.kb.ingestion.ingest(shelf(A, B))
    other = await project_on(database)
    index = Interrupted(database, lambda: other.kb.ingestion.ingest(shelf(A, B)))
    reader = await project.kb.reader(TAGS)
    gone = [await id_of(project, A)]
    await deletion.erase(replace(project.context, vectors=index), reader, gone)
    await project.kb.ingestion.ingest(shelf(B))
    assert await residue(project, "zephyrine") == []
    tombstones = await database.rows("SELECT source_url FROM source_documents WHERE is_deleted", {})
    assert tombstones == [(A.url,)], "what came back is only deleted when it goes, not erased"


async def test_an_erasure_whose_process_dies_is_ended_by_whoever_comes_next(
    database: Database, project: Project
) -> None:
    """The document is a tombstone by then, so nobody could ask for its erasure again."""
    await project.kb.ingestion.ingest(shelf(A, B))

    async def die() -> None:
        raise asyncio.CancelledError

    context = replace(project.context, vectors=Interrupted(database, die))
    with pytest.raises(asyncio.CancelledError):
        await deletion.erase(context, await project.kb.reader(TAGS), [await id_of(project, A)])
    assert await residue(project, "a.md") != []
    await project.kb.ingestion.ingest(shelf(B))
    assert await residue(project, "a.md") == []
    assert await residue(project, "zephyrine") == []


# ── projects ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_refresh_takes_nothing_of_another_project(database: Database) -> None:
    one, other = await project_on(database, "one"), await project_on(database, "other")
    await other.kb.ingestion.ingest(shelf(A, B))
    async with database.transaction() as connection:
        stale = [await id_of(other, A)]
        await publishing.mark_profiles_stale(connection, other.kb.project_id, stale)
    async with database.transaction() as connection:
        assert await profiles.refresh(connection, one.kb.project_id, limit=500) == 0
    async with database.transaction() as connection:
        assert await profiles.refresh(connection, other.kb.project_id, limit=500) > 0


async def test_two_projects_that_write_at_once_lose_no_mention(database: Database) -> None:
    """One publishes what names an entity again, while the other refreshes: the entity stays."""
    one, other = await project_on(database, "one"), await project_on(database, "other")
    await other.kb.ingestion.ingest(shelf(A, B))
    [chunk] = await database.rows(
        "SELECT chunk_id FROM document_chunks WHERE document_id = %(id)s",
        {"id": await id_of(other, B)},
    )
    async with database.transaction() as connection:
        await documents.tombstone(connection, other.kb.project_id, [await id_of(other, A)])
    named = Mention(name="Zephyrine Quark", kind="person")
    async with database.transaction() as publishing:
        await lock_project(publishing, other.kb.project_id)
        said = {ChunkId(chunk[0]): Extraction(mentions=(named,), relation_mentions=())}
        await mentions.store(publishing, other.kb.project_id, said)
        async with database.transaction() as refreshing:
            await profiles.refresh(refreshing, one.kb.project_id, limit=500)
    kept = await database.rows(
        "SELECT name FROM document_entity_mentions WHERE name = 'Zephyrine Quark'", {}
    )
    assert kept == [("Zephyrine Quark",)]


# ── locks ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_whoever_registers_waits_for_a_worker_and_does_not_lock_it_out(
    database: Database, project: Project
) -> None:
    """The worker holds a job and wants its document: nobody may hold the document and want the job."""
    await project.kb.ingestion.enqueue(shelf(A))
    worker = new_lease_holder()
    [claim] = await queue.claim(database, project.kb.project_id, worker, limit=1)
    async with database.transaction() as connection:
        await queue.add_processed(connection, {claim.job_id: 0})
        registering = asyncio.create_task(
            project.kb.ingestion.enqueue(shelf(replace(A, content_hash="2")))
        )
        await waiting_for_a_lock(database)
        await advance(connection, [claim.job_id], worker)
    assert (await registering).changed == 1


async def test_jobs_are_locked_in_one_order(database: Database, project: Project) -> None:
    """A heartbeat holds one job and wants the next: nobody may hold that one and want the first."""
    names = [make_document(f"{n}.md", f"Note {n}.", TAGS) for n in range(2)]
    await project.kb.ingestion.enqueue(shelf(*names))
    worker = new_lease_holder()
    first, second = sorted(
        await queue.claim(database, project.kb.project_id, worker, limit=2),
        key=lambda claim: claim.job_id,
    )
    # rows that were written again lie elsewhere: without an order, a statement meets the second first
    await database.execute(
        "UPDATE ingestion_jobs SET progress = 1 WHERE id = %(id)s", {"id": first.job_id}
    )
    async with database.transaction() as connection:
        await queue.add_processed(connection, {first.job_id: 0})
        beat = asyncio.create_task(queue.renew_all_leases(database, worker))
        await waiting_for_a_lock(database)
        await queue.add_processed(connection, {second.job_id: 0})
    assert await beat == 2


async def test_a_transaction_that_lost_to_another_is_repeated(
    database: Database, project: Project
) -> None:
    """A real deadlock: both end well, and what the loser had written before is not there twice."""
    await project.kb.ingestion.enqueue(shelf(A, B))
    ids = [row[0] for row in await database.rows("SELECT id FROM ingestion_jobs ORDER BY id", {})]
    attempted = "UPDATE ingestion_jobs SET attempts = attempts + 1 WHERE id = %s"
    both_hold_one = asyncio.Barrier(2)
    tries: list[JobId] = []

    @repeatable
    async def count(first: JobId, second: JobId) -> None:
        async with database.transaction() as connection:
            await connection.execute(attempted, [first])
            tries.append(first)
            if len(tries) <= 2:
                await both_hold_one.wait()
            await connection.execute(attempted, [second])

    await asyncio.gather(count(*ids), count(*reversed(ids)))
    assert len(tries) == 3
    assert await database.rows("SELECT attempts FROM ingestion_jobs", {}) == [(2,), (2,)]


async def waiting_for_a_lock(database: Database) -> None:
    """Return once a session of this database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while (await database.rows(waiting, {}))[0][0] == 0:  # noqa: ASYNC110 - another process's state
        await asyncio.sleep(0.01)


async def advance(connection: Connection, ids: Sequence[JobId], worker: LeaseHolder) -> None:
    state = JobState.EMBEDDING
    await queue.advance(connection, ids, worker, state=state, step="embed", progress=25)


# ── registering ───────────────────────────────────────────────────────────────────────────────────────


async def test_two_that_follow_one_folder_at_once_register_each_document_once(
    database: Database, project: Project
) -> None:
    async with database.transaction() as connection:
        first = await registration.register(connection, project.kb.project_id, [A, B])
        second = asyncio.create_task(
            following.sync(database, project.kb.project_id, shelf(A, B), "file")
        )
        await waiting_for_a_lock(database)
    assert [each.url for each in first] == [A.url, B.url]
    found = await second
    assert (found.new, found.changed) == (0, 2)
    await project.kb.ingestion.ingest(shelf(A, B))
    await require_as_if_fresh(project, A, B)


@dataclass(frozen=True)
class Paging:
    """A source that reports what it pleases, one after the other."""

    given: tuple[Change, ...]
    scope: str = "file:///shelf/"

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        for change in self.given:
            yield change


async def test_of_several_changes_to_one_document_the_last_counts(project: Project) -> None:
    newer = replace(A, content=b"Zephyrine Quark left.", content_hash="2")
    done = await project.kb.ingestion.ingest(
        Paging((ChangedDocument(document=A), ChangedDocument(document=newer)))
    )
    assert (done.found.new, len(done.done)) == (1, 1)
    reader = await project.kb.reader(TAGS)
    assert await project.kb.documents.text(reader, A.url) == "Zephyrine Quark left."

    gone, back = RemovedDocument(url=A.url), ChangedDocument(document=A)
    assert (await project.kb.ingestion.ingest(Paging((gone, back)))).found.removed == 0
    assert await project.kb.documents.text(reader, A.url) == A.content.decode()

    done = await project.kb.ingestion.ingest(Paging((ChangedDocument(document=newer), gone)))
    assert (done.found.removed, done.found.changed) == (1, 0)
    assert [one async for one in project.kb.documents.iterate(reader)] == []


async def test_a_document_that_moved_within_a_batch_is_one(project: Project) -> None:
    """Known by its reference, it may come under two URLs."""
    page = replace(A, system="wiki", source_id="7")
    moved = replace(page, url="file:///shelf/moved.md", content_hash="2")
    done = await project.kb.ingestion.ingest(
        Paging((ChangedDocument(document=page), ChangedDocument(document=moved)))
    )
    assert done.found.new == 1
    reader = await project.kb.reader(TAGS)
    assert [one.url async for one in project.kb.documents.iterate(reader)] == [moved.url]


async def test_a_url_stays_with_the_system_that_has_it(project: Project) -> None:
    """A second system's document with that URL is a problem of its own; the others of its batch come in."""
    await project.kb.ingestion.ingest(shelf(A))
    reader = await project.kb.reader(TAGS)
    (mine,) = [one async for one in project.kb.documents.iterate(reader)]
    page = replace(A, system="wiki", source_id="7", content=b"Taken over.", content_hash="2")
    other = replace(page, source_id="8", url="https://wiki.example/8", content=b"Another page.")

    done = await project.kb.ingestion.ingest(
        Paging((ChangedDocument(document=page), ChangedDocument(document=other)))
    )
    assert (done.found.new, done.found.changed) == (1, 0)
    (trouble,) = done.found.problems
    assert trouble.url == page.url
    assert "'file' already has a document with this URL" in trouble.message
    assert await project.kb.documents.text(reader, A.url) == A.content.decode()
    assert (await project.kb.documents.get(reader, A.url)).ref == mine.ref
    assert await project.kb.documents.text(reader, other.url) == "Another page."

    moved = replace(other, url=A.url, content_hash="3")
    (trouble,) = (
        await project.kb.ingestion.ingest(Paging((ChangedDocument(document=moved),)))
    ).found.problems
    assert "already has a document with this URL" in trouble.message


async def test_what_a_system_deleted_leaves_its_url_to_others(project: Project) -> None:
    await project.kb.ingestion.ingest(shelf(A))
    await project.kb.ingestion.ingest(Paging((RemovedDocument(url=A.url),)))
    page = replace(A, system="wiki", source_id="7", content=b"A new owner.", content_hash="2")
    await project.kb.ingestion.ingest(Paging((ChangedDocument(document=page),)))
    reader = await project.kb.reader(TAGS)
    held = await project.kb.documents.get(reader, A.url)
    assert held.ref == "wiki:document:7"
    assert await project.kb.documents.text(reader, held.ref) == "A new owner."
    (trouble,) = (await project.kb.ingestion.ingest(shelf(A))).found.problems
    assert "'wiki' already has a document" in trouble.message


async def test_what_changes_and_is_then_said_to_be_unchanged_is_registered_first(
    project: Project,
) -> None:
    await project.kb.ingestion.ingest(shelf(A))
    newer = replace(A, content=b"Zephyrine Quark left.", content_hash="2")
    given = (ChangedDocument(document=newer), UnchangedDocument(url=A.url, document=newer))
    found = (await project.kb.ingestion.ingest(Paging(given))).found
    assert (found.changed, found.unchanged) == (1, 1)


# ── a worker whose document others change ─────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SlowEmbedder:
    """An embedder during whose first call something else happens."""

    inner: HashEmbedder
    meanwhile: list[Callable[[], Awaitable[object]]] = field(
        default_factory=list[Callable[[], Awaitable[object]]]
    )

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        while self.meanwhile:
            await self.meanwhile.pop()()
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


async def test_a_worker_lets_go_of_a_document_that_was_replaced_meanwhile(
    database: Database, project: Project
) -> None:
    """Its chunks are gone before their vectors come: another worker has cut the new version."""
    other = await project_on(database)
    newer = replace(A, content=b"Zephyrine Quark left Acme Corp.", content_hash="2")
    embedder = SlowEmbedder(HashEmbedder(dimension=64))
    embedder.meanwhile.append(lambda: other.kb.ingestion.ingest(shelf(newer)))
    await project.kb.ingestion.enqueue(shelf(A))
    context = replace(project.context, embedder=embedder)
    await work.run_until_done(context, lambda outcome: None)
    await require_as_if_fresh(project, newer)


# ── the indexes ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_change_that_comes_while_an_earlier_one_is_carried_out_is_not_lost(
    database: Database, project: Project
) -> None:
    await project.kb.ingestion.ingest(shelf(A))
    project_id, context = project.kb.project_id, project.context
    await following.sync(database, project_id, shelf(replace(A, acl_tags=frozenset(OTHER))), "file")
    [older] = await staging.list_index_changes(database, project_id, limit=10)
    await following.sync(database, project_id, shelf(A), "file")
    await sync_index(context)
    # whoever saw the older change comes late: neither its class nor its note may win
    assert older.class_id is not None
    await context.vectors.reclassify(context.space.id, [older.chunk_id], older.class_id)
    await following.sync(database, project_id, shelf(replace(A, acl_tags=frozenset(OTHER))), "file")
    await staging.delete_index_changes(database, [older])
    assert len(await staging.list_index_changes(database, project_id, limit=10)) == 1
    await following.sync(database, project_id, shelf(A), "file")
    await project.kb.ingestion.ingest(shelf(A))
    await require_as_if_fresh(project, A)


async def test_a_vector_that_comes_after_its_chunk_has_moved_has_the_new_class(
    database: Database, project: Project
) -> None:
    await project.kb.ingestion.ingest(shelf(A))
    context = project.context
    [old] = await database.rows("SELECT chunk_id, class_id FROM chunk_vectors_1", {})
    vectors = await context.vectors.vectors(context.space.id, [old[0]])
    await project.kb.ingestion.ingest(shelf(replace(A, acl_tags=frozenset(OTHER))))
    late = staging.ChunkVector(chunk_id=old[0], class_id=old[1], vector=vectors[old[0]])
    await context.vectors.put(context.space.id, [late])
    await require_as_if_fresh(project, replace(A, acl_tags=frozenset(OTHER)))


# ── connections ───────────────────────────────────────────────────────────────────────────────────────


async def test_no_transaction_waits_for_a_second_connection(database_url: str) -> None:
    """Everything that writes does with a pool of one."""
    async with connect(database_url, max_connections=1) as database:
        project = await project_on(database)
        await project.kb.ingestion.ingest(shelf(A, B))
        reader = await project.kb.reader(TAGS)
        await project.kb.graph.merge(reader, ["Zephyrine Quark"], "Acme Corp")
        await project.kb.graph.unmerge(reader, "Zephyrine Quark")
        await project.kb.documents.delete(reader, [B.url])
        await project.kb.documents.erase(reader, [A.url])

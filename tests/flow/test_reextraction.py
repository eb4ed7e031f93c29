"""Repeated extraction from stored chunks: mentions change, chunks and their vectors do not."""

import asyncio
from collections.abc import Iterator
from typing import LiteralString

import pytest
from psycopg import sql

from lightwell.domain.documents import DocumentState
from lightwell.domain.errors import NotFound
from lightwell.domain.graph import ManualEdit
from lightwell.records.database import Database, Row
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, project_on
from .extraction_model import SLOTS, Options, names, read_by_model
from .notes import dump, noted
from .processes import finish, kill_worker
from .test_kill_extraction import kept, worker

A, B = ["team:a"], ["team:b"]
PAPERS = (
    make_document("a.md", "Acme Corp buys pumps from Nordwind.", A, title="One"),
    make_document("b.md", "Jane Smith met Nordwind in Oslo.", A, title="Two"),
)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(names).running() as running:
        yield running


async def by_rules(database: Database) -> Project:
    project = await project_on(database)
    await project.kb.ingestion.ingest(InMemorySource(documents=PAPERS))
    return project


async def mentions(database: Database) -> list[Row]:
    return await database.rows(
        "SELECT name, entity_kind, description, chunk_id FROM document_entity_mentions ORDER BY 1, 4",
        {},
    )


async def indexed(project: Project) -> list[Row]:
    """Return everything that repeated extraction must not change."""
    tables: dict[str, LiteralString] = {
        "document_chunks": "to_jsonb(row) - 'llm_cache_ids'",
        "chunk_terms": "to_jsonb(row)",
        "term_counts": "to_jsonb(row)",
        "class_totals": "to_jsonb(row)",
        f"chunk_vectors_{project.context.space.id}": "to_jsonb(row)",
        "source_documents": "to_jsonb(row)",
    }
    found: list[Row] = []
    for table, shown in tables.items():
        query = sql.SQL("SELECT ({shown})::text FROM {table} AS row ORDER BY 1")
        composed = query.format(shown=sql.SQL(shown), table=sql.Identifier(table))
        found += await project.database.rows(composed, {})
    return found


async def test_a_switch_to_a_model_and_back_costs_each_passage_once(
    database: Database, endpoint: FakeEndpoint
) -> None:
    plain = await by_rules(database)
    reader = await plain.kb.reader(A)
    first, chunks = await mentions(database), await indexed(plain)

    async with read_by_model(database, endpoint.base_url, Options(passes=0)) as (project, meter):
        done = await project.kb.ingestion.reread(reader, None)
        assert [(one.chunks, one.error) for one in done] == [(1, ""), (1, "")]
        assert len(endpoint.requests) == meter.summary.calls == 2
        read = await mentions(database)
        assert ("organization", "Oslo stands in the passage") in {row[1:3] for row in read}
        assert await indexed(project) == chunks
        texts = [paper.content.decode() for paper in PAPERS]
        assert not any(text in said for text in texts for said in project.embedder.texts)

        await database.execute(
            "UPDATE extraction_cache SET result = 'E|Oslo|place|A city\nEND'", {}
        )
        await project.kb.ingestion.reread(reader, None)
        assert len(endpoint.requests) == 2
        oslo = {row[:3] for row in await mentions(database) if row[0] == "Oslo"}
        assert oslo == {("Oslo", "place", "A city")}

    await plain.kb.ingestion.reread(reader, None)
    assert await mentions(database) == first
    async with read_by_model(database, endpoint.base_url, Options(passes=0)) as (project, _):
        await project.kb.ingestion.reread(reader, None)
    assert len(endpoint.requests) == 2
    assert await indexed(plain) == chunks


async def test_reading_anew_by_the_same_reader_changes_nothing_that_people_corrected(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put(
        "one", A, "Acme Corp (organization): sells pumps", "Acme Corp -> Oslo [PART_OF]"
    )
    await store.put("two", B, "ACME Inc (company): in court", "Acme Corp (organization): in debt")
    reader = await store.kb.reader([*A, *B])
    await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    await store.kb.graph.edit(reader, "Oslo", ManualEdit(kind="city"))
    before = await dump(store)
    assert len(await store.kb.ingestion.reread(reader, None)) == 2
    assert await dump(store) == before


async def test_what_a_document_is_no_longer_read_to_say_goes(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, "Acme Corp (organization): sells pumps", "Oslo (place)")
    await store.put("two", A, "Oslo (place)")
    reader = await store.kb.reader(A)
    with FakeEndpoint(lambda _: "E|Pump|product|New\nEND").running() as other:
        async with read_by_model(database, other.base_url) as (project, _):
            await project.kb.ingestion.reread(reader, ["file:///shelf/one.txt"])
    assert (await store.kb.graph.entity(reader, "Pump")).entity.description == "New"
    assert (await store.kb.graph.entity(reader, "Oslo")).entity.chunk_count == 1
    with pytest.raises(NotFound):
        await store.kb.graph.entity(reader, "Acme Corp")


async def test_a_reader_reads_anew_what_it_sees_and_nothing_else(
    database: Database, endpoint: FakeEndpoint
) -> None:
    plain = await project_on(database)
    hidden = make_document("c.md", "Project Falcon met Tarn Valley.", B)
    await plain.kb.ingestion.ingest(InMemorySource(documents=(*PAPERS, hidden)))
    before = [row for row in await mentions(database) if "Falcon" in row[0]]
    async with read_by_model(database, endpoint.base_url) as (project, _):
        reader = await project.kb.reader(A)
        for unseen in (["file:///shelf/c.md"], ["file:///shelf/a.md", "file:///shelf/c.md"]):
            with pytest.raises(NotFound):
                await project.kb.ingestion.reread(reader, unseen)
        assert await project.kb.ingestion.enqueue_again(reader, None) == 2
        assert await project.kb.ingestion.enqueue_again(reader, None) == 0
        estimate = await project.kb.ingestion.estimate_again(reader, None)
        assert (estimate.documents, estimate.chunks, estimate.cached) == (2, 2, 0)
        assert (await project.kb.documents.status(reader)).open_jobs == 2
        await project.kb.ingestion.reread(reader, ["file:///shelf/a.md"])
        assert len(endpoint.requests) == 1
        await project.kb.ingestion.reread(reader, None)
        assert len(endpoint.requests) == 2
        assert "Falcon" not in str([request.body for request in endpoint.requests])
        kept_now = await project.kb.ingestion.estimate_again(reader, None)
        assert (kept_now.cached, kept_now.calls) == (2, 0)
    assert [row for row in await mentions(database) if "Falcon" in row[0]] == before


async def test_what_failed_or_went_is_not_read_anew(database: Database) -> None:
    project = await by_rules(database)
    broken = make_document("a.md", "  \n", A)
    done = await project.kb.ingestion.ingest(InMemorySource(documents=(broken, PAPERS[1])))
    assert len(done.problems) == 1
    reader = await project.kb.reader(A)
    assert await project.kb.ingestion.enqueue_again(reader, ["file:///shelf/a.md"]) == 0
    failed = await project.kb.documents.get(reader, "file:///shelf/a.md")
    assert (failed.state, bool(failed.error)) == (DocumentState.FAILED, True)
    assert await project.kb.ingestion.enqueue_again(reader, None) == 1
    await project.kb.documents.delete(reader, ["file:///shelf/b.md"])
    assert (await project.kb.documents.status(reader)).open_jobs == 0


async def test_readers_see_what_was_said_until_the_new_reading_is_published(
    database: Database,
) -> None:
    plain = await by_rules(database)
    reader = await plain.kb.reader(A)
    before = await mentions(database)
    with FakeEndpoint(names, behaviour=Behaviour(latency=1.0)).running() as slow:
        async with read_by_model(database, slow.base_url) as (project, _):
            reading = asyncio.create_task(project.kb.ingestion.reread(reader, None))
            while len(slow.requests) < len(PAPERS):  # noqa: ASYNC110 - a thread of its own
                await asyncio.sleep(0.02)
            assert await mentions(database) == before
            assert (await project.kb.questions.search("pumps", reader)).evidence
            shown = await project.kb.documents.get(reader, "file:///shelf/a.md")
            assert shown.state is DocumentState.ACTIVE
            await reading
    assert await mentions(database) != before


async def test_a_worker_killed_while_it_reads_anew_loses_nothing(
    database: Database, database_url: str
) -> None:
    notes = [
        make_document(f"{n:03}.md", f"Acme Corp buys Pump {n}.", A, title=f"{n}") for n in range(60)
    ]
    plain = await project_on(database)
    await plain.kb.ingestion.ingest(InMemorySource(documents=tuple(notes)))
    reader = await plain.kb.reader(A)
    chunks = await indexed(plain)
    await plain.kb.ingestion.enqueue_again(reader, None)
    with FakeEndpoint(names, behaviour=Behaviour(latency=0.4)).running() as endpoint:
        with worker(database_url, endpoint.base_url) as process:
            while await kept(database) < SLOTS:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.05)
            await kill_worker(process, database)
        arrived = await kept(database)
        mentioned = await database.rows(
            "SELECT DISTINCT chunk_id FROM document_entity_mentions", {}
        )
        assert len(mentioned) == len(notes)
        with worker(database_url, endpoint.base_url) as last:
            finish(last)
        assert await kept(database) == len(notes)
        assert len(endpoint.requests) <= len(notes) + SLOTS + 4
        assert arrived >= SLOTS
    described = await database.rows(
        "SELECT count(*) FROM document_entity_mentions WHERE description = 'Acme Corp stands in the passage'",
        {},
    )
    assert described == [(len(notes),)]
    assert await indexed(plain) == chunks

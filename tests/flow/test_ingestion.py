"""The way in, through the library's verbs, on a real database."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import uuid4

import pytest
from psycopg import sql

from lightwell.domain.documents import DocumentState, NewDocument
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import JobId
from lightwell.knowledge_base.ingestion import IngestionResult
from lightwell.ports import Change, ChangedDocument
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

TAGS = ["team:sales"]
LONG = " ".join(f"Sentence number {n} speaks of Acme Corp and its pumps." for n in range(400))


async def ingest(project: Project, *documents: NewDocument) -> IngestionResult:
    return await project.kb.ingestion.ingest(InMemorySource(documents=documents))


async def test_a_document_becomes_visible_whole(project: Project) -> None:
    await ingest(project, make_document("a.md", f"# Pumps\n\n{LONG}", TAGS))
    reader = await project.kb.reader(TAGS)
    document = await project.kb.documents.get(reader, "file:///shelf/a.md")
    status = await project.kb.documents.status(reader)
    assert document.state is DocumentState.ACTIVE
    assert document.title == "Pumps"
    assert document.chunk_count == status.chunks > 1
    assert status.entities > 0
    assert status.open_jobs == 0
    assert await project.kb.documents.text(reader, document.url) == f"# Pumps\n\n{LONG}"


async def test_an_unchanged_document_costs_no_job_and_no_embedding(project: Project) -> None:
    document = make_document("a.md", "The pump is blue.", TAGS)
    await ingest(project, document)
    before = len(project.embedder.texts)
    again = await ingest(project, document)
    assert again.found.unchanged == 1
    assert again.done == ()
    assert len(project.embedder.texts) == before


async def test_a_changed_document_embeds_only_what_is_new(project: Project) -> None:
    first = "\n\n".join(f"## Part {n}\n\n{LONG}" for n in range(3))
    await ingest(project, make_document("a.md", first, TAGS, title="Pumps"))
    before = list(project.embedder.texts)
    await ingest(
        project, make_document("a.md", first + "\n\n## Part 9\n\nNew words.", TAGS, title="Pumps")
    )
    added = project.embedder.texts[len(before) :]
    assert 1 <= len(added) <= 2
    assert not set(added) & set(before)


async def test_equal_text_in_two_documents_is_embedded_once(project: Project) -> None:
    await ingest(
        project,
        make_document("a.md", "The pump is blue.", TAGS, title="Note"),
        make_document("b.md", "The pump is blue.", TAGS, title="Note"),
    )
    await ingest(
        project,
        make_document("a.md", "The pump is blue.", TAGS, title="Note"),
        make_document("b.md", "The pump is blue.", TAGS, title="Note"),
        make_document("c.md", "The pump is blue.", TAGS, title="Note"),
    )
    assert len(project.embedder.texts) == 1
    # Whether a text is embedded shows in time and usage: another team's text is no exception.
    await ingest(project, make_document("d.md", "The pump is blue.", ["team:d"], title="Note"))
    assert len(project.embedder.texts) == 2


async def test_a_vanished_document_leaves_no_word_behind(project: Project) -> None:
    canary = "Zyxwvut"
    await ingest(
        project,
        make_document("a.md", f"# {canary}\n\n{canary} met Acme Corp. {LONG}", TAGS, topic=canary),
        make_document("b.md", "Acme Corp stays.", TAGS),
    )
    found = await ingest(project, make_document("b.md", "Acme Corp stays.", TAGS))
    assert found.found.removed == 1
    assert await residue(project, canary) == []
    reader = await project.kb.reader(TAGS)
    with pytest.raises(NotFound):
        await project.kb.documents.get(reader, "file:///shelf/a.md")
    assert (await project.kb.documents.status(reader)).chunks == 1


async def residue(project: Project, canary: str) -> list[str]:
    """Return the tables that still hold the word, in any column; bytes hold it as given, in small letters or capitalized."""
    tables = await project.database.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
        {},
    )
    held: list[str] = []
    for (table,) in tables:
        holding = sql.SQL("SELECT count(*) FROM {} AS row WHERE row::text ILIKE ANY(%(canaries)s)")
        words = [
            canary,
            *(word.encode().hex() for word in (canary, canary.lower(), canary.capitalize())),
        ]
        rows = await project.database.rows(
            holding.format(sql.Identifier(table)), {"canaries": [f"%{word}%" for word in words]}
        )
        if rows[0][0]:
            held.append(table)
    return held


async def test_the_canary_would_be_seen(project: Project) -> None:
    await ingest(project, make_document("a.md", "# Zyxwvut\n\nZyxwvut met Acme Corp.", TAGS))
    held = await residue(project, "zyxwvut")
    assert {"source_documents", "document_chunks", "chunk_terms", "term_counts", "entities"} <= set(
        held
    )


async def test_narrowed_access_holds_at_once(project: Project) -> None:
    await ingest(
        project, make_document("a.md", "The pump is blue.", ["team:sales", "team:support"])
    )
    support = await project.kb.reader(["team:support"])
    assert (await project.kb.documents.status(support)).chunks == 1
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "The pump is blue.", TAGS),))
    )
    support = await project.kb.reader(["team:support"])
    sales = await project.kb.reader(TAGS)
    assert (await project.kb.documents.status(support)).chunks == 0
    assert (await project.kb.documents.status(support)).entities == 0
    assert (await project.kb.documents.status(sales)).chunks == 1
    assert (await project.kb.questions.search("blue pump", sales)).evidence


async def test_a_document_that_cannot_be_read_fails_by_itself(project: Project) -> None:
    done = await ingest(
        project,
        make_document("a.md", "   \n", TAGS),
        make_document("b.md", "The pump is blue.", TAGS),
    )
    reader = await project.kb.reader(TAGS)
    assert [trouble.url for trouble in done.problems] == ["file:///shelf/a.md"]
    assert (
        await project.kb.documents.get(reader, "file:///shelf/a.md")
    ).state is DocumentState.FAILED
    assert (
        await project.kb.documents.get(reader, "file:///shelf/b.md")
    ).state is DocumentState.ACTIVE


async def test_an_old_version_stays_visible_while_the_new_one_waits(project: Project) -> None:
    await ingest(project, make_document("a.md", "The pump is blue.", TAGS))
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "The pump is red.", TAGS),))
    )
    reader = await project.kb.reader(TAGS)
    assert "blue" in await project.kb.documents.text(reader, "file:///shelf/a.md")
    await ingest(project, make_document("a.md", "The pump is red.", TAGS))
    assert "red" in await project.kb.documents.text(reader, "file:///shelf/a.md")
    assert (await project.kb.documents.status(reader)).chunks == 1


async def test_a_deleted_document_comes_back_when_its_source_still_has_it(project: Project) -> None:
    document = make_document("a.md", "The pump is blue.", TAGS)
    await ingest(project, document)
    reader = await project.kb.reader(TAGS)
    await project.kb.documents.delete(reader, [document.url])
    assert [d async for d in project.kb.documents.iterate(reader)] == []
    await ingest(project, document)
    assert [d.url async for d in project.kb.documents.iterate(reader)] == [document.url]


async def test_what_one_may_not_see_is_not_there(project: Project) -> None:
    await ingest(project, make_document("a.md", "The pump is blue.", TAGS))
    stranger = await project.kb.reader(["team:support"])
    nobody = await project.kb.reader([])
    for reader in (stranger, nobody):
        with pytest.raises(NotFound):
            await project.kb.documents.get(reader, "file:///shelf/a.md")
        with pytest.raises(NotFound):
            await project.kb.documents.delete(reader, ["file:///shelf/a.md"])
    jobs = await project.database.rows("SELECT id FROM ingestion_jobs", {})
    with pytest.raises(NotFound):
        await project.kb.jobs.get(stranger, JobId(jobs[0][0]))


async def test_documents_come_by_url_page_after_page(project: Project) -> None:
    await ingest(project, *(make_document(f"{n:03}.md", f"Note {n}.", TAGS) for n in range(25)))
    reader = await project.kb.reader(TAGS)
    first = [document.url async for document in project.kb.documents.iterate(reader, limit=10)]
    rest = [
        document.url async for document in project.kb.documents.iterate(reader, after=first[-1])
    ]
    assert len(first) == 10
    assert [*first, *rest] == sorted({*first, *rest})
    assert len(rest) == 15


async def test_a_url_that_is_too_long_costs_its_document_and_no_warning_of_the_database(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    long = "/".join(uuid4().hex for _ in range(300))
    documents = (
        make_document(f"{long}.md", "Too far down.", TAGS),
        make_document("b.md", "Near.", TAGS),
    )
    done = await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    (trouble,) = done.problems
    assert "its URL has 9,9" in trouble.message
    assert "at most 2,000 are allowed" in trouble.message
    assert [each.url for each in done.done] == [documents[1].url]
    assert not [each for each in caplog.records if each.name.startswith("psycopg")]


async def test_a_run_counts_what_could_not_be_read_as_failed(project: Project) -> None:
    documents = (make_document("a.md", "Near.", TAGS), make_document("empty.md", "", TAGS))
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    (run,) = await project.kb.jobs.runs(await project.kb.reader(TAGS))
    assert (run.inserted, run.failed) == (1, 1)


@dataclass(frozen=True)
class Publishing:
    """A source that publishes, so to speak, before each document: it takes the publishing lock, if it is free."""

    project: Project
    documents: Sequence[NewDocument]
    scope: str = "file:///shelf/"
    registered: list[int] = field(default_factory=list[int])

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        for document in self.documents:
            async with self.project.database.transaction() as connection:
                lock = await connection.execute(
                    PUBLISHING_LOCK.replace("pg_advisory_xact_lock", "pg_try_advisory_xact_lock"),
                    {"project_id": self.project.kb.project_id},
                )
                assert await lock.fetchone() == (True,)
            rows = await self.project.database.rows("SELECT count(*) FROM source_documents", {})
            self.registered.append(rows[0][0])
            yield ChangedDocument(document=document)


async def test_a_sync_holds_the_publishing_lock_for_at_most_fifty_documents_at_a_time(
    project: Project,
) -> None:
    documents = [make_document(f"{n}.md", f"Order {n}.", TAGS) for n in range(180)]
    source = Publishing(project, documents)
    assert (await project.kb.ingestion.enqueue(source)).new == 180
    steps = {after - before for before, after in pairwise(source.registered)}
    assert steps == {0, 50}

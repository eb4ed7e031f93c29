"""Jobs, runs and cursors (S2.2 and S3.8 of the specification): list, show, retry and cancel."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest

from lightwell.domain.business_systems import NewSource
from lightwell.domain.documents import DocumentState
from lightwell.domain.errors import Invalid, NotFound, SourceFailed
from lightwell.domain.graph import Extraction
from lightwell.domain.ids import JobId, RunId, new_id
from lightwell.domain.jobs import Job, JobState, RunState
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.rule_extractor import RuleExtractor
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Change, ChangedDocument, ExtractionInput, Vectors
from lightwell.records import sources
from lightwell.records.database import Database
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, make_retriever

TAGS = ["team:a"]
LONG = "\n\n".join(
    f"# Part {part}\n\n" + " ".join(f"Pump {part} moves {n} litres of water." for n in range(90))
    for part in range(4)
)


@dataclass
class Watched:
    """An embedder and extractor that look at the jobs' progress while they work."""

    database: Database
    embedder: HashEmbedder = field(default_factory=lambda: HashEmbedder(dimension=64))
    seen: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])

    @property
    def model(self) -> str:
        return self.embedder.model

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        await self.look()
        return await self.embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.embedder.embed_query(text)

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        await self.look()
        return await RuleExtractor().extract(chunks)

    async def look(self) -> None:
        query = "SELECT status, current_step, progress FROM ingestion_jobs ORDER BY id DESC LIMIT 1"
        rows = await self.database.rows(query, {})
        self.seen.append(rows[0])


def kb_on(project: Project, context: IngestContext) -> KnowledgeBase:
    answers = project.kb.questions.generator  # pyright: ignore[reportPrivateUsage]
    return KnowledgeBase(context, make_retriever(context), answers)


async def queued(project: Project, text: str = "The dam was built in 1931.") -> Job:
    found = await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", text, TAGS),))
    )
    (job,) = found.jobs
    return await project.kb.jobs.get(await project.kb.reader(TAGS), job.id)


async def test_s3_8_progress_goes_through_every_step(project: Project) -> None:
    """0 when queued, 25 when cut, 25 to 75 while it is embedded, 75 when read, 90 when published, 100 at the end."""
    watched = Watched(project.database)
    context = replace(project.context, embedder=watched, extractor=watched, embedding_batch_size=1)
    job = await queued(project, LONG)
    assert (job.state, job.step, job.progress) == (JobState.QUEUED, "", 0)
    published: list[tuple[str, str, int]] = []

    class Index:
        def __getattr__(self, name: str) -> object:
            return getattr(project.context.vectors, name)

        async def put(self, *given: object) -> None:
            await watched.look()
            published.append(watched.seen.pop())
            await project.context.vectors.put(*given)  # pyright: ignore[reportArgumentType]

    kb = kb_on(project, replace(context, vectors=Index()))  # pyright: ignore[reportArgumentType]
    await kb.ingestion.ingest(InMemorySource(documents=(make_document("a.md", LONG, TAGS),)))
    reader = await kb.reader(TAGS)
    ended = await kb.jobs.get(reader, job.id)
    chunks = ended.total_chunks
    assert chunks
    assert chunks >= 3
    steps = [25 + 50 * done // chunks for done in range(chunks)]
    assert watched.seen == [
        *(("embedding", "embed", progress) for progress in steps),
        ("extracting", "read", 75),
    ]
    assert published == [("extracting", "index", 90)]
    assert (ended.state, ended.step, ended.progress) == (JobState.COMPLETE, "", 100)
    assert ended.processed_chunks == chunks


async def test_s3_8_enqueue_and_ingest_return_the_jobs(project: Project) -> None:
    kept = make_document("a.md", "The dam was built in 1931.", TAGS)
    first = await project.kb.ingestion.ingest(InMemorySource(documents=(kept,)))
    reader = await project.kb.reader(TAGS)
    (job,) = first.found.jobs
    document = await project.kb.documents.get(reader, kept.url)
    assert (job.document_id, job.url, job.is_new) == (document.id, kept.url, True)
    changed = make_document("a.md", "The dam was built in 1932.", TAGS)
    again = await project.kb.ingestion.enqueue(InMemorySource(documents=(changed,)))
    assert [(each.document_id, each.is_new) for each in again.jobs] == [(document.id, False)]
    assert (await project.kb.ingestion.enqueue(InMemorySource(documents=(changed,)))).jobs == []
    listed = await project.kb.jobs.list(reader)
    assert [each.id for each in listed] == [again.jobs[0].id, job.id]
    assert [each.id for each in await project.kb.jobs.list(reader, before=listed[0].id)] == [job.id]
    done = await project.kb.jobs.list(reader, state=JobState.COMPLETE, document=kept.url)
    assert [each.id for each in done] == [job.id]
    with pytest.raises(NotFound):
        await project.kb.jobs.list(reader, document="file:///shelf/other.md")


async def test_s3_8_a_cancelled_job_is_taken_up_again_by_retry(project: Project) -> None:
    job = await queued(project)
    reader = await project.kb.reader(TAGS)
    cancelled = await project.kb.jobs.cancel(reader, job.id)
    assert cancelled.state is JobState.CANCELLED
    assert (await project.kb.documents.get(reader, job.url)).state is DocumentState.FAILED
    with pytest.raises(Invalid, match="nothing to cancel"):
        await project.kb.jobs.cancel(reader, job.id)
    await project.kb.ingestion.ingest(InMemorySource(documents=(), scope="file:///elsewhere/"))
    assert (await project.kb.jobs.get(reader, job.id)).state is JobState.CANCELLED
    retried = await project.kb.jobs.retry(reader, job.id)
    assert (retried.state, retried.attempts) == (JobState.QUEUED, 0)
    await project.kb.ingestion.ingest(InMemorySource(documents=(), scope="file:///elsewhere/"))
    assert (await project.kb.jobs.get(reader, job.id)).state is JobState.COMPLETE
    assert "1931" in await project.kb.documents.text(reader, job.url)
    with pytest.raises(Invalid, match="only failed and cancelled jobs"):
        await project.kb.jobs.retry(reader, job.id)


async def test_s3_8_a_failed_job_keeps_its_bytes_for_a_retry(project: Project) -> None:
    """Until the document is deleted or has a newer version: then no bytes are left anywhere."""
    broken = replace(make_document("a.md", "x", TAGS), content=b"", content_hash="0")
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(broken, make_document("b.md", "The dam.", TAGS)))
    )
    reader = await project.kb.reader(TAGS)
    (failed,) = await project.kb.jobs.list(reader, state=JobState.FAILED)
    assert failed.error_code
    assert failed.error
    assert (await project.kb.jobs.retry(reader, failed.id)).state is JobState.QUEUED
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(broken, make_document("b.md", "The dam.", TAGS)))
    )
    kept = "SELECT count(*) FROM document_originals WHERE NOT is_published"
    assert await project.database.rows(kept, {}) == [(1,)]
    await project.kb.ingestion.ingest(
        InMemorySource(
            documents=(
                make_document("a.md", "A text.", TAGS),
                make_document("b.md", "The dam.", TAGS),
            )
        )
    )
    with pytest.raises(Invalid, match="newer job"):
        await project.kb.jobs.retry(reader, failed.id)
    assert await project.database.rows(kept, {}) == [(0,)]


async def test_s3_8_deletion_takes_the_bytes_of_cancelled_jobs(project: Project) -> None:
    job = await queued(project, "Merlin is a secret.")
    reader = await project.kb.reader(TAGS)
    await project.kb.jobs.cancel(reader, job.id)
    await project.kb.documents.delete(reader, [job.url])
    assert await project.database.rows("SELECT content FROM original_parts", {}) == []
    with pytest.raises(NotFound):
        await project.kb.jobs.get(reader, job.id)


async def test_s3_8_no_stranger_sees_or_changes_a_job(project: Project) -> None:
    job = await queued(project)
    stranger = await project.kb.reader(["team:b"])
    missing = JobId(new_id())
    for verb in (project.kb.jobs.get, project.kb.jobs.retry, project.kb.jobs.cancel):
        with pytest.raises(NotFound, match=f"There is no job {job.id} that you may see"):
            await verb(stranger, job.id)
        with pytest.raises(NotFound, match=f"There is no job {missing} that you may see"):
            await verb(stranger, missing)
    assert await project.kb.jobs.list(stranger) == ()
    own = await project.kb.jobs.get(await project.kb.reader(TAGS), job.id)
    assert own.state is JobState.QUEUED


async def test_s2_2_runs_are_listed_with_what_they_changed(project: Project) -> None:
    one, two = (make_document(f"{name}.md", f"The dam {name}.", TAGS) for name in "ab")
    await project.kb.ingestion.ingest(InMemorySource(documents=(one, two)))
    await project.kb.ingestion.ingest(InMemorySource(documents=(one, two)))
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("a.md", "Another dam.", TAGS),))
    )
    reader = await project.kb.reader(TAGS)
    last, first = await project.kb.jobs.runs(reader)
    assert (first.inserted, first.updated, first.deleted) == (2, 0, 0)
    assert (last.inserted, last.updated, last.deleted) == (0, 1, 1)
    assert (last.system, last.scope, last.state) == ("file", "file:///shelf/", RunState.COMPLETE)
    assert last.started_at < (last.finished_at or last.started_at)
    assert await project.kb.jobs.run(reader, first.id) == first
    assert await project.kb.jobs.runs(reader, before=last.id, limit=1) == (first,)
    for run in (first.id, RunId(uuid4())):
        with pytest.raises(NotFound, match=f"There is no run {run} that you may see"):
            await project.kb.jobs.run(await project.kb.reader(["team:b"]), run)


async def test_s2_2_a_failed_run_says_why(project: Project) -> None:
    class Failing(InMemorySource):
        async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
            for n in range(60):
                yield ChangedDocument(document=make_document(f"{n}.md", f"Dam {n}.", TAGS))
            raise SourceFailed("The folder went away")

    with pytest.raises(SourceFailed):
        await project.kb.ingestion.enqueue(Failing(documents=()))
    reader = await project.kb.reader(TAGS)
    (run,) = await project.kb.jobs.runs(reader)
    assert (run.state, run.error, run.inserted) == (RunState.FAILED, "The folder went away", 50)
    assert await project.kb.jobs.cursors(reader) == ()


async def test_s2_2_a_complete_sync_moves_the_sources_cursor(project: Project) -> None:
    shelf = InMemorySource(documents=(make_document("a.md", "The dam.", TAGS),))
    await project.kb.ingestion.ingest(shelf)
    reader = await project.kb.reader(TAGS)
    (first,) = await project.kb.jobs.cursors(reader)
    (run,) = await project.kb.jobs.runs(reader)
    assert (first.system, first.key) == ("file", "file:///shelf/")
    assert first.value == run.started_at.isoformat()
    await project.kb.ingestion.ingest(shelf)
    (second,) = await project.kb.jobs.cursors(reader)
    assert second.value > first.value
    new = NewSource(name="crm", system="attio")
    source = await sources.create(project.database, project.kb.project_id, new)
    await project.database.execute(
        "UPDATE source_documents SET source_key = %(source)s, updated_at = '2026-03-02 10:00+01'",
        {"source": source.id},
    )
    assert [
        (each.system, each.key, each.value) for each in await project.kb.jobs.cursors(reader)
    ] == [
        ("attio", "crm", "2026-03-02T09:00:00+00:00"),
        (second.system, second.key, second.value),
    ]
    assert await project.kb.jobs.cursors(await project.kb.reader(["team:b"])) == ()

"""One document never stops the others: whatever it does to a step costs that document alone."""

import asyncio
import io
import time
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import docx
import psycopg
import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.documents import DocumentState, Format, NewDocument
from lightwell.domain.errors import ModelFailed
from lightwell.domain.graph import Extraction, Mention
from lightwell.ingest import worker
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.progress import DocumentOutcome, Progress, Step
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import ExtractionInput, Vectors
from lightwell.records.jobs import queue
from lightwell.records.locks import LeaseHolder
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever
from tests.patience import PATIENCE

from .conftest import Project

TAGS = ["team:a"]
EARLIEST = "0001-01-01T00:00:00+23:59"


def as_html(document: NewDocument) -> NewDocument:
    return replace(document, format=Format.HTML)


def docx_dated(moment: str) -> bytes:
    made, file = io.BytesIO(), io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b"2013-12-23T23:15:00Z", moment.encode())
            body = b"<w:body><w:p><w:r><w:t>The pump is blue.</w:t></w:r></w:p>"
            new.writestr(name, content.replace(b"<w:body>", body))
    return file.getvalue()


def wordy(content: bytes) -> NewDocument:
    return replace(make_document("bad.docx", "", TAGS), content=content, format=Format.DOCX)


async def states(project: Project) -> dict[str, DocumentState]:
    reader = await project.kb.reader(TAGS)
    return {
        document.url.rsplit("/", 1)[1]: document.state
        async for document in project.kb.documents.iterate(reader)
    }


ODD: dict[str, Callable[[], NewDocument]] = {
    "html date": lambda: as_html(
        make_document(
            "bad.html",
            f'<meta property="article:modified_time" content="{EARLIEST}"><p>Hello.',
            TAGS,
        )
    ),
    "html charset": lambda: as_html(
        make_document("bad.html", '<meta charset="undefined"><p>Hello.', TAGS)
    ),
    "html codec": lambda: as_html(
        make_document("bad.html", '<meta charset="unicode-escape"><p>Hello \\ud800 \\x00.', TAGS)
    ),
    "markdown date": lambda: make_document(
        "bad.md", f"---\nupdated: {EARLIEST}\n---\nHello.", TAGS
    ),
    "docx date": lambda: wordy(docx_dated(EARLIEST)),
    "docx late date": lambda: wordy(docx_dated("9999-12-31T23:59:59-14:00")),
}


@pytest.mark.parametrize("case", ODD)
async def test_a_date_or_charset_that_cannot_be_is_left_out(project: Project, case: str) -> None:
    good = make_document("good.md", "The pump is blue.", TAGS)
    ended = await project.kb.ingestion.ingest(InMemorySource(documents=(ODD[case](), good)))
    assert ended.problems == ()
    assert set((await states(project)).values()) == {DocumentState.ACTIVE}


@dataclass(frozen=True)
class Fragile:
    """An embedder and an extractor that a word of one document breaks."""

    inner: HashEmbedder = field(default_factory=lambda: HashEmbedder(dimension=64))

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if any("breaks embedding" in text for text in texts):
            raise ZeroDivisionError("a secret of the text")
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        return [self._said(chunk.draft.text) for chunk in chunks]

    def _said(self, text: str) -> Extraction:
        if "breaks extraction" in text:
            raise KeyError("a secret of the text")
        if "breaks publishing" in text:
            return Extraction(mentions=(Mention(name="a\0b", kind="term"),), relation_mentions=())
        if "breaks counting" in text:
            return Extraction(
                mentions=(Mention(name="a", kind="term", count=2**40),), relation_mentions=()
            )
        return Extraction(mentions=(Mention(name="Acme", kind="term"),), relation_mentions=())


def fragile(project: Project) -> Project:
    context = replace(project.context, embedder=Fragile(), extractor=Fragile())
    kb = KnowledgeBase(
        context,
        make_retriever(context),
        AnswerGenerator(model=None),
    )
    return replace(project, kb=kb, context=context)


@pytest.mark.parametrize("step", ["embedding", "extraction", "publishing", "counting"])
async def test_a_document_that_breaks_a_later_step_fails_alone(project: Project, step: str) -> None:
    broken = fragile(project)
    documents = [make_document(f"{n}.md", f"Note {n} is fine.", TAGS) for n in range(5)]
    documents.insert(2, make_document("bad.md", f"This breaks {step}.", TAGS))
    ended = await broken.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    assert [trouble.url for trouble in ended.problems] == ["file:///shelf/bad.md"]
    found = await states(broken)
    assert found.pop("bad.md") is DocumentState.FAILED
    assert set(found.values()) == {DocumentState.ACTIVE}
    assert "secret" not in ended.problems[0].message
    rows = await project.database.rows(
        "SELECT status, count(*), max(attempts) FROM ingestion_jobs GROUP BY 1 ORDER BY 1", {}
    )
    assert rows == [("complete", 5, 2), ("failed", 1, 2)]


async def test_what_failed_unexpectedly_is_tried_again_at_the_next_ingestion(
    project: Project,
) -> None:
    shelf = InMemorySource(documents=(make_document("bad.md", "This breaks embedding.", TAGS),))
    await fragile(project).kb.ingestion.ingest(shelf)
    assert (await project.kb.ingestion.ingest(shelf)).problems == ()


@pytest.mark.parametrize(
    "wrong",
    [
        replace(make_document("bad.md", "Hello.", TAGS), title="a\0b"),
        replace(make_document("bad.md", "Hello.", TAGS), topic="a\ud800b"),
        replace(make_document("bad.md", "Hello.", TAGS), metadata={"k": "\0"}),
        replace(
            make_document("bad.md", "Hello.", TAGS),
            acl_tags=frozenset(f"{n * 7919**40:x}" for n in range(1, 100)),
        ),
    ],
)
async def test_a_document_that_the_database_refuses_does_not_stop_its_source(
    project: Project, wrong: NewDocument
) -> None:
    good = make_document("good.md", "The pump is blue.", TAGS)
    ended = await project.kb.ingestion.ingest(InMemorySource(documents=(wrong, good)))
    assert [trouble.url for trouble in ended.problems] == [wrong.url]
    assert await states(project) == {"good.md": DocumentState.ACTIVE}


async def test_an_attempt_is_given_back_for_a_failing_model_and_not_for_a_lost_lease(
    project: Project,
) -> None:
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "The pump is blue.", TAGS),))
    )

    async def failing(chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        raise ModelFailed("It is down")

    async def losing(chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        await project.database.execute("UPDATE ingestion_jobs SET leased_by = 'another'", {})
        return [Extraction(mentions=(), relation_mentions=()) for _ in chunks]

    async def attempts() -> int:
        return (await project.database.rows("SELECT attempts FROM ingestion_jobs", {}))[0][0]

    with pytest.raises(ModelFailed):
        await worker.run_until_done(replace(project.context, extractor=Extracting(failing)), ignore)
    assert await attempts() == 0
    stop = asyncio.Event()

    async def once(chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        stop.set()
        return await losing(chunks)

    await worker.run_worker(replace(project.context, extractor=Extracting(once)), ignore, stop)
    assert await attempts() == 1


async def test_a_document_begun_too_often_is_set_aside_at_any_step(project: Project) -> None:
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "The pump is blue.", TAGS),))
    )
    await project.database.execute(
        "UPDATE ingestion_jobs SET attempts = %(most)s", {"most": queue.MAX_ATTEMPTS}
    )
    told: list[DocumentOutcome] = []
    await worker.run_until_done(project.context, told.append)
    assert ["never ended" in outcome.error for outcome in told] == [True]


@dataclass(frozen=True)
class Extracting:
    """An extractor made of a function."""

    extracted: Callable[[Sequence[ExtractionInput]], Awaitable[list[Extraction]]]

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        return await self.extracted(chunks)


def ignore(outcome: DocumentOutcome) -> None:
    del outcome


async def test_extraction_that_takes_longer_than_a_lease_ends(
    project: Project, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules once ran on the event loop: no lease was renewed meanwhile, and all was read again, for ever."""
    lease = 6.0  # a heartbeat comes every two seconds, and may be four seconds late
    read, reads = rule_extractor.extract_by_rules, list[str]()

    def slow(chunk: ExtractionInput) -> Extraction:
        """Read the chunk once a heartbeat has renewed the lease meanwhile."""
        reads.append(chunk.draft.text)
        with psycopg.connect(database_url, autocommit=True) as connection:
            leased = "SELECT leased_until FROM ingestion_jobs"
            before = connection.execute(leased).fetchall()
            deadline = time.monotonic() + PATIENCE
            while connection.execute(leased).fetchall() == before:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        return read(chunk)

    monkeypatch.setattr(rule_extractor, "extract_by_rules", slow)
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "This note is long.", TAGS),))
    )
    context = replace(project.context, worker=LeaseHolder(name="slow", seconds=lease))
    told: list[DocumentOutcome] = []
    await worker.run_until_done(context, told.append)
    assert [outcome.error for outcome in told] == [""]
    assert len(reads) == 1


async def test_progress_within_one_document_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightwell.ingest.pipeline._CHUNKS_PER_EXTRACTION", 3)
    text = "\n\n".join(f"Paragraph {n} speaks of Acme Corp and of pump {n}." for n in range(600))
    told: list[Progress] = []
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("long.txt", text, TAGS),))
    )
    context = replace(project.context, progress=told.append, embedding_batch_size=3)
    await worker.run_until_done(context, ignore)
    for step in (Step.EMBEDDING, Step.EXTRACTING):
        done = [each.done for each in told if each.step is step]
        assert len(done) > 2
        assert done == sorted(set(done))
        assert done[-1] == next(each.total for each in told if each.step is step)

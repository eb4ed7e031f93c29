"""A document is found by its words as soon as it is published; the network of the process reads its passages when no job waits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import TagAuthority
from lightwell.domain.documents import Document, NewDocument
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.jobs import Job, JobState
from lightwell.ingest import worker
from lightwell.ingest.context import IngestContext
from lightwell.ingest.passage_reading import read_some
from lightwell.ingest.progress import DocumentOutcome, Progress, Step
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.records.jobs import queue
from lightwell.testing.models import HashEmbedder, Vectors
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import project_on

OWN, OTHERS = ["team:a"], ["team:b"]
LARGE = "\n\n".join(
    f"# Part {part}\n\n" + " ".join(f"Valve {part} of pump {n} was tested." for n in range(90))
    for part in range(80)
)


@dataclass
class Network:
    """A network of this process: it fails while `failing` has an element, and first does what is to be done `meanwhile`."""

    events: list[str]
    inner: HashEmbedder = field(default_factory=HashEmbedder)
    failing: list[str] = field(default_factory=list[str])
    meanwhile: list[Callable[[], Awaitable[object]]] = field(
        default_factory=list[Callable[[], Awaitable[object]]]
    )
    model: str = "network"
    dimension: int = 64

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise ModelFailed("the network is down")
        if any(text for text in texts):
            self.events.append("read")
        while self.meanwhile:
            await self.meanwhile.pop()()
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


@dataclass(frozen=True, kw_only=True)
class Store:
    kb: KnowledgeBase
    context: IngestContext
    network: Network
    database: Database

    async def enqueue(self, *documents: NewDocument) -> None:
        await self.kb.ingestion.enqueue(InMemorySource(documents=documents))

    async def publish(self, *documents: NewDocument) -> None:
        """Do the first stage alone."""
        await self.enqueue(*documents)
        await worker.run_claimable(self.context, lambda outcome: None, asyncio.Event())

    async def job(self) -> Job:
        return (await self.kb.jobs.list(await self.kb.reader(OWN)))[0]

    async def document(self, name: str) -> Document:
        return await self.kb.documents.get(await self.kb.reader(OWN), f"file:///shelf/{name}")

    async def count(self, table: str) -> int:
        return await self.database.value(f"SELECT count(*) FROM {table}", {})  # type: ignore[arg-type]

    def note_outcome(self, outcome: DocumentOutcome) -> None:
        self.network.events.append(outcome.url.removeprefix("file:///shelf/"))


@pytest.fixture
async def store(database: Database) -> Store:
    network = Network(events=[])
    project = await project_on(database)
    await database.execute("UPDATE embedding_spaces SET model = 'network'", {})
    context = replace(
        project.context,
        embedder=network,
        space=replace(project.context.space, model="network"),
        models=(SpaceModel(embedder=network, sentences=network, is_bundled=True),),
    )
    kb = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=None))
    return Store(kb=kb, context=context, network=network, database=database)


async def test_what_is_published_is_found_and_shown_as_followed_until_it_is_read(
    store: Store,
) -> None:
    await store.publish(make_document("a.md", "Acme Corp sells green pumps.", OWN))
    assert store.network.events == []
    reader = await store.kb.reader(OWN)
    found = await store.kb.questions.search("Who sells green pumps?", reader)
    assert [each.chunk.title for each in found.evidence] == ["a"]
    store.network.events.clear()
    job = await store.job()
    assert (job.state, job.step, job.progress) == (JobState.EMBEDDING, "vectors", 25)
    assert (job.processed_chunks, job.total_chunks, job.completed_at) == (0, 1, None)
    assert (await store.document("a.md")).waiting_chunks == 1
    assert (await store.kb.documents.status(reader)).waiting_chunks == 1
    stranger = await store.kb.reader(["team:others"])
    assert (await store.kb.documents.status(stranger)).waiting_chunks == 0
    assert await store.kb.jobs.list(reader, state=JobState.COMPLETE) == ()
    assert await store.kb.jobs.list(reader, state=JobState.EMBEDDING) == (job,)

    assert await read_some(store.context)
    job = await store.job()
    assert (job.state, job.step, job.progress) == (JobState.COMPLETE, "", 100)
    assert job.processed_chunks == 1
    assert job.completed_at is not None
    assert (await store.document("a.md")).waiting_chunks == 0
    assert (await store.kb.documents.status(reader)).waiting_chunks == 0
    assert not await read_some(store.context)
    assert store.network.events == ["read"]


async def test_ingest_waits_for_both_stages_of_all_documents(store: Store) -> None:
    """The first stage of each comes before the second of any."""
    source = InMemorySource(
        documents=tuple(make_document(f"{n}.md", f"Pump {n} is green.", OWN) for n in range(40))
    )
    moved: list[Progress] = []
    await store.kb.ingestion.ingest(source, on_outcome=store.note_outcome, progress=moved.append)
    assert store.network.events == [*(f"{n}.md" for n in range(40)), "read", "read"]
    second = [each for each in moved if each.step is Step.VECTORS]
    assert [(each.done, each.total, each.moved) for each in second] == (
        [(0, 1, 0)] * 80 + [(1, 1, 1)] * 40
    )
    assert await store.count("chunk_gaps") == 0


async def test_ingest_tells_of_all_passages_that_it_reads(store: Store) -> None:
    """Those that an upgrade or another process has left are read, too: they were read behind "1 of 1 passage read"."""
    await store.publish(make_document("left.md", LARGE, OWN))
    left, moved = await store.count("chunk_gaps"), list[Progress]()
    new = replace(make_document("new.md", "Pump 7 is green.", OWN), url="file:///other/new.md")
    source = InMemorySource(documents=(new,), scope="file:///other/")
    await store.kb.ingestion.ingest(source, on_outcome=store.note_outcome, progress=moved.append)
    second = [each for each in moved if each.step is Step.VECTORS]
    assert sum(each.moved for each in second) == left + 1 > 2
    assert store.network.events[0] == "file:///other/new.md"


async def test_a_document_that_comes_meanwhile_is_published_before_the_next_passages_are_read(
    store: Store,
) -> None:
    await store.enqueue(make_document("large.md", LARGE, OWN))

    async def hand_in() -> None:
        await store.kb.ingestion.enqueue(
            InMemorySource(
                documents=(make_document("small.md", "Short.", OWN),), scope="file:///shelf/s"
            )
        )

    store.network.meanwhile.append(hand_in)
    await worker.run_until_idle(store.context, store.note_outcome, asyncio.Event())
    assert store.network.events[:3] == ["large.md", "read", "small.md"]
    assert store.network.events[3:] == ["read"] * (len(store.network.events) - 3)
    assert len(store.network.events) >= 5


async def test_a_small_document_does_not_wait_for_all_of_a_large_one(store: Store) -> None:
    await store.publish(
        make_document("a-large.md", LARGE, OWN), make_document("small.md", "Short.", OWN)
    )
    chunks = (await store.document("a-large.md")).chunk_count
    assert chunks > 64
    for _ in range(2):
        assert await read_some(store.context)
    assert (await store.document("small.md")).waiting_chunks == 0
    assert (await store.document("a-large.md")).waiting_chunks == chunks - 63


async def test_what_a_process_that_died_had_claimed_is_read_by_another(
    store: Store, database: Database
) -> None:
    await store.publish(make_document("a.md", "Acme Corp sells pumps.", OWN))
    await database.execute("UPDATE chunk_gaps SET taken_until = now() + interval '1 minute'", {})
    assert not await read_some(store.context)
    await database.execute("UPDATE chunk_gaps SET taken_until = now() - interval '1 second'", {})
    await store.kb.ingestion.finish_jobs()
    assert await store.count("chunk_gaps") == 0


async def test_what_goes_or_moves_while_it_waits_or_is_read_is_seen(store: Store) -> None:
    kept, gone, moved = (
        make_document(f"{name}.md", f"The {name} pump is green.", OWN)
        for name in ("kept", "gone", "moved")
    )
    await store.publish(kept, gone, moved)
    reader = await store.kb.reader(OWN)

    async def change() -> None:
        await store.kb.documents.erase(reader, ["file:///shelf/gone.md"])
        document = await store.document("moved.md")
        everything = TagAuthority(tags=frozenset(OWN + OTHERS))
        await store.kb.documents.change_access(reader, everything, document.url, frozenset(OTHERS))

    store.network.meanwhile.append(change)
    await store.kb.ingestion.finish_jobs()
    assert await store.count("chunk_gaps") == await store.count("multi_vector_gaps") == 0
    assert await store.count("chunk_vectors_1") == 2
    for tags, name in ((OWN, "kept"), (OTHERS, "moved")):
        found = await store.kb.questions.search("green pump", await store.kb.reader(tags))
        assert [each.chunk.title for each in found.evidence] == [name]


async def test_a_network_that_fails_leaves_what_is_published(store: Store) -> None:
    store.network.failing.append("down")
    with pytest.raises(ModelFailed):
        await store.kb.ingestion.ingest(
            InMemorySource(documents=(make_document("a.md", "Acme Corp sells pumps.", OWN),))
        )
    assert (await store.job()).step == "vectors"
    store.network.failing.clear()
    await store.kb.ingestion.finish_jobs()
    assert (await store.job()).state is JobState.COMPLETE


async def test_what_is_published_cannot_be_cancelled_and_can_be_replaced_and_extracted_again(
    store: Store,
) -> None:
    await store.publish(make_document("a.md", "Acme Corp sells pumps.", OWN))
    reader = await store.kb.reader(OWN)
    with pytest.raises(Invalid, match="published already"):
        await store.kb.jobs.cancel(reader, (await store.job()).id)
    assert await store.kb.ingestion.enqueue_again(reader, None) == 1
    await store.publish(make_document("a.md", "Acme Corp sells pumps.", OWN))
    assert (await store.job()).step == "vectors"
    await store.publish(make_document("a.md", "Acme Corp sells boats.", OWN))
    jobs = await store.kb.jobs.list(reader)
    assert [each.step for each in jobs] == ["vectors", "", ""]
    await store.kb.ingestion.finish_jobs()
    assert {each.state for each in await store.kb.jobs.list(reader)} == {JobState.COMPLETE}
    assert await queue.count_open(store.database, store.context.project_id) == 0
    assert await store.count("chunk_vectors_1") == 1

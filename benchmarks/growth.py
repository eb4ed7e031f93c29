"""What one more document costs, and what a question costs, as the store grows.

`python -m benchmarks growth [--sizes 50,800,2000,10000]`: documents of 3 KB made of Zipf-distributed words and of names
from a pool of 5,000; the free embedder (hashed words, 384 numbers) and the rule-based extractor. CPU counts this
process and the server's; bytes are what the server says it wrote (pg_stat_io: write-ahead log, pages, and the
checkpoint that follows). Questions are timed without what the embedder took, whose share is another machine's.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.documents import NewDocument
from lightwell.ingest.parser import Parser
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Change, ChangedDocument, Vectors
from lightwell.records import access_classes
from lightwell.records.database import Database, connect
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.models import HashEmbedder
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import make_document
from lightwell.wiring import make_retriever, rule_ingest_context

SIZES = (50, 800, 2000, 10_000)
ADDED, ASKED = 100, 100
TAGS = ("team:a", "team:b", "team:c", "team:d")

_SOURCE = random.Random(7)
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()
WORDS = ["".join(_SOURCE.choices(_SYLLABLES, k=_SOURCE.randint(2, 4))) for _ in range(20_000)]
NAMES = [
    f"{''.join(_SOURCE.choices(_SYLLABLES, k=2)).title()} {''.join(_SOURCE.choices(_SYLLABLES, k=3)).title()}"
    for _ in range(5_000)
]
_RANKS = [1 / (rank + 1) for rank in range(len(WORDS))]


def prose(source: random.Random, size: int) -> str:
    """Return about `size` characters of sentences."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < size:
        words = source.choices(WORDS, weights=_RANKS, k=source.randint(8, 16))
        if source.random() < 0.6:
            words.insert(source.randint(1, len(words)), source.choice(NAMES))
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


def document(number: int) -> NewDocument:
    source = random.Random(number)
    return make_document(
        f"{number:06}.txt",
        prose(source, 3000),
        [TAGS[number % len(TAGS)]],
        title=source.choice(NAMES),
    )


@dataclass(kw_only=True)
class Timed:
    """The free embedder, with the seconds it has taken so far."""

    inner: HashEmbedder
    seconds: float = 0.0

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        began = time.perf_counter()
        vectors = await self.inner.embed_documents(texts)
        self.seconds += time.perf_counter() - began
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        return await self.embed_documents([text])


@dataclass(frozen=True)
class Spent:
    """CPU seconds of this process and the server's; bytes the server has written."""

    cpu: float
    written: float

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.cpu - other.cpu, self.written - other.written)


async def spent(database: Database, postmaster: psutil.Process) -> Spent:
    rows = await database.rows(
        "SELECT sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) FROM pg_stat_io", {}
    )
    times = [process.cpu_times() for process in (postmaster, *postmaster.children(recursive=True))]
    return Spent(
        cpu=time.process_time() + sum(each.user + each.system for each in times),
        written=float(rows[0][0]),
    )


async def project(database: Database) -> tuple[KnowledgeBase, Timed]:
    embedder = Timed(inner=HashEmbedder(dimension=384))
    project_id = await access_classes.get_or_create_project(database, "benchmarks", "growth")
    context = await rule_ingest_context(database, project_id, embedder, Parser())
    kb = KnowledgeBase(
        context,
        make_retriever(context),
        AnswerGenerator(model=None),
    )
    return kb, embedder


@dataclass(frozen=True)
class Arriving:
    """A source that has these new documents and does not speak of the others."""

    documents: tuple[NewDocument, ...]
    scope: str = "file:///nowhere/"

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        del hashes
        for document in self.documents:
            yield ChangedDocument(document=document)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Per document: CPU seconds and bytes; per question: milliseconds, at half and at 95 of 100; disk over text."""

    size: int
    cpu: float
    written: float
    half: float
    most: float
    asked_cpu: float
    disk: float


async def measured(
    database: Database, kb: KnowledgeBase, embedder: Timed, postmaster: psutil.Process, size: int
) -> Measured:
    """Add documents one by one to a store of `size`, then ask questions."""
    arriving = [document(number) for number in range(size, size + ADDED)]
    await database.execute("VACUUM ANALYZE", {})
    await _checkpoint(database)
    before = await spent(database, postmaster)
    for one in arriving:
        await kb.ingestion.ingest(Arriving((one,)))
    await _checkpoint(database)
    added = (await spent(database, postmaster)) - before
    reader = await kb.reader(TAGS[:2])
    source = random.Random(size)
    questions = [question(source) for _ in range(ASKED)]
    for text in questions[:5]:
        await kb.questions.search(text, reader)
    before = await spent(database, postmaster)
    times: list[float] = []
    taken = embedder.seconds
    for text in questions:
        started = time.perf_counter() - embedder.seconds
        await kb.questions.search(text, reader)
        times.append((time.perf_counter() - embedder.seconds - started) * 1000)
    asked = (await spent(database, postmaster)) - before
    rows = await database.rows(
        "SELECT pg_database_size(current_database()), sum(file_size) FROM source_documents", {}
    )
    return Measured(
        size=size,
        cpu=added.cpu / ADDED,
        written=added.written / ADDED,
        half=statistics.median(times),
        most=statistics.quantiles(times, n=20)[-1],
        asked_cpu=(asked.cpu - (embedder.seconds - taken)) * 1000 / ASKED,
        disk=float(rows[0][0]) / float(rows[0][1]),
    )


def question(source: random.Random) -> str:
    words = source.choices(WORDS[50:5000], k=5)
    return f"What did {source.choice(NAMES)} say about {' '.join(words)}?"


async def _checkpoint(database: Database) -> None:
    await database.execute("CHECKPOINT", {})


async def grown(uri: str, sizes: list[int], postmaster: psutil.Process) -> list[Measured]:
    found: list[Measured] = []
    async with connect(uri) as database:
        kb, embedder = await project(database)
        at = 0
        for size in sizes:
            for start in track(range(at, size, 200), description=f"growing to {size}"):
                await kb.ingestion.ingest(
                    Arriving(
                        tuple(document(number) for number in range(start, min(start + 200, size)))
                    )
                )
            found.append(await measured(database, kb, embedder, postmaster, size))
            at = size + ADDED
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    sizes = [int(size) for size in parser.parse_args(arguments).sizes.split(",")]
    with temporary_folder() as folder, run_server(folder) as uri:
        pid = status(folder).pid
        assert pid is not None
        found = asyncio.run(grown(uri, sizes, psutil.Process(pid)))
    table = Table(title="One more 3 KB document, and a question, as the store grows")
    for heading in (
        "documents",
        "CPU s / document",
        "KB written / document",
        "question p50 ms",
        "p95 ms",
        "CPU ms / question",
        "disk / text",
    ):
        table.add_column(heading, justify="right")
    for one in found:
        table.add_row(
            f"{one.size:,}",
            f"{one.cpu:.3f}",
            f"{one.written / 1000:,.0f}",
            f"{one.half:.1f}",
            f"{one.most:.1f}",
            f"{one.asked_cpu:.1f}",
            f"{one.disk:.1f}",
        )
    Console(width=120).print(table)

"""How search by meaning and by words bears size: `python -m benchmarks.scale 100000 [--words] [--data FOLDER]`.

A synthetic store: documents of ten chunks, 384 numbers a chunk, made of topics, documents in them and chunks in these, with the
spectrum of real MiniLM vectors (half of the variance in 41 dimensions, 80 % in 113). Half of the documents carry the
class of their topic, the others any; so a reader's classes are not spread evenly. A question lies at cosine 0.6 from
some chunk of the store, seldom one that its reader sees.

For readers of 0.5 % to 100 %: the search as it is, with the exact one, the one by signs and HNSW alone beside it. Recall is against
the exact one. CPU is the server's. With `--words` also BM25 over terms of Zipfian frequency, a hundred a chunk.
`--data` keeps the store, and measures it again when it is there.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.scale_store import (
    BATCH,
    PER_DOCUMENT,
    SHARES,
    Floats,
    Store,
    fill,
    fill_words,
    ranks,
    store_of,
    world,
)
from lightwell.domain.access import ClassSet, Reader
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import NO_FILTERS
from lightwell.records import search
from lightwell.records.database import connect
from lightwell.records.search import LexicalQuery, TermStatistics
from lightwell.stores.embedded.server import run_server, status
from lightwell.stores.postgres.vectors import PostgresVectors, SearchLimits
from lightwell.testing.server import temporary_folder

WARM_UP, ASKED, DRAWN = 10, 60, 100
TERMS_ASKED, MAX_DRAWN = 5, 600


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Milliseconds of wall at half and at 95 of 100, the server's CPU milliseconds, and what was found."""

    half: float
    most: float
    cpu: float
    found: tuple[tuple[ChunkId, ...], ...]

    def __str__(self) -> str:
        return f"{self.half:,.1f} / {self.most:,.1f}"


def processes(postmaster: psutil.Process) -> list[psutil.Process]:
    return [postmaster, *postmaster.children(recursive=True)]


def cpu_seconds(postmaster: psutil.Process) -> float:
    """Return what the server has used, its ended processes too."""
    times = [process.cpu_times() for process in processes(postmaster)]
    ended = postmaster.cpu_times()
    return (
        sum(each.user + each.system for each in times) + ended.children_user + ended.children_system
    )


async def timed(store: Store, ask: Callable[[int], Awaitable[Sequence[ChunkId]]]) -> Timed:
    for number in range(ASKED, ASKED + WARM_UP):
        await ask(number)
    before = cpu_seconds(store.postmaster)
    walls: list[float] = []
    found: list[tuple[ChunkId, ...]] = []
    for number in range(ASKED):
        began = time.perf_counter()
        hits = await ask(number)
        walls.append((time.perf_counter() - began) * 1000)
        found.append(tuple(hits))
    return Timed(
        half=statistics.median(walls),
        most=statistics.quantiles(walls, n=20)[-1],
        cpu=(cpu_seconds(store.postmaster) - before) * 1000 / ASKED,
        found=tuple(found),
    )


async def meant(store: Store, vectors: PostgresVectors, questions: Floats, reader: Reader) -> Timed:
    async def ask(number: int) -> list[ChunkId]:
        hits = await vectors.nearest(store.space, questions[number], reader, limit=DRAWN)
        return [hit.chunk_id for hit in hits]

    return await timed(store, ask)


async def worded(store: Store, reader: Reader) -> Timed:
    asked = ranks(
        np.random.default_rng(4), store.world.size, (ASKED + WARM_UP, TERMS_ASKED), first=20
    )
    questions = [[f"w{rank}" for rank in row] for row in asked.tolist()]

    async def ask(number: int) -> list[ChunkId]:
        terms = list(dict.fromkeys(questions[number]))
        known = await search.get_term_statistics(store.database, reader, terms)
        if not known.chunks_with:
            return []
        rarity = {
            term: log(1 + known.chunks / (0.5 + known.chunks_with.get(term, 0))) for term in terms
        }
        question = LexicalQuery(
            weights=rarity,
            mean_length=known.mean_length,
            match_query=draw(known),
            filters=NO_FILTERS,
        )
        hits = await search.search_lexical(store.database, reader, question, limit=DRAWN)
        return [hit.chunk_id for hit in hits]

    return await timed(store, ask)


def draw(known: TermStatistics) -> str:
    """Return the rarest terms that together draw at most 600 chunks, one at least: the rule of retrieval."""
    drawn: list[str] = []
    total = 0
    for count, term in sorted((count, term) for term, count in known.chunks_with.items()):
        total += count
        if drawn and total > MAX_DRAWN:
            break
        drawn.append(search.tsquery(term))
    return " | ".join(drawn)


def recall(found: Timed, truth: Timed, depth: int) -> float:
    """Return the share of the exact first `depth` that are among all that was found."""
    shares = [
        len(set(exact[:depth]) & set(some)) / len(exact[:depth])
        for some, exact in zip(found.found, truth.found, strict=True)
    ]
    return statistics.fmean(shares)


async def build(store: Store) -> None:
    """Build the index and print what it took."""
    most = 0
    began, before = time.perf_counter(), cpu_seconds(store.postmaster)

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, sum(memory(each) for each in processes(store.postmaster)))
            await asyncio.sleep(0.5)

    idle = sum(memory(each) for each in processes(store.postmaster))
    watching = asyncio.create_task(watch())
    stands = await PostgresVectors(store.database).build(store.space)
    watching.cancel()
    sizes = await store.database.rows(
        "SELECT relname, pg_relation_size(oid) / 1000000 FROM pg_class"
        " WHERE relname LIKE 'chunk_vectors%%' AND pg_relation_size(oid) > 0 ORDER BY 1",
        {},
    )
    print(
        f"build: {stands}, {time.perf_counter() - began:.0f} s,"
        f" {cpu_seconds(store.postmaster) - before:.0f} CPU s, {(most - idle) / 1e6:,.0f} MB more than idle;"
        f" MB on the disk: {dict(sizes)}"
    )


def memory(process: psutil.Process) -> int:
    """Return the bytes that are this process's share: what several use is divided by how many."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


async def measure(store: Store, table: Table, *, words: bool) -> None:
    questions = store.world.questions(ASKED + WARM_UP)
    searches = (
        PostgresVectors(store.database),
        PostgresVectors(store.database, limits=SearchLimits(exact=sys.maxsize)),
        PostgresVectors(store.database, limits=SearchLimits(exact=0, signs=sys.maxsize)),
        PostgresVectors(store.database, limits=SearchLimits(exact=0, signs=0, signs_of_part=0)),
    )
    for place, share in enumerate(track(SHARES, description="asking")):
        reader = Reader(
            project_id=store.project_id,
            tags=frozenset(),
            classes=ClassSet(store.classes[: place + 1]),
        )
        chosen, exact, signs, hnsw = [
            await meant(store, search, questions, reader) for search in searches
        ]
        visible = int(np.sum(store.world.class_of <= place)) * PER_DOCUMENT
        by_words = str(await worded(store, reader)) if words else ""
        table.add_row(
            f"{share:.1%}",
            f"{visible:,}",
            f"{chosen} ({chosen.cpu:.0f})",
            f"{exact} ({exact.cpu:.0f})",
            f"{signs} ({signs.cpu:.0f})",
            f"{hnsw} ({hnsw.cpu:.0f})",
            *(
                f"{recall(search, exact, depth):.3f}"
                for search in (chosen, signs, hnsw)
                for depth in (10, 100)
            ),
            by_words,
        )


async def run(uri: str, postmaster: psutil.Process, wanted: argparse.Namespace) -> Table:
    table = Table(title=f"{wanted.size:,} chunks; milliseconds p50 / p95 (server CPU)")
    headings = (
        "share,visible,as it is,exact,signs,HNSW,R@10,R@100,signs R@10,R@100,HNSW R@10,R@100,words"
    )
    for heading in headings.split(","):
        table.add_column(heading, justify="right")
    async with connect(uri) as database:
        store = await store_of(database, postmaster, world(wanted.size))
        if not await database.rows("SELECT FROM class_totals LIMIT 1", {}):
            await fill(store)
            await database.execute("VACUUM ANALYZE", {})
        await build(store)
        if wanted.words and not await database.rows("SELECT FROM chunk_terms LIMIT 1", {}):
            await fill_words(store)
        await measure(store, table, words=wanted.words)
    return table


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("size", type=int, help=f"chunks, a multiple of {BATCH}")
    parser.add_argument("--words", action="store_true", help="full text too")
    parser.add_argument("--data", type=Path, help="where the store is kept")
    wanted = parser.parse_args(arguments)
    with temporary_folder() as passing:
        folder = wanted.data or passing
        with run_server(folder) as uri:
            pid = status(folder).pid
            assert pid is not None
            table = asyncio.run(run(uri, psutil.Process(pid), wanted))
    Console(width=160).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])

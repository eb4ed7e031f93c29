"""How Milvus bears size, beside PostgreSQL: `python -m benchmarks.milvus_scale 100000 --milvus http://127.0.0.1:19530 [--data FOLDER]`.

The same vectors, readers and questions as `benchmarks.scale`. Milvus must run on this machine, for its processor time and memory. Recall is
against comparing all visible vectors in PostgreSQL. `--data` keeps the PostgreSQL store; the collection in Milvus is dropped at the end.
"""

import argparse
import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.scale import ASKED, DRAWN, WARM_UP, Timed, cpu_seconds, recall, timed
from benchmarks.scale_store import (
    BATCH,
    DIMENSION,
    PER_DOCUMENT,
    SHARES,
    Floats,
    Store,
    entries,
    fill,
    store_of,
    world,
)
from lightwell.domain.access import ClassSet, Reader
from lightwell.domain.ids import ChunkId
from lightwell.ports import VectorIndex
from lightwell.records.database import connect
from lightwell.stores.embedded.server import run_server, status
from lightwell.stores.milvus.collection import MilvusServer
from lightwell.stores.milvus.collection import connect as connect_milvus
from lightwell.stores.milvus.vectors import MilvusVectors
from lightwell.stores.postgres.vectors import PostgresVectors, SearchLimits
from lightwell.testing.server import temporary_folder

LOADING = 30
"""Seconds that Milvus takes at most to load an index that it has built; nothing says when it has."""


def process_at(url: str) -> psutil.Process:
    """Return the process of this machine that listens at the URL's port."""
    for each in psutil.net_connections("tcp"):
        if (
            each.status == psutil.CONN_LISTEN
            and getattr(each.laddr, "port", 0) == urlsplit(url).port
            and each.pid
        ):
            return psutil.Process(each.pid)
    raise SystemExit(f"no process of this machine listens at {url}")


async def copy_to_milvus(store: Store, index: MilvusVectors) -> None:
    """Write all vectors, and print what it took until Milvus searches them by its index."""
    began, before = time.perf_counter(), cpu_seconds(store.postmaster)
    for batch in track(range(store.world.size // BATCH), description="Milvus"):
        await index.put(store.space, entries(store, batch))
    while not await index.build(store.space):  # noqa: ASYNC110 - Milvus is another process
        await asyncio.sleep(5)
    await asyncio.sleep(LOADING)
    count = await index.count(store.space)
    print(
        f"Milvus: {count:,} vectors, {time.perf_counter() - began:.0f} s,"
        f" {cpu_seconds(store.postmaster) - before:.0f} CPU s,"
        f" {store.postmaster.memory_info().rss / 1e6:,.0f} MB"
    )


async def ask_all(store: Store, index: VectorIndex, questions: Floats, reader: Reader) -> Timed:
    async def ask(number: int) -> list[ChunkId]:
        hits = await index.nearest(store.space, questions[number], reader, limit=DRAWN)
        return [hit.chunk_id for hit in hits]

    return await timed(store, ask)


async def measure(store: Store, milvus: psutil.Process, index: MilvusVectors, table: Table) -> None:
    questions = store.world.questions(ASKED + WARM_UP)
    postgres = PostgresVectors(store.database)
    exact = PostgresVectors(store.database, limits=SearchLimits(exact=sys.maxsize))
    for place, share in enumerate(track(SHARES, description="asking")):
        reader = Reader(
            project_id=store.project_id,
            tags=frozenset(),
            classes=ClassSet(store.classes[: place + 1]),
        )
        truth = await ask_all(store, exact, questions, reader)
        own = await ask_all(store, postgres, questions, reader)
        found = await ask_all(replace(store, postmaster=milvus), index, questions, reader)
        visible = int(np.sum(store.world.class_of <= place)) * PER_DOCUMENT
        shown = [f"{each} ({each.cpu:.0f})" for each in (found, own)]
        recalls = [f"{recall(each, truth, at):.3f}" for each in (found, own) for at in (10, 100)]
        table.add_row(f"{share:.1%}", f"{visible:,}", *shown, *recalls)


async def run(
    uri: str, postmaster: psutil.Process, server: MilvusServer, wanted: argparse.Namespace
) -> Table:
    table = Table(title=f"{wanted.size:,} chunks; milliseconds p50 / p95 (server CPU)")
    for heading in "share,visible,Milvus,PostgreSQL,R@10,R@100,PG R@10,R@100".split(","):
        table.add_column(heading, justify="right")
    async with connect(uri) as database:
        store = await store_of(database, postmaster, world(wanted.size))
        if not await database.rows("SELECT FROM class_totals LIMIT 1", {}):
            await fill(store)
            await database.execute("VACUUM ANALYZE", {})
        await PostgresVectors(database).build(store.space)
        index = MilvusVectors(database=database, server=server, project_id=store.project_id)
        await index.prepare(store.space, DIMENSION)
        try:
            milvus = process_at(wanted.milvus)
            await copy_to_milvus(replace(store, postmaster=milvus), index)
            await measure(store, milvus, index, table)
        finally:
            await index.drop(store.space)
    return table


async def run_on_milvus(uri: str, postmaster: psutil.Process, wanted: argparse.Namespace) -> Table:
    async with connect_milvus(wanted.milvus, "", 300) as server:
        return await run(uri, postmaster, server, wanted)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.milvus_scale", description=__doc__)
    parser.add_argument("size", type=int, help=f"chunks, a multiple of {BATCH}")
    parser.add_argument(
        "--milvus", required=True, metavar="URL", help="of a server on this machine"
    )
    parser.add_argument("--data", type=Path, help="where the PostgreSQL store is kept")
    wanted = parser.parse_args(arguments)
    with temporary_folder() as passing:
        folder = wanted.data or passing
        with run_server(folder) as uri:
            pid = status(folder).pid
            assert pid is not None
            table = asyncio.run(run_on_milvus(uri, psutil.Process(pid), wanted))
    Console(width=140).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])

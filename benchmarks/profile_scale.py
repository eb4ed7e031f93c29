"""How search for entities by meaning bears size: `python -m benchmarks.profile_scale 100000 [--data FOLDER] [--milvus URL]`.

A synthetic store as that of `benchmarks.scale`, with one profile for each vector. For readers of 0.5 % to 100 %: the search as it is, and
the exact one beside it; with `--milvus` the one in Milvus, too. Recall is against the exact one. CPU is PostgreSQL's, also beside Milvus.
`--data` keeps the store, and measures it again when it is there.
"""

import argparse
import asyncio
import hashlib
import sys
import time
from pathlib import Path
from typing import LiteralString, cast
from uuid import UUID

import numpy as np
import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.milvus_scale import LOADING
from benchmarks.scale import ASKED, WARM_UP, Timed, cpu_seconds, recall, timed
from benchmarks.scale_store import (
    BATCH,
    DIMENSION,
    PER_DOCUMENT,
    SHARES,
    Floats,
    Store,
    class_of,
    store_of,
    world,
)
from lightwell.domain.access import ClassSet, Reader
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ChunkId
from lightwell.records.database import connect, copy_rows
from lightwell.records.graph.profile_queue import EmbeddedProfile
from lightwell.stores.embedded.server import run_server, status
from lightwell.stores.milvus.collection import connect as connect_milvus
from lightwell.stores.milvus.profiles import MilvusProfiles
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.testing.server import temporary_folder

WANTED = 10
"""Entities that a question looks for."""


async def fill(store: Store) -> None:
    """Write one described profile with its vector for each vector of the world."""
    await PostgresProfiles(store.database).prepare(store.space, DIMENSION)
    for batch in track(range(store.world.size // BATCH), description="profiles"):
        numbers = range(batch * BATCH, (batch + 1) * BATCH)
        keys = [(UUID(int=each), class_of(store, each)) for each in numbers]
        vectors = store.world.vectors(batch)
        async with store.database.transaction() as connection:
            rows = ((*key, store.project_id, False) for key in keys)
            columns = "described_profiles (subject_id, class_id, project_id, changed)"
            await copy_rows(connection, columns, rows)
            placed = (
                (*key, str(vector.tolist())) for key, vector in zip(keys, vectors, strict=True)
            )
            table = f"entity_vectors_{store.space:d} (subject_id, class_id, embedding)"
            await copy_rows(connection, cast("LiteralString", table), placed)
    await store.database.execute("VACUUM ANALYZE", {})


async def copy_to_milvus(store: Store, index: MilvusProfiles) -> None:
    """Copy all vectors, and wait until Milvus has indexed them."""
    await store.database.execute(
        "UPDATE described_profiles SET text_hash = sha256(subject_id::text::bytea)", {}
    )
    await index.prepare(store.space, DIMENSION)
    for batch in track(range(store.world.size // BATCH), description="Milvus"):
        given = zip(
            range(batch * BATCH, (batch + 1) * BATCH), store.world.vectors(batch), strict=True
        )
        copies = {profile_of(store, number): vector for number, vector in given}
        await index.put_copies(store.space, copies)
    while not await index.build(store.space):  # noqa: ASYNC110 - Milvus is another process
        await asyncio.sleep(5)
    await asyncio.sleep(LOADING)


def profile_of(store: Store, number: int) -> EmbeddedProfile:
    subject_id = UUID(int=number)
    return EmbeddedProfile(
        subject=ProfileSubject.ENTITY,
        subject_id=subject_id,
        class_id=class_of(store, number),
        text_hash=hashlib.sha256(str(subject_id).encode()).digest(),
    )


async def ask_for(
    store: Store, index: PostgresProfiles | MilvusProfiles, questions: Floats, reader: Reader
) -> Timed:
    async def ask(number: int) -> list[ChunkId]:
        hits = await index.nearest(
            store.space, questions[number], reader, ProfileSubject.ENTITY, limit=WANTED
        )
        return [ChunkId(hit.subject_id) for hit in hits]

    return await timed(store, ask)


async def measure(store: Store, milvus: MilvusProfiles | None, table: Table) -> None:
    questions = store.world.questions(ASKED + WARM_UP)
    exact, chosen = (
        PostgresProfiles(store.database, max_exact=10**9),
        PostgresProfiles(store.database),
    )
    for place, share in enumerate(track(SHARES, description="asking")):
        reader = Reader(
            project_id=store.project_id,
            tags=frozenset(),
            classes=ClassSet(store.classes[: place + 1]),
        )
        indexes = [exact, chosen, *([milvus] if milvus else [])]
        truth, *found = [await ask_for(store, index, questions, reader) for index in indexes]
        visible = int(np.sum(store.world.class_of <= place)) * PER_DOCUMENT
        shown = [f"{each} ({each.cpu:.0f})" for each in (truth, *found)]
        recalls = [f"{recall(each, truth, WANTED):.3f}" for each in found]
        table.add_row(f"{share:.1%}", f"{visible:,}", *shown, *recalls)


async def run(uri: str, postmaster: psutil.Process, wanted: argparse.Namespace) -> Table:
    table = Table(title=f"{wanted.size:,} profiles; milliseconds p50 / p95 (PostgreSQL's CPU)")
    more = ("Milvus",) if wanted.milvus else ()
    for heading in ("share", "visible", "exact", "as it is", *more, f"R@{WANTED}", *more):
        table.add_column(heading, justify="right")
    async with connect(uri) as database:
        store = await store_of(database, postmaster, world(wanted.size))
        if not await database.rows("SELECT FROM described_profiles LIMIT 1", {}):
            await fill(store)
        began, before = time.perf_counter(), cpu_seconds(postmaster)
        stands = await PostgresProfiles(database).build(store.space)
        used = cpu_seconds(postmaster) - before
        print(f"build: {stands}, {time.perf_counter() - began:.0f} s, {used:.0f} CPU s")
        if not wanted.milvus:
            await measure(store, None, table)
            return table
        async with connect_milvus(wanted.milvus, "", 300) as server:
            milvus = MilvusProfiles(
                database=database,
                server=server,
                project_id=store.project_id,
                postgres=PostgresProfiles(database),
            )
            await copy_to_milvus(store, milvus)
            await measure(store, milvus, table)
            await server.collection(store.project_id, store.space, "_profiles").drop()
    return table


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_scale", description=__doc__)
    parser.add_argument("size", type=int, help=f"profiles, a multiple of {BATCH}")
    parser.add_argument("--milvus", metavar="URL", help="of a Milvus server")
    parser.add_argument("--data", type=Path, help="where the store is kept")
    wanted = parser.parse_args(arguments)
    with temporary_folder() as passing:
        folder = wanted.data or passing
        with run_server(folder) as uri:
            pid = status(folder).pid
            assert pid is not None
            table = asyncio.run(run(uri, psutil.Process(pid), wanted))
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])

"""How search for entities by meaning bears size: `python -m benchmarks.profile_scale 100000 [--data FOLDER]`.

A synthetic store as that of `benchmarks.scale`, with one profile for each vector. For readers of 0.5 % to 100 %: the search as it is, and
the exact one beside it. Recall is against the exact one. CPU is the server's. `--data` keeps the store, and measures it again when it is there.
"""

import argparse
import asyncio
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
from lightwell.domain.access import Reader
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ChunkId
from lightwell.records.database import connect, copy_rows
from lightwell.stores.embedded.server import run_server, status
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


async def ask_for(
    store: Store, index: PostgresProfiles, questions: Floats, reader: Reader
) -> Timed:
    async def ask(number: int) -> list[ChunkId]:
        hits = await index.nearest(
            store.space, questions[number], reader, ProfileSubject.ENTITY, limit=WANTED
        )
        return [ChunkId(hit.subject_id) for hit in hits]

    return await timed(store, ask)


async def measure(store: Store, table: Table) -> None:
    questions = store.world.questions(ASKED + WARM_UP)
    chosen, exact = (
        PostgresProfiles(store.database),
        PostgresProfiles(store.database, max_exact=10**9),
    )
    for place, share in enumerate(track(SHARES, description="asking")):
        reader = Reader(
            project_id=store.project_id, tags=frozenset(), classes=store.classes[: place + 1]
        )
        found, truth = [await ask_for(store, index, questions, reader) for index in (chosen, exact)]
        visible = int(np.sum(store.world.class_of <= place)) * PER_DOCUMENT
        shown = [f"{each} ({each.cpu:.0f})" for each in (found, truth)]
        table.add_row(f"{share:.1%}", f"{visible:,}", *shown, f"{recall(found, truth, WANTED):.3f}")


async def run(uri: str, postmaster: psutil.Process, size: int) -> Table:
    table = Table(title=f"{size:,} profiles; milliseconds p50 / p95 (server CPU)")
    for heading in ("share", "visible", "as it is", "exact", f"R@{WANTED}"):
        table.add_column(heading, justify="right")
    async with connect(uri) as database:
        store = await store_of(database, postmaster, world(size))
        if not await database.rows("SELECT FROM described_profiles LIMIT 1", {}):
            await fill(store)
        began, before = time.perf_counter(), cpu_seconds(postmaster)
        stands = await PostgresProfiles(database).build(store.space)
        used = cpu_seconds(postmaster) - before
        print(f"build: {stands}, {time.perf_counter() - began:.0f} s, {used:.0f} CPU s")
        await measure(store, table)
    return table


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_scale", description=__doc__)
    parser.add_argument("size", type=int, help=f"profiles, a multiple of {BATCH}")
    parser.add_argument("--data", type=Path, help="where the store is kept")
    wanted = parser.parse_args(arguments)
    with temporary_folder() as passing:
        folder = wanted.data or passing
        with run_server(folder) as uri:
            pid = status(folder).pid
            assert pid is not None
            table = asyncio.run(run(uri, psutil.Process(pid), wanted.size))
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])

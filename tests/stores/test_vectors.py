"""The vector index on a real PostgreSQL: exact and approximate search, and how the approximate index comes to stand."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg import AsyncConnection, IsolationLevel
from psycopg.conninfo import make_conninfo

from lightwell.domain.access import ClassSet, Reader, parse_tags
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId, new_id
from lightwell.ingest.worker import run_until_done
from lightwell.ports import ChunkVector
from lightwell.records import access_classes, embedding_spaces
from lightwell.records.database import Database, connect
from lightwell.stores.postgres.vectors import PostgresVectors, SearchLimits
from lightwell.testing.sources import InMemorySource, make_document
from tests.chunk_rows import CHUNKS, DOCUMENT
from tests.flow.conftest import project_on
from tests.patience import PATIENCE

DIMENSION = 16
EXACT = SearchLimits(exact=1_000_000)
SIGNS = SearchLimits(exact=0)
HNSW = SearchLimits(exact=0, signs=0, signs_of_part=0)
"""So that each space is searched one way."""

_TOTAL = """
INSERT INTO class_totals (class_id, documents, chunks, length) VALUES (%(class)s, 1, %(chunks)s, 1)
"""

_STANDING = """
SELECT index.relname, indisvalid, index.oid FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
WHERE index.relname LIKE 'chunk_vectors%%hnsw'
"""

_SCANS = """
SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE 'chunk_vectors%%'
"""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A space with chunks of several classes; `of_class` holds each chunk's vector."""

    database: Database
    project: ProjectId
    space: SpaceId
    of_class: Mapping[ClassId, Mapping[ChunkId, NDArray[np.float32]]]

    @property
    def classes(self) -> list[ClassId]:
        return list(self.of_class)

    def index(self, limits: SearchLimits) -> PostgresVectors:
        return PostgresVectors(self.database, limits=limits)

    def reader(self, *classes: ClassId) -> Reader:
        return Reader(project_id=self.project, tags=frozenset(), classes=ClassSet(classes))

    def nearest(self, vector: NDArray[np.float32], *classes: ClassId, limit: int) -> list[ChunkId]:
        """Return what numpy says."""
        chunks = {chunk: its for each in classes for chunk, its in self.of_class[each].items()}
        return sorted(chunks, key=lambda chunk: (-float(chunks[chunk] @ vector), chunk))[:limit]


async def filled(database: Database, counts: Sequence[int], *, apart: bool = False) -> Filled:
    """Return a space with so many chunks per class; classes that lie apart have each its own direction."""
    source = np.random.default_rng(0)
    project = await access_classes.get_or_create_project(database, "tenant", "project")
    space = await embedding_spaces.get_or_create_active(database, project, "random", DIMENSION)
    of_class: dict[ClassId, dict[ChunkId, NDArray[np.float32]]] = {}
    for place, count in enumerate(counts):
        async with database.transaction() as connection:
            class_id = await access_classes.get_or_create_class(
                connection, project, parse_tags([f"class:{place}"])
            )
        centre = 5 * np.eye(DIMENSION)[place] if apart else np.zeros(DIMENSION)
        of_class[class_id] = {
            ChunkId(new_id()): half(centre + source.standard_normal(DIMENSION))
            for _ in range(count)
        }
    store = Filled(database=database, project=project, space=space.id, of_class=of_class)
    await store.index(EXACT).prepare(store.space, DIMENSION)
    for class_id, chunks in of_class.items():
        await add(store, class_id, chunks)
        await database.execute(_TOTAL, {"class": class_id, "chunks": len(chunks)})
    return store


async def add(
    store: Filled, class_id: ClassId, chunks: Mapping[ChunkId, NDArray[np.float32]]
) -> None:
    document = new_id()
    key = {"id": document, "class": class_id, "project": store.project}
    await store.database.execute(DOCUMENT, key)
    await store.database.execute(
        CHUNKS, {"document": document, "class": class_id, "ids": list(chunks)}
    )
    await store.index(EXACT).put(
        store.space,
        [
            ChunkVector(chunk_id=chunk, class_id=class_id, vector=vector)
            for chunk, vector in chunks.items()
        ],
    )


def half(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the unit vector as half precision keeps it."""
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def question(seed: int = 1) -> NDArray[np.float32]:
    return half(np.random.default_rng(seed).standard_normal(DIMENSION))


async def ids(
    store: Filled, limits: SearchLimits, reader: Reader, *, limit: int = 20, seed: int = 1
) -> list[ChunkId]:
    hits = await store.index(limits).nearest(store.space, question(seed), reader, limit=limit)
    assert [hit.similarity for hit in hits] == sorted(
        (hit.similarity for hit in hits), reverse=True
    )
    return [hit.chunk_id for hit in hits]


async def standing(database: Database) -> list[tuple[bool, int]]:
    return [(bool(valid), int(oid)) for _, valid, oid in await database.rows(_STANDING, {})]


@pytest.fixture
async def one_connection(database_url: str) -> AsyncIterator[Database]:
    """A database behind one connection, so that its statistics are this connection's own."""
    async with connect(database_url, max_connections=1) as opened:
        yield opened


async def scans(database: Database) -> dict[str, int]:
    """Return how often each index was scanned; asked on the connection that scanned."""
    await database.rows("SELECT pg_stat_force_next_flush()", {})
    return {name.split("_", 3)[3]: count for name, count in await database.rows(_SCANS, {})}


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


async def test_exact_search_finds_what_numpy_finds(database: Database) -> None:
    store = await filled(database, [300, 200, 100])
    first, second, _ = store.classes
    for seed in range(5):
        wanted = store.nearest(question(seed), first, second, limit=20)
        assert await ids(store, EXACT, store.reader(first, second), seed=seed) == wanted
    assert await ids(store, EXACT, store.reader()) == []


async def test_approximate_search_fills_its_limit_from_one_class_in_a_hundred(
    one_connection: Database,
) -> None:
    store = await filled(one_connection, [3000, 30])
    _, few = store.classes
    assert await store.index(HNSW).build(store.space)
    before = await scans(one_connection)
    found = await ids(store, HNSW, store.reader(few))
    after = await scans(one_connection)
    assert len(found) == 20
    assert set(found) <= set(store.of_class[few])
    assert len(set(found) & set(store.nearest(question(), few, limit=20))) >= 19
    assert after["hnsw"] == before["hnsw"] + 1
    assert after["signs_class"] == before["signs_class"], "the search by signs had to step in"


async def test_each_way_has_its_plan_whoever_asked_before_and_how_often(
    one_connection: Database,
) -> None:
    store = await filled(one_connection, [2900, 100])
    many, few = store.classes
    await store.index(HNSW).build(store.space)
    await one_connection.execute("ANALYZE", {})
    often = (
        15  # psycopg prepares what comes for the fifth time, PostgreSQL may keep a plan five later
    )

    async def scanned(limits: SearchLimits, *classes: ClassId) -> tuple[int, ...]:
        before = await scans(one_connection)
        for seed in range(often):
            await ids(store, limits, store.reader(*classes), seed=seed)
        after = await scans(one_connection)
        return tuple(after[each] - before[each] for each in ("hnsw", "class", "signs_class"))

    one_way, other_way = SearchLimits(exact=200, signs=0), SearchLimits(exact=0, signs=200)
    assert await scanned(one_way, many, few) == (often, 0, 0)
    assert await scanned(EXACT, many, few) == (0, 0, 0)
    assert await scanned(one_way, few) == (0, often, 0)
    assert await scanned(other_way, few) == (0, 0, often)
    assert await scanned(one_way, many, few) == (often, 0, 0)


async def test_what_the_approximate_scan_gives_up_on_is_searched_by_signs(
    database_url: str,
) -> None:
    little = make_conninfo(database_url, options="-c work_mem=64kB")
    async with connect(little, max_connections=1) as database:
        store = await filled(database, [4000, 40], apart=True)
        _, few = store.classes
        await store.index(HNSW).build(store.space)
        before = await scans(database)
        near_the_many = half(np.eye(DIMENSION)[0])
        reader = store.reader(few)
        hits = await store.index(HNSW).nearest(store.space, near_the_many, reader, limit=20)
        after = await scans(database)
        assert [hit.chunk_id for hit in hits] == store.nearest(near_the_many, few, limit=20)
        assert after["hnsw"] == before["hnsw"] + 1, "it was not tried"
        assert after["signs_class"] == before["signs_class"] + 1, "it did not give up"


async def test_signs_are_compared_up_to_two_fifths_of_a_large_space(
    one_connection: Database,
) -> None:
    store = await filled(one_connection, [300])
    index = store.index(SearchLimits(exact=0, signs=50, signs_of_part=500))
    reader = store.reader(*store.classes)
    await index.build(store.space)
    for rows, hnsw in ((300, 1), (750, 1), (749, 2)):
        await one_connection.execute(
            "UPDATE pg_class SET reltuples = %(rows)s WHERE relname = %(table)s",
            {"table": f"chunk_vectors_{store.space}", "rows": rows},
        )
        await index.nearest(store.space, question(), reader, limit=20)
        assert (await scans(one_connection))["hnsw"] == hnsw, rows


async def test_search_by_signs_finds_what_numpy_finds(database: Database) -> None:
    store = await filled(database, [3000, 3000])
    first, _ = store.classes
    hits = 0
    for seed in range(5):
        wanted = store.nearest(question(seed), first, limit=10)
        hits += len({*wanted} & {*await ids(store, SIGNS, store.reader(first), seed=seed)})
    assert hits >= 25, "of 50; by chance it would be seven"


async def test_what_one_does_not_see_changes_nothing_in_a_search_by_signs(
    database: Database,
) -> None:
    store = await filled(database, [1000, 10])
    first, second = store.classes
    before = [await ids(store, SIGNS, store.reader(first), limit=1, seed=at) for at in range(10)]
    source = np.random.default_rng(7)
    more = {
        ChunkId(new_id()): half(source.standard_normal(DIMENSION) + question(at % 10))
        for at in range(1000)
    }
    await add(store, second, more)
    after = [await ids(store, SIGNS, store.reader(first), limit=1, seed=at) for at in range(10)]
    assert after == before


@pytest.mark.parametrize("limits", [EXACT, SIGNS, HNSW])
async def test_what_is_nobodys_or_has_changed_hands_is_seen_by_nobody_who_may_not(
    database: Database, limits: SearchLimits
) -> None:
    store = await filled(database, [500, 300])
    first, second = store.classes
    await store.index(HNSW).build(store.space)
    staged = {ChunkId(new_id()): question()}
    await add(store, ClassId(0), staged)
    moved = store.nearest(question(), first, limit=1)[0]
    await database.execute(
        "UPDATE document_chunks SET class_id = %(class)s WHERE chunk_id = %(chunk)s",
        {"class": second, "chunk": moved},
    )
    for reader in (store.reader(first), store.reader(second), store.reader(first, second)):
        found = await ids(store, limits, reader)
        assert not {moved, *staged} & set(found)
        assert len(found) >= 19


@pytest.mark.parametrize("limits", [EXACT, SIGNS, HNSW])
async def test_after_building_what_comes_goes_and_moves_is_followed(
    database: Database, limits: SearchLimits
) -> None:
    store = await filled(database, [500, 300])
    first, second = store.classes
    index = store.index(HNSW)
    await index.build(store.space)
    new = ChunkId(new_id())
    await add(store, first, {new: question()})
    assert (await ids(store, limits, store.reader(first)))[0] == new

    await database.execute(
        "UPDATE document_chunks SET class_id = %(class)s WHERE chunk_id = %(chunk)s",
        {"class": second, "chunk": new},
    )
    await index.reclassify(store.space, [new], second)
    assert new not in await ids(store, limits, store.reader(first))
    assert (await ids(store, limits, store.reader(second)))[0] == new

    await index.put(store.space, [ChunkVector(chunk_id=new, class_id=second, vector=-question())])
    assert new not in await ids(store, limits, store.reader(first, second))

    gone = (await ids(store, limits, store.reader(second)))[0]
    await index.remove(store.space, [gone])
    assert gone not in await ids(store, limits, store.reader(first, second))


# ── building ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_small_space_gets_no_index_and_a_grown_one_gets_it_once(
    database: Database,
) -> None:
    store = await filled(database, [1000])
    assert not await store.index(SearchLimits(signs=3000)).build(store.space)
    assert await standing(database) == []
    assert await store.index(SearchLimits(signs=500)).build(store.space)
    (valid, oid), *others = await standing(database)
    assert valid
    assert others == []
    assert await store.index(SearchLimits(signs=500)).build(store.space)
    assert await store.index(SearchLimits(signs=3000)).build(store.space), "one that stands stays"
    assert await standing(database) == [(True, oid)]


async def test_of_several_builders_at_once_one_builds(database: Database) -> None:
    store = await filled(database, [2000])
    built = await asyncio.gather(*(store.index(HNSW).build(store.space) for _ in range(3)))
    assert any(built)
    assert [valid for valid, _ in await standing(database)] == [True]


async def test_nobody_waits_for_a_building_and_what_comes_meanwhile_is_in_it(
    database: Database, database_url: str
) -> None:
    store = await filled(database, [1000])
    (only,) = store.classes
    async with await AsyncConnection.connect(database_url) as old:
        await old.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await old.execute("SELECT FROM class_totals")
        building = asyncio.create_task(store.index(HNSW).build(store.space))
        await begun(database)
        new = ChunkId(new_id())
        async with asyncio.timeout(PATIENCE):
            await store.index(HNSW).prepare(store.space, DIMENSION)
            await add(store, only, {new: question()})
            assert (await ids(store, EXACT, store.reader(only)))[0] == new
            assert (await ids(store, HNSW, store.reader(only)))[0] == new
            assert not await store.index(HNSW).build(store.space)
        assert not building.done()
        await old.rollback()
    assert await building
    assert (await ids(store, HNSW, store.reader(only)))[0] == new


async def test_what_a_crash_left_half_built_is_built_anew(
    database: Database, database_url: str
) -> None:
    store = await filled(database, [1000])
    async with await AsyncConnection.connect(database_url) as old:
        await old.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await old.execute("SELECT FROM class_totals")
        building = asyncio.create_task(store.index(HNSW).build(store.space))
        await begun(database)
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        await old.rollback()
    ((valid, half_built),) = await standing(database)
    assert not valid
    assert await store.index(HNSW).build(store.space)
    ((valid, oid),) = await standing(database)
    assert valid
    assert oid != half_built


async def begun(database: Database) -> None:
    """Wait until a half-built index is there."""
    for _ in range(1000):
        if await standing(database):
            return
        await asyncio.sleep(0.02)
    pytest.fail("no building began")


async def test_ingestion_builds_the_index_by_itself(database: Database) -> None:
    project = await project_on(database)
    grown = replace(
        project.context, vectors=PostgresVectors(database, limits=SearchLimits(exact=20, signs=20))
    )
    for way, letters in ((project.context, 30), (grown, 31)):
        assert await standing(database) == []
        shelf = InMemorySource(
            documents=tuple(
                make_document(f"{at}.txt", f"Letter {at} on pumps.", ["team:a"])
                for at in range(letters)
            )
        )
        await project.kb.ingestion.enqueue(shelf)
        await run_until_done(way, lambda outcome: None)
    assert [valid for valid, _ in await standing(database)] == [True]

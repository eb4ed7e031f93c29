"""The contract of `VectorIndex`, on every implementation, each with its real server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from lightwell.domain.access import ClassSet, Reader, parse_tags
from lightwell.domain.errors import IndexFailed
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId, new_id
from lightwell.domain.questions import Filters
from lightwell.ports import ChunkVector, VectorIndex
from lightwell.records import access_classes, embedding_spaces
from lightwell.records.database import Database, connect
from lightwell.stores.milvus.collection import connect as connect_milvus
from lightwell.stores.milvus.vectors import MilvusVectors
from lightwell.stores.postgres.vectors import PostgresVectors
from tests.chunk_rows import CHUNKS, DOCUMENT
from tests.conftest import Databases
from tests.milvus_server import MilvusUse

pytestmark = pytest.mark.asyncio(loop_scope="module")

MILVUS = pytest.param("milvus", marks=pytest.mark.slow)

DIMENSION = 8

_TERMS = """
INSERT INTO chunk_terms (chunk_id, class_id, topic_tag, length, terms)
SELECT id, %(class)s, %(topic)s, 1, '' FROM unnest(%(ids)s::uuid[]) AS given (id)
"""

_TOTALS = """
INSERT INTO class_totals (class_id, documents, chunks, length) VALUES (%(class)s, 1, %(chunks)s, 1)
ON CONFLICT (class_id) DO UPDATE SET chunks = class_totals.chunks + excluded.chunks
"""


@dataclass(frozen=True, kw_only=True)
class Store:
    """An index of a space, with what it was given."""

    database: Database
    project: ProjectId
    space: SpaceId
    index: VectorIndex

    async def new_class(self) -> ClassId:
        async with self.database.transaction() as connection:
            return await access_classes.get_or_create_class(
                connection, self.project, parse_tags([f"class:{new_id()}"])
            )

    def reader(self, *classes: ClassId) -> Reader:
        return Reader(project_id=self.project, tags=frozenset(), classes=ClassSet(classes))

    async def add(
        self, class_id: ClassId, vectors: NDArray[np.float32], topic: str = ""
    ) -> list[ChunkId]:
        """Publish a document with one chunk per vector; return the chunks in order."""
        chunks = [ChunkId(new_id()) for _ in vectors]
        document = {"id": new_id(), "class": class_id, "project": self.project}
        await self.database.execute(DOCUMENT, document)
        keys = {"document": document["id"], "class": class_id, "ids": chunks, "topic": topic}
        await self.database.execute(CHUNKS, keys)
        await self.database.execute(_TERMS, keys)
        await self.database.execute(_TOTALS, {"class": class_id, "chunks": len(chunks)})
        given = zip(chunks, vectors, strict=True)
        await self.index.put(
            self.space,
            [ChunkVector(chunk_id=each, class_id=class_id, vector=one) for each, one in given],
        )
        return chunks

    async def nearest(
        self, vector: NDArray[np.float32], *classes: ClassId, limit: int = 10, topic: str = ""
    ) -> list[ChunkId]:
        hits = await self.index.nearest(
            self.space, vector, self.reader(*classes), limit=limit, filters=Filters(topic=topic)
        )
        return [hit.chunk_id for hit in hits]

    async def move(self, chunks: list[ChunkId], class_id: ClassId) -> None:
        """Move chunks to another class in PostgreSQL, as `publishing.reclassify` does; the index follows later."""
        keys = {"chunks": chunks, "class": class_id, "project": self.project}
        await self.database.execute(
            "UPDATE document_chunks SET class_id = %(class)s WHERE chunk_id = ANY(%(chunks)s)", keys
        )
        await self.database.execute(
            "INSERT INTO index_changes (chunk_id, project_id) SELECT unnest(%(chunks)s::uuid[]), %(project)s",
            keys,
        )

    async def follow(self, chunks: list[ChunkId], class_id: ClassId) -> None:
        await self.index.reclassify(self.space, chunks, class_id)
        await self.database.execute(
            "DELETE FROM index_changes WHERE chunk_id = ANY(%(chunks)s)", {"chunks": chunks}
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["postgres", MILVUS])
async def store(request: pytest.FixtureRequest, databases: Databases) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        url = stack.enter_context(databases.lent())
        database = await stack.enter_async_context(connect(url))
        project = await access_classes.get_or_create_project(database, "tenant", "project")
        space = await embedding_spaces.get_or_create_active(database, project, "random", DIMENSION)
        index: VectorIndex = PostgresVectors(database)
        if request.param == "milvus":
            milvus_url: str = request.getfixturevalue("milvus_url")
            server = await stack.enter_async_context(connect_milvus(milvus_url, "", 120))
            index = MilvusVectors(database=database, server=server, project_id=project)
        await index.prepare(space.id, DIMENSION)
        await index.prepare(space.id, DIMENSION)
        yield Store(database=database, project=project, space=space.id, index=index)
        await index.drop(space.id)
        await index.drop(space.id)


def random_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    """Return unit vectors as half precision keeps them, so that all implementations compare the same numbers."""
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    return (
        (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    )


def ranked(chunks: list[ChunkId], vectors: NDArray[np.float32]) -> list[ChunkId]:
    """Return the chunks nearest first, as numpy says."""
    similarity = dict(zip(chunks, (vectors @ QUESTION).tolist(), strict=True))
    return sorted(chunks, key=lambda chunk: (-similarity[chunk], chunk))


QUESTION = random_vectors(1, seed=99)[0]


async def test_the_nearest_are_those_of_the_reader_s_classes_alone(store: Store) -> None:
    a, b = await store.new_class(), await store.new_class()
    vectors_a, vectors_b = random_vectors(60, 1), random_vectors(60, 2)
    chunks_a, chunks_b = await store.add(a, vectors_a), await store.add(b, vectors_b)
    ranked_a = ranked(chunks_a, vectors_a)
    assert await store.nearest(QUESTION, a) == ranked_a[:10]
    both = ranked(chunks_a + chunks_b, np.concatenate([vectors_a, vectors_b]))
    assert await store.nearest(QUESTION, a, b, limit=30) == both[:30]
    assert await store.nearest(QUESTION) == []


async def test_similarities_and_vectors_are_those_that_were_put(store: Store) -> None:
    a, b = await store.new_class(), await store.new_class()
    vectors = random_vectors(3, 3)
    mine, others = await store.add(a, vectors), await store.add(b, vectors)
    unknown = ChunkId(new_id())
    found = await store.index.similarities(
        store.space, QUESTION, store.reader(a), [*mine, *others, unknown]
    )
    assert found == pytest.approx(
        dict(zip(mine, (vectors @ QUESTION).tolist(), strict=True)), abs=2e-3
    )
    kept = await store.index.vectors(store.space, [*mine, unknown])
    assert set(kept) == set(mine)
    np.testing.assert_allclose(kept[mine[1]], vectors[1], atol=1e-3)


async def test_a_topic_narrows_the_search_itself(store: Store) -> None:
    a = await store.new_class()
    near, far = QUESTION, -QUESTION
    await store.add(a, np.repeat(near[None], 40, axis=0), topic="other")
    on_topic = await store.add(a, np.repeat(far[None], 3, axis=0), topic='a "topic"')
    assert await store.nearest(QUESTION, a, limit=5, topic='a "topic"') == sorted(on_topic)


async def test_a_filter_by_document_narrows_the_search_itself(store: Store) -> None:
    a = await store.new_class()
    await store.add(a, np.repeat(QUESTION[None], 40, axis=0))
    wanted = await store.add(a, np.repeat(-QUESTION[None], 3, axis=0))
    await store.database.execute(
        "UPDATE source_documents SET source_system = 'linear' WHERE document_id ="
        " (SELECT document_id FROM document_chunks WHERE chunk_id = %(chunk)s)",
        {"chunk": wanted[0]},
    )
    hits = await store.index.nearest(
        store.space, QUESTION, store.reader(a), limit=5, filters=Filters(systems=("linear",))
    )
    assert [hit.chunk_id for hit in hits] == sorted(wanted)


async def test_equal_similarities_come_in_the_order_of_ids(store: Store) -> None:
    a = await store.new_class()
    chunks = await store.add(a, np.repeat(QUESTION[None], 6, axis=0))
    assert await store.nearest(QUESTION, a, limit=4) == sorted(chunks)[:4]


async def test_putting_again_replaces_and_what_is_removed_is_not_found(store: Store) -> None:
    a = await store.new_class()
    chunks = await store.add(a, random_vectors(5, 5))
    again = ChunkVector(chunk_id=chunks[0], class_id=a, vector=QUESTION)
    gone = ChunkVector(chunk_id=ChunkId(new_id()), class_id=a, vector=QUESTION)
    await store.index.put(store.space, [again, gone])
    assert (await store.nearest(QUESTION, a))[0] == chunks[0]
    await store.index.remove(store.space, [chunks[0], ChunkId(new_id())])
    await store.database.execute(
        "DELETE FROM document_chunks WHERE chunk_id = %(id)s", {"id": chunks[0]}
    )
    assert set(await store.nearest(QUESTION, a)) == set(chunks[1:])


async def test_what_moved_takes_no_place_before_the_index_has_followed(store: Store) -> None:
    a, b = await store.new_class(), await store.new_class()
    moved = await store.add(a, np.repeat(QUESTION[None], 50, axis=0))
    stays = await store.add(a, random_vectors(5, 6))
    await store.move(moved, b)
    assert set(await store.nearest(QUESTION, a, limit=5)) == set(stays)
    assert await store.index.similarities(store.space, QUESTION, store.reader(a), moved) == {}
    assert set(await store.nearest(QUESTION, b, limit=5)) <= set(moved)
    await store.follow(moved, b)
    assert await store.nearest(QUESTION, b, limit=5) == sorted(moved)[:5]
    assert set(await store.nearest(QUESTION, a, limit=5)) == set(stays)


async def test_a_vector_gets_the_class_that_its_chunk_has_now(store: Store) -> None:
    a, b = await store.new_class(), await store.new_class()
    [chunk] = await store.add(a, QUESTION[None])
    await store.database.execute(
        "UPDATE document_chunks SET class_id = %(class)s WHERE chunk_id = %(id)s",
        {"class": b, "id": chunk},
    )
    await store.index.put(store.space, [ChunkVector(chunk_id=chunk, class_id=a, vector=QUESTION)])
    assert await store.nearest(QUESTION, a) == []
    assert await store.nearest(QUESTION, b) == [chunk]


@pytest.mark.parametrize("store", [MILVUS], indirect=True)
async def test_milvus_is_made_to_index_what_an_ingestion_wrote(store: Store) -> None:
    """By itself it waits for more or for ten minutes, and meanwhile misses much for readers of few passages."""
    assert isinstance(store.index, MilvusVectors)
    client, name = (
        store.index.server.client,
        f"lightwell_{store.project.hex}_{store.space:d}_passages",
    )
    a = await store.new_class()
    vectors = random_vectors(5_000, 11)
    chunks = await store.add(a, vectors)
    assert (await client.describe_index(name, "vector"))["total_rows"] == 0
    assert not await store.index.build(store.space)
    assert (await client.describe_index(name, "vector"))["total_rows"] >= len(chunks)
    assert await store.nearest(QUESTION, a) == ranked(chunks, vectors)[:10]


@pytest.mark.parametrize("store", [MILVUS], indirect=True)
async def test_s3_1_the_collection_has_the_fields_and_the_index_of_the_specification(
    store: Store,
) -> None:
    assert isinstance(store.index, MilvusVectors)
    client = store.index.server.client
    name = f"lightwell_{store.project.hex}_{store.space:d}_passages"
    described = cast("dict[str, Any]", await client.describe_collection(name))
    assert {field["name"] for field in described["fields"]} == {
        "chunk_id", "class_id", "content_text", "topic_tag", "metadata", "vector",
    }  # fmt: skip
    index = cast("dict[str, Any]", await client.describe_index(name, "vector"))
    assert (index["index_type"], index["metric_type"]) == ("HNSW", "COSINE")
    assert (int(index["M"]), int(index["efConstruction"])) == (16, 200)


@pytest.mark.parametrize("store", [MILVUS], indirect=True)
async def test_s3_11_a_restarted_server_never_looks_like_one_without_evidence(
    store: Store, milvus_use: MilvusUse
) -> None:
    """Until Milvus has loaded everything, there is an error or the whole answer: never an empty or a partial one."""
    assert isinstance(store.index, MilvusVectors)
    a = await store.new_class()
    expected = sorted(await store.add(a, np.repeat(QUESTION[None], 20, axis=0)))
    assert await store.nearest(QUESTION, a, limit=20) == expected
    failures: list[str] = []
    found: list[ChunkId] = []
    with milvus_use.kill():
        while not found:
            try:
                found = await store.nearest(QUESTION, a, limit=20)
                assert found == expected
            except IndexFailed as error:
                failures.append(str(error))
    assert all("Milvus at" in each and "LIGHTWELL_MILVUS" in each for each in failures)
    assert await store.index.count(store.space) >= len(expected)

"""Vector search over chunks in Milvus: a collection per project and embedding space, with a copy of each chunk's vector.

The filter by access class and topic is in the search itself. What Milvus finds is compared with PostgreSQL before it counts: a chunk
that has gone or moved meanwhile takes no place, and more are asked for instead. No text of a document is kept there.

Milvus answers from what it has loaded. After a restart that is nothing for a while, without an error. So each search also asks how
many vectors there are: if these are fewer than the chunks that are published, the search is made again and waits for all of them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pymilvus import AsyncMilvusClient, DataType
from pymilvus.exceptions import MilvusException

from lightwell.domain.access import Reader
from lightwell.domain.errors import IndexFailed
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId
from lightwell.ports import ChunkVector, Hit
from lightwell.records.database import Database

T = TypeVar("T")

_BOUNDED, _STRONG = "Bounded", "Strong"
_VECTORS_PER_CALL = 1000
_EF_SEARCH = 200
_PREFIX = "lightwell_"
_INDEX, _METRIC = "HNSW", "COSINE"
_SPARE = 8
"""Hits beyond the limit, so that those with equal similarity are ordered by id."""
_MAX_HITS = 16_384
"""The most that Milvus returns."""

_PLACES = """
SELECT chunk.chunk_id, chunk.class_id, coalesce(terms.topic_tag, ''), chunk.document_id
FROM document_chunks AS chunk LEFT JOIN chunk_terms AS terms USING (chunk_id)
WHERE chunk.chunk_id = ANY(%(chunks)s)
"""

_VISIBLE = """
SELECT chunk_id FROM document_chunks AS chunk
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
  AND NOT EXISTS (SELECT FROM index_changes AS change WHERE change.chunk_id = chunk.chunk_id)
"""

_PUBLISHED = """
SELECT coalesce(sum(chunks), 0) FROM class_totals JOIN access_classes USING (class_id) WHERE project_id = %(project_id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusServer:
    """A connection to a Milvus server; `address` is for messages, `seconds` is the limit of one call."""

    client: AsyncMilvusClient
    address: str
    seconds: float

    @asynccontextmanager
    async def errors(self) -> AsyncGenerator[None]:
        """Raise `IndexFailed` with what to do for an error of the server or of the connection."""
        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError as error:
            raise IndexFailed(
                f"Milvus at {self.address} did not answer within {self.seconds:g} seconds; it may be starting."
                " LIGHTWELL_MILVUS_TIMEOUT_SECONDS allows more"
            ) from error
        except MilvusException as error:
            raise IndexFailed(
                f"Milvus at {self.address} failed: {error.message}; check that it runs, LIGHTWELL_MILVUS_URL and"
                " LIGHTWELL_MILVUS_TOKEN"
            ) from error

    async def describe(self) -> str:
        """Return the server's version and how many collections of Lightwell it has; raise `IndexFailed` also where one has another index."""
        async with self.errors():
            version = cast("str", await self.client.get_server_version())
            names = [
                name for name in await self.client.list_collections() if name.startswith(_PREFIX)
            ]
            for name in names:
                index = cast("Mapping[str, str]", await self.client.describe_index(name, "vector"))
                if (index["index_type"], index["metric_type"]) != (_INDEX, _METRIC):
                    raise IndexFailed(
                        f"The collection {name} of Milvus at {self.address} has the index {index['index_type']} with {index['metric_type']} instead of"
                        f" {_INDEX} with {_METRIC}: drop it, and copy its vectors with `lightwell copy-vectors milvus`"
                    )
        return f"Milvus {version} answers, {len(names)} collections"


@asynccontextmanager
async def connect(url: str, token: str, seconds: float) -> AsyncGenerator[MilvusServer]:
    """Yield a connection to a Milvus server, which is opened with its first call."""
    client = AsyncMilvusClient(url, token=token, timeout=seconds)
    try:
        yield MilvusServer(client=client, address=url, seconds=seconds)
    finally:
        await client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What a row in Milvus says of a chunk beside its vector."""

    class_id: ClassId
    topic: str
    document: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusVectors:
    """`VectorIndex` over Milvus, for one project."""

    database: Database
    server: MilvusServer
    project_id: ProjectId

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        client, name = self.server.client, self._collection(space)
        async with self.server.errors():
            if await client.has_collection(name):
                return
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("chunk_id", DataType.VARCHAR, is_primary=True, max_length=36)
            schema.add_field("class_id", DataType.INT64)
            schema.add_field("topic_tag", DataType.VARCHAR, max_length=1024)
            schema.add_field("metadata", DataType.JSON)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
            index = client.prepare_index_params()
            index.add_index("class_id", index_type="STL_SORT")
            index.add_index(
                "vector",
                index_type=_INDEX,
                metric_type=_METRIC,
                params={"M": 16, "efConstruction": 200},
            )
            await client.create_collection(
                name, schema=schema, index_params=index, consistency_level=_BOUNDED
            )

    async def drop(self, space: SpaceId) -> None:
        async with self.server.errors():
            await self.server.client.drop_collection(self._collection(space))

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        for batch in _batches(vectors):
            await self._write(space, {entry.chunk_id: entry.vector for entry in batch})

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        for batch in _batches(chunks):
            async with self.server.errors():
                await self.server.client.delete(
                    self._collection(space), filter=_among("chunk_id", batch)
                )

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        # `_write` sets each chunk's current class, which is `class_id` or a later one.
        for batch in _batches(chunks):
            await self._write(space, await self._read(space, batch, _STRONG))

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        *,
        limit: int,
        topic: str = "",
    ) -> list[Hit]:
        if not reader.classes:
            return []
        expression = _among("class_id", reader.classes)
        if topic:
            expression += f" and topic_tag == {json.dumps(topic)}"
        (found, count), published = await asyncio.gather(
            self._search_and_count(space, vector, expression, limit + _SPARE), self._published()
        )
        level = _BOUNDED
        if count < published:
            level = _STRONG
            found = await self._search(space, vector, expression, (limit + _SPARE, level))
        asked = limit + _SPARE
        while True:
            visible = await self._visible(reader, [hit.chunk_id for hit in found])
            kept = [hit for hit in found if hit.chunk_id in visible]
            if len(kept) >= limit or len(found) < asked or asked == _MAX_HITS:
                return sorted(kept, key=lambda hit: (-hit.similarity, hit.chunk_id))[:limit]
            asked = min(4 * asked, _MAX_HITS)
            found = await self._search(space, vector, expression, (asked, level))

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        visible = await self._visible(reader, chunks)
        found = await self.vectors(space, [chunk for chunk in chunks if chunk in visible])
        return {chunk: _cosine(vector, found[chunk]) for chunk in found}

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        found: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in _batches(chunks):
            found |= await self._read(space, batch, _BOUNDED)
        missing = [chunk for chunk in chunks if chunk not in found]
        for batch in _batches(missing):
            found |= await self._read(space, batch, _STRONG)
        return found

    async def build(self, space: SpaceId) -> bool:
        """Return True: Milvus builds its index by itself."""
        return True

    async def count(self, space: SpaceId) -> int:
        """Return how many vectors the space has; it waits for all that was written."""
        async with self.server.errors():
            return await self._count(space, _STRONG)

    def _collection(self, space: SpaceId) -> str:
        return f"{_PREFIX}{self.project_id.hex}_{space:d}"

    async def _write(self, space: SpaceId, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> None:
        """Write these vectors with each chunk's place, until the place that was written is the current one."""
        waiting = list(vectors)
        places = await self._places(waiting)
        while waiting:
            rows = [
                _row(chunk, places[chunk], vectors[chunk]) for chunk in waiting if chunk in places
            ]
            if rows:
                async with self.server.errors():
                    await self.server.client.upsert(self._collection(space), rows)
            current = await self._places(waiting)
            await self.remove(
                space, [chunk for chunk in waiting if chunk in places and chunk not in current]
            )
            waiting = [
                chunk
                for chunk in waiting
                if chunk in current and current[chunk] != places.get(chunk)
            ]
            places = current

    async def _read(
        self, space: SpaceId, chunks: Sequence[ChunkId], level: str
    ) -> dict[ChunkId, NDArray[np.float32]]:
        if not chunks:
            return {}
        async with self.server.errors():
            rows = cast(
                "list[dict[str, Any]]",
                await self.server.client.query(
                    self._collection(space),
                    filter=_among("chunk_id", chunks),
                    output_fields=["chunk_id", "vector"],
                    consistency_level=level,
                ),
            )
        return {
            ChunkId(UUID(row["chunk_id"])): np.asarray(row["vector"], np.float32) for row in rows
        }

    async def _search_and_count(
        self, space: SpaceId, vector: NDArray[np.float32], expression: str, limit: int
    ) -> tuple[list[Hit], int]:
        """Return the hits, and how many vectors there were while they were searched for."""
        async with self.server.errors():
            before = await self._count(space, _BOUNDED)
        return await self._search(space, vector, expression, (limit, _BOUNDED)), before

    async def _count(self, space: SpaceId, level: str) -> int:
        rows = cast(
            "list[dict[str, int]]",
            await self.server.client.query(
                self._collection(space),
                filter="",
                output_fields=["count(*)"],
                consistency_level=level,
            ),
        )
        return rows[0]["count(*)"]

    async def _search(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        expression: str,
        limit_and_level: tuple[int, str],
    ) -> list[Hit]:
        limit, level = limit_and_level
        async with self.server.errors():
            found = cast(
                "list[list[dict[str, Any]]]",
                await self.server.client.search(
                    self._collection(space),
                    [vector.astype(np.float32)],
                    limit=limit,
                    filter=expression,
                    anns_field="vector",
                    search_params={"params": {"ef": max(_EF_SEARCH, limit)}},
                    consistency_level=level,
                ),
            )
        return [
            Hit(chunk_id=ChunkId(UUID(hit["id"])), similarity=float(hit["distance"]))
            for hit in found[0]
        ]

    async def _places(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, _Place]:
        rows = await self.database.rows(_PLACES, {"chunks": list(chunks)})
        return {
            ChunkId(id_): _Place(class_id=ClassId(class_id), topic=topic, document=document)
            for id_, class_id, topic, document in rows
        }

    async def _visible(self, reader: Reader, chunks: Sequence[ChunkId]) -> set[ChunkId]:
        asked = {"chunks": list(chunks), "classes": list(reader.classes)}
        return {ChunkId(row[0]) for row in await self.database.rows(_VISIBLE, asked)}

    async def _published(self) -> int:
        rows = await self.database.rows(_PUBLISHED, {"project_id": self.project_id})
        return int(rows[0][0])


def _batches(chunks: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield parts that one call may take."""
    for start in range(0, len(chunks), _VECTORS_PER_CALL):
        yield chunks[start : start + _VECTORS_PER_CALL]


def _row(chunk: ChunkId, place: _Place, vector: NDArray[np.float32]) -> dict[str, object]:
    return {
        "chunk_id": str(chunk),
        "class_id": int(place.class_id),
        "topic_tag": place.topic,
        "metadata": {"documentId": str(place.document)},
        "vector": vector.astype(np.float32),
    }


def _among(field: str, values: Iterable[ChunkId | ClassId]) -> str:
    """Return the expression that the field has one of these ids. They are numbers and UUIDs, so nothing must be escaped."""
    words = [f'"{each}"' if isinstance(each, UUID) else str(int(each)) for each in values]
    return f"{field} in [{', '.join(words)}]"


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

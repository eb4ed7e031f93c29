"""Vector search over chunks in Milvus: a collection per project and embedding space, with a copy of each chunk's vector.

The filter by access class and topic is in the search itself. What Milvus finds is compared with PostgreSQL before it counts: a chunk
that has gone or moved meanwhile takes no place, and more are asked for instead. No text of a document is kept there.

Milvus answers from what it has loaded. After a restart that is nothing for a while, without an error. So each search also asks how
many vectors there are: if these are fewer than the chunks that are published, the search is made again and waits for all of them.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId
from lightwell.ports import ChunkVector, Hit
from lightwell.records.database import Database
from lightwell.stores.milvus.collection import (
    BOUNDED,
    MAX_HITS,
    STRONG,
    Field,
    MilvusCollection,
    MilvusServer,
    Row,
    among,
    in_batches,
)

_SPARE = 8
"""Hits beyond the limit, so that those with equal similarity are ordered by id."""

_FIELDS = (
    Field(name="chunk_id", type=DataType.VARCHAR, length=36, is_primary=True),
    Field(name="topic_tag", type=DataType.VARCHAR, length=1024),
    Field(name="metadata", type=DataType.JSON),
)

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
        await self._collection(space).create(dimension, _FIELDS)

    async def drop(self, space: SpaceId) -> None:
        await self._collection(space).drop()

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        for batch in in_batches(vectors):
            await self._write(space, {entry.chunk_id: entry.vector for entry in batch})

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        await self._collection(space).delete("chunk_id", chunks)

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        # `_write` sets each chunk's current class, which is `class_id` or a later one.
        for batch in in_batches(chunks):
            await self._write(space, await self._read(space, batch, STRONG))
        await self._collection(space).wait_until_searched()

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
        expression = among("class_id", reader.classes)
        if topic:
            expression += f" and topic_tag == {json.dumps(topic)}"
        asked = limit + _SPARE
        (found, count), published = await asyncio.gather(
            self._search_and_count(space, vector, expression, asked), self._published()
        )
        level = BOUNDED if count >= published else STRONG
        if level is STRONG:
            found = await self._search(space, vector, expression, (asked, level))
        while True:
            visible = await self._visible(reader, [hit.chunk_id for hit in found])
            kept = [hit for hit in found if hit.chunk_id in visible]
            if level is BOUNDED and len(kept) < len(found):
                # A row of a chunk that is gone or moved: Milvus may be late with the rows that came instead, too.
                level = STRONG
                found = await self._search(space, vector, expression, (asked, level))
                continue
            if len(kept) >= limit or len(found) < asked or asked == MAX_HITS:
                return sorted(kept, key=lambda hit: (-hit.similarity, hit.chunk_id))[:limit]
            asked = min(4 * asked, MAX_HITS)
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
        found = await self._read(space, chunks, BOUNDED)
        missing = [chunk for chunk in chunks if chunk not in found]
        return found | await self._read(space, missing, STRONG)

    async def build(self, space: SpaceId) -> bool:
        return await self._collection(space).seal()

    async def count(self, space: SpaceId) -> int:
        """Return how many vectors the space has; it waits for all that was written."""
        return await self._collection(space).count(STRONG)

    def _collection(self, space: SpaceId) -> MilvusCollection:
        return self.server.collection(self.project_id, space, "")

    async def _write(self, space: SpaceId, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> None:
        """Write these vectors with each chunk's place, until the place that was written is the current one."""
        waiting = list(vectors)
        places = await self._places(waiting)
        while waiting:
            rows = [
                _row(chunk, places[chunk], vectors[chunk]) for chunk in waiting if chunk in places
            ]
            await self._collection(space).upsert(rows)
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
        rows = await self._collection(space).query(
            "chunk_id", chunks, ["chunk_id", "vector"], level=level
        )
        return {
            ChunkId(UUID(row["chunk_id"])): np.asarray(row["vector"], np.float32) for row in rows
        }

    async def _search_and_count(
        self, space: SpaceId, vector: NDArray[np.float32], expression: str, limit: int
    ) -> tuple[list[Hit], int]:
        """Return the hits, and how many vectors there were while they were searched for."""
        before = await self._collection(space).count(BOUNDED)
        return await self._search(space, vector, expression, (limit, BOUNDED)), before

    async def _search(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        expression: str,
        limit_and_level: tuple[int, str],
    ) -> list[Hit]:
        limit, level = limit_and_level
        found = await self._collection(space).search(vector, expression, limit, level=level)
        return [Hit(chunk_id=ChunkId(UUID(hit.key)), similarity=hit.similarity) for hit in found]

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


def _row(chunk: ChunkId, place: _Place, vector: NDArray[np.float32]) -> Row:
    return {
        "chunk_id": str(chunk),
        "class_id": int(place.class_id),
        "topic_tag": place.topic,
        "metadata": {"documentId": str(place.document)},
        "vector": vector.astype(np.float32),
    }


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

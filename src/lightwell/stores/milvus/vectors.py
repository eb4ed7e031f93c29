"""Vector search over chunks in Milvus: a collection per project and embedding space, with a copy of each chunk's vector.

The filter by access class and topic is in the search itself. What Milvus finds is compared with PostgreSQL before it counts, other filters too: a chunk
that has gone or moved meanwhile takes no place, and more are asked for instead. Each row also has the chunk's text and where it
stands, for people who look at the collection with Milvus's tools; no answer reads them.

Milvus answers from what it has loaded. After a restart that is nothing for a while, without an error. So each search also asks how
many vectors there are: if these are fewer than the chunks that are published, the search is made again and waits for all of them.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType

from lightwell.domain.access import Reader
from lightwell.domain.errors import IndexFailed
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, ProjectId, SpaceId
from lightwell.domain.questions import NO_FILTERS, Filters
from lightwell.ports import ChunkVector, Hit
from lightwell.records.database import Database
from lightwell.records.filters import matches_filters
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

_MAX_TEXT_BYTES = 65_535
"""The longest text that Milvus takes; a longer one is cut there."""

_FIELDS = (
    Field(name="chunk_id", type=DataType.VARCHAR, length=36, is_primary=True),
    Field(name="content_text", type=DataType.VARCHAR, length=_MAX_TEXT_BYTES),
    Field(name="topic_tag", type=DataType.VARCHAR, length=1024),
    Field(name="metadata", type=DataType.JSON),
)

_PASSAGES = """
SELECT chunk.chunk_id, chunk.class_id, coalesce(terms.topic_tag, '') AS topic, chunk.chunk_text AS text,
       chunk.document_id::text AS "documentId", document.source_url AS "documentUrl", document.title AS "documentTitle",
       chunk.page_number AS "pageNumber", chunk.section_path AS "sectionPath", chunk.chunk_index AS "chunkIndex",
       chunk.has_code AS "hasCode", chunk.has_formula AS "hasFormula", chunk.has_table AS "hasTable", chunk.language,
       document.ingested_at AS "ingestedAt", document.updated_at AS "documentUpdatedAt", chunk.token_count AS "tokenCount"
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
LEFT JOIN chunk_terms AS terms USING (chunk_id)
WHERE chunk.chunk_id = ANY(%(chunks)s)
"""

_CHUNKS_OF = """
SELECT chunk_id FROM document_chunks WHERE document_id = ANY(%(documents)s) AND class_id <> 0 ORDER BY chunk_id
"""

_VISIBLE = f"""
SELECT chunk_id FROM document_chunks AS chunk
WHERE chunk_id = ANY(%(chunks)s) AND sees(%(classes)s, class_id)
  AND NOT EXISTS (SELECT FROM index_changes AS change WHERE change.chunk_id = chunk.chunk_id)
  AND {matches_filters("chunk.chunk_id")}
"""  # noqa: S608 - only our own words

_PUBLISHED = """
SELECT coalesce(sum(chunks), 0)::bigint FROM class_totals JOIN access_classes USING (class_id) WHERE project_id = %(project_id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """What a row in Milvus says of a chunk beside its vector."""

    class_id: ClassId
    topic: str
    text: str
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusVectors:
    """`VectorIndex` over Milvus, for one project.

    With the suffix "" it is the collection of an earlier version, which had no texts. As long as that is there, the present one is
    only written by the command that fills it (`is_replacing`).
    """

    database: Database
    server: MilvusServer
    project_id: ProjectId
    suffix: str = "_passages"
    is_replacing: bool = False

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        if not self.is_replacing and await self.earlier(space).exists():
            raise IndexFailed(
                f"Milvus at {self.server.address} has this project's passages as an earlier version wrote them, without their texts:"
                " stop all processes of Lightwell, and run `lightwell copy-vectors milvus`, which writes them anew without a model"
            )
        await self._collection(space).create(dimension, _FIELDS)

    async def drop(self, space: SpaceId) -> None:
        await self.earlier(space).drop()
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
        await self._rewrite(space, chunks)
        await self._collection(space).wait_until_searched()

    async def describe(self, space: SpaceId, documents: Sequence[DocumentId]) -> None:
        chunks = await self.database.values(_CHUNKS_OF, {"documents": list(documents)})
        await self._rewrite(space, chunks)

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
        visible: int | None = None,
    ) -> list[Hit]:
        del visible
        if not reader.classes:
            return []
        expression = among("class_id", reader.classes)
        if filters.topic:
            expression += f" and topic_tag == {json.dumps(filters.topic)}"
        most = limit + _SPARE
        (hits, count), published = await asyncio.gather(
            self._search_and_count(space, vector, expression, most), self._published()
        )
        level = BOUNDED if count >= published else STRONG
        if level is STRONG:
            hits = await self._search(space, vector, expression, (most, level))
        while True:
            current = await self._visible(reader, [hit.chunk_id for hit in hits], filters)
            kept = [hit for hit in hits if hit.chunk_id in current]
            if level is BOUNDED and len(kept) < len(hits):
                # A row of a chunk that is gone or moved: Milvus may be late with the rows that came instead, too.
                level = STRONG
                hits = await self._search(space, vector, expression, (most, level))
                continue
            if len(kept) >= limit or len(hits) < most or most == MAX_HITS:
                return sorted(kept, key=lambda hit: (-hit.similarity, hit.chunk_id))[:limit]
            most = min(4 * most, MAX_HITS)
            hits = await self._search(space, vector, expression, (most, level))

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        visible = await self._visible(reader, chunks)
        vectors = await self.vectors(space, [chunk for chunk in chunks if chunk in visible])
        return {chunk: _cosine(vector, of_chunk) for chunk, of_chunk in vectors.items()}

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        vectors = await self._read(space, chunks, BOUNDED)
        missing = [chunk for chunk in chunks if chunk not in vectors]
        return vectors | await self._read(space, missing, STRONG)

    async def build(self, space: SpaceId) -> bool:
        return await self._collection(space).seal()

    async def count(self, space: SpaceId) -> int:
        """Return how many vectors the space has; it waits for all that was written."""
        return await self._collection(space).count(STRONG)

    def earlier(self, space: SpaceId) -> MilvusCollection:
        """Return the collection in which an earlier version kept the space; it need not exist."""
        return self.server.collection(self.project_id, space, "")

    def _collection(self, space: SpaceId) -> MilvusCollection:
        return self.server.collection(self.project_id, space, self.suffix)

    async def _write(self, space: SpaceId, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> None:
        """Write these vectors with what is said of each chunk, until what was written is current."""
        waiting = list(vectors)
        passages = await self._passages(waiting)
        while waiting:
            rows = [
                _row(chunk, passages[chunk], vectors[chunk])
                for chunk in waiting
                if chunk in passages
            ]
            await self._collection(space).upsert(rows)
            current = await self._passages(waiting)
            await self.remove(
                space, [chunk for chunk in waiting if chunk in passages and chunk not in current]
            )
            waiting = [
                chunk
                for chunk in waiting
                if chunk in current and current[chunk] != passages.get(chunk)
            ]
            passages = current

    async def _rewrite(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        for batch in in_batches(chunks):
            await self._write(space, await self._read(space, batch, STRONG))

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
        hits = await self._collection(space).search(vector, expression, limit, level=level)
        return [Hit(chunk_id=ChunkId(UUID(hit.key)), similarity=hit.similarity) for hit in hits]

    async def _passages(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, _Passage]:
        keys = {"chunks": list(chunks)}
        return dict(await self.database.rows(_PASSAGES, keys, into=_passage))

    async def _visible(
        self, reader: Reader, chunks: Sequence[ChunkId], filters: Filters = NO_FILTERS
    ) -> set[ChunkId]:
        keys = {"chunks": list(chunks), **reader.parameters, **filters.parameters}
        return set(await self.database.values(_VISIBLE, keys))

    async def _published(self) -> int:
        return await self.database.value(_PUBLISHED, {"project_id": self.project_id})


def _passage(
    *, chunk_id: ChunkId, class_id: ClassId, topic: str, text: str, **columns: Any
) -> tuple[ChunkId, _Passage]:
    """Return a row of `_PASSAGES`; what is not known of the passage is absent from its metadata."""
    for name in ("ingestedAt", "documentUpdatedAt"):
        columns[name] = columns[name] and columns[name].isoformat()
    return chunk_id, _Passage(
        class_id=class_id,
        topic=topic,
        text=text.encode()[:_MAX_TEXT_BYTES].decode(errors="ignore"),
        metadata={name: value for name, value in columns.items() if value is not None},
    )


def _row(chunk: ChunkId, passage: _Passage, vector: NDArray[np.float32]) -> Row:
    return {
        "chunk_id": str(chunk),
        "class_id": int(passage.class_id),
        "content_text": passage.text,
        "topic_tag": passage.topic,
        "metadata": dict(passage.metadata),
        "vector": vector.astype(np.float32),
    }


def _cosine(vector: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(vector @ other / (np.linalg.norm(vector) * np.linalg.norm(other)))

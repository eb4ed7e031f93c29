"""Chunks by meaning in pgvector: a table of half-precision vectors per embedding space.

Up to some thousands of visible rows an exact scan over the class index is faster than HNSW and exact; beyond,
HNSW with iterative scan. The two are different SQL texts, since a prepared plan ignores a later SET.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ChunkId, ClassId, SpaceId
from lightwell.ports import ChunkVector, Hit
from lightwell.records.database import Connection, Database

_MOST_EXACT = 20_000
"""Visible rows up to which every one is compared."""

_LARGEST_INDEXED = 4_000
"""pgvector's limit of dimensions for an HNSW index over half-precision vectors."""

_PREPARE = """
CREATE TABLE IF NOT EXISTS {table} (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    class_id  integer NOT NULL,
    embedding halfvec({dimension}) NOT NULL
);
CREATE INDEX IF NOT EXISTS {class_index} ON {table} (class_id);
"""

_INDEX = """
CREATE INDEX IF NOT EXISTS {vector_index} ON {table}
USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200)
"""

_PUT = """
INSERT INTO {table} (chunk_id, class_id, embedding)
SELECT given.chunk_id, given.class_id, given.embedding
FROM unnest(%(chunks)s::uuid[], %(classes)s::integer[], %(vectors)s::halfvec[])
    AS given (chunk_id, class_id, embedding)
JOIN document_chunks USING (chunk_id)
ON CONFLICT (chunk_id) DO UPDATE SET class_id = excluded.class_id, embedding = excluded.embedding
"""

_REMOVE = "DELETE FROM {table} WHERE chunk_id = ANY(%(chunks)s)"

_RECLASSIFY = "UPDATE {table} SET class_id = %(class_id)s WHERE chunk_id = ANY(%(chunks)s)"

_COUNT = """
SELECT count(*) FROM (
    SELECT FROM {table} WHERE class_id = ANY(%(classes)s) LIMIT %(most)s
) AS visible
"""

# The sum keeps the planner from using the HNSW index, whatever the table's statistics say. The join hides what has
# another class by now and whose copy here has still to follow.
_EXACT = """
SELECT nearest.chunk_id, nearest.similarity FROM (
    SELECT chunk_id, class_id, 1 - (embedding <=> %(vector)s) AS similarity
    FROM {table}
    WHERE class_id = ANY(%(classes)s)
    ORDER BY (embedding <=> %(vector)s) + 0.0, chunk_id
    LIMIT %(limit)s
) AS nearest
JOIN document_chunks AS chunk ON chunk.chunk_id = nearest.chunk_id AND chunk.class_id = nearest.class_id
ORDER BY nearest.similarity DESC, nearest.chunk_id
"""

_APPROXIMATE = """
SELECT nearest.chunk_id, nearest.similarity FROM (
    SELECT chunk_id, class_id, 1 - (embedding <=> %(vector)s) AS similarity
    FROM {table}
    WHERE class_id = ANY(%(classes)s)
    ORDER BY embedding <=> %(vector)s
    LIMIT %(limit)s
) AS nearest
JOIN document_chunks AS chunk ON chunk.chunk_id = nearest.chunk_id AND chunk.class_id = nearest.class_id
ORDER BY nearest.similarity DESC, nearest.chunk_id
"""

_SIMILARITIES = """
SELECT chunk_id, 1 - (embedding <=> %(vector)s) FROM {table}
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
"""

_VECTORS = "SELECT chunk_id, embedding FROM {table} WHERE chunk_id = ANY(%(chunks)s)"


class PostgresVectors:
    """`VectorIndex` over pgvector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        if dimension > _LARGEST_INDEXED:
            raise Invalid(
                f"pgvector indexes at most {_LARGEST_INDEXED} dimensions, and the embedding model gives {dimension};"
                " set LIGHTWELL_EMBEDDING_DIMENSION to have the model shorten its vectors"
            )
        async with self._database.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('lightwell vectors'))")
            await connection.execute(_of(_PREPARE, space, dimension=dimension))

    async def drop(self, space: SpaceId) -> None:
        await self._database.run(_of("DROP TABLE IF EXISTS {table}", space), {})

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        await self._database.run(
            _of(_PUT, space),
            {
                "chunks": [entry.chunk_id for entry in vectors],
                "classes": [entry.class_id for entry in vectors],
                "vectors": [HalfVector(entry.vector) for entry in vectors],
            },
        )

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        await self._database.run(_of(_REMOVE, space), {"chunks": list(chunks)})

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        await self._database.run(
            _of(_RECLASSIFY, space), {"chunks": list(chunks), "class_id": class_id}
        )

    async def nearest(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, *, limit: int
    ) -> list[Hit]:
        parameters = {
            "vector": HalfVector(vector),
            "classes": list(reader.classes),
            "limit": limit,
            "most": _MOST_EXACT + 1,
        }
        async with self._database.transaction() as connection:
            visible = await _scalar(connection, _of(_COUNT, space), parameters)
            if visible <= _MOST_EXACT:
                cursor = await connection.execute(_of(_EXACT, space), parameters)
            else:
                await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
                await connection.execute(
                    sql.SQL("SET LOCAL hnsw.ef_search = {}").format(max(limit, 100))
                )
                cursor = await connection.execute(_of(_APPROXIMATE, space), parameters)
            return [
                Hit(chunk_id=ChunkId(row[0]), similarity=row[1]) for row in await cursor.fetchall()
            ]

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        rows = await self._database.rows(
            _of(_SIMILARITIES, space),
            {"vector": HalfVector(vector), "classes": list(reader.classes), "chunks": list(chunks)},
        )
        return {ChunkId(row[0]): row[1] for row in rows}

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        rows = await self._database.rows(_of(_VECTORS, space), {"chunks": list(chunks)})
        return {ChunkId(row[0]): row[1].to_numpy().astype(np.float32) for row in rows}

    async def build(self, space: SpaceId) -> bool:
        rows = await self._database.rows(
            _of("SELECT count(*) FROM (SELECT FROM {table} LIMIT %(most)s) AS some", space),
            {"most": _MOST_EXACT + 1},
        )
        if rows[0][0] <= _MOST_EXACT:
            return False
        await self._database.run(_of(_INDEX, space), {})
        return True


def _of(statement: str, space: SpaceId, *, dimension: int = 0) -> sql.Composed:
    """Return the statement for one space's table."""
    name = f"chunk_vectors_{space:d}"
    return sql.SQL(statement).format(  # pyright: ignore[reportArgumentType] - our own constants
        table=sql.Identifier(name),
        class_index=sql.Identifier(f"{name}_class"),
        vector_index=sql.Identifier(f"{name}_hnsw"),
        dimension=sql.Literal(dimension),
    )


async def _scalar(
    connection: Connection, query: sql.Composed, parameters: Mapping[str, object]
) -> int:
    row = await (await connection.execute(query, parameters)).fetchone()
    return 0 if row is None else int(row[0])

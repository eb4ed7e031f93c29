"""Vector search over chunks in pgvector: a table of half-precision vectors per embedding space, and one of their signs.

Up to some ten thousand visible rows, all of them are compared, which is exact. More are compared by the signs of their
numbers (binary quantization), a bit for each, and the nearest of these again by their vectors. Both look at visible rows only, so invisible ones
have no influence. A reader who sees most of a large space is answered through HNSW with iterative scan (benchmarks/README.md
measures the three). Each query is planned anew: a plan cached for a reader of everything would be bad for a reader of little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import LiteralString, cast

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, SpaceId
from lightwell.domain.questions import NO_FILTERS, Filters
from lightwell.ports import ChunkVector, Hit
from lightwell.records.database import Database, format_uuid_array
from lightwell.records.filters import matches_filters
from lightwell.records.rows import fetch_values
from lightwell.records.search import SCATTERED
from lightwell.stores.postgres.building import ApproximateIndex, build, require_indexable

_MEASURED_ROWS = 100_000
"""The table size for which `_EF_SEARCH` was measured."""

_PER_HIT, _PER_ROOT = 20, 6
"""Candidates by signs that are compared again: for each hit wanted, and for the root of the number of visible rows, whichever is more.
Measured: with these 96 of 100 or more of the ten nearest are among a hundred hits, from 20,000 to 1,000,000 rows.
"""

_EF_SEARCH, _EF_GROWTH = 200, 0.7
"""Candidates that HNSW keeps while it searches 100,000 rows, at least `limit`, and the exponent with which they grow with the table, up to
1,000: recall falls with its size.
"""

_PART = 0.4
"""The share of a space up to which HNSW takes longer, or finds less, than the comparison of signs."""

_MAX_SCANNED, _SCAN_MEM_MULTIPLIER = 40_000, 8
"""Limits of an iterative HNSW scan: rows, and memory as a multiple of the server's work_mem. Without them a
reader who sees little far from the question would scan the whole index; a scan that hits a limit is followed by
a search by signs.
"""

_PREPARED = "SELECT to_regclass({signs_class_index_name}) IS NOT NULL"

# STORAGE PLAIN keeps the vector in its row: an out-of-line (TOAST) value would take several further reads.
_PREPARE = """
CREATE TABLE IF NOT EXISTS {table} (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    class_id  integer NOT NULL,
    embedding halfvec({dimension}) STORAGE PLAIN NOT NULL
);
CREATE INDEX IF NOT EXISTS {class_index} ON {table} (class_id);
CREATE TABLE IF NOT EXISTS {signs} (
    chunk_id uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    class_id integer NOT NULL,
    signs    bit({dimension}) STORAGE PLAIN NOT NULL
);
CREATE INDEX IF NOT EXISTS {signs_class_index} ON {signs} (class_id);
"""

# The class is read from the locked chunk, because it may have changed since the caller read it.
_PUT = """
WITH put AS (
    INSERT INTO {table} (chunk_id, class_id, embedding)
    SELECT chunk.chunk_id, chunk.class_id, given.embedding
    FROM unnest(%(chunks)s::uuid[], %(vectors)b::halfvec[]) AS given (chunk_id, embedding)
    JOIN document_chunks AS chunk USING (chunk_id)
    ORDER BY chunk.chunk_id FOR SHARE OF chunk
    ON CONFLICT (chunk_id) DO UPDATE SET class_id = excluded.class_id, embedding = excluded.embedding
    RETURNING chunk_id, class_id, embedding
)
INSERT INTO {signs} (chunk_id, class_id, signs)
SELECT chunk_id, class_id, binary_quantize(embedding) FROM put
ON CONFLICT (chunk_id) DO UPDATE SET class_id = excluded.class_id, signs = excluded.signs
"""

_REMOVE = """
WITH removed AS (DELETE FROM {table} WHERE chunk_id = ANY(%(chunks)s))
DELETE FROM {signs} WHERE chunk_id = ANY(%(chunks)s)
"""

_RECLASSIFY = """
WITH chunk AS (
    SELECT chunk_id, class_id FROM document_chunks WHERE chunk_id = ANY(%(chunks)s)
    ORDER BY chunk_id FOR SHARE
), vectors AS (
    UPDATE {table} SET class_id = chunk.class_id FROM chunk WHERE {table}.chunk_id = chunk.chunk_id
)
UPDATE {signs} SET class_id = chunk.class_id FROM chunk WHERE {signs}.chunk_id = chunk.chunk_id
"""

# Skips chunks whose class changed and whose row in this table is not updated yet (`index_changes`). While nothing changes, a look at
# the empty table suffices; a join, or a lookup for each row, would take longer than comparing the row, and keep the planner from the HNSW index.
_SETTLED: LiteralString = """
((SELECT NOT EXISTS (SELECT FROM index_changes))
 OR NOT EXISTS (SELECT FROM index_changes AS change WHERE change.chunk_id = placed.chunk_id))
"""

# `+ 0.0` keeps the planner from using the HNSW index, whatever the table's statistics say. The join with the chunks
# drops rows whose class here is outdated. Where many classes are a small part of the table, their rows are looked up by class.
_EXACT = """
SELECT nearest.chunk_id, 1 - nearest.distance AS similarity FROM (
    SELECT chunk_id, class_id, (embedding <=> %(vector)b) + 0.0 AS distance
    FROM {table} AS placed
    WHERE {few} AND NOT {scattered} AND sees(%(classes)s, class_id) AND {settled} AND {matches}
    UNION ALL
    SELECT chunk_id, class_id, (embedding <=> %(vector)b) + 0.0
    FROM {table} AS placed
    WHERE {few} AND {scattered} AND sees(%(classes)s, class_id)
      AND class_id = ANY((SELECT %(class_ids)s::integer[])::integer[])
      AND {settled} AND {matches}
    ORDER BY distance, chunk_id
    LIMIT %(limit)s
) AS nearest
JOIN document_chunks AS chunk ON chunk.chunk_id = nearest.chunk_id AND chunk.class_id = nearest.class_id
ORDER BY similarity DESC, nearest.chunk_id
"""

# The number of visible chunks comes from `class_totals`, the table size from the planner; if few chunks are visible, the
# statement also returns the nearest. Parallel workers are off: at this size they cost more than they save.
_EXACT_IF_FEW = """
SELECT sizes.visible, sizes.rows, sizes.indexed, found.chunk_id, found.similarity
FROM (
    SELECT coalesce(%(visible)s::bigint,
                    (SELECT coalesce(sum(chunks), 0) FROM class_totals WHERE sees(%(classes)s, class_id))) AS visible,
           greatest(0, reltuples)::bigint AS rows,
           coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass({hnsw_name})), false) AS indexed,
           set_config('max_parallel_workers_per_gather', '0', true)
    FROM pg_class WHERE oid = to_regclass({table_name})
) AS sizes
LEFT JOIN LATERAL ({exact}) AS found ON true
ORDER BY found.similarity DESC, found.chunk_id
""".replace(
    "{exact}",
    _EXACT.replace("{few}", "sizes.visible <= %(max_exact)s").replace(
        "{scattered}",
        "(%(class_ids)s::integer[] IS NOT NULL AND sizes.visible < sizes.rows / "
        + str(SCATTERED)
        + ")",
    ),
)

# Ties are broken by the chunk, because where a row lies depends on rows that the reader does not see.
_BY_SIGNS = """
SELECT nearest.chunk_id, nearest.similarity FROM (
    SELECT chunk_id, candidate.class_id, 1 - (its.embedding <=> %(vector)b) AS similarity
    FROM (
        SELECT chunk_id, class_id FROM {signs} AS placed
        WHERE sees(%(classes)s, class_id) AND {settled} AND {matches}
        ORDER BY signs <~> binary_quantize(%(vector)b::halfvec), chunk_id
        LIMIT %(candidates)s
    ) AS candidate JOIN {table} AS its USING (chunk_id)
    ORDER BY similarity DESC, chunk_id
    LIMIT %(limit)s
) AS nearest
JOIN document_chunks AS chunk ON chunk.chunk_id = nearest.chunk_id AND chunk.class_id = nearest.class_id
ORDER BY nearest.similarity DESC, nearest.chunk_id
"""

_ALONE = """
SELECT set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true)
"""

# `class_id + 0` and `enable_seqscan = off` leave the planner no choice but the HNSW index, if it exists.
_APPROXIMATE = """
SELECT nearest.chunk_id, nearest.similarity, chunk.chunk_id IS NOT NULL AS is_current FROM (
    SELECT chunk_id, class_id, 1 - (embedding <=> %(vector)b) AS similarity
    FROM {table} AS placed
    WHERE sees(%(classes)s, class_id + 0) AND {settled} AND {matches}
    ORDER BY embedding <=> %(vector)b
    LIMIT %(limit)s
) AS nearest
LEFT JOIN document_chunks AS chunk ON chunk.chunk_id = nearest.chunk_id AND chunk.class_id = nearest.class_id
ORDER BY nearest.similarity DESC, nearest.chunk_id
"""

_ITERATIVE = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(max_scanned)s, true),
       set_config('hnsw.scan_mem_multiplier', %(work_mems)s, true),
       set_config('enable_seqscan', 'off', true),
       set_config('jit', 'off', true)
"""

_SIMILARITIES = """
SELECT chunk_id, 1 - (embedding <=> %(vector)b) FROM {table} AS placed
WHERE chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, class_id) AND {settled}
"""

_VECTORS = "SELECT chunk_id, embedding FROM {table} WHERE chunk_id = ANY(%(chunks)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Up to how many visible rows all of them are compared.

    `exact`: by their vectors. `signs`: by their signs. `signs_of_part`: by their signs, where they are at most two fifths of the space.
    """

    exact: int = 20_000
    signs: int = 100_000
    signs_of_part: int = 400_000


class PostgresVectors:
    """`VectorIndex` over pgvector.

    What is searched how, `limits` say. A space with more than `limits.signs` rows gets an HNSW index for readers of most of it,
    built with up to `max_memory` megabytes, or the server's maintenance_work_mem if that is larger.
    """

    def __init__(
        self, database: Database, *, limits: SearchLimits | None = None, max_memory: int = 2_000
    ) -> None:
        self._database = database
        self._limits = limits or SearchLimits()
        self._max_memory = max_memory

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        require_indexable(dimension)
        async with self._database.transaction() as connection:
            # Checked first: CREATE INDEX IF NOT EXISTS locks the table, and would wait for a running build.
            if await fetch_values(connection, _of(_PREPARED, space), {}) == [False]:
                await connection.execute(
                    "SELECT pg_advisory_xact_lock(hashtext('lightwell vectors'))"
                )
                await connection.execute(_of(_PREPARE, space, dimension=dimension))

    async def drop(self, space: SpaceId) -> None:
        await self._database.execute(_of("DROP TABLE IF EXISTS {table}, {signs}", space), {})

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        await self._database.execute(
            _of(_PUT, space),
            {
                "chunks": [entry.chunk_id for entry in vectors],
                "vectors": [HalfVector(entry.vector) for entry in vectors],
            },
        )

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        await self._database.execute(_of(_REMOVE, space), {"chunks": list(chunks)})

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        # The statement sets each chunk's current class, which is `class_id` or a later one.
        await self._database.execute(_of(_RECLASSIFY, space), {"chunks": list(chunks)})

    async def describe(self, space: SpaceId, documents: Sequence[DocumentId]) -> None:
        """Do nothing: beside the vectors nothing is kept that a document's description changes."""

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
        is_large = visible is not None and visible > self._limits.exact
        parameters = {
            "vector": HalfVector(vector),
            **reader.parameters,
            "limit": limit,
            **filters.parameters,
            "max_exact": self._limits.exact,
            "visible": visible,
            "class_ids": None if reader.classes.is_listed or is_large else reader.classes.listed,
        }
        rows = await self._database.rows(_of(_EXACT_IF_FEW, space), parameters, prepare=False)
        seen, size, is_indexed, *_ = rows[0]
        if seen <= self._limits.exact:
            return [
                Hit(chunk_id=chunk_id, similarity=similarity)
                for *_, chunk_id, similarity in rows
                if chunk_id is not None
            ]
        if is_indexed and not self._compares_signs(seen, size):
            async with self._database.transaction() as connection:
                await connection.execute(_ITERATIVE, _scan_settings(limit, size))
                query = _of(_APPROXIMATE, space)
                cursor = await connection.execute(query, parameters, prepare=False)
                near = await cursor.fetchall()
            if len(near) == limit:
                return [
                    Hit(chunk_id=chunk_id, similarity=similarity)
                    for chunk_id, similarity, is_current in near
                    if is_current
                ]
            # The scan reached its limit before it found enough: what the reader sees is far from the question.
        parameters["candidates"] = max(_PER_HIT * limit, round(_PER_ROOT * sqrt(seen)))
        async with self._database.transaction() as connection:
            await connection.execute(_ALONE)
            cursor = await connection.execute(_of(_BY_SIGNS, space), parameters, prepare=False)
            return [
                Hit(chunk_id=chunk_id, similarity=similarity)
                for chunk_id, similarity in await cursor.fetchall()
            ]

    def _compares_signs(self, visible: int, size: int) -> bool:
        of_part = visible <= min(_PART * size, self._limits.signs_of_part)
        return visible <= self._limits.signs or of_part

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        rows = await self._database.rows(
            _of(_SIMILARITIES, space),
            {
                "vector": HalfVector(vector),
                **reader.parameters,
                "chunks": format_uuid_array(chunks),
            },
        )
        return {chunk_id: similarity for chunk_id, similarity in rows}

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        rows = await self._database.rows(_of(_VECTORS, space), {"chunks": list(chunks)})
        return {chunk_id: vector.to_numpy().astype(np.float32) for chunk_id, vector in rows}

    async def build(self, space: SpaceId) -> bool:
        table = _table(space)
        approximate_index = ApproximateIndex(
            table=table,
            index=f"{table}_hnsw",
            min_rows=self._limits.signs,
            max_memory=self._max_memory,
        )
        return await build(self._database, approximate_index)


def _scan_settings(limit: int, size: int) -> dict[str, str]:
    growth = max(1, size / _MEASURED_ROWS) ** _EF_GROWTH
    return {
        "ef_search": str(min(max(limit, round(_EF_SEARCH * growth)), 1000)),
        "max_scanned": str(_MAX_SCANNED),
        "work_mems": str(_SCAN_MEM_MULTIPLIER),
    }


def _table(space: SpaceId) -> str:
    return f"chunk_vectors_{space:d}"


@cache
def _of(statement: LiteralString, space: SpaceId, *, dimension: int = 0) -> LiteralString:
    """Return the statement for one space's table."""
    table = _table(space)
    composed = sql.SQL(statement).format(
        few=sql.SQL("true"),
        # The planner removes this condition if there are no filters, because each query is planned with its values.
        matches=sql.SQL(matches_filters("placed.chunk_id")),
        settled=sql.SQL(_SETTLED),
        table=sql.Identifier(table),
        table_name=sql.Literal(table),
        class_index=sql.Identifier(f"{table}_class"),
        hnsw_name=sql.Literal(f"{table}_hnsw"),
        signs=sql.Identifier(f"{table}_signs"),
        signs_class_index=sql.Identifier(f"{table}_signs_class"),
        signs_class_index_name=sql.Literal(f"{table}_signs_class"),
        dimension=sql.Literal(dimension),
    )
    return cast("LiteralString", composed.as_string())

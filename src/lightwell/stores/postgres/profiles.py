"""Profiles by meaning in pgvector: one table of half-precision vectors per embedding space.

As for chunks, every visible profile is compared up to some number, and HNSW takes over beyond; each text is planned
anew. A vector that is not of what its profile says now is passed over: the record of described profiles knows.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from lightwell.domain.access import Reader
from lightwell.domain.graph import Subject
from lightwell.domain.ids import ClassId, SpaceId
from lightwell.ports import ProfileHit, ProfileVector
from lightwell.records.database import Connection, Database

_PROFILES_PER_SUBJECT = 3
"""How many nearest profiles the approximate search looks at for each subject wanted: several may be of one."""

_PREPARED = "SELECT to_regclass({class_index_name}) IS NOT NULL"

_PREPARE = """
CREATE TABLE IF NOT EXISTS {table} (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    subject    text NOT NULL,
    embedding  halfvec({dimension}) STORAGE PLAIN NOT NULL,
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX IF NOT EXISTS {class_index} ON {table} (class_id, subject);
"""

_BROKEN = """
SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass({vector_index_name}) AND NOT indisvalid
"""

_DROP_INDEX = "DROP INDEX CONCURRENTLY {vector_index}"

_INDEX = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS {vector_index} ON {table}
USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200) WHERE subject = {subject}
"""

_PUT = """
INSERT INTO {table} (subject_id, class_id, subject, embedding)
SELECT given.subject_id, given.class_id, given.subject, given.embedding
FROM unnest(%(ids)s::uuid[], %(classes)s::integer[], %(subjects)s::text[], %(vectors)b::halfvec[])
    AS given (subject_id, class_id, subject, embedding)
JOIN profiles USING (subject_id, class_id)
ON CONFLICT (subject_id, class_id) DO UPDATE SET embedding = excluded.embedding
"""

_REMOVE = """
DELETE FROM {table} USING unnest(%(ids)s::uuid[], %(classes)s::integer[]) AS given (subject_id, class_id)
WHERE {table}.subject_id = given.subject_id AND {table}.class_id = given.class_id
"""

_COUNT = """
SELECT count(*) FROM (
    SELECT FROM {table} WHERE class_id = ANY(%(classes)s) AND subject = {subject} LIMIT %(most)s
) AS visible
"""

_EXACT = """
SELECT subject_id, 1 - min(distance) AS similarity
FROM (
    SELECT subject_id, embedding <=> %(vector)b AS distance FROM {table} AS placed
    WHERE class_id = ANY(%(classes)s) AND subject = {subject}
      AND NOT EXISTS (SELECT FROM described_profiles AS described
                      WHERE described.changed AND described.subject_id = placed.subject_id
                        AND described.class_id = placed.class_id)
) AS visible
GROUP BY subject_id ORDER BY min(distance), subject_id LIMIT %(limit)s
"""

# The sum keeps the planner from the class index.
_APPROXIMATE = """
SELECT subject_id, 1 - min(distance) AS similarity
FROM (
    SELECT subject_id, class_id, embedding <=> %(vector)b AS distance FROM {table}
    WHERE class_id + 0 = ANY(%(classes)s) AND subject = {subject}
    ORDER BY embedding <=> %(vector)b LIMIT %(looked_at)s
) AS placed
WHERE NOT EXISTS (SELECT FROM described_profiles AS described
                  WHERE described.changed AND described.subject_id = placed.subject_id
                    AND described.class_id = placed.class_id)
GROUP BY subject_id ORDER BY min(distance), subject_id LIMIT %(limit)s
"""


class PostgresProfiles:
    """`ProfileIndex` over pgvector; of one kind, up to `most_exact` visible profiles are all compared."""

    def __init__(self, database: Database, *, most_exact: int = 20_000) -> None:
        self._database = database
        self._most_exact = most_exact

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        if (await self._database.rows(_of(_PREPARED, space), {}))[0][0]:
            return
        async with self._database.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('lightwell vectors'))")
            await connection.execute(_of(_PREPARE, space, dimension=dimension))

    async def drop(self, space: SpaceId) -> None:
        await self._database.run(_of("DROP TABLE IF EXISTS {table}", space), {})

    async def put(self, space: SpaceId, vectors: Sequence[ProfileVector]) -> None:
        await self._database.run(
            _of(_PUT, space),
            {
                "ids": [entry.subject_id for entry in vectors],
                "classes": [entry.class_id for entry in vectors],
                "subjects": [str(entry.subject) for entry in vectors],
                "vectors": [HalfVector(entry.vector) for entry in vectors],
            },
        )

    async def remove(self, space: SpaceId, profiles: Sequence[tuple[UUID, ClassId]]) -> None:
        keys = {"ids": [key[0] for key in profiles], "classes": [key[1] for key in profiles]}
        await self._database.run(_of(_REMOVE, space), keys)

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        subject: Subject,
        *,
        limit: int,
    ) -> list[ProfileHit]:
        looked_at = limit * _PROFILES_PER_SUBJECT
        parameters = {
            "vector": HalfVector(vector),
            "classes": list(reader.classes),
            "limit": limit,
            "looked_at": looked_at,
            "most": self._most_exact + 1,
        }
        async with self._database.transaction() as connection:
            counted = await connection.execute(_of(_COUNT, space, subject=subject), parameters)
            (visible,) = await counted.fetchone() or (0,)
            if visible > self._most_exact:
                await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
                await connection.execute(
                    sql.SQL("SET LOCAL hnsw.ef_search = {}").format(min(max(looked_at, 100), 1000))
                )
                hits = await _found(
                    connection, _of(_APPROXIMATE, space, subject=subject), parameters
                )
                if len(hits) == limit:
                    return hits
            return await _found(connection, _of(_EXACT, space, subject=subject), parameters)

    async def build(self, space: SpaceId) -> bool:
        """Build the approximate indexes when the space has grown past exact search; return whether they stand."""
        rows = await self._database.rows(
            _of("SELECT count(*) FROM (SELECT FROM {table} LIMIT %(most)s) AS counted", space),
            {"most": self._most_exact + 1},
        )
        if rows[0][0] <= self._most_exact:
            return False
        for subject in Subject:
            broken = await self._database.rows(_of(_BROKEN, space, subject=subject), {})
            if broken[0][0]:
                await self._database.run(_of(_DROP_INDEX, space, subject=subject), {})
            await self._database.run(_of(_INDEX, space, subject=subject), {})
        return True


async def _found(
    connection: Connection, query: sql.Composed, parameters: Mapping[str, object]
) -> list[ProfileHit]:
    cursor = await connection.execute(query, parameters, prepare=False)
    return [ProfileHit(subject_id=row[0], similarity=row[1]) for row in await cursor.fetchall()]


def _of(
    statement: str, space: SpaceId, *, dimension: int = 0, subject: Subject = Subject.ENTITY
) -> sql.Composed:
    """Return the statement for one space's table; a subject stands in it as a word, since the indexes are partial."""
    name = f"profile_vectors_{space:d}"
    return sql.SQL(statement).format(  # pyright: ignore[reportArgumentType] - our own constants
        table=sql.Identifier(name),
        class_index=sql.Identifier(f"{name}_class"),
        class_index_name=sql.Literal(f"{name}_class"),
        vector_index=sql.Identifier(f"{name}_{subject}_hnsw"),
        vector_index_name=sql.Literal(f"{name}_{subject}_hnsw"),
        dimension=sql.Literal(dimension),
        subject=sql.Literal(str(subject)),
    )

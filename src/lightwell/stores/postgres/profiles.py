"""Vector search over profiles in pgvector: per embedding space a table for entities and one for relations.

As for chunks, all visible profiles are compared up to a limit, and HNSW is used beyond it; each query is
planned anew. `described_profiles` records which vectors do not match their profiles; searches skip these.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import LiteralString, cast

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from lightwell.domain.access import Reader
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import SpaceId
from lightwell.ports import ProfileClaim, ProfileHit, ProfileVector
from lightwell.records.database import Connection, Database
from lightwell.records.graph.profile_queue import EmbeddedProfile, Key
from lightwell.stores.postgres.building import ApproximateIndex, build, require_indexable

_PROFILES_PER_SUBJECT = 3
"""How many nearest profiles the approximate search reads for each result: several may belong to one entity."""

_EF_SEARCH = 800
"""Candidates of HNSW: at 100,000 profiles recall@10 is 0.99 for readers of a fifth to all of them; with 100 it was 0.89 to 0.95."""

_MAX_MEMORY = 2_000
"""Megabytes for building an index."""

# Checked first: CREATE INDEX IF NOT EXISTS locks the table even if the index exists, and would wait for a running build.
_PREPARED = "SELECT to_regclass({class_index_name}) IS NOT NULL"

_PREPARE = """
CREATE TABLE IF NOT EXISTS {table} (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    embedding  halfvec({dimension}) STORAGE PLAIN NOT NULL,
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX IF NOT EXISTS {class_index} ON {table} (class_id);
"""

# These lock the rows of the claims, so that nobody else marks, claims or writes these profiles meanwhile.
_PUT = """
INSERT INTO {table} (subject_id, class_id, embedding)
SELECT described.subject_id, described.class_id, given.embedding
FROM unnest(%(ids)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[], %(vectors)b::halfvec[])
    AS given (subject_id, class_id, taken_until, embedding)
JOIN described_profiles AS described USING (subject_id, class_id, taken_until)
ORDER BY described.subject_id, described.class_id FOR UPDATE OF described
ON CONFLICT (subject_id, class_id) DO UPDATE SET embedding = excluded.embedding
"""

_REMOVE = """
WITH own AS (
    SELECT described.subject_id, described.class_id
    FROM unnest(%(ids)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[])
        AS given (subject_id, class_id, taken_until)
    JOIN described_profiles AS described USING (subject_id, class_id, taken_until)
    ORDER BY described.subject_id, described.class_id FOR UPDATE OF described
)
DELETE FROM {table} USING own
WHERE {table}.subject_id = own.subject_id AND {table}.class_id = own.class_id
"""

# `FOR SHARE`: nobody marks these profiles meanwhile.
_PUT_COPIES = """
INSERT INTO {table} (subject_id, class_id, embedding)
SELECT given.subject_id, given.class_id, given.embedding
FROM unnest(%(ids)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[], %(vectors)b::halfvec[])
    AS given (subject_id, class_id, text_hash, embedding)
JOIN described_profiles AS described USING (subject_id, class_id, text_hash)
WHERE NOT described.changed
ORDER BY described.subject_id, described.class_id FOR SHARE OF described
ON CONFLICT (subject_id, class_id) DO UPDATE SET embedding = excluded.embedding
"""

_VECTORS = """
SELECT subject_id, class_id, placed.embedding
FROM unnest(%(ids)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[]) AS given (subject_id, class_id, text_hash)
JOIN described_profiles AS described USING (subject_id, class_id, text_hash)
JOIN {table} AS placed USING (subject_id, class_id)
WHERE NOT described.changed
"""

_EXACT = """
SELECT coalesce(merged.root_id, subject_id) AS subject_id, 1 - min(distance) AS similarity
FROM (
    SELECT subject_id, embedding <=> %(vector)b AS distance FROM {table} AS placed
    WHERE {few} AND sees(%(classes)s, class_id)
      AND NOT EXISTS (SELECT FROM described_profiles AS described
                      WHERE described.changed AND described.subject_id = placed.subject_id
                        AND described.class_id = placed.class_id)
) AS visible LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = subject_id
GROUP BY coalesce(merged.root_id, subject_id) ORDER BY min(distance), 1 LIMIT %(limit)s
"""

# Counts the visible profiles up to the limit, and compares all of them if they are few, in one statement.
_EXACT_IF_FEW = """
SELECT counted.few, nearest.subject_id, nearest.similarity
FROM (
    SELECT count(*) <= %(max_exact)s AS few FROM (
        SELECT FROM {table} WHERE sees(%(classes)s, class_id) LIMIT %(max_exact)s + 1
    ) AS visible
) AS counted
LEFT JOIN LATERAL ({exact}) AS nearest ON true
ORDER BY nearest.similarity DESC, nearest.subject_id
""".replace("{exact}", _EXACT.replace("{few}", "counted.few"))

# `class_id + 0` keeps the planner from using the class index instead of the HNSW index.
_APPROXIMATE = """
SELECT coalesce(merged.root_id, subject_id) AS subject_id, 1 - min(distance) AS similarity
FROM (
    SELECT subject_id, class_id, embedding <=> %(vector)b AS distance FROM {table}
    WHERE sees(%(classes)s, class_id + 0)
    ORDER BY embedding <=> %(vector)b LIMIT %(looked_at)s
) AS placed LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = subject_id
WHERE NOT EXISTS (SELECT FROM described_profiles AS described
                  WHERE described.changed AND described.subject_id = placed.subject_id
                    AND described.class_id = placed.class_id)
GROUP BY coalesce(merged.root_id, subject_id) ORDER BY min(distance), 1 LIMIT %(limit)s
"""


class PostgresProfiles:
    """`ProfileIndex` over pgvector; up to `max_exact` visible profiles of one kind are all compared."""

    def __init__(self, database: Database, *, max_exact: int = 20_000) -> None:
        self._database = database
        self._max_exact = max_exact

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        require_indexable(dimension)
        for subject in ProfileSubject:
            if await self._database.value(_of(_PREPARED, space, subject), {}):
                continue
            async with self._database.transaction() as connection:
                await connection.execute(
                    "SELECT pg_advisory_xact_lock(hashtext('lightwell vectors'))"
                )
                await connection.execute(_of(_PREPARE, space, subject, dimension=dimension))

    async def drop(self, space: SpaceId) -> None:
        for subject in ProfileSubject:
            await self._database.execute(_of("DROP TABLE IF EXISTS {table}", space, subject), {})

    async def put(self, space: SpaceId, vectors: Sequence[ProfileVector]) -> None:
        for subject in ProfileSubject:
            of_subject = [entry for entry in vectors if entry.subject is subject]
            if of_subject:
                keys = _columns([entry.claim for entry in of_subject])
                embeddings = [HalfVector(entry.vector) for entry in of_subject]
                await self._database.execute(
                    _of(_PUT, space, subject), {**keys, "vectors": embeddings}
                )

    async def remove(self, space: SpaceId, claims: Sequence[ProfileClaim]) -> None:
        for subject in ProfileSubject:
            await self._database.execute(_of(_REMOVE, space, subject), _columns(claims))

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        subject: ProfileSubject,
        *,
        limit: int,
    ) -> list[ProfileHit]:
        max_profiles = limit * _PROFILES_PER_SUBJECT
        parameters = {
            "vector": HalfVector(vector),
            **reader.parameters,
            "limit": limit,
            "looked_at": max_profiles,
            "max_exact": self._max_exact,
        }
        rows = await self._database.rows(
            _of(_EXACT_IF_FEW, space, subject), parameters, prepare=False
        )
        if any(few for few, *_ in rows):
            return [
                ProfileHit(subject_id=subject_id, similarity=similarity)
                for _, subject_id, similarity in rows
                if subject_id is not None
            ]
        async with self._database.transaction() as connection:
            await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            await connection.execute(
                sql.SQL("SET LOCAL hnsw.ef_search = {}").format(
                    min(max(max_profiles, _EF_SEARCH), 1000)
                )
            )
            hits = await _search(connection, _of(_APPROXIMATE, space, subject), parameters)
            if len(hits) == limit:
                return hits
            return await _search(connection, _of(_EXACT, space, subject), parameters)

    async def build(self, space: SpaceId) -> bool:
        built: list[bool] = []
        for subject in ProfileSubject:
            approximate_index = ApproximateIndex(
                table=_table(space, subject),
                index=f"{_table(space, subject)}_hnsw",
                min_rows=self._max_exact,
                max_memory=_MAX_MEMORY,
            )
            built.append(await build(self._database, approximate_index))
        return all(built)

    async def vectors(
        self, space: SpaceId, profiles: Sequence[EmbeddedProfile]
    ) -> dict[Key, NDArray[np.float32]]:
        """Return the vectors of those of these profiles that have one of the text with their hash."""
        vectors: dict[Key, NDArray[np.float32]] = {}
        for subject in ProfileSubject:
            keys = _hashed([profile for profile in profiles if profile.subject is subject])
            for subject_id, class_id, vector in await self._database.rows(
                _of(_VECTORS, space, subject), keys
            ):
                vectors[subject_id, class_id] = vector.to_numpy().astype(np.float32)
        return vectors

    async def put_copies(
        self, space: SpaceId, copies: Mapping[EmbeddedProfile, NDArray[np.float32]]
    ) -> None:
        """Insert vectors from another store; ignore those whose profile has changed."""
        for subject in ProfileSubject:
            profiles = [profile for profile in copies if profile.subject is subject]
            vectors = [HalfVector(copies[profile]) for profile in profiles]
            await self._database.execute(
                _of(_PUT_COPIES, space, subject), {**_hashed(profiles), "vectors": vectors}
            )


async def _search(
    connection: Connection, query: LiteralString, parameters: Mapping[str, object]
) -> list[ProfileHit]:
    cursor = await connection.execute(query, parameters, prepare=False)
    return [
        ProfileHit(subject_id=subject_id, similarity=similarity)
        for subject_id, similarity in await cursor.fetchall()
    ]


def _hashed(profiles: Sequence[EmbeddedProfile]) -> dict[str, object]:
    return {
        "ids": [profile.subject_id for profile in profiles],
        "classes": [profile.class_id for profile in profiles],
        "hashes": [profile.text_hash for profile in profiles],
    }


def _columns(claims: Sequence[ProfileClaim]) -> dict[str, object]:
    return {
        "ids": [claim.subject_id for claim in claims],
        "classes": [claim.class_id for claim in claims],
        "untils": [claim.until for claim in claims],
    }


def _table(space: SpaceId, subject: ProfileSubject) -> str:
    return f"{subject}_vectors_{space:d}"


@cache
def _of(
    statement: LiteralString, space: SpaceId, subject: ProfileSubject, *, dimension: int = 0
) -> LiteralString:
    """Return the statement for one space's table of this kind."""
    table = _table(space, subject)
    composed = sql.SQL(statement).format(
        few=sql.SQL("true"),
        table=sql.Identifier(table),
        class_index=sql.Identifier(f"{table}_class"),
        class_index_name=sql.Literal(f"{table}_class"),
        dimension=sql.Literal(dimension),
    )
    return cast("LiteralString", composed.as_string())

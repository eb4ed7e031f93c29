"""The graph in plain PostgreSQL tables: mentions, relations and their counts per class."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import numpy as np

from lightwell.domain.access import Reader
from lightwell.domain.graph import LEAST_CONFIDENCE
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.ports import Neighbourhood
from lightwell.records.database import Database, Row

_MENTIONING = """
SELECT DISTINCT chunk_id FROM document_entity_mentions
WHERE entity_id = ANY(%(entities)s) AND class_id = ANY(%(classes)s)
ORDER BY chunk_id LIMIT %(limit)s
"""

_STATING = """
SELECT DISTINCT chunk_id FROM relation_mentions
WHERE relation_id = ANY(%(relations)s) AND class_id = ANY(%(classes)s)
ORDER BY chunk_id LIMIT %(limit)s
"""

_LINKED = """
SELECT other FROM (
    SELECT to_ref AS other, confidence FROM entity_links
    WHERE from_ref = ANY(%(entities)s) AND {seen}
    UNION ALL
    SELECT from_ref, confidence FROM entity_links
    WHERE to_ref = ANY(%(entities)s) AND {seen}
) AS link
WHERE other <> ALL(%(entities)s)
GROUP BY other ORDER BY max(confidence) DESC, other LIMIT %(limit)s
""".replace(
    "{seen}",
    "class_id = ANY(%(classes)s) AND status = 'confirmed' AND (expires_at IS NULL OR expires_at > now())",
)

_NEIGHBOURS = """
WITH near AS (
    SELECT DISTINCT entity_id FROM document_entity_mentions
    WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
), rare AS (
    SELECT near.entity_id, sum(profile.mention_count) AS mentions
    FROM near JOIN profiles AS profile ON profile.subject_id = near.entity_id
    WHERE profile.class_id = ANY(%(classes)s)
    GROUP BY near.entity_id
    HAVING sum(profile.mention_count) BETWEEN 2 AND %(rarest)s
)
SELECT mention.chunk_id
FROM (
    SELECT DISTINCT entity_id, chunk_id FROM document_entity_mentions
    WHERE entity_id IN (SELECT entity_id FROM rare) AND class_id = ANY(%(classes)s)
) AS mention
JOIN rare USING (entity_id)
GROUP BY mention.chunk_id
ORDER BY sum(1.0 / rare.mentions) DESC, mention.chunk_id
LIMIT %(limit)s
"""

# Identifiers travel as one string of bytes per chunk: thousands of rows would cost more than the search.
_MENTIONS = """
SELECT chunk_id, string_agg(DISTINCT uuid_send(entity_id), ''::bytea ORDER BY uuid_send(entity_id))
FROM document_entity_mentions
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s) AND entity_id IS NOT NULL
GROUP BY chunk_id
"""

_COUNTS = """
SELECT subject_id, sum(mention_count) FROM profiles
WHERE subject_id = ANY(%(entities)s) AND class_id = ANY(%(classes)s)
GROUP BY subject_id
"""

# What was only seen side by side is in the mentions already.
_RELATIONS = """
SELECT relation.source_id, relation.target_id, sum(mention.weight)
FROM relation_mentions AS mention JOIN relations AS relation USING (relation_id)
WHERE mention.chunk_id = ANY(%(chunks)s) AND mention.class_id = ANY(%(classes)s)
  AND mention.confidence > %(side_by_side)s
GROUP BY relation.source_id, relation.target_id
ORDER BY relation.source_id, relation.target_id
"""

_ID = 16


class PostgresGraph:
    """`GraphIndex` over the tables of record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def mentioning(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[ChunkId]:
        rows = await self._database.rows(
            _MENTIONING,
            {"entities": list(entities), "classes": list(reader.classes), "limit": limit},
        )
        return [ChunkId(row[0]) for row in rows]

    async def stating(
        self, reader: Reader, relations: Sequence[RelationId], *, limit: int
    ) -> list[ChunkId]:
        rows = await self._database.rows(
            _STATING,
            {"relations": list(relations), "classes": list(reader.classes), "limit": limit},
        )
        return [ChunkId(row[0]) for row in rows]

    async def linked(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[EntityId]:
        rows = await self._database.rows(
            _LINKED,
            {"entities": list(entities), "classes": list(reader.classes), "limit": limit},
        )
        return [EntityId(row[0]) for row in rows]

    async def neighbours(
        self, reader: Reader, chunks: Sequence[ChunkId], *, rarest: int, limit: int
    ) -> list[ChunkId]:
        rows = await self._database.rows(
            _NEIGHBOURS,
            {
                "chunks": list(chunks),
                "classes": list(reader.classes),
                "rarest": rarest,
                "limit": limit,
            },
        )
        return [ChunkId(row[0]) for row in rows]

    async def around(
        self, reader: Reader, chunks: Sequence[ChunkId], named: Sequence[EntityId]
    ) -> Neighbourhood:
        parameters = {
            "chunks": list(chunks),
            "classes": list(reader.classes),
            "side_by_side": LEAST_CONFIDENCE,
        }
        async with self._database.transaction() as connection:
            mentions = await (await connection.execute(_MENTIONS, parameters)).fetchall()
            relations = await (await connection.execute(_RELATIONS, parameters)).fetchall()
            packed = {row[0]: bytes(row[1]) for row in mentions}
            linking = _linking(packed.values(), [entity.bytes for entity in named])
            counts = await connection.execute(
                _COUNTS,
                {
                    "entities": [UUID(bytes=entity) for entity in linking],
                    "classes": list(reader.classes),
                },
            )
            counted = {row[0].bytes: float(row[1]) for row in await counts.fetchall()}
        return _neighbourhood(chunks, packed, counted, relations)


def _linking(packed: Iterable[bytes], named: Sequence[bytes]) -> list[bytes]:
    """Return the entities whose counts matter: named ones, and those that more than one chunk mentions."""
    times = Counter(entity for ids in packed for entity in _split(ids))
    return sorted({*named, *(entity for entity, count in times.items() if count > 1)})


def _split(ids: bytes) -> list[bytes]:
    return [ids[at : at + _ID] for at in range(0, len(ids), _ID)]


def _neighbourhood(
    chunks: Sequence[ChunkId],
    packed: Mapping[ChunkId, bytes],
    counted: Mapping[bytes, float],
    relations: Sequence[Row],
) -> Neighbourhood:
    place: dict[bytes, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for at, chunk in enumerate(chunks):
        mentioned = [
            place.setdefault(entity, len(place)) for entity in _split(packed.get(chunk, b""))
        ]
        columns.extend(mentioned)
        rows.extend([at] * len(mentioned))
    ends = [(row[0].bytes, row[1].bytes, row[2]) for row in relations]
    ends = [end for end in ends if end[0] in place and end[1] in place]
    return Neighbourhood(
        chunks=tuple(chunks),
        entities=tuple(place),
        counts=np.array([counted.get(entity, 1.0) for entity in place]),
        mentions=np.array([rows, columns], np.intp),
        relations=np.array(
            [[place[end[0]] for end in ends], [place[end[1]] for end in ends]], np.intp
        ),
        weights=np.array([end[2] for end in ends], np.float64),
    )

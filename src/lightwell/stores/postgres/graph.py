"""The graph in plain PostgreSQL tables: mentions, relations and their counts per class."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.graph import LEAST_CONFIDENCE
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.ports import Neighbourhood
from lightwell.records.database import Database

_MENTIONING = """
SELECT DISTINCT chunk_id FROM document_entity_mentions
WHERE entity_id = ANY(%(entities)s) AND class_id = ANY(%(classes)s)
ORDER BY chunk_id LIMIT %(limit)s
"""

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
SELECT mention.chunk_id FROM document_entity_mentions AS mention JOIN rare USING (entity_id)
WHERE mention.class_id = ANY(%(classes)s)
GROUP BY mention.chunk_id
ORDER BY sum(1.0 / rare.mentions) DESC, mention.chunk_id
LIMIT %(limit)s
"""

# Identifiers travel as one string of bytes per chunk: thousands of rows would cost more than the search.
_MENTIONS = """
SELECT chunk_id, string_agg(uuid_send(entity_id), ''::bytea ORDER BY entity_id)
FROM document_entity_mentions
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
GROUP BY chunk_id
"""

_COUNTS = """
SELECT string_agg(uuid_send(counted.entity_id), ''::bytea ORDER BY counted.entity_id),
       array_agg(counted.mentions ORDER BY counted.entity_id)
FROM (
    SELECT mentioned.entity_id, sum(profile.mention_count)::integer AS mentions
    FROM (
        SELECT DISTINCT entity_id FROM document_entity_mentions
        WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
    ) AS mentioned
    JOIN profiles AS profile ON profile.subject_id = mentioned.entity_id
    WHERE profile.class_id = ANY(%(classes)s)
    GROUP BY mentioned.entity_id
) AS counted
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

    async def around(self, reader: Reader, chunks: Sequence[ChunkId]) -> Neighbourhood:
        parameters = {
            "chunks": list(chunks),
            "classes": list(reader.classes),
            "side_by_side": LEAST_CONFIDENCE,
        }
        async with self._database.transaction() as connection:
            mentions = await (await connection.execute(_MENTIONS, parameters)).fetchall()
            counts = await (await connection.execute(_COUNTS, parameters)).fetchall()
            relations = await (await connection.execute(_RELATIONS, parameters)).fetchall()
        raw_ids = bytes(counts[0][0] or b"")
        ids = [raw_ids[at : at + _ID] for at in range(0, len(raw_ids), _ID)]
        place = {entity: at for at, entity in enumerate(ids)}
        places = {chunk: at for at, chunk in enumerate(chunks)}
        ends = [(row[0].bytes, row[1].bytes, row[2]) for row in relations]
        ends = [end for end in ends if end[0] in place and end[1] in place]
        return Neighbourhood(
            chunks=tuple(chunks),
            entities=tuple(EntityId(UUID(bytes=entity)) for entity in ids),
            counts=np.array(counts[0][1] or [], np.float64),
            mentions=_mentions([(places[row[0]], bytes(row[1])) for row in mentions], place),
            relations=np.array(
                [[place[end[0]] for end in ends], [place[end[1]] for end in ends]], np.intp
            ),
            weights=np.array([end[2] for end in ends], np.float64),
        )


def _mentions(rows: Sequence[tuple[int, bytes]], place: dict[bytes, int]) -> NDArray[np.intp]:
    chunk_places: list[int] = []
    entity_places: list[int] = []
    for chunk, packed in rows:
        found = [
            place[packed[at : at + _ID]]
            for at in range(0, len(packed), _ID)
            if packed[at : at + _ID] in place
        ]
        entity_places.extend(found)
        chunk_places.extend([chunk] * len(found))
    return np.array([chunk_places, entity_places], np.intp)

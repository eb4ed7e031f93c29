"""The graph in plain PostgreSQL tables: mentions, relations and their counts per class."""

from collections.abc import Sequence

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.ports import Neighbourhood
from lightwell.records.database import Connection, Database

_COUNTS = """
SELECT subject_id, sum(mention_count) FROM profiles
WHERE subject = 'entity' AND subject_id = ANY(%(entities)s) AND class_id = ANY(%(classes)s)
GROUP BY subject_id
"""

_ENTITIES_OF = """
SELECT DISTINCT entity_id FROM document_entity_mentions
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
"""

_CHUNKS_OF = """
SELECT mention.chunk_id, mention.entity_id, mention.frequency
FROM document_entity_mentions AS mention
WHERE mention.entity_id = ANY(%(entities)s) AND mention.class_id = ANY(%(classes)s)
ORDER BY mention.entity_id, mention.chunk_id
"""

_MENTIONS_OF = """
SELECT chunk_id, entity_id, frequency FROM document_entity_mentions
WHERE chunk_id = ANY(%(chunks)s) AND class_id = ANY(%(classes)s)
ORDER BY entity_id, chunk_id
"""

_RELATIONS_AMONG = """
SELECT relation.source_id, relation.target_id, sum(profile.weight)
FROM relations AS relation JOIN profiles AS profile ON profile.subject_id = relation.relation_id
WHERE relation.source_id = ANY(%(entities)s) AND relation.target_id = ANY(%(entities)s)
  AND profile.class_id = ANY(%(classes)s)
GROUP BY relation.source_id, relation.target_id
ORDER BY relation.source_id, relation.target_id
"""


class PostgresGraph:
    """`GraphIndex` over the tables of record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def around(
        self,
        reader: Reader,
        *,
        entities: Sequence[EntityId],
        chunks: Sequence[ChunkId],
        most_chunks: int,
    ) -> Neighbourhood:
        classes = list(reader.classes)
        async with self._database.transaction() as connection:
            near = await connection.execute(
                _ENTITIES_OF, {"chunks": list(chunks), "classes": classes}
            )
            candidates = {*entities, *(EntityId(row[0]) for row in await near.fetchall())}
            counts = await _counts(connection, classes, candidates)
            followed = sorted(entity for entity, count in counts.items() if count <= most_chunks)
            reached = await connection.execute(
                _CHUNKS_OF, {"entities": followed, "classes": classes}
            )
            reached_rows = await reached.fetchall()
            everywhere = sorted({*chunks, *(ChunkId(row[0]) for row in reached_rows)})
            mentions = await connection.execute(
                _MENTIONS_OF, {"chunks": everywhere, "classes": classes}
            )
            mention_rows = await mentions.fetchall()
            all_entities = sorted({EntityId(row[1]) for row in mention_rows})
            relations = await connection.execute(
                _RELATIONS_AMONG, {"entities": all_entities, "classes": classes}
            )
            return Neighbourhood(
                mentions=tuple((ChunkId(row[0]), EntityId(row[1]), row[2]) for row in mention_rows),
                relations=tuple(
                    (EntityId(row[0]), EntityId(row[1]), row[2])
                    for row in await relations.fetchall()
                ),
                chunk_counts=await _counts(connection, classes, set(all_entities)),
            )


async def _counts(
    connection: Connection, classes: Sequence[int], entities: set[EntityId]
) -> dict[EntityId, int]:
    cursor = await connection.execute(_COUNTS, {"entities": sorted(entities), "classes": list(classes)})
    return {EntityId(row[0]): int(row[1]) for row in await cursor.fetchall()}

"""The graph in PostgreSQL tables: mentions, relations and their counts per class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.graph import MIN_CONFIDENCE, RAREST, ProfileSubject
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.domain.questions import NO_FILTERS, Filters
from lightwell.ports import Neighbourhood
from lightwell.records.database import Database, Row, format_uuid_array
from lightwell.records.filters import matches_filters

_MATCHES: LiteralString = matches_filters("mention.chunk_id")

_MENTIONING = f"""
SELECT DISTINCT chunk_id FROM document_entity_mentions AS mention
WHERE entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND sees(%(classes)s, class_id) AND {_MATCHES}
ORDER BY chunk_id LIMIT %(limit)s
"""  # noqa: S608 - only our own words

_STATING = f"""
SELECT DISTINCT chunk_id FROM relation_mentions AS mention
WHERE relation_id = ANY((SELECT with_merged_relations(%(relations)s, %(classes)s))::uuid[])
  AND sees(%(classes)s, class_id) AND {_MATCHES}
ORDER BY chunk_id LIMIT %(limit)s
"""  # noqa: S608 - only our own words

_RELATING = f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), named AS MATERIALIZED (
    SELECT with_merged(%(entities)s, %(classes)s) AS members
)
SELECT mention.chunk_id
FROM relations AS relation JOIN relation_mentions AS mention USING (relation_id)
LEFT JOIN merged AS source ON source.entity_id = relation.source_id
LEFT JOIN merged AS target ON target.entity_id = relation.target_id
WHERE (relation.source_id = ANY((SELECT members FROM named)::uuid[])
       OR relation.target_id = ANY((SELECT members FROM named)::uuid[]))
  AND coalesce(source.root_id, relation.source_id) <> coalesce(target.root_id, relation.target_id)
  AND sees(%(classes)s, mention.class_id) AND {_MATCHES}
GROUP BY mention.chunk_id
ORDER BY bool_or(coalesce(source.root_id, relation.source_id) = ANY(%(entities)s)
                 AND coalesce(target.root_id, relation.target_id) = ANY(%(entities)s)) DESC,
         max(mention.confidence) DESC, mention.chunk_id
LIMIT %(limit)s
"""  # noqa: S608 - only our own words


# A profile lists at most fifty sources, while the mentions are complete; sources of manual edits are only in the profile.
def _sourced(subject: LiteralString, mentions: LiteralString) -> LiteralString:
    return f"""
WITH seen AS (
    SELECT array_agg(chunk_id) AS chunks
    FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
    WHERE chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
)
SELECT {subject} AS subject_id FROM {mentions}
WHERE chunk_id = ANY((SELECT chunks FROM seen)::uuid[]) AND sees(%(classes)s, class_id) AND {subject} IS NOT NULL
UNION
SELECT subject_id FROM profiles
WHERE source_ids && (SELECT chunks FROM seen) AND subject = %(subject)s AND sees(%(classes)s, class_id)
"""  # noqa: S608 - only our own words


ENTITIES_OF = _sourced("entity_id", "document_entity_mentions")
RELATIONS_OF = _sourced("relation_id", "relation_mentions")

# What is one with the entities by `same_as` comes first, then what links lead to from any of these.
_LINKED = """
WITH named AS MATERIALIZED (
    SELECT with_merged(%(entities)s, %(classes)s) AS given, with_same(%(entities)s, %(classes)s) AS members
)
SELECT coalesce(merged.root_id, link.other) AS other FROM (
    SELECT unnest(members) AS other, 2 AS confidence FROM named
    UNION ALL
    SELECT linked.far_id, linked.confidence
    FROM named CROSS JOIN LATERAL confirmed_links(named.members, %(classes)s) AS linked
) AS link
LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = link.other
WHERE link.other <> ALL((SELECT given FROM named)::uuid[])
GROUP BY 1 ORDER BY max(confidence) DESC, 1 LIMIT %(limit)s
"""

_NEIGHBOURS = f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), near AS (
    SELECT DISTINCT coalesce(merged.root_id, mention.entity_id) AS root_id
    FROM document_entity_mentions AS mention LEFT JOIN merged USING (entity_id)
    WHERE chunk_id = ANY(%(chunks)s) AND sees(%(classes)s, class_id)
), member AS (
    SELECT root_id, root_id AS entity_id FROM near
    UNION ALL
    SELECT root_id, merged.entity_id FROM merged JOIN near USING (root_id)
), rare AS (
    SELECT member.root_id, sum(profile.mention_count) AS mentions
    FROM member CROSS JOIN LATERAL (
        SELECT mention_count FROM profiles
        WHERE subject_id = member.entity_id AND sees(%(classes)s, class_id) LIMIT %(rarest)s + 1
    ) AS profile
    GROUP BY member.root_id
    HAVING sum(profile.mention_count) BETWEEN 2 AND %(rarest)s
)
SELECT mention.chunk_id
FROM (
    SELECT DISTINCT member.root_id, mention.chunk_id
    FROM document_entity_mentions AS mention JOIN member USING (entity_id) JOIN rare USING (root_id)
    WHERE sees(%(classes)s, mention.class_id)
) AS mention
JOIN rare USING (root_id)
WHERE {_MATCHES}
GROUP BY mention.chunk_id
ORDER BY sum(1.0 / rare.mentions) DESC, mention.chunk_id
LIMIT %(limit)s
"""  # noqa: S608 - only our own words

# Ids are transferred as one byte string per chunk: transferring thousands of rows would cost more than the search.
_MENTIONS = """
SELECT uuid_send(chunk_id), string_agg(uuid_send(coalesce(merged.root_id, mention.entity_id)), ''::bytea)
FROM document_entity_mentions AS mention LEFT JOIN merged_entities_of(%(classes)s) AS merged USING (entity_id)
WHERE chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, class_id) AND entity_id IS NOT NULL
GROUP BY chunk_id
"""

# Of an entity that the question does not name it counts only whether it is rare: no more profiles are read than tell that.
_COUNTS = """
WITH subject AS MATERIALIZED (
    SELECT DISTINCT member.id, coalesce(merged.root_id, member.id) AS root_id
    FROM unnest(with_merged(%(entities)s::uuid[], %(classes)s)) AS member (id)
    LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = member.id
)
SELECT uuid_send(subject.root_id), sum(profile.mention_count)
FROM subject CROSS JOIN LATERAL (
    SELECT mention_count FROM profiles WHERE subject_id = subject.id AND sees(%(classes)s, class_id)
    LIMIT CASE WHEN subject.root_id = ANY(%(named)s::uuid[]) THEN NULL ELSE %(rarest)s + 1 END
) AS profile
GROUP BY subject.root_id
"""

# Relations with the minimum confidence come from co-occurrence only, which the mentions already express.
_RELATIONS = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), stated AS (
    SELECT coalesce(source.root_id, relation.source_id) AS source_id,
           coalesce(target.root_id, relation.target_id) AS target_id, mention.weight
    FROM relation_mentions AS mention JOIN relations AS relation USING (relation_id)
    LEFT JOIN merged AS source ON source.entity_id = relation.source_id
    LEFT JOIN merged AS target ON target.entity_id = relation.target_id
    WHERE mention.chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, mention.class_id)
      AND mention.confidence > %(side_by_side)s
)
SELECT uuid_send(source_id), uuid_send(target_id), sum(weight) FROM stated WHERE source_id <> target_id
GROUP BY source_id, target_id
ORDER BY source_id, target_id
"""

_ID = np.dtype("S16")


class PostgresGraph:
    """`GraphIndex` over the tables of record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def chunks_mentioning(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        return await self._query_chunks(
            _MENTIONING, reader, limit, filters, entities=list(entities)
        )

    async def chunks_stating(
        self,
        reader: Reader,
        relations: Sequence[RelationId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        return await self._query_chunks(_STATING, reader, limit, filters, relations=list(relations))

    async def chunks_relating(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        return await self._query_chunks(_RELATING, reader, limit, filters, entities=list(entities))

    async def entities_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[EntityId]:
        return await self._with_source_chunks(ENTITIES_OF, reader, chunks, ProfileSubject.ENTITY)

    async def relations_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[RelationId]:
        return await self._with_source_chunks(RELATIONS_OF, reader, chunks, ProfileSubject.RELATION)

    async def linked_entities(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[EntityId]:
        parameters = {"entities": list(entities), **reader.parameters, "limit": limit}
        return await self._database.values(_LINKED, parameters)

    async def neighbour_chunks(
        self,
        reader: Reader,
        chunks: Sequence[ChunkId],
        *,
        rarest: int,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        return await self._query_chunks(
            _NEIGHBOURS, reader, limit, filters, chunks=list(chunks), rarest=rarest
        )

    async def neighbourhood(
        self, reader: Reader, chunks: Sequence[ChunkId], named: Sequence[EntityId]
    ) -> Neighbourhood:
        parameters = {
            "chunks": format_uuid_array(chunks),
            **reader.parameters,
            "side_by_side": MIN_CONFIDENCE,
        }
        mentions = await self._database.rows(_MENTIONS, parameters, binary=True)
        relations = await self._database.rows(_RELATIONS, parameters, binary=True)
        mentioned = entity_chunks(chunks, dict(mentions))
        counted = await self.count_mentions(
            reader, linking(mentioned, [entity.bytes for entity in named]), named
        )
        return make_neighbourhood(chunks, mentioned, counted, relations)

    async def count_mentions(
        self, reader: Reader, entities: str, named: Sequence[EntityId]
    ) -> list[Row]:
        """Return these entities (text of a `uuid[]`) as bytes, each with the number of the reader's chunks that mention it.

        For those that are not `named` it is exact up to `RAREST`; beyond, it is more than that.
        """
        parameters = {"entities": entities, "named": format_uuid_array(named), "rarest": RAREST}
        return await self._database.rows(_COUNTS, {**parameters, **reader.parameters}, binary=True)

    async def _with_source_chunks(
        self,
        query: LiteralString,
        reader: Reader,
        chunks: Sequence[ChunkId],
        subject: ProfileSubject,
    ) -> list[Any]:
        parameters = {"chunks": list(chunks), **reader.parameters, "subject": subject.value}
        return await self._database.values(query, parameters)

    async def _query_chunks(
        self,
        query: LiteralString,
        reader: Reader,
        limit: int,
        filters: Filters,
        **parameters: object,
    ) -> list[ChunkId]:
        shared = {**reader.parameters, **filters.parameters, "limit": limit}
        return await self._database.values(query, {**shared, **parameters})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityChunks:
    """Distinct entities, ascending, each with the number of chunks that mention it; mentions as index pairs."""

    entities: NDArray[np.bytes_]
    times: NDArray[np.intp]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def entity_chunks(chunks: Sequence[ChunkId], packed: Mapping[bytes, bytes]) -> EntityChunks:
    """Return what these chunks mention, given by chunk as bytes of entity ids, one after the other."""
    ids = [packed.get(chunk.bytes, b"") for chunk in chunks]
    counts = [len(of_chunk) // _ID.itemsize for of_chunk in ids]
    rows = np.repeat(np.arange(len(chunks)), counts)
    entities, columns = np.unique(np.frombuffer(b"".join(ids), _ID), return_inverse=True)
    if not len(entities):
        return EntityChunks(entities=entities, times=columns, rows=rows, columns=columns)
    rows, columns = np.divmod(np.unique(rows * len(entities) + columns), len(entities))
    times = np.bincount(columns, minlength=len(entities))
    return EntityChunks(entities=entities, times=times, rows=rows, columns=columns)


def linking(entity_chunks: EntityChunks, named: Sequence[bytes]) -> str:
    """Return, as text of a `uuid[]`, the entities whose counts are needed: named, or mentioned by several chunks."""
    several = _to_id_bytes(entity_chunks.entities[entity_chunks.times > 1])
    return f"{{{','.join(entity.hex() for entity in sorted({*named, *several}))}}}"


def _to_id_bytes(entities: NDArray[np.bytes_]) -> list[bytes]:
    """Return ids with their trailing zero bytes, which an array of byte strings drops."""
    return cast("list[bytes]", entities.view(f"V{_ID.itemsize}").tolist())


def make_neighbourhood(
    chunks: Sequence[ChunkId],
    entity_chunks: EntityChunks,
    counted: Sequence[Row],
    relations: Sequence[Row],
) -> Neighbourhood:
    """Return the subgraph of these chunks; `counted` are entities with a count, `relations` two ends with a weight."""
    counts = np.ones(len(entity_chunks.entities))
    places, is_mentioned = _indexes(entity_chunks, [entity for entity, _ in counted])
    counts[places[is_mentioned]] = np.array([float(count) for _, count in counted])[is_mentioned]
    sources, has_source = _indexes(entity_chunks, [source for source, _, _ in relations])
    targets, has_target = _indexes(entity_chunks, [target for _, target, _ in relations])
    inside = has_source & has_target
    return Neighbourhood(
        chunks=tuple(chunks),
        entities=tuple(_to_id_bytes(entity_chunks.entities)),
        counts=counts,
        mentions=np.stack([entity_chunks.rows, entity_chunks.columns]),
        relations=np.stack([sources[inside], targets[inside]]),
        weights=np.array([weight for *_, weight in relations], np.float64)[inside],
    )


def _indexes(
    entity_chunks: EntityChunks, entities: Sequence[bytes]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return each entity's index among the mentioned ones, and whether it is one of them."""
    wanted = np.array(entities, _ID)
    if not len(entity_chunks.entities):
        return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
    places = np.searchsorted(entity_chunks.entities, wanted)
    places = np.minimum(places, len(entity_chunks.entities) - 1)
    return places, entity_chunks.entities[places] == wanted

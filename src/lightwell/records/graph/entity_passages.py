"""What a brief reads about one entity: passages about it, and related entities.

Every query is filtered by the reader's classes, and no order depends on an id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, cast

from lightwell.domain.access import Reader
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.graph import Entity, join_class_descriptions
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.graph import entities

_NEWEST, _MOST_FREQUENT, _OPEN, _MAX_SEARCHED = 24, 12, 24, 500
_MAX_RELATED = 60
_MAX_WITH_ADDRESS = 40

# The newest passages, those that mention the entity most often, and the newest with a cue for an open issue.
_PASSAGES = """
WITH spoken AS (
    SELECT chunk.chunk_id, mention.often, document.updated_at, document.source_url, chunk.chunk_index
    FROM (
        SELECT chunk_id, sum(often) AS often FROM (
            SELECT chunk_id, frequency AS often FROM document_entity_mentions
            WHERE entity_id = ANY((SELECT with_same(%(entities)s, %(classes)s))::uuid[])
              AND sees(%(classes)s, class_id)
            UNION ALL
            SELECT chunk_id, 0 FROM unnest(%(also)s::uuid[]) AS also (chunk_id)
        ) AS spoken_of GROUP BY chunk_id
    ) AS mention
    JOIN document_chunks AS chunk USING (chunk_id)
    JOIN source_documents AS document USING (document_id)
    WHERE sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
), placed AS (
    SELECT *, row_number() OVER (ORDER BY updated_at DESC, source_url COLLATE "C", chunk_index) AS newest,
           row_number() OVER (ORDER BY often DESC, updated_at DESC, source_url COLLATE "C", chunk_index) AS oftenest
    FROM spoken
), open AS (
    SELECT placed.chunk_id, row_number() OVER (ORDER BY placed.newest) AS place
    FROM placed JOIN chunk_terms USING (chunk_id)
    WHERE placed.newest <= %(looked_through)s AND chunk_terms.terms @@ %(cues)s::tsquery
      AND sees(%(classes)s, chunk_terms.class_id)
)
SELECT placed.chunk_id, placed.often::integer
FROM placed LEFT JOIN open USING (chunk_id)
WHERE placed.newest <= %(newest)s OR placed.oftenest <= %(oftenest)s OR open.place <= %(open)s
   OR placed.chunk_id = ANY(%(also)s)
ORDER BY placed.newest
"""

# Two passages for each e-mail address that occurs in a chunk with the entity.
_ADDRESSED = """
SELECT chunk_id FROM (
    SELECT chunk.chunk_id, address.normalized_name,
           row_number() OVER (PARTITION BY address.normalized_name
                              ORDER BY document.updated_at DESC, document.source_url COLLATE "C", chunk.chunk_index) AS place
    FROM entities AS address
    JOIN document_entity_mentions AS beside ON beside.named_as = address.entity_id AND sees(%(classes)s, beside.class_id)
    JOIN document_chunks AS chunk ON chunk.chunk_id = beside.chunk_id AND sees(%(classes)s, chunk.class_id)
    JOIN source_documents AS document ON document.document_id = chunk.document_id AND NOT document.is_deleted
    WHERE address.project_id = %(project_id)s AND address.normalized_name LIKE ANY(%(like)s)
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.chunk_id = beside.chunk_id AND sees(%(classes)s, mention.class_id)
                    AND mention.entity_id = ANY((SELECT with_same(%(entities)s, %(classes)s))::uuid[]))
) AS addressed
WHERE place <= 2 ORDER BY normalized_name COLLATE "C", place LIMIT %(most)s
"""

_WITH_ADDRESS = """
SELECT DISTINCT address.normalized_name
FROM entities AS address
WHERE address.project_id = %(project_id)s AND address.normalized_name LIKE ANY(%(like)s)
  AND EXISTS (SELECT FROM document_entity_mentions AS mention
              WHERE mention.named_as = address.entity_id AND sees(%(classes)s, mention.class_id))
"""

_ATTRIBUTES = """
SELECT coalesce(merged.root_id, subject_id), attributes
FROM profiles LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = subject_id
WHERE subject_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
  AND sees(%(classes)s, class_id) AND attributes IS NOT NULL
ORDER BY mention_count DESC, attributes::text COLLATE "C"
"""

_CO_MENTIONS = """
SELECT entity.entity_id, count(DISTINCT mention.chunk_id)
FROM document_entity_mentions AS mention
LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = mention.entity_id
JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, mention.entity_id)
CROSS JOIN LATERAL (
    SELECT min(profile.display_name COLLATE "C") AS name, min(coalesce(profile.entity_ref, entity.entity_ref) COLLATE "C") AS ref
    FROM profiles AS profile
    WHERE profile.subject_id = entity.entity_id AND sees(%(classes)s, profile.class_id)
      AND (profile.entity_kind = ANY(%(kinds)s) OR profile.subject_id = ANY(%(also)s))
) AS seen
WHERE mention.chunk_id = ANY(%(chunks)s) AND sees(%(classes)s, mention.class_id)
  AND entity.entity_id <> ALL((SELECT with_same(%(entities)s, %(classes)s))::uuid[]) AND seen.name IS NOT NULL
GROUP BY entity.entity_id, seen.name, seen.ref
ORDER BY count(DISTINCT mention.chunk_id) DESC, seen.name COLLATE "C", seen.ref COLLATE "C"
LIMIT %(most)s
"""

_LINKS = """
SELECT coalesce(merged.root_id, link.far_id) AS entity, link.link_type AS type, max(link.confidence)::float8 AS weight,
       '{}'::text[] AS descriptions, '{}'::text[] AS comparisons, '{}'::text[] AS use_cases
FROM confirmed_links((SELECT with_same(%(entities)s, %(classes)s))::uuid[], %(classes)s) AS link
LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = link.far_id
WHERE link.far_id <> ALL((SELECT with_same(%(entities)s, %(classes)s))::uuid[])
GROUP BY 1, link.link_type
"""

_PARTS = """
SELECT DISTINCT link.far_id FROM confirmed_links((SELECT with_same(%(entities)s, %(classes)s))::uuid[], %(classes)s) AS link
WHERE link.link_type IN ('belongs_to', 'mapped_to')
   OR link.link_type = 'related_to' AND EXISTS (
       SELECT FROM profiles AS profile
       WHERE profile.subject_id = link.far_id AND sees(%(classes)s, profile.class_id) AND profile.entity_kind = 'person')
"""

_SAME = "SELECT unnest(with_same(%(entities)s, %(classes)s))"


# The entities with what is the same, and twice with what belongs to them or carries them out: of a company its people, deals and
# requests, and the projects of these deals. What they themselves belong to is no part of them, nor are people whom they only name.
def _with_belongings_of(step: LiteralString) -> LiteralString:
    return f"""SELECT with_same(ids || ARRAY(
        SELECT link.far_id FROM confirmed_links(ids, %(classes)s) AS link
        WHERE link.link_type = 'mapped_to'
           OR link.link_type = 'belongs_to' AND EXISTS (
               SELECT FROM entity_links AS stated
               WHERE stated.from_ref = link.far_id AND stated.to_ref = link.near_id AND stated.link_type = 'belongs_to'
                 AND sees(%(classes)s, stated.class_id))
           OR link.link_type = 'related_to' AND EXISTS (
               SELECT FROM profiles AS profile
               WHERE profile.subject_id = link.far_id AND sees(%(classes)s, profile.class_id)
                 AND profile.entity_kind IN ('issue', 'project', 'deal'))
    ), %(classes)s) AS ids FROM {step}"""  # noqa: S608 - only our own words


_BELONGINGS: LiteralString = f"""
WITH same AS MATERIALIZED (SELECT with_same(%(entities)s::uuid[], %(classes)s) AS ids),
near AS MATERIALIZED ({_with_belongings_of("same")}),
far AS MATERIALIZED ({_with_belongings_of("near")})
SELECT unnest(ids) FROM far
"""  # noqa: S608 - only our own words

_RELATIONS = """
SELECT relation.other AS entity, relation.predicate AS type, sum(profile.weight::numeric)::float8 AS weight,
       array_agg(profile.description ORDER BY profile.description COLLATE "C") AS descriptions,
       array_agg(profile.comparison ORDER BY profile.comparison COLLATE "C") AS comparisons,
       array_agg(profile.use_case ORDER BY profile.use_case COLLATE "C") AS use_cases
FROM (
    SELECT stated.relation_id, stated.predicate, coalesce(merged.root_id, stated.other) AS other
    FROM (
        SELECT relation_id, predicate, target_id AS other FROM relations WHERE source_id = ANY((SELECT with_same(%(entities)s, %(classes)s))::uuid[])
        UNION ALL
        SELECT relation_id, predicate, source_id FROM relations WHERE target_id = ANY((SELECT with_same(%(entities)s, %(classes)s))::uuid[])
    ) AS stated
    LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = stated.other
    WHERE stated.other <> ALL((SELECT with_same(%(entities)s, %(classes)s))::uuid[])
) AS relation
JOIN profiles AS profile ON profile.subject_id = relation.relation_id AND sees(%(classes)s, profile.class_id)
CROSS JOIN LATERAL (
    SELECT min(end_profile.display_name COLLATE "C") AS name,
           min(coalesce(end_profile.entity_ref, entity.entity_ref) COLLATE "C") AS ref
    FROM profiles AS end_profile JOIN entities AS entity ON entity.entity_id = end_profile.subject_id
    WHERE end_profile.subject_id = relation.other AND sees(%(classes)s, end_profile.class_id)
) AS seen
WHERE seen.name IS NOT NULL
GROUP BY relation.other, relation.predicate, seen.name, seen.ref
ORDER BY sum(profile.weight::numeric) DESC, seen.name COLLATE "C", seen.ref COLLATE "C", relation.predicate
LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRelation:
    """A confirmed link or a relation to another entity; `type` is the link's type or the predicate."""

    entity: Entity
    type: str
    description: str
    comparison: str
    use_case: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Selects entities of these kinds, and `extra_entities` of any kind."""

    kinds: Sequence[str]
    extra_entities: Sequence[EntityId]


async def list_passages(
    database: Database,
    reader: Reader,
    entities_meant: Sequence[EntityId],
    cues: Sequence[str],
    extra_chunks: Sequence[ChunkId] = (),
) -> tuple[EntityPassage, ...]:
    """Return up to sixty of the reader's passages that mention one of the entities, and `extra_chunks`, the newest
    first.

    `cues` are terms that indicate an open issue.
    """
    rows = await database.rows(
        _PASSAGES,
        {
            "entities": list(entities_meant),
            **reader.parameters,
            "cues": " | ".join(search.tsquery(term) for term in cues),
            "newest": _NEWEST,
            "oftenest": _MOST_FREQUENT,
            "open": _OPEN,
            "looked_through": _MAX_SEARCHED,
            "also": list(extra_chunks),
        },
    )
    chunks = await search.get_chunks(database, reader, [chunk_id for chunk_id, _ in rows])
    return tuple(
        EntityPassage(chunk=chunks[chunk_id], mention_count=count)
        for chunk_id, count in rows
        if chunk_id in chunks
    )


async def list_parts(database: Database, reader: Reader, entity: EntityId) -> list[Entity]:
    """Return what confirmed links join with an entity as its whole or its parts, in either direction, by reference: of a deal, its company, its
    people, and the projects and issues that carry it out.
    """
    return await _list_others(database, reader, entity, _PARTS)


async def list_belongings(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> list[EntityId]:
    """Return the entities with all that is the same, and what belongs to them up to two steps away."""
    return await database.values(_BELONGINGS, {"entities": list(entities), **reader.parameters})


async def list_same(database: Database, reader: Reader, entity: EntityId) -> list[Entity]:
    """Return the other entities that confirmed links of the type `same_as` make one with this one, by reference."""
    return await _list_others(database, reader, entity, _SAME)


async def _list_others(
    database: Database, reader: Reader, entity_id: EntityId, query: LiteralString
) -> list[Entity]:
    ids = await database.values(query, {"entities": [entity_id], **reader.parameters})
    seen = (await entities.get_many(database, reader, ids)).values()
    distinct = {entity.id: entity for entity in seen if entity.id != entity_id}
    return sorted(distinct.values(), key=lambda entity: entity.ref)


async def drop_same(
    database: Database, reader: Reader, candidates: Sequence[Entity]
) -> list[Entity]:
    """Return the entities without those that are one with an earlier one by confirmed links."""
    kept: list[Entity] = []
    taken: set[EntityId] = set()
    for entity in candidates:
        if entity.id not in taken:
            kept.append(entity)
            if len(candidates) > 1:
                taken |= {same.id for same in await list_same(database, reader, entity.id)}
    return kept


async def list_passages_with_address(
    database: Database, reader: Reader, entity: EntityId, parts: Sequence[str]
) -> list[ChunkId]:
    """Return up to forty of the reader's passages with the entity and an e-mail address that contains one of these parts."""
    return await database.values(
        _ADDRESSED,
        {
            "entities": [entity],
            **reader.parameters,
            "like": [f"%{part}%@%" for part in parts],
            "most": _MAX_WITH_ADDRESS,
        },
    )


async def find_addresses(database: Database, reader: Reader, begin: Sequence[str]) -> list[str]:
    """Return the e-mail addresses in the reader's passages whose part before the @ is one of these."""
    patterns = [f"{name.replace('_', chr(92) + '_')}@%" for name in begin]
    return await database.values(_WITH_ADDRESS, {**reader.parameters, "like": patterns})


async def get_attributes(
    database: Database, reader: Reader, entity_ids: Sequence[EntityId]
) -> dict[EntityId, dict[str, str]]:
    """Return the attributes of each entity in the reader's profiles."""
    rows = await database.rows(_ATTRIBUTES, {"entities": list(entity_ids), **reader.parameters})
    by_entity: dict[EntityId, dict[str, str]] = {}
    for entity, attributes in rows:
        values = {
            key: str(value) for key, value in cast("Mapping[str, object]", attributes).items()
        }
        by_entity[entity] = values | by_entity.get(entity, {})
    return by_entity


async def count_co_mentions(
    database: Database,
    reader: Reader,
    entity: EntityId,
    chunks: Sequence[ChunkId],
    entity_filter: EntityFilter,
) -> dict[EntityId, int]:
    """Return the selected entities that these chunks mention, each with the number of such chunks, most first."""
    rows = await database.rows(
        _CO_MENTIONS,
        {
            "entities": [entity],
            "chunks": list(chunks),
            "kinds": list(entity_filter.kinds),
            "also": list(entity_filter.extra_entities),
            **reader.parameters,
            "most": _MAX_RELATED,
        },
    )
    return {other: count for other, count in rows}


async def list_related(
    database: Database, reader: Reader, entity: EntityId
) -> list[EntityRelation]:
    """Return the entity's links and relations that the reader sees: links first, then relations by weight."""
    keys = {"entities": [entity], **reader.parameters, "most": _MAX_RELATED}
    links = await database.rows(_LINKS, keys, into=dict[str, Any])
    relations = await database.rows(_RELATIONS, keys, into=dict[str, Any])
    ids = [row["entity"] for row in (*links, *relations)]
    ends = await entities.get_many(database, reader, ids)
    return [*_relations(links, ends), *_relations(relations, ends)]


def _relations(
    rows: Sequence[Mapping[str, Any]], ends: Mapping[EntityId, Entity]
) -> list[EntityRelation]:
    relations = [
        EntityRelation(
            entity=ends[row["entity"]],
            type=row["type"],
            description=join_class_descriptions(row["descriptions"]),
            comparison=join_class_descriptions(row["comparisons"]),
            use_case=join_class_descriptions(row["use_cases"]),
            weight=row["weight"],
        )
        for row in rows
        if row["entity"] in ends
    ]
    return sorted(relations, key=lambda end: (-end.weight, end.entity.name, end.type))

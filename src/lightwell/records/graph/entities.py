"""Entities and relations as one reader sees them: the profiles of the reader's classes, combined.

A merged entity is shown as its merge target, to readers to whom the merge applies. Manual edits come before
what documents state; then the entity's own name before an alias, and the more frequent one first. No order
depends on an id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import display_ref, stored_ref
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import (
    Entity,
    Predicate,
    Relation,
    join_class_descriptions,
    normalize_name,
)
from lightwell.domain.ids import EntityId, RelationId
from lightwell.records.database import Database, Row
from lightwell.records.graph import merge_trees
from lightwell.records.graph.concepts import (
    CONCEPT_COLUMNS,
    DESCRIPTIONS,
    FIND_BY_ALIAS,
    read_concept,
)
from lightwell.records.graph.source_limits import KEPT_FIRST, LIMIT_OF_PROJECT

_KEPT_FIRST = KEPT_FIRST.replace("{chunk_id}", "chunk.chunk_id")

MAX_RELATIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """The entity that a reader's name refers to: the named one, and the one that it was merged into."""

    named_as: EntityId
    entity_id: EntityId


_FIND_BY_NAME = """
WITH called AS (
    SELECT entity.entity_id AS named_as FROM entities AS entity
    WHERE entity.project_id = %(project_id)s
      AND (entity.normalized_name = %(name)s OR entity.entity_ref = %(ref)s)
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = entity.entity_id AND mention.class_id = ANY(%(classes)s))
    UNION
    SELECT edit.named_as
    FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.entity_id IS NOT NULL
      AND edit.normalized_name = %(name)s AND edit.class_id = ANY(%(classes)s)
    UNION
    SELECT stated.entity_id
    FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
    WHERE entity.project_id = %(project_id)s AND stated.normalized_name = %(name)s
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stated.entity_id AND mention.class_id = ANY(%(classes)s)
                    AND stated.normalized_name = ANY(mention.names))
    UNION
    SELECT subject_id
    FROM profiles JOIN entities AS entity ON entity.entity_id = subject_id
    WHERE entity.project_id = %(project_id)s AND subject_id = %(id)s::uuid AND class_id = ANY(%(classes)s)
)
SELECT called.named_as, coalesce(merged.root_id, called.named_as) AS entity_id
FROM called LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = called.named_as
ORDER BY entity_id, called.named_as = coalesce(merged.root_id, called.named_as) DESC, called.named_as
"""

_SEEN_TEXT = """
WITH seen AS (
    SELECT entity.entity_id,
           (array_agg(coalesce(profile.entity_ref, entity.entity_ref) ORDER BY {order}))[1] AS entity_ref,
           (array_agg(profile.display_name ORDER BY {order}))[1] AS name,
           (array_agg(profile.entity_kind
                      ORDER BY profile.subject_id = entity.entity_id DESC, 'kind' = ANY(profile.by_hand) DESC,
                               {order}))[1] AS kind,
           {descriptions} AS descriptions,
           sum(profile.mention_count) AS mentions,
           (array_agg(profile.primary_url ORDER BY profile.attributes ->> 'url' IS NULL, {order}))[1] AS primary_url,
           array_agg(DISTINCT profile.subject_id) AS members,
           bool_or('description' = ANY(profile.by_hand)) AS described_by_hand,
           bool_or(profile.subject_id = entity.entity_id AND 'sources' = ANY(profile.by_hand)) AS sourced,
           {concept}
    FROM profiles AS profile
    LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = profile.subject_id
    JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, profile.subject_id)
    WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND profile.class_id = ANY(%(classes)s)
      AND {where}
    GROUP BY entity.entity_id
)
SELECT seen.entity_id, seen.entity_ref, seen.name, seen.kind, seen.descriptions,
       CASE WHEN cardinality(seen.members) = 1 THEN seen.mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
           WHERE mention.entity_id = ANY(seen.members) AND mention.class_id = ANY(%(classes)s)) END,
       source.refs, source.urls, seen.members, seen.primary_url, seen.described_by_hand,
       seen.aliases, seen.category, seen.difficulty, seen.tags, seen.created_at, seen.stated_at
FROM (SELECT * FROM seen WHERE entity_ref COLLATE "C" > %(after)s
      ORDER BY entity_ref COLLATE "C", name COLLATE "C" LIMIT %(limit)s) AS seen
CROSS JOIN LATERAL (
    SELECT array_agg(latest.chunk_ref ORDER BY latest.chunk_id) AS refs,
           array_agg(latest.source_url ORDER BY latest.chunk_id) AS urls
    FROM (
        SELECT chunk.chunk_id, chunk.chunk_ref, document.source_url
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        WHERE chunk.chunk_id = ANY (SELECT unnest(profile.source_ids) FROM profiles AS profile
                                    WHERE profile.subject_id = ANY(seen.members)
                                      AND profile.class_id = ANY(%(classes)s)
                                      AND (NOT seen.sourced OR profile.subject_id = seen.entity_id
                                           AND 'sources' = ANY(profile.by_hand)))
          AND chunk.class_id = ANY(%(classes)s) AND NOT document.is_deleted
        ORDER BY {kept_first} LIMIT {max_sources}
    ) AS latest
) AS source
ORDER BY seen.entity_ref COLLATE "C", seen.name COLLATE "C"
""".replace("{concept}", CONCEPT_COLUMNS)
_SEEN = _SEEN_TEXT.replace("{kept_first}", _KEPT_FIRST).replace("{max_sources}", LIMIT_OF_PROJECT)

ORDER = """profile.subject_id = entity.entity_id DESC, 'name' = ANY(profile.by_hand) DESC,
    profile.entity_ref IS NULL DESC, profile.mention_count DESC, profile.display_name COLLATE "C",
    profile.entity_kind COLLATE "C", profile.entity_ref COLLATE "C", profile.primary_url COLLATE "C\""""
"""Which class's word counts first. Its last keys are what is chosen: where rows lie depends on what a reader cannot see."""

_ORDERED = _SEEN.replace("{descriptions}", DESCRIPTIONS).replace("{order}", ORDER)
_LIST = _ORDERED.replace("{where}", "true")
_BY_ID = _ORDERED.replace(
    "{where}", "profile.subject_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])"
)

_ALIASES = """
SELECT DISTINCT ON (normalized_name) name FROM (
    SELECT named.normalized_name, mention.name
    FROM entities AS named
    CROSS JOIN LATERAL (
        SELECT mode() WITHIN GROUP (ORDER BY latest.name) AS name FROM (
            SELECT coalesce(part_name, name) AS name FROM document_entity_mentions
            WHERE entity_id = named.entity_id AND class_id = ANY(%(classes)s)
            ORDER BY chunk_id DESC, 1 LIMIT 50
        ) AS latest
    ) AS mention
    WHERE named.entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND mention.name IS NOT NULL
    UNION ALL
    SELECT normalized_name, coalesce(name, known_name) FROM entity_edits
    WHERE entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND class_id = ANY(%(classes)s)
) AS names
ORDER BY normalized_name, name COLLATE "C"
"""

_RELATED_BY = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), stated AS (
    SELECT relation.relation_id, relation.predicate,
           coalesce(source.root_id, relation.source_id) AS source_id,
           coalesce(target.root_id, relation.target_id) AS target_id,
           source.root_id IS NULL AND target.root_id IS NULL AS of_roots
    FROM relations AS relation
    LEFT JOIN merged AS source ON source.entity_id = relation.source_id
    LEFT JOIN merged AS target ON target.entity_id = relation.target_id
    WHERE {where}
), mine AS (
    SELECT stated.source_id, stated.target_id, stated.predicate,
           (array_agg(stated.relation_id ORDER BY stated.of_roots DESC, stated.relation_id))[1] AS relation_id,
           array_agg(DISTINCT stated.relation_id) AS members,
           sum(profile.weight::numeric)::float8 AS weight, sum(profile.mention_count) AS mentions,
           array_agg(profile.display_name ORDER BY profile.display_name COLLATE "C") AS keywords,
           {descriptions} AS descriptions,
           array_agg(profile.comparison ORDER BY profile.source_ids[1] NULLS FIRST, profile.comparison COLLATE "C")
               AS comparisons,
           array_agg(profile.use_case ORDER BY profile.source_ids[1] NULLS FIRST, profile.use_case COLLATE "C") AS use_cases
    FROM stated JOIN profiles AS profile ON profile.subject_id = stated.relation_id
    WHERE profile.class_id = ANY(%(classes)s) AND stated.source_id <> stated.target_id
    GROUP BY stated.source_id, stated.target_id, stated.predicate
)
SELECT mine.source_id, mine.target_id, mine.predicate, mine.keywords, mine.descriptions, mine.weight,
       CASE WHEN cardinality(mine.members) = 1 THEN mine.mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM relation_mentions AS mention
           WHERE mention.relation_id = ANY(mine.members) AND mention.class_id = ANY(%(classes)s)) END,
       source.refs, source.urls, mine.comparisons, mine.use_cases, mine.relation_id
FROM mine
CROSS JOIN LATERAL (
    SELECT array_agg(latest.chunk_ref ORDER BY latest.chunk_id) AS refs,
           array_agg(latest.source_url ORDER BY latest.chunk_id) AS urls
    FROM (
        SELECT chunk.chunk_id, chunk.chunk_ref, document.source_url
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        WHERE chunk.chunk_id = ANY (SELECT unnest(profile.source_ids) FROM profiles AS profile
                                    WHERE profile.subject_id = ANY(mine.members)
                                      AND profile.class_id = ANY(%(classes)s))
          AND chunk.class_id = ANY(%(classes)s) AND NOT document.is_deleted
        ORDER BY {kept_first} LIMIT {max_sources}
    ) AS latest
) AS source
"""
_DESCRIBED = _RELATED_BY.replace("{descriptions}", DESCRIPTIONS)
_RELATED = _DESCRIBED.replace("{kept_first}", _KEPT_FIRST).replace(
    "{max_sources}", LIMIT_OF_PROJECT
)

_RELATIONS = _RELATED.replace(
    "{where}",
    """(relation.source_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
     OR relation.target_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]))""",
)
_RELATION = _RELATED.replace(
    "{where}",
    """relation.source_id = ANY((SELECT with_merged(%(sources)s, %(classes)s))::uuid[])
    AND relation.target_id = ANY((SELECT with_merged(%(targets)s, %(classes)s))::uuid[])
    AND relation.predicate = %(predicate)s""",
)

_RELATIONS_BY_ID = _RELATED.replace(
    "{where}",
    "relation.relation_id = ANY((SELECT with_merged_relations(%(relations)s, %(classes)s))::uuid[])",
)


async def resolve_name(database: Database, reader: Reader, name: str) -> ResolvedName:
    """Return the reader's entity with this name, reference or id, else the one with this stated alias.

    Raises `NotFound`, and `Invalid` with the references if several entities have the name.
    """
    system, _, rest = name.strip().partition(":")
    bare_name = rest.partition(":")[2] if system == "kg" else name
    is_of_bearer = system == "kg" and bare_name.endswith(">")
    parameters = {
        "project_id": reader.project_id,
        "classes": list(reader.classes),
        "name": normalize_name(bare_name),
        "ref": stored_ref(name.strip()) if is_of_bearer or system != "kg" else "",
        "id": _uuid(name),
    }
    rows = await database.rows(_FIND_BY_NAME, parameters)
    if not rows:
        rows = await database.rows(FIND_BY_ALIAS, parameters)
    if not rows:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len({row[1] for row in rows}) > 1:
        found = await get_many(database, reader, [EntityId(row[1]) for row in rows])
        which = ", ".join(f"{each.ref} ({each.id})" for each in found.values())
        raise Invalid(f"Several entities are called {name!r}; use the id of one of them: {which}")
    return ResolvedName(named_as=EntityId(rows[0][0]), entity_id=EntityId(rows[0][1]))


async def list_page(database: Database, reader: Reader, *, after: str, limit: int) -> list[Entity]:
    """Return the reader's entities by reference, those after the reference `after`."""
    rows = await database.rows(
        _LIST, {**_parameters(reader), "after": stored_ref(after) if after else "", "limit": limit}
    )
    return list((await _entities(database, reader, rows)).values())


async def get_many(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> dict[EntityId, Entity]:
    """Return those of the entities that the reader sees, each as the entity that it was merged into."""
    wanted = set(entities)
    rows = await database.rows(
        _BY_ID, {**_parameters(reader), "after": "", "limit": None, "entities": list(wanted)}
    )
    found = await _entities(database, reader, rows)
    return {
        EntityId(member): found[EntityId(row[0])]
        for row in rows
        for member in row[8]
        if member in wanted
    }


async def get(database: Database, reader: Reader, entity_id: EntityId) -> Entity:
    """Return the entity as the reader sees it, or raise `NotFound`."""
    found = await get_many(database, reader, [entity_id])
    if entity_id not in found:
        raise NotFound(f"There is no entity {entity_id} that you may see")
    return found[entity_id]


async def list_aliases(database: Database, reader: Reader, entity: Entity) -> tuple[str, ...]:
    """Return the other names that the reader's documents and manual edits use for the entity, then those that they state."""
    rows = await database.rows(_ALIASES, {"entities": [entity.id], "classes": list(reader.classes)})
    names = {normalize_name(row[0]): row[0] for row in rows}
    for alias in entity.concept.aliases:
        names.setdefault(normalize_name(alias), alias)
    names.pop(normalize_name(entity.name), None)
    return tuple(names.values())


async def list_relations(
    database: Database, reader: Reader, entity_id: EntityId
) -> tuple[Relation, ...]:
    """Return up to 200 of the entity's relations with ends that the reader sees, by descending weight."""
    return tuple((await list_relations_of(database, reader, [entity_id]))[:MAX_RELATIONS])


async def list_relations_of(
    database: Database, reader: Reader, entity_ids: Sequence[EntityId]
) -> list[Relation]:
    """Return all relations of these entities with ends that the reader sees, by descending weight."""
    rows = await database.rows(_RELATIONS, {**_parameters(reader), "entities": list(entity_ids)})
    return await _related(database, reader, rows)


async def get_relation(
    database: Database,
    reader: Reader,
    ends: tuple[EntityId, EntityId],
    predicate: Predicate,
) -> Relation | None:
    """Return the relation from the first end to the second as the reader sees it, None if there is none."""
    key = {"sources": [ends[0]], "targets": [ends[1]], "predicate": predicate.value}
    rows = await database.rows(_RELATION, {**_parameters(reader), **key})
    return next(iter(await _related(database, reader, rows)), None)


async def get_relations(
    database: Database, reader: Reader, relation_ids: Sequence[RelationId]
) -> list[Relation]:
    """Return those of the relations whose ends the reader sees, by descending weight."""
    rows = await database.rows(
        _RELATIONS_BY_ID, {**_parameters(reader), "relations": list(relation_ids)}
    )
    return await _related(database, reader, rows)


async def _entities(
    database: Database, reader: Reader, rows: Sequence[Row]
) -> dict[EntityId, Entity]:
    """Return the entities of these rows; the descriptions of merged ones are combined merge by merge."""
    found = {EntityId(row[0]): _entity(row) for row in rows}
    merged = [EntityId(row[0]) for row in rows if len(row[8]) > 1]
    if merged:
        async with database.transaction() as connection:
            combined = await merge_trees.get_descriptions(connection, reader, merged)
        found |= {each: replace(found[each], description=text) for each, text in combined.items()}
    return found


async def _related(database: Database, reader: Reader, rows: Sequence[Row]) -> list[Relation]:
    wanted = [EntityId(end) for row in rows for end in (row[0], row[1])]
    ends = await get_many(database, reader, wanted)
    found = [_relation(row, ends) for row in rows if row[0] in ends and row[1] in ends]
    found.sort(key=lambda each: (-each.weight, each.source, each.target, each.predicate))
    return found


def _parameters(reader: Reader) -> dict[str, object]:
    return {
        "project_id": reader.project_id,
        "classes": list(reader.classes),
    }


def _entity(row: Row) -> Entity:
    return Entity(
        id=EntityId(row[0]),
        ref=display_ref(row[1], row[3]),
        name=row[2],
        kind=row[3],
        description=join_class_descriptions(row[4]),
        chunk_count=int(row[5]),
        sources=tuple(row[6] or ()),
        paths=tuple(dict.fromkeys(row[7] or ())),
        primary_url=row[9],
        described_by_hand=row[10],
        concept=read_concept(row[11:]),
        created_at=row[15],
        updated_at=row[16],
    )


def _relation(row: Row, ends: Mapping[EntityId, Entity]) -> Relation:
    return Relation(
        id=RelationId(row[11]),
        ends=(EntityId(row[0]), EntityId(row[1])),
        source=ends[row[0]].name,
        target=ends[row[1]].name,
        predicate=Predicate(row[2]),
        keywords=", ".join(
            dict.fromkeys(word for each in row[3] for word in each.split(", ") if word)
        ),
        description=join_class_descriptions(row[4]),
        weight=row[5],
        chunk_count=int(row[6]),
        sources=tuple(row[7] or ()),
        paths=tuple(dict.fromkeys(row[8] or ())),
        comparison=join_class_descriptions(row[9]),
        use_case=join_class_descriptions(row[10]),
    )


def _uuid(name: str) -> UUID | None:
    try:
        return UUID(name.strip())
    except ValueError:
        return None

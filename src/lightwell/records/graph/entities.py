"""Entities and relations as one reader sees them: the profiles of the reader's classes, combined.

A merged entity is shown as its merge target, to readers to whom the merge applies. Manual edits come before
what documents state; then the entity's own name before an alias, and the more frequent one first. No order
depends on an id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

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
from lightwell.domain.ids import EntityId, RelationId, parse_uuid
from lightwell.records.database import Connection, Database
from lightwell.records.graph import merge_trees
from lightwell.records.graph.concepts import (
    CONCEPT_COLUMNS,
    DESCRIPTIONS,
    FIND_BY_ALIAS,
    NAME_COLUMNS,
    ORDER,
    SEEN_ENTITIES,
    read_concept,
)
from lightwell.records.graph.source_limits import KEPT_FIRST, LIMIT_OF_PROJECT

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
                  WHERE mention.entity_id = entity.entity_id AND sees(%(classes)s, mention.class_id))
    UNION
    SELECT edit.named_as
    FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.entity_id IS NOT NULL
      AND edit.normalized_name = %(name)s AND sees(%(classes)s, edit.class_id)
    UNION
    SELECT stated.entity_id
    FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
    WHERE entity.project_id = %(project_id)s AND stated.normalized_name = %(name)s
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stated.entity_id AND sees(%(classes)s, mention.class_id)
                    AND stated.normalized_name = ANY(mention.names))
    UNION
    SELECT subject_id
    FROM profiles JOIN entities AS entity ON entity.entity_id = subject_id
    WHERE entity.project_id = %(project_id)s AND subject_id = %(id)s::uuid AND sees(%(classes)s, class_id)
)
SELECT called.named_as, coalesce(merged.root_id, called.named_as) AS entity_id
FROM called LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = called.named_as
ORDER BY entity_id, called.named_as = coalesce(merged.root_id, called.named_as) DESC, called.named_as
"""


def _sources_of(subject: LiteralString, chosen: LiteralString = "true") -> LiteralString:
    """Return SQL for the kept sources of a `subject` with `members`, over all profiles that the reader sees, in order of arrival."""
    return f"""
    SELECT coalesce(array_agg(latest.chunk_ref ORDER BY latest.chunk_id), '{{}}') AS refs,
           coalesce(array_agg(latest.source_url ORDER BY latest.chunk_id), '{{}}') AS urls
    FROM (
        SELECT chunk.chunk_id, chunk.chunk_ref, document.source_url
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        WHERE chunk.chunk_id = ANY (SELECT unnest(profile.source_ids) FROM profiles AS profile
                                    WHERE profile.subject_id = ANY({subject}.members)
                                      AND sees(%(classes)s, profile.class_id) AND ({chosen}))
          AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
        ORDER BY {KEPT_FIRST} LIMIT {LIMIT_OF_PROJECT}
    ) AS latest
"""  # noqa: S608 - only our own words


_ENTITY_SOURCES = _sources_of(
    "seen",
    "NOT seen.sourced OR profile.subject_id = seen.entity_id AND 'sources' = ANY(profile.by_hand)",
)


# Where the entity is best looked up: the URL that its texts give it, else the first document that speaks of it.
_PRIMARY_URL: LiteralString = """
       coalesce(seen.stated_url, (
           SELECT document.source_url FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
           WHERE chunk.chunk_id = seen.first_source AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted), '')"""


def _entities_where(condition: LiteralString) -> LiteralString:
    return f"""
WITH seen AS (
    SELECT entity.entity_id, {NAME_COLUMNS},
           {DESCRIPTIONS} AS descriptions,
           sum(profile.mention_count) AS mentions,
           (array_agg(profile.attributes ->> 'url' ORDER BY profile.attributes ->> 'url' IS NULL, {ORDER}))[1] AS stated_url,
           (array_agg(profile.source_ids[1] ORDER BY profile.attributes ->> 'url' IS NULL, {ORDER}))[1] AS first_source,
           array_agg(DISTINCT profile.subject_id) AS members,
           bool_or('description' = ANY(profile.by_hand)) AS described_by_hand,
           bool_or(profile.subject_id = entity.entity_id AND 'sources' = ANY(profile.by_hand)) AS sourced,
           {CONCEPT_COLUMNS}
    {SEEN_ENTITIES} AND {condition}
    GROUP BY entity.entity_id
)
SELECT seen.entity_id AS id, seen.entity_ref, seen.name, seen.kind, seen.descriptions,
       (CASE WHEN cardinality(seen.members) = 1 THEN seen.mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
           WHERE mention.entity_id = ANY(seen.members) AND sees(%(classes)s, mention.class_id)) END)::integer AS chunk_count,
       source.refs, source.urls, seen.members, {_PRIMARY_URL} AS primary_url, seen.described_by_hand,
       seen.aliases, seen.category, seen.difficulty, seen.tags, seen.created_at, seen.updated_at
FROM (SELECT * FROM seen WHERE entity_ref COLLATE "C" > %(after)s
      ORDER BY entity_ref COLLATE "C", name COLLATE "C" LIMIT %(limit)s) AS seen
CROSS JOIN LATERAL ({_ENTITY_SOURCES}) AS source
ORDER BY seen.entity_ref COLLATE "C", seen.name COLLATE "C"
"""  # noqa: S608 - only our own words


LIST = _entities_where("true")
"""Up to `limit` entities by reference, those after the reference `after`; each becomes a `SeenEntity`."""

_BY_ID = _entities_where(
    "profile.subject_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])"
)

_ALIASES = """
SELECT DISTINCT ON (normalized_name) name FROM (
    SELECT named.normalized_name, mention.name
    FROM entities AS named
    CROSS JOIN LATERAL (
        SELECT mode() WITHIN GROUP (ORDER BY latest.name) AS name FROM (
            SELECT coalesce(part_name, name) AS name FROM document_entity_mentions
            WHERE entity_id = named.entity_id AND sees(%(classes)s, class_id)
            ORDER BY chunk_id DESC, 1 LIMIT 50
        ) AS latest
    ) AS mention
    WHERE named.entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND mention.name IS NOT NULL
    UNION ALL
    SELECT normalized_name, coalesce(name, known_name) FROM entity_edits
    WHERE entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND sees(%(classes)s, class_id)
) AS names
ORDER BY normalized_name, name COLLATE "C"
"""


def relations_where(condition: LiteralString) -> LiteralString:
    """Return SQL for the relations of a reader that meet a condition, with the ids of their ends after merges."""
    return f"""
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
    WHERE {condition}
), mine AS (
    SELECT stated.source_id, stated.target_id, stated.predicate,
           (array_agg(stated.relation_id ORDER BY stated.of_roots DESC, stated.relation_id))[1] AS relation_id,
           array_agg(DISTINCT stated.relation_id) AS members,
           sum(profile.weight::numeric)::float8 AS weight, sum(profile.mention_count) AS mentions,
           array_agg(profile.display_name ORDER BY profile.display_name COLLATE "C") AS keywords,
           {DESCRIPTIONS} AS descriptions,
           array_agg(profile.comparison ORDER BY profile.source_ids[1] NULLS FIRST, profile.comparison COLLATE "C")
               AS comparisons,
           array_agg(profile.use_case ORDER BY profile.source_ids[1] NULLS FIRST, profile.use_case COLLATE "C") AS use_cases
    FROM stated JOIN profiles AS profile ON profile.subject_id = stated.relation_id
    WHERE sees(%(classes)s, profile.class_id) AND stated.source_id <> stated.target_id
    GROUP BY stated.source_id, stated.target_id, stated.predicate
)
SELECT mine.source_id, mine.target_id, mine.predicate, mine.keywords, mine.descriptions, mine.weight,
       (CASE WHEN cardinality(mine.members) = 1 THEN mine.mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM relation_mentions AS mention
           WHERE mention.relation_id = ANY(mine.members) AND sees(%(classes)s, mention.class_id)) END)::integer AS chunk_count,
       source.refs, source.urls, mine.comparisons, mine.use_cases, mine.relation_id
FROM mine CROSS JOIN LATERAL ({_sources_of("mine")}) AS source
"""  # noqa: S608 - only our own words


_RELATIONS = relations_where("""
    (relation.source_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
     OR relation.target_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]))
""")
_RELATIONS_AMONG = relations_where("""
    relation.source_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
    AND relation.target_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
""")
_RELATION = relations_where("""
    relation.source_id = ANY((SELECT with_merged(%(sources)s, %(classes)s))::uuid[])
    AND relation.target_id = ANY((SELECT with_merged(%(targets)s, %(classes)s))::uuid[])
    AND relation.predicate = %(predicate)s
""")
_RELATIONS_BY_ID = relations_where(
    "relation.relation_id = ANY((SELECT with_merged_relations(%(relations)s, %(classes)s))::uuid[])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEntity:
    """A row of `LIST`; `members` are the entity and those that are merged into it."""

    entity: Entity
    members: tuple[EntityId, ...]


async def resolve_name(database: Database, reader: Reader, name: str) -> ResolvedName:
    """Return the reader's entity with this name, reference or id, else the one with this stated alias.

    Raises `NotFound`, and `Invalid` with the references if several entities have the name.
    """
    system, _, rest = name.strip().partition(":")
    bare_name = rest.partition(":")[2] if system == "kg" else name
    is_of_bearer = system == "kg" and bare_name.endswith(">")
    parameters = {
        **reader.parameters,
        "name": normalize_name(bare_name),
        "names": [normalize_name(bare_name)],
        "ref": stored_ref(name.strip()) if is_of_bearer or system != "kg" else "",
        "id": parse_uuid(name),
    }
    resolved = await database.rows(_FIND_BY_NAME, parameters, into=ResolvedName)
    if not resolved:
        resolved = await database.rows(FIND_BY_ALIAS, parameters, into=ResolvedName)
    if not resolved:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len({entity.entity_id for entity in resolved}) > 1:
        bearers = await get_many(database, reader, [entity.entity_id for entity in resolved])
        which = ", ".join(f"{bearer.ref} ({bearer.id})" for bearer in bearers.values())
        raise Invalid(f"Several entities are called {name!r}; use the id of one of them: {which}")
    return resolved[0]


async def get_many(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> dict[EntityId, Entity]:
    """Return those of the entities that the reader sees, each as the entity that it was merged into."""
    wanted = set(entities)
    parameters = {**reader.parameters, "after": "", "limit": None, "entities": list(wanted)}
    rows = await database.rows(_BY_ID, parameters, into=seen_entity)
    shown = await _entities(database, reader, rows)
    return {
        member: entity
        for row, entity in zip(rows, shown, strict=True)
        for member in row.members
        if member in wanted
    }


async def get(database: Database, reader: Reader, entity_id: EntityId) -> Entity:
    """Return the entity as the reader sees it, or raise `NotFound`."""
    entities = await get_many(database, reader, [entity_id])
    if entity_id not in entities:
        raise NotFound(f"There is no entity {entity_id} that you may see")
    return entities[entity_id]


async def list_aliases(database: Database, reader: Reader, entity: Entity) -> tuple[str, ...]:
    """Return the other names that the reader's documents and manual edits use for the entity, then those that they state."""
    aliases = await database.values(_ALIASES, {"entities": [entity.id], **reader.parameters})
    names = {normalize_name(alias): alias for alias in aliases}
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
    return await _related(database, reader, _RELATIONS, {"entities": list(entity_ids)})


async def list_relations_among(
    database: Database, reader: Reader, entity_ids: Sequence[EntityId]
) -> list[Relation]:
    """Return all relations between two of these entities that the reader sees, by descending weight."""
    return await _related(database, reader, _RELATIONS_AMONG, {"entities": list(entity_ids)})


async def get_relation(
    database: Database,
    reader: Reader,
    ends: tuple[EntityId, EntityId],
    predicate: Predicate,
) -> Relation | None:
    """Return the relation from the first end to the second as the reader sees it, None if there is none."""
    key = {"sources": [ends[0]], "targets": [ends[1]], "predicate": predicate.value}
    return next(iter(await _related(database, reader, _RELATION, key)), None)


async def get_relations(
    database: Database, reader: Reader, relation_ids: Sequence[RelationId]
) -> list[Relation]:
    """Return those of the relations whose ends the reader sees, by descending weight."""
    return await _related(database, reader, _RELATIONS_BY_ID, {"relations": list(relation_ids)})


async def combine_merged(
    connection: Connection, reader: Reader, rows: Sequence[SeenEntity]
) -> list[Entity]:
    """Return the entities of these rows; the descriptions of merged ones are combined merge by merge."""
    merged = [row.entity.id for row in rows if len(row.members) > 1]
    texts = await merge_trees.get_descriptions(connection, reader, merged)
    return [
        # Where nobody states a description, the best quotation stands for it, merged or not.
        replace(row.entity, description=texts.get(row.entity.id) or row.entity.description)
        for row in rows
    ]


async def _entities(database: Database, reader: Reader, rows: Sequence[SeenEntity]) -> list[Entity]:
    if all(len(row.members) == 1 for row in rows):
        return [row.entity for row in rows]
    async with database.transaction() as connection:
        return await combine_merged(connection, reader, rows)


async def _related(
    database: Database, reader: Reader, query: LiteralString, key: Mapping[str, object]
) -> list[Relation]:
    rows = await database.rows(query, {**reader.parameters, **key}, into=dict[str, Any])
    ids = [end for row in rows for end in (row["source_id"], row["target_id"])]
    ends = await get_many(database, reader, ids)
    relations = [
        _relation(ends, **row)
        for row in rows
        if row["source_id"] in ends and row["target_id"] in ends
    ]
    relations.sort(
        key=lambda relation: (
            -relation.weight,
            relation.source,
            relation.target,
            relation.predicate,
        )
    )
    return relations


def seen_entity(  # noqa: PLR0913 - the columns of one row
    *,
    members: Sequence[EntityId],
    entity_ref: str,
    kind: str,
    descriptions: Sequence[str],
    refs: Sequence[str],
    urls: Sequence[str],
    aliases: str | None,
    category: str | None,
    difficulty: str | None,
    tags: str | None,
    **columns: Any,
) -> SeenEntity:
    """Return a row of `LIST` as a value."""
    entity = Entity(
        ref=display_ref(entity_ref, kind),
        kind=kind,
        description=join_class_descriptions(descriptions),
        sources=tuple(refs),
        paths=tuple(dict.fromkeys(urls)),
        concept=read_concept(aliases, category, difficulty, tags),
        **columns,
    )
    return SeenEntity(entity=entity, members=tuple(members))


def _relation(ends: Mapping[EntityId, Entity], **row: Any) -> Relation:
    words = [word for keywords in row["keywords"] for word in keywords.split(", ") if word]
    return Relation(
        id=row["relation_id"],
        ends=(row["source_id"], row["target_id"]),
        source=ends[row["source_id"]].name,
        target=ends[row["target_id"]].name,
        predicate=Predicate(row["predicate"]),
        keywords=", ".join(dict.fromkeys(words)),
        description=join_class_descriptions(row["descriptions"]),
        weight=row["weight"],
        chunk_count=row["chunk_count"],
        sources=tuple(row["refs"]),
        paths=tuple(dict.fromkeys(row["urls"])),
        comparison=join_class_descriptions(row["comparisons"]),
        use_case=join_class_descriptions(row["use_cases"]),
    )

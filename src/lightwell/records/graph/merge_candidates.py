"""Evidence that two entities are one, as one reader sees it, and the pairs that people rejected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

from lightwell.domain.access import Reader, not_own
from lightwell.domain.ids import ClassId, EntityId
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSubject:
    """An entity to find duplicates of; `name` is "" if the reader knows only an alias of it."""

    id: EntityId
    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeEvidence:
    """One indication that two entities are one; `value` is the shared value, the alias, or the similarity."""

    one: EntityId
    other: EntityId
    field: str
    value: str


# In all queries, `merged` maps entities to their merge targets for this reader. Readers to whom a merge does not apply
# see two entities.
_MERGED = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
)
"""

_SUBJECTS = f"""
{_MERGED}
SELECT entity.entity_id AS id,
       CASE WHEN bool_or(profile.entity_ref IS NULL AND profile.subject_id = entity.entity_id)
            THEN entity.normalized_name ELSE '' END AS name,
       coalesce(array_agg(profile.attributes ORDER BY profile.attributes::text)
                    FILTER (WHERE profile.attributes IS NOT NULL), '{{}}') AS attributes
FROM profiles AS profile LEFT JOIN merged ON merged.entity_id = profile.subject_id
JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, profile.subject_id)
WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND profile.class_id = ANY(%(classes)s)
  AND (%(about)s::uuid IS NULL OR entity.entity_id = %(about)s)
GROUP BY entity.entity_id
ORDER BY max(profile.source_ids[cardinality(profile.source_ids)]::text) DESC NULLS LAST,
         min(coalesce(profile.entity_ref, entity.entity_ref)) COLLATE "C"
LIMIT %(most)s
"""  # noqa: S608 - only our own words

# The entities that these are related to, by relations that the reader sees.
_RELATED = """
SELECT DISTINCT whole.root_id AS one, coalesce(merged.root_id, stated.other) AS other
FROM whole
CROSS JOIN LATERAL (
    SELECT relation_id, target_id AS other FROM relations WHERE source_id = whole.entity_id
    UNION ALL
    SELECT relation_id, source_id FROM relations WHERE target_id = whole.entity_id
) AS stated
LEFT JOIN merged ON merged.entity_id = stated.other
WHERE coalesce(merged.root_id, stated.other) <> whole.root_id
  AND EXISTS (SELECT FROM profiles AS profile
              WHERE profile.subject_id = stated.relation_id AND profile.class_id = ANY(%(classes)s))
"""


def _whole(entity: LiteralString, source: LiteralString) -> LiteralString:
    return f"""
SELECT {entity} AS root_id, {entity} AS entity_id FROM {source}
UNION ALL
SELECT merged.root_id, merged.entity_id FROM merged JOIN {source} ON {entity} = merged.root_id
"""  # noqa: S608 - only our own words


# Entities with a similar name and a common neighbour that has at most a hundred neighbours. Names with different
# numbers in them denote different things.
_SIMILAR_NAMES = f"""
{_MERGED}, given AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(names)s::text[]) AS given (entity_id, name)
), whole AS (
    {_whole("given.entity_id", "given")}
), step AS MATERIALIZED (
    {_RELATED}
), via AS MATERIALIZED (
    SELECT DISTINCT other AS entity_id FROM step
), way AS MATERIALIZED (
    SELECT via.entity_id AS via, array_agg(near.other) AS others
    FROM via
    CROSS JOIN LATERAL (
        WITH whole AS ({_whole("via.entity_id", "(SELECT) AS itself")})
        {_RELATED} LIMIT 101
    ) AS near
    GROUP BY via.entity_id HAVING count(*) <= 100
), reached AS MATERIALIZED (
    SELECT DISTINCT step.one, others.other
    FROM step JOIN way ON way.via = step.other CROSS JOIN LATERAL unnest(way.others) AS others (other)
    WHERE others.other <> step.one
)
SELECT given.entity_id, entity.entity_id, similarity(entity.normalized_name, given.name)
FROM reached
JOIN given ON given.entity_id = reached.one
JOIN entities AS entity ON entity.entity_id = reached.other
WHERE similarity(entity.normalized_name, given.name) >= 0.5
  AND regexp_replace(entity.normalized_name, '[^0-9]', '', 'g') = regexp_replace(given.name, '[^0-9]', '', 'g')
  AND EXISTS (SELECT FROM profiles AS profile
              WHERE profile.subject_id = entity.entity_id AND profile.class_id = ANY(%(classes)s)
                AND profile.entity_ref IS NULL)
"""  # noqa: S608 - only our own words


def _same(field: LiteralString) -> LiteralString:
    return f"""
SELECT given.entity_id AS one, coalesce(merged.root_id, profile.subject_id) AS other, '{field}' AS field, given.value
FROM unnest(%(ids)s::uuid[], %(fields)s::text[], %(values)s::text[]) AS given (entity_id, field, value)
JOIN profiles AS profile ON given.field = '{field}' AND lower(profile.attributes ->> '{field}') = given.value
LEFT JOIN merged ON merged.entity_id = profile.subject_id
WHERE profile.class_id = ANY(%(classes)s) AND profile.subject = 'entity'
  AND coalesce(merged.root_id, profile.subject_id) <> given.entity_id
"""  # noqa: S608 - only our own words


_SAME = f"""
{_MERGED}
{_same("email")}
UNION
{_same("domain")}
"""

_ALIASES = f"""
{_MERGED}
SELECT DISTINCT given.entity_id AS one, entity.entity_id AS other, 'alias' AS field, given.name AS value
FROM unnest(%(ids)s::uuid[], %(names)s::text[]) AS given (entity_id, name)
JOIN entities AS entity
  ON entity.project_id = %(project_id)s AND entity.normalized_name = given.name
JOIN profiles AS profile
  ON profile.subject_id = entity.entity_id AND profile.class_id = ANY(%(classes)s) AND profile.entity_ref IS NULL
WHERE entity.entity_id <> given.entity_id
  AND NOT EXISTS (SELECT FROM merged WHERE merged.entity_id = entity.entity_id)
"""  # noqa: S608 - only our own words

_NEIGHBOURS = f"""
{_MERGED}, given AS (
    SELECT unnest(%(ids)s::uuid[]) AS entity_id
), whole AS (
    {_whole("given.entity_id", "given")}
)
{_RELATED}
"""

# A rejection applies to readers who share a class with each of the two entities, one of its author's own that knows it.
_REJECTED = """
SELECT given.one, given.other FROM unnest(%(ones)s::text[], %(others)s::text[]) AS given (one, other)
JOIN rejected_merges AS rejected USING (one, other)
WHERE rejected.project_id = %(project_id)s
  AND rejected.one_classes && %(classes)s::integer[] AND rejected.other_classes && %(classes)s::integer[]
"""

_NAMES = f"""
{_MERGED}, whole AS (
    {_whole("given.entity_id", "unnest(%(ids)s::uuid[]) AS given (entity_id)")}
)
SELECT whole.root_id, keyed_hash(entity.project_id, encode(sha256(convert_to(entity.entity_ref, 'UTF8')), 'hex')),
       ARRAY(SELECT profile.class_id FROM profiles AS profile
             WHERE profile.subject_id = entity.entity_id AND profile.class_id = ANY(%(classes)s)
             ORDER BY profile.class_id)
FROM whole JOIN entities AS entity USING (entity_id)
"""  # noqa: S608 - only our own words

_REJECT = """
INSERT INTO rejected_merges AS rejected (project_id, one, other, one_classes, other_classes, rejected_by)
SELECT %(project_id)s, one, other, string_to_array(one_classes, ' ')::integer[],
       string_to_array(other_classes, ' ')::integer[], %(by)s
FROM unnest(%(ones)s::text[], %(others)s::text[], %(one_classes)s::text[], %(other_classes)s::text[])
    AS given (one, other, one_classes, other_classes)
ON CONFLICT (project_id, one, other, rejected_by) DO UPDATE
SET one_classes = rejected.one_classes || excluded.one_classes,
    other_classes = rejected.other_classes || excluded.other_classes
"""


async def list_merge_subjects(
    database: Database, reader: Reader, about: EntityId | None, *, limit: int
) -> list[MergeSubject]:
    """Return this entity, or the reader's entities that were mentioned last."""
    parameters = {**reader.parameters, "about": about, "most": limit}
    return await database.rows(_SUBJECTS, parameters, into=_subject)


async def find_similar_names(
    database: Database, reader: Reader, entities: Sequence[MergeSubject]
) -> list[MergeEvidence]:
    """Return entities with a similar name and a common neighbour."""
    names = {entity.id: entity.name for entity in entities if entity.name}
    facts = {"ids": list(names), "names": list(names.values())}
    rows = await database.rows(_SIMILAR_NAMES, {**reader.parameters, **facts})
    return [
        MergeEvidence(one=entity, other=other, field="name", value=f"{similarity:.2f}")
        for entity, other, similarity in rows
    ]


async def find_same_attributes(
    database: Database, reader: Reader, entities: Sequence[MergeSubject]
) -> list[MergeEvidence]:
    """Return entities with the same e-mail address or domain."""
    values = [
        (entity.id, field, entity.attributes[field].lower())
        for entity in entities
        for field in ("email", "domain")
        if entity.attributes.get(field)
    ]
    facts = {
        "ids": [entity for entity, _, _ in values],
        "fields": [field for _, field, _ in values],
        "values": [value for _, _, value in values],
    }
    return await database.rows(_SAME, {**reader.parameters, **facts}, into=MergeEvidence)


async def find_alias_matches(
    database: Database, reader: Reader, names: Iterable[tuple[EntityId, str]]
) -> list[MergeEvidence]:
    """Return entities with one of these normalised names, each an alias of another entity."""
    values = list(names)
    facts = {"ids": [entity for entity, _ in values], "names": [name for _, name in values]}
    return await database.rows(_ALIASES, {**reader.parameters, **facts}, into=MergeEvidence)


async def list_neighbours(
    database: Database, reader: Reader, entities: Iterable[EntityId]
) -> dict[EntityId, set[EntityId]]:
    """Return the entities that these are related to, by relations that the reader sees."""
    neighbours: dict[EntityId, set[EntityId]] = {}
    facts = {**reader.parameters, "ids": list(entities)}
    for entity, other in await database.rows(_NEIGHBOURS, facts):
        neighbours.setdefault(entity, set()).add(other)
    return neighbours


async def list_rejected_pairs(
    database: Database, reader: Reader, pairs: Sequence[tuple[EntityId, EntityId]]
) -> set[tuple[EntityId, EntityId]]:
    """Return which of the pairs people rejected, under any of the names that the reader has for them."""
    names = await _names(database, reader, {entity for pair in pairs for entity in pair})
    keys = {
        (first.hash, second.hash): pair for pair in pairs for first, second in _pairs(names, pair)
    }
    facts = {"ones": [first for first, _ in keys], "others": [second for _, second in keys]}
    rows = await database.rows(_REJECTED, {**reader.parameters, **facts})
    return {keys[first, second] for first, second in rows}


async def reject(database: Database, reader: Reader, pair: tuple[EntityId, EntityId]) -> None:
    """Store that these are two entities, for readers who see both, even if their documents are deleted and return.

    Raises `Invalid` unless own classes of the reader know both.
    """
    pairs = _pairs(await _names(database, reader, pair), pair)
    names = [(_own(first, reader), _own(second, reader)) for first, second in pairs]
    names = [(first, second) for first, second in names if first.classes and second.classes]
    if not names:
        raise not_own()
    await database.execute(
        _REJECT,
        {
            "project_id": reader.project_id,
            "ones": [first.hash for first, _ in names],
            "others": [second.hash for _, second in names],
            "one_classes": [" ".join(map(str, first.classes)) for first, _ in names],
            "other_classes": [" ".join(map(str, second.classes)) for _, second in names],
            "by": sorted(reader.tags),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """A name of an entity as the hash of its reference, and the reader's classes that know it."""

    hash: str
    classes: tuple[ClassId, ...]


def _own(name: _Name, reader: Reader) -> _Name:
    return replace(name, classes=tuple(key for key in name.classes if key in reader.own_classes))


async def _names(
    database: Database, reader: Reader, entities: Iterable[EntityId]
) -> dict[EntityId, list[_Name]]:
    names: dict[EntityId, list[_Name]] = {}
    parameters = {"ids": list(entities), **reader.parameters}
    for entity_id, hashed, classes in await database.rows(_NAMES, parameters):
        names.setdefault(entity_id, []).append(_Name(hash=hashed, classes=tuple(classes)))
    return names


def _pairs(
    names: Mapping[EntityId, Sequence[_Name]], pair: tuple[EntityId, EntityId]
) -> list[tuple[_Name, _Name]]:
    entity, other = pair
    return [
        (name, other_name) if name.hash < other_name.hash else (other_name, name)
        for name in names.get(entity, ())
        for other_name in names.get(other, ())
    ]


def _subject(*, attributes: Sequence[Mapping[str, str]], **columns: Any) -> MergeSubject:
    merged = {field: value for profile in attributes for field, value in profile.items()}
    return MergeSubject(attributes=merged, **columns)

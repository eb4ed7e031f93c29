"""Evidence that two entities are one, as one reader sees it, and the pairs that people rejected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND sees(%(classes)s, profile.class_id)
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
              WHERE profile.subject_id = stated.relation_id AND sees(%(classes)s, profile.class_id))
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
              WHERE profile.subject_id = entity.entity_id AND sees(%(classes)s, profile.class_id)
                AND profile.entity_ref IS NULL)
"""  # noqa: S608 - only our own words


def _same(field: LiteralString) -> LiteralString:
    return f"""
SELECT given.entity_id AS one, coalesce(merged.root_id, profile.subject_id) AS other, '{field}' AS field, given.value
FROM unnest(%(ids)s::uuid[], %(fields)s::text[], %(values)s::text[]) AS given (entity_id, field, value)
JOIN profiles AS profile ON given.field = '{field}' AND lower(profile.attributes ->> '{field}') = given.value
LEFT JOIN merged ON merged.entity_id = profile.subject_id
WHERE sees(%(classes)s, profile.class_id) AND profile.subject = 'entity'
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
  ON profile.subject_id = entity.entity_id AND sees(%(classes)s, profile.class_id) AND profile.entity_ref IS NULL
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
SELECT DISTINCT given.one, given.other FROM unnest(%(ones)s::text[], %(others)s::text[]) AS given (one, other)
JOIN merge_rejections AS rejected USING (one, other)
WHERE rejected.project_id = %(project_id)s
  AND sees(%(classes)s, rejected.one_class) AND sees(%(classes)s, rejected.other_class)
"""

_LATEST_REJECTED = f"""
{_MERGED}
SELECT coalesce(first.root_id, rejected.one_id) AS one, coalesce(second.root_id, rejected.other_id) AS other,
       max(rejected.rejected_at) AS rejected_at,
       (array_agg(rejected.rejected_by ORDER BY rejected.rejected_at DESC, rejected.rejected_by COLLATE "C"))[1] AS rejected_by
FROM merge_rejections AS rejected
LEFT JOIN merged AS first ON first.entity_id = rejected.one_id
LEFT JOIN merged AS second ON second.entity_id = rejected.other_id
WHERE rejected.project_id = %(project_id)s
  AND sees(%(classes)s, rejected.one_class) AND sees(%(classes)s, rejected.other_class)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(limit)s
"""  # noqa: S608 - only our own words

# Whether two entities are one is asked once: a link across systems that says so, or that a person rejected, leaves nothing to propose.
_LINKED = """
SELECT DISTINCT given.one, given.other
FROM unnest(%(ones)s::uuid[], %(others)s::uuid[]) AS given (one, other)
JOIN entity_links AS link
  ON link.from_ref = given.one AND link.to_ref = given.other OR link.from_ref = given.other AND link.to_ref = given.one
WHERE link.project_id = %(project_id)s AND link.link_type = 'same_as'
  AND sees(%(classes)s, link.class_id) AND sees(%(classes)s, link.to_class_id)
  AND (link.expires_at IS NULL OR link.expires_at > now())
"""

_NAMES = f"""
{_MERGED}, whole AS (
    {_whole("given.entity_id", "unnest(%(ids)s::uuid[]) AS given (entity_id)")}
)
SELECT whole.root_id, whole.entity_id, keyed_hash(entity.project_id, encode(sha256(convert_to(entity.entity_ref, 'UTF8')), 'hex')),
       ARRAY(SELECT profile.class_id FROM profiles AS profile
             WHERE profile.subject_id = entity.entity_id AND sees(%(classes)s, profile.class_id)
             ORDER BY profile.class_id)
FROM whole JOIN entities AS entity USING (entity_id)
"""  # noqa: S608 - only our own words

_REJECT = """
INSERT INTO merge_rejections (project_id, one, other, one_class, other_class, one_id, other_id, rejected_by)
SELECT %(project_id)s, one, other, one_class, other_class, one_id, other_id, %(by)s
FROM unnest(%(ones)s::text[], %(others)s::text[], %(one_classes)s::integer[], %(other_classes)s::integer[],
            %(one_ids)s::uuid[], %(other_ids)s::uuid[])
    AS given (one, other, one_class, other_class, one_id, other_id)
ON CONFLICT (project_id, one, other, one_class, other_class) DO UPDATE
SET one_id = excluded.one_id, other_id = excluded.other_id, rejected_by = excluded.rejected_by, rejected_at = now()
"""

_REOPEN = """
DELETE FROM merge_rejections AS rejected
USING unnest(%(ones)s::text[], %(others)s::text[]) AS given (one, other)
WHERE rejected.project_id = %(project_id)s AND rejected.one = given.one AND rejected.other = given.other
  AND rejected.one_class = ANY(%(own)s) AND rejected.other_class = ANY(%(own)s)
RETURNING rejected.one
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMerge:
    """Two entities that somebody keeps apart."""

    one: EntityId
    other: EntityId
    rejected_at: datetime
    rejected_by: str


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
    class_pairs = [
        (first, first_class, second, second_class)
        for first, second in pairs
        for first_class in _own(first, reader)
        for second_class in _own(second, reader)
    ]
    if not class_pairs:
        raise not_own()
    await database.execute(
        _REJECT,
        {
            "project_id": reader.project_id,
            "ones": [first.hash for first, *_ in class_pairs],
            "others": [second.hash for *_, second, _ in class_pairs],
            "one_ids": [first.entity_id for first, *_ in class_pairs],
            "other_ids": [second.entity_id for *_, second, _ in class_pairs],
            "one_classes": [class_id for _, class_id, *_ in class_pairs],
            "other_classes": [class_id for *_, class_id in class_pairs],
            "by": reader.user,
        },
    )


async def reopen(database: Database, reader: Reader, pair: tuple[EntityId, EntityId]) -> bool:
    """Take back in the reader's own classes that these are two entities; return whether anybody had said so there."""
    pairs = _pairs(await _names(database, reader, pair), pair)
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "ones": [first.hash for first, _ in pairs],
        "others": [second.hash for _, second in pairs],
        "own": list(reader.own_classes),
    }
    return bool(await database.values(_REOPEN, facts))


async def list_rejected(database: Database, reader: Reader, *, limit: int) -> list[RejectedMerge]:
    """Return up to `limit` rejections that apply to the reader, the latest first."""
    facts = {**reader.parameters, "limit": limit}
    return await database.rows(_LATEST_REJECTED, facts, into=RejectedMerge)


async def list_linked_pairs(
    database: Database, reader: Reader, pairs: Sequence[tuple[EntityId, EntityId]]
) -> set[tuple[EntityId, EntityId]]:
    """Return which of the pairs a link across systems says to be one, may say, or was rejected to say."""
    facts = {"ones": [first for first, _ in pairs], "others": [second for _, second in pairs]}
    rows = await database.rows(_LINKED, {**reader.parameters, **facts})
    return {(first, second) for first, second in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """A name of an entity as the hash of its reference, and the reader's classes that know it."""

    entity_id: EntityId
    hash: str
    classes: tuple[ClassId, ...]


def _own(name: _Name, reader: Reader) -> list[ClassId]:
    return [class_id for class_id in name.classes if class_id in reader.own_classes]


async def _names(
    database: Database, reader: Reader, entities: Iterable[EntityId]
) -> dict[EntityId, list[_Name]]:
    names: dict[EntityId, list[_Name]] = {}
    parameters = {"ids": list(entities), **reader.parameters}
    for root, entity_id, hashed, classes in await database.rows(_NAMES, parameters):
        name = _Name(entity_id=entity_id, hash=hashed, classes=tuple(classes))
        names.setdefault(root, []).append(name)
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

"""What speaks for two entities being one, as one reader sees it, and the pairs that people have turned down."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.domain.ids import EntityId
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """An entity to find partners for; `name` is "" where the reader has heard of it by an alias only."""

    id: EntityId
    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One thing that speaks for two entities being one; `value` is the shared value, the alias, or the similarity."""

    one: EntityId
    other: EntityId
    field: str
    value: str


_LOOKED_AT = """
SELECT entity.entity_id, CASE WHEN bool_or(profile.entity_ref IS NULL) THEN entity.normalized_name ELSE '' END,
       array_agg(profile.attributes ORDER BY profile.attributes::text) FILTER (WHERE profile.attributes IS NOT NULL)
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND profile.class_id = ANY(%(classes)s)
  AND (%(about)s::uuid IS NULL OR entity.entity_id = %(about)s)
GROUP BY entity.entity_id
ORDER BY max(profile.source_ids[cardinality(profile.source_ids)]::text) DESC NULLS LAST,
         min(coalesce(profile.entity_ref, entity.entity_ref)) COLLATE "C"
LIMIT %(most)s
"""

# Who is related to the same others, these being related to at most a hundred, and is called nearly the same. Names
# with different numbers in them name different things.
_NEAR = """
WITH given AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(names)s::text[]) AS given (entity_id, name)
), step AS MATERIALIZED (
    SELECT DISTINCT given.entity_id AS one, CASE WHEN relation.source_id = given.entity_id THEN relation.target_id
                                                 ELSE relation.source_id END AS via
    FROM given JOIN relations AS relation ON given.entity_id IN (relation.source_id, relation.target_id)
    WHERE EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = relation.relation_id AND profile.class_id = ANY(%(classes)s))
), way AS MATERIALIZED (
    SELECT vias.via, array_agg(near.other) AS others
    FROM (SELECT DISTINCT via FROM step) AS vias
    CROSS JOIN LATERAL (
        SELECT DISTINCT CASE WHEN relation.source_id = vias.via THEN relation.target_id
                             ELSE relation.source_id END AS other
        FROM relations AS relation
        WHERE vias.via IN (relation.source_id, relation.target_id)
          AND EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = relation.relation_id AND profile.class_id = ANY(%(classes)s))
        LIMIT 101
    ) AS near
    GROUP BY vias.via HAVING count(*) <= 100
), reached AS MATERIALIZED (
    SELECT DISTINCT step.one, others.other
    FROM step JOIN way USING (via) CROSS JOIN LATERAL unnest(way.others) AS others (other)
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
"""

_SAME = """
SELECT given.entity_id, profile.subject_id, 'email', given.value
FROM unnest(%(ids)s::uuid[], %(fields)s::text[], %(values)s::text[]) AS given (entity_id, field, value)
JOIN profiles AS profile ON given.field = 'email' AND lower(profile.attributes ->> 'email') = given.value
WHERE profile.class_id = ANY(%(classes)s) AND profile.subject = 'entity' AND profile.subject_id <> given.entity_id
UNION
SELECT given.entity_id, profile.subject_id, 'domain', given.value
FROM unnest(%(ids)s::uuid[], %(fields)s::text[], %(values)s::text[]) AS given (entity_id, field, value)
JOIN profiles AS profile ON given.field = 'domain' AND lower(profile.attributes ->> 'domain') = given.value
WHERE profile.class_id = ANY(%(classes)s) AND profile.subject = 'entity' AND profile.subject_id <> given.entity_id
"""

_ALIASES = """
SELECT DISTINCT given.entity_id, entity.entity_id, 'alias', given.name
FROM unnest(%(ids)s::uuid[], %(names)s::text[]) AS given (entity_id, name)
JOIN entities AS entity
  ON entity.project_id = %(project_id)s AND entity.normalized_name = given.name AND entity.merged_into IS NULL
JOIN profiles AS profile
  ON profile.subject_id = entity.entity_id AND profile.class_id = ANY(%(classes)s) AND profile.entity_ref IS NULL
WHERE entity.entity_id <> given.entity_id
"""

_NEIGHBOURS = """
SELECT DISTINCT given.entity_id, CASE WHEN relation.source_id = given.entity_id THEN relation.target_id
                                      ELSE relation.source_id END
FROM unnest(%(ids)s::uuid[]) AS given (entity_id)
JOIN relations AS relation ON given.entity_id IN (relation.source_id, relation.target_id)
WHERE EXISTS (SELECT FROM profiles AS profile
              WHERE profile.subject_id = relation.relation_id AND profile.class_id = ANY(%(classes)s))
"""

_REJECTED = """
SELECT given.one, given.other FROM unnest(%(ones)s::text[], %(others)s::text[]) AS given (one, other)
JOIN rejected_merges AS rejected USING (one, other)
WHERE rejected.project_id = %(project_id)s
"""

_REFS = """
SELECT coalesce(merged_into, entity_id), encode(sha256(convert_to(entity_ref, 'UTF8')), 'hex') FROM entities
WHERE entity_id = ANY(%(ids)s) OR merged_into = ANY(%(ids)s)
"""

_REJECT = """
INSERT INTO rejected_merges (project_id, one, other, rejected_by)
SELECT %(project_id)s, one, other, %(by)s
FROM unnest(%(ones)s::text[], %(others)s::text[]) AS given (one, other)
ON CONFLICT (project_id, one, other) DO NOTHING
"""


async def looked_at(
    database: Database, reader: Reader, about: EntityId | None, *, most: int
) -> list[LookedAt]:
    """Return this entity, or the reader's entities that were spoken of last."""
    rows = await database.rows(_LOOKED_AT, {**_reading(reader), "about": about, "most": most})
    return [
        LookedAt(id=EntityId(row[0]), name=row[1], attributes=_gathered(row[2] or []))
        for row in rows
    ]


async def near_names(
    database: Database, reader: Reader, entities: Sequence[LookedAt]
) -> list[Sign]:
    """Return who has a name near to that of one of the entities, and a neighbour that is also theirs."""
    named = [each for each in entities if each.name]
    facts = {"ids": [each.id for each in named], "names": [each.name for each in named]}
    rows = await database.rows(_NEAR, {**_reading(reader), **facts})
    return [
        Sign(one=EntityId(one), other=EntityId(other), field="name", value=f"{similarity:.2f}")
        for one, other, similarity in rows
    ]


async def same_attributes(
    database: Database, reader: Reader, entities: Sequence[LookedAt]
) -> list[Sign]:
    """Return who has the same e-mail address or domain as one of the entities."""
    given = [
        (each.id, field, each.attributes[field].lower())
        for each in entities
        for field in ("email", "domain")
        if each.attributes.get(field)
    ]
    facts = {
        "ids": [row[0] for row in given],
        "fields": [row[1] for row in given],
        "values": [row[2] for row in given],
    }
    return _signs(await database.rows(_SAME, {**_reading(reader), **facts}))


async def called(
    database: Database, reader: Reader, names: Iterable[tuple[EntityId, str]]
) -> list[Sign]:
    """Return which entities have one of these normalised names, each an alias of another entity."""
    given = list(names)
    facts = {"ids": [row[0] for row in given], "names": [row[1] for row in given]}
    return _signs(await database.rows(_ALIASES, {**_reading(reader), **facts}))


async def neighbours(
    database: Database, reader: Reader, entities: Iterable[EntityId]
) -> dict[EntityId, set[EntityId]]:
    """Return to which entities these are related, by relations that the reader sees."""
    found: dict[EntityId, set[EntityId]] = {}
    facts = {**_reading(reader), "ids": list(entities)}
    for one, other in await database.rows(_NEIGHBOURS, facts):
        found.setdefault(EntityId(one), set()).add(EntityId(other))
    return found


async def rejected(
    database: Database, reader: Reader, pairs: Sequence[tuple[EntityId, EntityId]]
) -> set[tuple[EntityId, EntityId]]:
    """Return which of the pairs people have turned down, under any of the names that they stand for by now."""
    hashes = await _hashes(database, {entity for pair in pairs for entity in pair})
    keys = {key: pair for pair in pairs for key in _keys(hashes, pair)}
    facts = {"ones": [key[0] for key in keys], "others": [key[1] for key in keys]}
    rows = await database.rows(_REJECTED, {"project_id": reader.project_id, **facts})
    return {keys[(row[0], row[1])] for row in rows}


async def reject(database: Database, reader: Reader, pair: tuple[EntityId, EntityId]) -> None:
    """Remember that these are two things, whatever becomes of their documents."""
    keys = _keys(await _hashes(database, pair), pair)
    await database.run(
        _REJECT,
        {
            "project_id": reader.project_id,
            "ones": [key[0] for key in keys],
            "others": [key[1] for key in keys],
            "by": sorted(reader.tags),
        },
    )


async def _hashes(database: Database, entities: Iterable[EntityId]) -> dict[EntityId, list[str]]:
    found: dict[EntityId, list[str]] = {}
    for entity_id, hashed in await database.rows(_REFS, {"ids": list(entities)}):
        found.setdefault(EntityId(entity_id), []).append(hashed)
    return found


def _keys(
    hashes: Mapping[EntityId, Sequence[str]], pair: tuple[EntityId, EntityId]
) -> list[tuple[str, str]]:
    return [
        (min(one, other), max(one, other))
        for one in hashes.get(pair[0], ())
        for other in hashes.get(pair[1], ())
    ]


def _gathered(attributes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {field: value for each in attributes for field, value in each.items()}


def _signs(rows: Sequence[tuple[EntityId, EntityId, str, str]]) -> list[Sign]:
    return [
        Sign(one=one, other=other, field=field, value=value) for one, other, field, value in rows
    ]


def _reading(reader: Reader) -> dict[str, object]:
    return {"project_id": reader.project_id, "classes": list(reader.classes)}

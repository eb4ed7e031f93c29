"""Which entities fit a name: the one that has it, those it may be short for, those that are nearly called so.

All of it is filtered by the reader inside its own query, and no order depends on an id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.candidates import MAX_CANDIDATES
from lightwell.domain.entity_refs import stored_ref
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.ids import EntityId
from lightwell.records.database import Database
from lightwell.records.graph import entities

MIN_LIKENESS = 0.45
"""The trigram similarity from which a name nearly fits."""

_MAX_LONGER = 40
_SAID_BY_RULES = "name"
"""The kind of what texts name without saying what it is: it may be of any other."""

TITLES = ["document", "work", "term", "domain"]
"""Kinds that come after the others where a name nearly fits: what is called so rather than what it is about."""

# A name counts where one of the reader's chunks, or a word by hand that the reader sees, has it. `fit` is 3 for an
# id, 2 for a reference, 1 for the name, and below 1 how nearly it fits.
_FITTING = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), asked AS (
    SELECT entity_id, entity_ref, normalized_name FROM entities
    WHERE project_id = %(project_id)s AND {where}
), fitting AS (
    SELECT asked.entity_id, asked.entity_ref, asked.normalized_name FROM asked
    WHERE EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = asked.entity_id AND mention.class_id = ANY(%(classes)s))
    UNION ALL
    SELECT edit.entity_id, entity.entity_ref, edit.normalized_name
    FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.entity_id IS NOT NULL
      AND edit.class_id = ANY(%(classes)s) AND {where_by_hand}
), ranked AS (
    SELECT coalesce(merged.root_id, fitting.entity_id) AS entity_id, max({fit}) AS fit
    FROM fitting LEFT JOIN merged USING (entity_id) GROUP BY 1
)
SELECT ranked.entity_id, ranked.fit
FROM ranked
CROSS JOIN LATERAL (
    SELECT ranked.entity_id UNION ALL SELECT merged.entity_id FROM merged WHERE merged.root_id = ranked.entity_id
) AS member
JOIN profiles AS profile ON profile.subject_id = member.entity_id AND profile.class_id = ANY(%(classes)s)
JOIN entities AS entity ON entity.entity_id = ranked.entity_id
GROUP BY ranked.entity_id, ranked.fit
HAVING {having}
ORDER BY ranked.fit >= 1 DESC, bool_and(profile.entity_kind = ANY(%(titles)s)), ranked.fit DESC,
         sum(profile.mention_count) DESC,
         min(profile.display_name COLLATE "C") FILTER (WHERE profile.subject_id = ranked.entity_id),
         min(coalesce(profile.entity_ref, entity.entity_ref) COLLATE "C")
             FILTER (WHERE profile.subject_id = ranked.entity_id)
LIMIT %(most)s
"""

_EXACT = (
    _FITTING.replace("{where}", "(normalized_name = %(name)s OR entity_ref = %(ref)s)")
    .replace("{where_by_hand}", "(edit.normalized_name = %(name)s OR entity.entity_ref = %(ref)s)")
    .replace("{fit}", "CASE WHEN entity_ref = %(ref)s THEN 2.0 ELSE 1.0 END")
    .replace("{having}", "true")
)

_HOLDS = "string_to_array(normalized_name, ' ') @> %(words)s::text[]"

_IS_LONGER = """({name} LIKE %(longest)s AND {name} <> %(name)s
    AND string_to_array({name}, ' ') @> %(words)s::text[]
    AND NOT EXISTS (SELECT FROM unnest(string_to_array({name}, ' ')) AS word
                    WHERE word <> ALL(%(words)s) AND word ~ '[0-9@]'))"""

_NEAR = (
    _FITTING.replace(
        "{where}",
        f"(normalized_name LIKE %(longest)s OR normalized_name %% %(name)s)"
        f" AND ({_HOLDS} OR similarity(normalized_name, %(name)s) >= %(least)s)",
    )
    .replace(
        "{where_by_hand}",
        f"({_HOLDS.replace('normalized_name', 'edit.normalized_name')}"
        " OR similarity(edit.normalized_name, %(name)s) >= %(least)s)",
    )
    .replace(
        "{fit}",
        f"CASE WHEN {_HOLDS} THEN 0.99 ELSE similarity(normalized_name, %(name)s) END",
    )
    .replace("{having}", "true")
)

# A longer name holds the name as whole words, and no figure beside it: "Tarn 4" is a Tarn, not something else.
_LONGER = (
    _FITTING.replace("{where}", _IS_LONGER.replace("{name}", "normalized_name"))
    .replace("{where_by_hand}", _IS_LONGER.replace("{name}", "edit.normalized_name"))
    .replace("{fit}", "0.99")
    .replace("{having}", "NOT bool_and(profile.entity_kind = ANY(%(titles)s))")
)

_COUNTS = """
SELECT (SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
        WHERE entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND class_id = ANY(%(classes)s)
          AND NOT EXISTS (SELECT FROM document_entity_mentions AS beside
                          WHERE beside.chunk_id = mention.chunk_id AND beside.class_id = mention.class_id
                            AND beside.entity_id = ANY((SELECT with_merged(%(longer)s, %(classes)s))::uuid[]))),
       (SELECT count(DISTINCT chunk_id) FROM document_entity_mentions
        WHERE entity_id = ANY((SELECT with_merged(%(longer)s, %(classes)s))::uuid[]) AND class_id = ANY(%(classes)s))
"""

# "Nordwind Energie GmbH", where all that says it says "Nordwind Energie", too.
_ONLY_BESIDE = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), pair AS MATERIALIZED (
    SELECT longer, longer || ARRAY(SELECT entity_id FROM merged WHERE root_id = longer) AS longer_ones,
           shorter || ARRAY(SELECT entity_id FROM merged WHERE root_id = shorter) AS shorter_ones
    FROM unnest(%(longer)s::uuid[], %(shorter)s::uuid[]) AS given (longer, shorter)
)
SELECT pair.longer FROM pair
WHERE EXISTS (SELECT FROM document_entity_mentions
              WHERE entity_id = ANY(pair.longer_ones) AND class_id = ANY(%(classes)s))
  AND NOT EXISTS (
    SELECT FROM document_entity_mentions AS mention
    WHERE mention.entity_id = ANY(pair.longer_ones) AND mention.class_id = ANY(%(classes)s)
      AND NOT EXISTS (SELECT FROM document_entity_mentions AS beside
                      WHERE beside.chunk_id = mention.chunk_id AND beside.class_id = mention.class_id
                        AND beside.entity_id = ANY(pair.shorter_ones)))
"""

_SHOWN = """
SELECT subject_id FROM profiles JOIN entities ON entity_id = subject_id
WHERE subject_id = %(id)s::uuid AND subject = 'entity' AND project_id = %(project_id)s
  AND class_id = ANY(%(classes)s) LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMatches:
    """The reader's entities that fit a name, at most ten, the likeliest first; `exactly` is whether by their own names."""

    entities: tuple[Entity, ...]
    exactly: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerNames:
    """What a name is short for, the most named first; `alone` counts the passages that say it without any of these."""

    longer: tuple[Entity, ...]
    alone: int


async def match_entities(database: Database, reader: Reader, name: str) -> EntityMatches:
    """Return which entities fit a name, a reference or an id.

    An id or a reference fits exactly one. A name that is short for several others fits these, and last the one that it
    is by itself where something says it alone; short for a single one and never said alone, it fits that. Names that
    nearly fit are looked for where none fits.
    """
    keys = _parameters(reader, name)
    if keys["id"] and (rows := await database.rows(_SHOWN, keys)):
        return await _these(database, reader, [EntityId(rows[0][0])], exactly=True)
    rows = await database.rows(_EXACT, keys)
    found = [EntityId(row[0]) for row in rows if row[1] == rows[0][1]]
    if found:
        exact = await _these(database, reader, found, exactly=True)
        by_reference = rows[0][1] > 1
        return exact if by_reference else await _plain_or_longer(database, reader, exact)
    if not keys["name"]:
        return EntityMatches(entities=(), exactly=False)
    near = [EntityId(row[0]) for row in await database.rows(_NEAR, keys)]
    return await _these(database, reader, near, exactly=False)


async def longer_names(database: Database, reader: Reader, entity: Entity) -> LongerNames:
    """Return which longer names of like kind this entity's name is short for, none where it stands for itself.

    It stands for itself where at least as many passages say it alone as say one of the longer ones: a company beside its
    products. `Tarn 4` is no other thing than `Tarn`, and no title, heading or domain makes a name short.
    """
    nothing = LongerNames(longer=(), alone=0)
    keys = {**_parameters(reader, entity.name), "most": _MAX_LONGER}
    ids = [EntityId(row[0]) for row in await database.rows(_LONGER, keys)] if keys["name"] else []
    seen = await entities.get_many(database, reader, ids)
    like = [seen[each] for each in ids if each in seen and each != entity.id]
    like = [each for each in like if _are_alike(each.kind, entity.kind)]
    if not like:
        return nothing
    counted = {"entities": [entity.id], "longer": [each.id for each in like]}
    rows = await database.rows(_COUNTS, {**keys, **counted})
    alone, beside = rows[0]
    if alone >= beside:
        return nothing
    return LongerNames(longer=await _without_variants(database, reader, like), alone=alone)


async def _plain_or_longer(
    database: Database, reader: Reader, exact: EntityMatches
) -> EntityMatches:
    if len(exact.entities) != 1:
        return exact
    short = await longer_names(database, reader, exact.entities[0])
    if not short.longer:
        return exact
    itself = exact.entities if short.alone else ()
    return EntityMatches(
        entities=(*short.longer[: MAX_CANDIDATES - len(itself)], *itself), exactly=True
    )


async def _without_variants(
    database: Database, reader: Reader, entities: Sequence[Entity]
) -> tuple[Entity, ...]:
    """Return the entities, the most named first, without other ways to say one of them.

    These are names that begin with it and stand only beside it, and rarer ones that end in it: `CALL NOTES Castell Water`.
    """
    named = [f" {normalize_name(each.name)} " for each in entities]
    pairs = [
        (longer.id, shorter.id)
        for longer, name in zip(entities, named, strict=True)
        for shorter, part in zip(entities, named, strict=True)
        if name != part and name.startswith(part)
    ]
    rows = await database.rows(
        _ONLY_BESIDE,
        {
            "longer": [longer for longer, _ in pairs],
            "shorter": [shorter for _, shorter in pairs],
            "classes": list(reader.classes),
        },
    )
    variants = {row[0] for row in rows}
    return tuple(
        each
        for place, each in enumerate(entities)
        if each.id not in variants
        and not any(named[place] != own and named[place].endswith(own) for own in named[:place])
    )


async def _these(
    database: Database, reader: Reader, entity_ids: Sequence[EntityId], *, exactly: bool
) -> EntityMatches:
    seen = await entities.get_many(database, reader, entity_ids)
    return EntityMatches(
        entities=tuple(seen[each] for each in entity_ids if each in seen), exactly=exactly
    )


def _are_alike(one: str, other: str) -> bool:
    return one == other or _SAID_BY_RULES in (one, other)


def _parameters(reader: Reader, name: str) -> dict[str, object]:
    system, _, rest = name.strip().partition(":")
    bare = normalize_name(rest.partition(":")[2] if system == "kg" else name)
    words = bare.split()
    longest = max(words, key=len, default="")
    escaped = longest.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return {
        "project_id": reader.project_id,
        "classes": list(reader.classes),
        "name": bare,
        "ref": stored_ref(name.strip()),
        "id": _uuid(name),
        "words": words,
        "longest": f"%{escaped}%",
        "least": MIN_LIKENESS,
        "titles": TITLES,
        "most": MAX_CANDIDATES,
    }


def _uuid(name: str) -> UUID | None:
    try:
        return UUID(name.strip())
    except ValueError:
        return None

"""Which entities a name may mean: an exact match, longer names that contain it, then similar names.

Every query is filtered by the reader's classes, and no order depends on an id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import stored_ref
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.graph_views import MAX_CANDIDATES
from lightwell.domain.ids import EntityId, parse_uuid
from lightwell.domain.longer_names import are_compatible_kinds, stands_for_itself
from lightwell.records.database import Database
from lightwell.records.graph import entities
from lightwell.records.search import ALIASED

MIN_SIMILARITY = 0.45
"""The trigram similarity from which a name counts as similar."""

_MAX_LONGER = 40
TITLE_KINDS = ["document", "work", "domain", "address"]
"""Kinds that rank after the others for similar names: titles and addresses rather than persons and things."""


# A name counts only if one of the reader's chunks, or a manual edit that the reader sees, uses it. `fit` is 2 for a
# reference, 1 for the exact name, and below 1 the similarity of the name.
def _matching(
    where: LiteralString,
    by_hand: LiteralString,
    stated: LiteralString,
    fit: LiteralString,
    having: LiteralString = "true",
) -> LiteralString:
    return f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), asked AS (
    SELECT entity_id, entity_ref, normalized_name FROM entities
    WHERE project_id = %(project_id)s AND {where}
), fitting AS (
    SELECT asked.entity_id, asked.entity_ref, asked.normalized_name FROM asked
    WHERE EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = asked.entity_id AND sees(%(classes)s, mention.class_id))
    UNION ALL
    SELECT edit.entity_id, entity.entity_ref, edit.normalized_name
    FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.entity_id IS NOT NULL
      AND sees(%(classes)s, edit.class_id) AND {by_hand}
    UNION ALL
    SELECT stated.entity_id, entity.entity_ref, stated.normalized_name
    FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
    WHERE entity.project_id = %(project_id)s AND {stated}
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stated.entity_id AND sees(%(classes)s, mention.class_id)
                    AND stated.normalized_name = ANY(mention.names))
), ranked AS (
    SELECT coalesce(merged.root_id, fitting.entity_id) AS entity_id, max({fit}) AS fit
    FROM fitting LEFT JOIN merged USING (entity_id) GROUP BY 1
)
SELECT ranked.entity_id, ranked.fit
FROM ranked
CROSS JOIN LATERAL (
    SELECT ranked.entity_id UNION ALL SELECT merged.entity_id FROM merged WHERE merged.root_id = ranked.entity_id
) AS member
JOIN profiles AS profile ON profile.subject_id = member.entity_id AND sees(%(classes)s, profile.class_id)
JOIN entities AS entity ON entity.entity_id = ranked.entity_id
GROUP BY ranked.entity_id, ranked.fit
HAVING {having}
ORDER BY ranked.fit >= 1 DESC, bool_and(profile.entity_kind = ANY(%(titles)s)), ranked.fit DESC,
         sum(profile.mention_count) DESC,
         min(profile.display_name COLLATE "C") FILTER (WHERE profile.subject_id = ranked.entity_id),
         min(coalesce(profile.entity_ref, entity.entity_ref) COLLATE "C")
             FILTER (WHERE profile.subject_id = ranked.entity_id)
LIMIT %(most)s
"""  # noqa: S608 - only our own words


_EXACT = _matching(
    "(normalized_name = %(name)s OR entity_ref = %(ref)s)",
    "(edit.normalized_name = %(name)s OR entity.entity_ref = %(ref)s)",
    "stated.normalized_name = %(name)s",
    "CASE WHEN entity_ref = %(ref)s THEN 2.0 ELSE 1.0 END",
)

# An alias that texts state finds its entity where no entity has it as a name.
_ALIASED = f"""
SELECT entity_id FROM ({ALIASED}) AS called
GROUP BY entity_id ORDER BY min(display_name COLLATE "C"), min(entity_ref COLLATE "C") LIMIT %(most)s
"""  # noqa: S608 - only our own words


def _holds(name: LiteralString) -> LiteralString:
    return f"string_to_array({name}, ' ') @> %(words)s::text[]"


def _is_near(name: LiteralString) -> LiteralString:
    return f"({_holds(name)} OR similarity({name}, %(name)s) >= %(least)s)"


def _is_longer(name: LiteralString) -> LiteralString:
    return f"""({name} LIKE %(longest)s AND {name} <> %(name)s AND {_holds(name)}
    AND NOT EXISTS (SELECT FROM unnest(string_to_array({name}, ' ')) AS word
                    WHERE word <> ALL(%(words)s) AND word ~ '[0-9@]'))"""


_SIMILAR = _matching(
    f"(normalized_name LIKE %(longest)s OR normalized_name %% %(name)s) AND {_is_near('normalized_name')}",
    _is_near("edit.normalized_name"),
    "(stated.normalized_name LIKE %(longest)s OR stated.normalized_name %% %(name)s)"
    f" AND {_is_near('stated.normalized_name')}",
    f"CASE WHEN {_holds('normalized_name')} THEN 0.99 ELSE similarity(normalized_name, %(name)s) END",
)

# A longer name contains the name as whole words and no further number: "Tarn 4" is a kind of "Tarn", not a longer name.
_LONGER = _matching(
    _is_longer("normalized_name"),
    _is_longer("edit.normalized_name"),
    _is_longer("stated.normalized_name"),
    "0.99",
    "NOT bool_and(profile.entity_kind = ANY(%(titles)s))",
)

_COUNTS = """
SELECT (SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
        WHERE entity_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]) AND sees(%(classes)s, class_id)
          AND NOT EXISTS (SELECT FROM document_entity_mentions AS beside
                          WHERE beside.chunk_id = mention.chunk_id AND beside.class_id = mention.class_id
                            AND beside.entity_id = ANY((SELECT with_merged(%(longer)s, %(classes)s))::uuid[]))),
       (SELECT count(DISTINCT chunk_id) FROM document_entity_mentions
        WHERE entity_id = ANY((SELECT with_merged(%(longer)s, %(classes)s))::uuid[]) AND sees(%(classes)s, class_id))
"""

# A longer name is a variant if every chunk that has it also has the shorter one: "Nordwind Energie GmbH".
_VARIANTS = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), pair AS MATERIALIZED (
    SELECT longer, longer || ARRAY(SELECT entity_id FROM merged WHERE root_id = longer) AS longer_ones,
           shorter || ARRAY(SELECT entity_id FROM merged WHERE root_id = shorter) AS shorter_ones
    FROM unnest(%(longer)s::uuid[], %(shorter)s::uuid[]) AS given (longer, shorter)
)
SELECT pair.longer FROM pair
WHERE EXISTS (SELECT FROM document_entity_mentions
              WHERE entity_id = ANY(pair.longer_ones) AND sees(%(classes)s, class_id))
  AND NOT EXISTS (
    SELECT FROM document_entity_mentions AS mention
    WHERE mention.entity_id = ANY(pair.longer_ones) AND sees(%(classes)s, mention.class_id)
      AND NOT EXISTS (SELECT FROM document_entity_mentions AS beside
                      WHERE beside.chunk_id = mention.chunk_id AND beside.class_id = mention.class_id
                        AND beside.entity_id = ANY(pair.shorter_ones)))
"""

_VISIBLE = """
SELECT subject_id FROM profiles JOIN entities ON entity_id = subject_id
WHERE subject_id = %(id)s::uuid AND subject = 'entity' AND project_id = %(project_id)s
  AND sees(%(classes)s, class_id) LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMatches:
    """The reader's entities that a name may mean, at most ten, the likeliest first; `is_exact` for matches of
    the name itself.
    """

    entities: tuple[Entity, ...]
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerNames:
    """Entities whose names contain a name, by descending frequency; `alone_count` passages have the name
    without any of them.
    """

    longer: tuple[Entity, ...]
    alone_count: int


async def match_entities(database: Database, reader: Reader, name: str) -> EntityMatches:
    """Return the entities that a name, a reference or an id may mean.

    An id or a reference matches one entity. If several longer names contain the name, they come first, then its
    exact match if any passage uses it alone. If one longer name contains it and no passage uses it alone, that
    entity is the match. Similar names are searched only if no name matches.
    """
    keys = _parameters(reader, name)
    if keys["id"] and (visible := await database.values(_VISIBLE, keys)):
        return await _load_matches(database, reader, visible, exactly=True)
    rows = await database.rows(_EXACT, keys)
    if rows:
        _, best_fit = rows[0]
        matching = [entity for entity, fit in rows if fit == best_fit]
        exact = await _load_matches(database, reader, matching, exactly=True)
        by_reference = best_fit > 1
        return exact if by_reference else await _plain_or_longer(database, reader, exact)
    if not keys["name"]:
        return EntityMatches(entities=(), is_exact=False)
    if aliased := await database.values(_ALIASED, keys):
        return await _load_matches(database, reader, aliased, exactly=True)
    near = await database.values(_SIMILAR, keys)
    return await _load_matches(database, reader, near, exactly=False)


async def find_longer_names(database: Database, reader: Reader, entity: Entity) -> LongerNames:
    """Return the entities of a compatible kind whose longer names contain this entity's name.

    None are returned if at least as many passages use the name alone as use a longer one: then it stands for
    itself, as a company beside its products. Where none of them is known as a person, a company or a project, twice as
    many as use the most frequent one are enough, and as many where there are five longer names: `GitHub` stands for
    itself, however many parts of it have names. `Tarn 4` does not count as longer than `Tarn`; nor do titles, headings and domains.
    """
    no_names = LongerNames(longer=(), alone_count=0)
    keys = {**_parameters(reader, entity.name), "most": _MAX_LONGER}
    ids = await database.values(_LONGER, keys) if keys["name"] else []
    visible = await entities.get_many(database, reader, ids)
    compatible = [
        visible[longer]
        for longer in ids
        if longer in visible
        and longer != entity.id
        and are_compatible_kinds(visible[longer].kind, entity.kind)
    ]
    if not compatible:
        return no_names
    counted = {"entities": [entity.id], "longer": [longer.id for longer in compatible]}
    ((alone, beside),) = await database.rows(_COUNTS, {**keys, **counted})
    if stands_for_itself(alone, beside, compatible):
        return no_names
    return LongerNames(
        longer=await _without_variants(database, reader, compatible), alone_count=alone
    )


async def _plain_or_longer(
    database: Database, reader: Reader, exact: EntityMatches
) -> EntityMatches:
    if len(exact.entities) != 1:
        return exact
    short = await find_longer_names(database, reader, exact.entities[0])
    if not short.longer:
        return exact
    itself = exact.entities if short.alone_count else ()
    return EntityMatches(
        entities=(*short.longer[: MAX_CANDIDATES - len(itself)], *itself), is_exact=True
    )


async def _without_variants(
    database: Database, reader: Reader, entities: Sequence[Entity]
) -> tuple[Entity, ...]:
    """Return the entities, by descending frequency, without variants of another one.

    Variants are names that begin with another name and only occur in chunks that have it, and rarer names that
    end in another name: `CALL NOTES Castell Water`.
    """
    named = [f" {normalize_name(entity.name)} " for entity in entities]
    pairs = [
        (longer.id, shorter.id)
        for longer, name in zip(entities, named, strict=True)
        for shorter, part in zip(entities, named, strict=True)
        if name != part and name.startswith(part)
    ]
    variants = await database.values(
        _VARIANTS,
        {
            "longer": [longer for longer, _ in pairs],
            "shorter": [shorter for _, shorter in pairs],
            **reader.parameters,
        },
    )
    return tuple(
        entity
        for place, entity in enumerate(entities)
        if entity.id not in variants
        and not any(named[place] != part and named[place].endswith(part) for part in named[:place])
    )


async def _load_matches(
    database: Database, reader: Reader, entity_ids: Sequence[EntityId], *, exactly: bool
) -> EntityMatches:
    visible = await entities.get_many(database, reader, entity_ids)
    return EntityMatches(
        entities=tuple(visible[entity] for entity in entity_ids if entity in visible),
        is_exact=exactly,
    )


def _parameters(reader: Reader, name: str) -> dict[str, object]:
    system, _, rest = name.strip().partition(":")
    bare = normalize_name(rest.partition(":")[2] if system == "kg" else name)
    words = bare.split()
    longest = max(words, key=len, default="")
    escaped = longest.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return {
        **reader.parameters,
        "name": bare,
        "names": [bare],
        "ref": stored_ref(name.strip()),
        "id": parse_uuid(name),
        "words": words,
        "longest": f"%{escaped}%",
        "least": MIN_SIMILARITY,
        "titles": TITLE_KINDS,
        "most": MAX_CANDIDATES,
    }

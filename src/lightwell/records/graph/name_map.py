"""Names and the ties between them, without their sources: light enough for a map of two thousand, and for each letter that is typed.

Every query is filtered by the reader's classes, applies the reader's merges, and orders by nothing but what the reader sees.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import LiteralString

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import display_ref
from lightwell.domain.graph import normalize_name
from lightwell.domain.graph_map import MapName, Tie
from lightwell.domain.ids import EntityId, RelationId
from lightwell.records.database import Database
from lightwell.records.graph.concepts import NAME_COLUMNS, SEEN_ENTITIES
from lightwell.records.search import ALIASED


def _names_where(members: LiteralString) -> LiteralString:
    """Return SQL for a CTE `seen` of the names that these members belong to."""
    return f"""seen AS (
    SELECT entity.entity_id, {NAME_COLUMNS}, sum(profile.mention_count) AS mentions,
           array_agg(DISTINCT profile.subject_id) AS members
    {SEEN_ENTITIES} AND {members}
    GROUP BY entity.entity_id
)"""


_COLUMNS: LiteralString = """seen.entity_id AS id, seen.entity_ref, seen.name, seen.kind,
    (CASE WHEN cardinality(seen.members) = 1 THEN seen.mentions ELSE (
        SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
        WHERE mention.entity_id = ANY(seen.members) AND sees(%(classes)s, mention.class_id)) END)::integer AS chunk_count"""

_BY_ID = f"""
WITH {_names_where("profile.subject_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])")}
SELECT {_COLUMNS} FROM seen
"""  # noqa: S608 - only our own words

# A name counts only if one of the reader's chunks, or a manual edit that the reader sees, uses it. The best fit comes
# first: the whole name, its beginning, the beginning of a word, anything else.
_SEARCH = f"""
WITH called AS (
    SELECT entity.entity_id FROM entities AS entity
    WHERE entity.project_id = %(project_id)s AND entity.normalized_name LIKE %(inside)s
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = entity.entity_id AND sees(%(classes)s, mention.class_id))
    UNION
    SELECT edit.entity_id FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.entity_id IS NOT NULL
      AND edit.normalized_name LIKE %(inside)s AND sees(%(classes)s, edit.class_id)
    UNION
    SELECT stated.entity_id FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
    WHERE entity.project_id = %(project_id)s AND stated.normalized_name LIKE %(inside)s
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stated.entity_id AND sees(%(classes)s, mention.class_id)
                    AND stated.normalized_name = ANY(mention.names))
    UNION
    SELECT aliased.entity_id FROM ({ALIASED}) AS aliased
), {
    _names_where('''profile.subject_id = ANY(
        (SELECT with_merged((SELECT array_agg(entity_id) FROM called), %(classes)s))::uuid[])''')
}
SELECT {_COLUMNS} FROM seen
WHERE %(kind)s = '' OR kind = %(kind)s
ORDER BY CASE WHEN lower(name) = %(words)s THEN 0
              WHEN starts_with(lower(name), %(words)s) THEN 1
              WHEN strpos(' ' || lower(name), ' ' || %(words)s) > 0 THEN 2 ELSE 3 END,
         mentions DESC, entity_ref COLLATE "C", name COLLATE "C" LIMIT %(limit)s
"""  # noqa: S608 - only our own words


def _ties_where(relations: LiteralString, links: LiteralString) -> LiteralString:
    return f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), stated AS (
    SELECT relation.relation_id, relation.predicate,
           coalesce(source.root_id, relation.source_id) AS source_id,
           coalesce(target.root_id, relation.target_id) AS target_id
    FROM relations AS relation
    LEFT JOIN merged AS source ON source.entity_id = relation.source_id
    LEFT JOIN merged AS target ON target.entity_id = relation.target_id
    WHERE relation.project_id = %(project_id)s AND {relations}
), linked AS (
    SELECT coalesce(near.root_id, link.near_id) AS source_id, coalesce(far.root_id, link.far_id) AS target_id,
           link.link_type, link.confidence
    FROM confirmed_links((SELECT with_merged(%(entities)s, %(classes)s)), %(classes)s) AS link
    LEFT JOIN merged AS near ON near.entity_id = link.near_id
    LEFT JOIN merged AS far ON far.entity_id = link.far_id
)
SELECT stated.source_id, stated.target_id, stated.predicate, sum(profile.weight::numeric)::float8 AS weight,
       false AS is_link, (array_agg(stated.relation_id ORDER BY stated.relation_id))[1] AS relation_id
FROM stated JOIN profiles AS profile ON profile.subject_id = stated.relation_id
WHERE sees(%(classes)s, profile.class_id) AND stated.source_id <> stated.target_id
GROUP BY stated.source_id, stated.target_id, stated.predicate
UNION ALL
SELECT least(source_id, target_id), greatest(source_id, target_id), link_type, max(confidence)::float8, true, NULL
FROM linked WHERE source_id <> target_id AND {links}
GROUP BY 1, 2, 3
"""  # noqa: S608 - only our own words


_MEMBERS: LiteralString = "ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])"
_FROM_ANY = _ties_where(
    f"(relation.source_id = {_MEMBERS} OR relation.target_id = {_MEMBERS})", "true"
)
_AMONG = _ties_where(
    f"relation.source_id = {_MEMBERS} AND relation.target_id = {_MEMBERS}",
    "target_id = ANY(%(entities)s)",
)


async def find_names(
    database: Database, reader: Reader, words: str, *, kind: str, limit: int
) -> list[MapName]:
    """Return up to `limit` names that have these words in them, or are called so otherwise, the best fit first.

    Without words they are those that most places mention.
    """
    normalized = normalize_name(words)
    if words.strip() and not normalized:
        return []  # signs alone: no name is made of them
    parameters = {
        **reader.parameters,
        "inside": f"%{_escaped(normalized)}%",
        "words": normalized,
        "names": [normalized],
        "kind": kind,
        "limit": limit,
    }
    return await database.rows(_SEARCH, parameters, into=_name)


async def get_names(
    database: Database, reader: Reader, entities: Iterable[EntityId]
) -> dict[EntityId, MapName]:
    """Return those of these entities that the reader sees; one that was merged into another is not among them."""
    wanted = list(dict.fromkeys(entities))
    if not wanted:
        return {}
    parameters = {**reader.parameters, "entities": wanted}
    names = await database.rows(_BY_ID, parameters, into=_name)
    return {name.id: name for name in names}


async def ties_from(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> tuple[list[Tie], dict[EntityId, MapName]]:
    """Return the ties that one of these entities is an end of, the strongest first, with the names of their ends."""
    return await _ties(database, reader, _FROM_ANY, entities)


async def ties_among(database: Database, reader: Reader, entities: Sequence[EntityId]) -> list[Tie]:
    """Return the ties between these entities, the strongest first."""
    ties, _ = await _ties(database, reader, _AMONG, entities)
    return ties


async def _ties(
    database: Database, reader: Reader, query: LiteralString, entities: Sequence[EntityId]
) -> tuple[list[Tie], dict[EntityId, MapName]]:
    if not entities:
        return [], {}
    ties = await database.rows(query, {**reader.parameters, "entities": list(entities)}, into=_tie)
    names = await get_names(database, reader, (end for tie in ties for end in tie.ends))
    seen = [tie for tie in ties if tie.ends[0] in names and tie.ends[1] in names]
    return sorted(seen, key=lambda tie: tie_order(tie, names)), names


def tie_order(tie: Tie, names: Mapping[EntityId, MapName]) -> tuple[object, ...]:
    """Return what ties are ordered by: the strongest first, then the references and names of their ends."""
    ends = [(names[end].ref, names[end].name) for end in tie.ends]
    return -tie.weight, *(sorted(ends) if tie.is_link else ends), tie.predicate


def _name(*, entity_ref: str, kind: str, id: EntityId, name: str, chunk_count: int) -> MapName:
    return MapName(
        id=id, ref=display_ref(entity_ref, kind), name=name, kind=kind, chunk_count=chunk_count
    )


def _tie(
    *,
    source_id: EntityId,
    target_id: EntityId,
    predicate: str,
    weight: float,
    is_link: bool,
    relation_id: RelationId | None,
) -> Tie:
    return Tie(
        ends=(source_id, target_id),
        predicate=predicate,
        weight=weight,
        is_link=is_link,
        relation_id=relation_id,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

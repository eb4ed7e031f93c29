"""Stored merges: what was merged into what, by whom, in which access classes, and whether it is undone.

A merge applies to readers who see both sides and share a class with each side in which its author knew it. For
all others it does not exist, whatever names they know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader, not_own
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import MergeStrategy
from lightwell.domain.ids import ClassId, EntityId, MergeId
from lightwell.domain.merges import ActiveMerge
from lightwell.records.access_classes import page_parameters
from lightwell.records.database import Database, repeatable
from lightwell.records.graph import merge_trees, profile_edits
from lightwell.records.graph.merge_trees import MergeTree
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch_values


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSummary:
    """A model's summary of one class's descriptions of these members; `inputs_hash` is a hash of the descriptions."""

    inputs_hash: str
    summary: str
    replies: tuple[UUID, ...]
    members: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMerge:
    """A merge to store; `summaries` by class."""

    id: MergeId
    sources: tuple[EntityId, ...]
    target: EntityId
    strategy: MergeStrategy
    summaries: Mapping[ClassId, NewSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationEnds:
    """A relation's ends and predicate."""

    source: EntityId
    target: EntityId
    predicate: str


_CAN_MERGE = """
SELECT count(*) = cardinality(%(sources)s::uuid[]) + 1
       AND NOT bool_or(entity.entity_id = ANY(%(sources)s) AND merged.entity_id IS NOT NULL)
       AND count(DISTINCT coalesce(merged.root_id, entity.entity_id)) = count(*)
FROM entities AS entity LEFT JOIN merged_entities_of(%(classes)s) AS merged USING (entity_id)
WHERE entity.project_id = %(project_id)s AND entity.entity_id = ANY(%(sources)s || %(target)s::uuid)
"""

# Each side is stored with its author's own classes that know it. The merge applies only to readers who share them.
_IS_OWN = """
SELECT bool_and(EXISTS (SELECT FROM profiles WHERE profiles.subject_id = side.entity_id AND sees(%(classes)s, class_id)))
FROM unnest(%(sources)s || %(target)s::uuid) AS side (entity_id)
"""

_MERGE = """
INSERT INTO entity_merges (merge_id, project_id, target_id, strategy, made_by, target_classes)
SELECT %(merge)s, %(project_id)s, %(target)s, %(strategy)s, %(by)s,
       ARRAY(SELECT class_id FROM profiles WHERE subject_id = %(target)s AND class_id = ANY(%(own)s) ORDER BY 1)
"""

_MERGED = """
INSERT INTO merged_entities (merge_id, source_id, place, source_classes)
SELECT %(merge)s, source_id, place,
       ARRAY(SELECT class_id FROM profiles WHERE subject_id = source_id AND class_id = ANY(%(own)s) ORDER BY 1)
FROM unnest(%(sources)s::uuid[]) WITH ORDINALITY AS given (source_id, place)
"""

_STORE_SUMMARIES = """
INSERT INTO merge_summaries (merge_id, class_id, inputs_hash, summary, reply_ids, members)
SELECT %(merge)s, class_id, inputs_hash, summary, string_to_array(replies, ' ')::uuid[],
       string_to_array(members, ' ')::uuid[]
FROM unnest(%(summarised)s::integer[], %(hashes)s::text[], %(summaries)s::text[], %(replies)s::text[],
            %(members)s::text[])
    AS given (class_id, inputs_hash, summary, replies, members)
"""

_ENDS = """
SELECT DISTINCT coalesce(moved.source_id, relation.source_id) AS source,
       coalesce(moved.target_id, relation.target_id) AS target, relation.predicate
FROM relations AS relation LEFT JOIN merged_relations_of(%(classes)s) AS moved USING (relation_id)
WHERE (relation.source_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[])
       OR relation.target_id = ANY((SELECT with_merged(%(entities)s, %(classes)s))::uuid[]))
  AND coalesce(moved.source_id, relation.source_id) <> coalesce(moved.target_id, relation.target_id)
  AND EXISTS (SELECT FROM profiles WHERE subject_id = relation.relation_id AND sees(%(classes)s, class_id))
ORDER BY 1, 2, 3
"""

_ACTIVE = """
SELECT merge_id, source_id FROM merges_told(%(classes)s) WHERE %(id)s IN (source_id, merge_id)
ORDER BY merge_id, place
"""


def _name_of(entity: LiteralString) -> LiteralString:
    return f"""
CROSS JOIN LATERAL (
    SELECT coalesce(by_hand.name, said.name, by_hand.known_name) AS name
    FROM (SELECT min(edit.name COLLATE "C") AS name, min(edit.known_name COLLATE "C") AS known_name
          FROM entity_edits AS edit
          WHERE edit.entity_id = told.{entity}_id AND sees(%(classes)s, edit.class_id)) AS by_hand,
         (SELECT mode() WITHIN GROUP (ORDER BY latest.name COLLATE "C") AS name FROM (
             SELECT coalesce(mention.part_name, mention.name) AS name FROM document_entity_mentions AS mention
             WHERE mention.entity_id = told.{entity}_id AND sees(%(classes)s, mention.class_id)
             ORDER BY mention.chunk_id DESC, 1 LIMIT 50) AS latest) AS said
) AS {entity}
"""  # noqa: S608 - only our own words


_LIST: LiteralString = f"""
SELECT told.merge_id, target.name AS target, array_agg(source.name ORDER BY told.place) AS sources, told.strategy,
       merge.merged_at
FROM merges_told(%(classes)s) AS told JOIN entity_merges AS merge USING (merge_id)
{_name_of("target")}{_name_of("source")}
WHERE merge.project_id = %(project_id)s AND (%(after)s::uuid IS NULL OR told.merge_id < %(after)s)
GROUP BY told.merge_id, target.name, told.strategy, merge.merged_at
ORDER BY told.merge_id DESC LIMIT %(limit)s
"""  # noqa: S608 - only our own words

# It is undone in the reader's own classes. In others it stays, for people who may share no tag with the reader.
_UNDO = """
UPDATE merged_entities
SET source_classes = rest.classes, undone_at = CASE WHEN rest.classes = '{}' THEN now() END, undone_by = %(by)s
FROM unnest(%(merges)s::uuid[], %(sources)s::uuid[]) AS told (merge_id, source_id)
JOIN merged_entities AS merged USING (merge_id, source_id)
CROSS JOIN LATERAL (SELECT ARRAY(SELECT unnest(merged.source_classes) EXCEPT SELECT unnest(%(own)s::integer[]) ORDER BY 1)
                    AS classes) AS rest
WHERE merged_entities.merge_id = told.merge_id AND merged_entities.source_id = told.source_id
  AND merged_entities.undone_at IS NULL
"""

_DELETE_SUMMARIES = "DELETE FROM merge_summaries WHERE (members && %(sources)s OR merge_id = ANY(%(merges)s)) AND class_id = ANY(%(own)s)"

# Refresh checks again whether anything still uses these entities.
_STALE = """
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT DISTINCT entity_id, 0, %(project_id)s::uuid, 'entity', 0 FROM (
    SELECT unnest(%(sources)s::uuid[]) AS entity_id
    UNION ALL
    SELECT target_id FROM entity_merges WHERE merge_id = ANY(%(merges)s)
) AS held
ON CONFLICT (project_id, subject_id, class_id) DO NOTHING
"""


async def list_relation_ends(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> list[RelationEnds]:
    """Return the relations of these entities that the reader sees."""
    parameters = {"entities": list(entities), **reader.parameters}
    return await database.rows(_ENDS, parameters, into=RelationEnds)


async def load_trees_by_class(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> dict[ClassId, dict[EntityId, MergeTree]]:
    """Return the merge trees of these entities for each of the reader's classes."""
    async with database.transaction() as connection:
        merged = await merge_trees.list_members(connection, reader, entities)
        groups = [merged.get(entity, [entity]) for entity in entities]
        trees_of_groups = await merge_trees.load_merge_trees(connection, reader, groups)
    by_class: dict[ClassId, dict[EntityId, MergeTree]] = {}
    for entity_id, trees in zip(entities, trees_of_groups, strict=True):
        for class_id, tree in trees.items():
            by_class.setdefault(class_id, {})[entity_id] = tree
    return by_class


@repeatable
async def merge(database: Database, reader: Reader, new: NewMerge) -> None:
    """Store a merge in one transaction.

    Raises `Invalid` if one of the entities was merged or removed meanwhile, or no own class of the reader knows it.
    """
    summaries = new.summaries
    facts: dict[str, object] = {
        **reader.parameters,
        "merge": new.id,
        "target": new.target,
        "sources": list(new.sources),
        "strategy": new.strategy.value,
        "by": sorted(reader.tags),
        "own": list(reader.own_classes),
        "summarised": list(summaries),
        "hashes": [made.inputs_hash for made in summaries.values()],
        "summaries": [made.summary for made in summaries.values()],
        "replies": [" ".join(map(str, made.replies)) for made in summaries.values()],
        "members": [" ".join(map(str, made.members)) for made in summaries.values()],
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        if await fetch_values(connection, _CAN_MERGE, facts) != [True]:
            raise Invalid(
                "Somebody has just merged or removed one of these entities; list them again and retry"
            )
        if await fetch_values(connection, _IS_OWN, {**facts, "classes": reader.own_classes}) != [
            True
        ]:
            raise not_own()
        for statement in (_MERGE, _MERGED, _STORE_SUMMARIES):
            await connection.execute(statement, facts)
        described = [
            (member, class_id) for class_id, made in summaries.items() for member in made.members
        ]
        await profile_edits.drop_outdated_summaries(connection, described)


@repeatable
async def unmerge(database: Database, reader: Reader, name: str, chosen: UUID) -> list[EntityId]:
    """Undo the merge with this id, or the merges of this source, and return the entities that are separate
    again.

    Raises `NotFound` if no such merge applies to the reader; `name` is the reader's word for it, for the
    message.
    """
    active = {**reader.parameters, "id": chosen}
    rows = await database.rows(_ACTIVE, active)
    if not rows:
        raise NotFound(f"There is no merge of {name!r} that you may see")
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "merges": [merge_id for merge_id, _ in rows],
        "sources": [source for _, source in rows],
        "by": sorted(reader.tags),
        "own": list(reader.own_classes),
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        for statement in (_UNDO, _DELETE_SUMMARIES, _STALE):
            await connection.execute(statement, facts)
        if (await connection.execute(_ACTIVE, active)).rowcount:
            raise not_own()
        await refresh_all(connection, reader.project_id)
    return list(dict.fromkeys(source for _, source in rows))


async def list_active(
    database: Database, reader: Reader, *, after: MergeId | None, limit: int
) -> list[ActiveMerge]:
    """Return the merges that apply to the reader, the latest first, those before `after`.

    Merged entities have the names that the reader knows; an intermediate target has its own name.
    """
    parameters = page_parameters(reader, after=after, limit=limit)
    return await database.rows(_LIST, parameters, into=ActiveMerge)

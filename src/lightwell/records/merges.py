"""The facts of merging: who was merged into whom, by whom, and whether it still holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import MergeStrategy, StandingMerge
from lightwell.domain.ids import ClassId, EntityId, MergeId, ProjectId
from lightwell.records import curated, resolving
from lightwell.records.curated import Tree
from lightwell.records.database import Database, Row
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.profiles import refresh_all


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSummary:
    """What a model made of one class's descriptions, which have this hash, and the replies it was made of."""

    inputs_hash: str
    summary: str
    replies: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMerge:
    """A merge to be written down; `summaries` by class."""

    id: MergeId
    sources: tuple[EntityId, ...]
    target: EntityId
    strategy: MergeStrategy
    summaries: Mapping[ClassId, NewSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """A relation's ends and predicate."""

    source: EntityId
    target: EntityId
    predicate: str


_STILL_APART = """
SELECT count(*) FILTER (WHERE entity_id = ANY(%(sources)s) AND merged_into IS NULL) = cardinality(%(sources)s::uuid[])
   AND count(*) FILTER (WHERE entity_id = %(target)s
                          AND coalesce(merged_into, entity_id) <> ALL(%(sources)s)) = 1
FROM entities WHERE project_id = %(project_id)s AND entity_id = ANY(%(sources)s || %(target)s::uuid)
"""

_MERGE = """
INSERT INTO entity_merges (merge_id, project_id, target_id, strategy, made_by)
VALUES (%(merge)s, %(project_id)s, %(target)s, %(strategy)s, %(by)s)
"""

_MERGED = """
INSERT INTO merged_entities (merge_id, source_id, place)
SELECT %(merge)s, source_id, place
FROM unnest(%(sources)s::uuid[]) WITH ORDINALITY AS given (source_id, place)
"""

_SUMMARISED = """
INSERT INTO merge_summaries (merge_id, class_id, inputs_hash, summary, reply_ids)
SELECT %(merge)s, class_id, inputs_hash, summary, string_to_array(replies, ' ')::uuid[]
FROM unnest(%(classes)s::integer[], %(hashes)s::text[], %(summaries)s::text[], %(replies)s::text[])
    AS given (class_id, inputs_hash, summary, replies)
"""

_ENDS = """
SELECT relation.source_id, relation.target_id, relation.predicate
FROM relations AS relation
WHERE (relation.source_id = ANY(%(entities)s) OR relation.target_id = ANY(%(entities)s))
  AND EXISTS (SELECT FROM profiles WHERE subject_id = relation.relation_id AND class_id = ANY(%(classes)s))
ORDER BY relation.relation_id
"""

_CLASSES = """
SELECT DISTINCT subject_id, class_id FROM profiles
WHERE subject_id = ANY(%(entities)s) AND class_id = ANY(%(classes)s)
"""

_ACTIVE = """
SELECT source.merge_id, source.source_id, merge.target_id, coalesce(target.merged_into, target.entity_id)
FROM merged_entities AS source
JOIN entity_merges AS merge USING (merge_id)
JOIN entities AS target ON target.entity_id = merge.target_id
WHERE merge.project_id = %(project_id)s AND source.undone_at IS NULL
  AND (source.source_id = %(id)s OR source.merge_id = %(id)s)
"""

# What a reader has heard of one entity: under which names, and what these were merged into.
_HEARD = """
SELECT named.entity_id, merge.target_id,
       EXISTS (SELECT FROM document_entity_mentions AS mention
               WHERE mention.entity_id = %(root)s AND mention.named_as = named.entity_id
                 AND mention.class_id = ANY(%(classes)s))
       OR EXISTS (SELECT FROM entity_edits AS edit
                  WHERE edit.entity_id = %(root)s AND edit.named_as = named.entity_id
                    AND edit.class_id = ANY(%(classes)s))
FROM entities AS named
LEFT JOIN merged_entities AS source ON source.source_id = named.entity_id AND source.undone_at IS NULL
LEFT JOIN entity_merges AS merge USING (merge_id)
WHERE %(root)s IN (named.entity_id, named.merged_into)
"""

_CALLED: LiteralString = """
CROSS JOIN LATERAL (
    SELECT coalesce(by_hand.name, said.name, by_hand.known_name) AS name
    FROM (SELECT min(edit.name COLLATE "C") AS name, min(edit.known_name COLLATE "C") AS known_name
          FROM entity_edits AS edit
          WHERE edit.named_as = {id} AND edit.entity_id = {root} AND edit.class_id = ANY(%(classes)s)) AS by_hand,
         (SELECT mode() WITHIN GROUP (ORDER BY latest.name COLLATE "C") AS name FROM (
             SELECT mention.name FROM document_entity_mentions AS mention
             WHERE mention.entity_id = {root} AND mention.named_as = {id} AND mention.class_id = ANY(%(classes)s)
             ORDER BY mention.chunk_id DESC LIMIT 50) AS latest) AS said
) AS {name}
"""

_STANDING: LiteralString = (
    """
SELECT merge.merge_id, whole.name, array_agg(named.name ORDER BY source.place), merge.strategy, merge.merged_at
FROM entity_merges AS merge
JOIN merged_entities AS source ON source.merge_id = merge.merge_id AND source.undone_at IS NULL
JOIN entities AS target ON target.entity_id = merge.target_id
CROSS JOIN LATERAL (SELECT coalesce(target.merged_into, target.entity_id) AS id) AS root
{target}{source}
WHERE merge.project_id = %(project_id)s AND whole.name IS NOT NULL AND named.name IS NOT NULL
  AND (%(after)s::uuid IS NULL OR merge.merge_id < %(after)s)
GROUP BY merge.merge_id, whole.name
ORDER BY merge.merge_id DESC LIMIT %(limit)s
""".replace("{target}", _CALLED.replace("{id}", "merge.target_id").replace("{name}", "whole"))
    .replace("{source}", _CALLED.replace("{id}", "source.source_id").replace("{name}", "named"))
    .replace("{root}", "root.id")
)

_UNDO = """
UPDATE merged_entities SET undone_at = now(), undone_by = %(by)s
WHERE merge_id = %(merge)s AND source_id = ANY(%(sources)s) AND undone_at IS NULL
"""


async def ends(database: Database, reader: Reader, entities: Sequence[EntityId]) -> list[Ends]:
    """Return the relations of these entities that the reader sees."""
    parameters = {"entities": list(entities), "classes": list(reader.classes)}
    rows = await database.rows(_ENDS, parameters)
    return [
        Ends(source=EntityId(row[0]), target=EntityId(row[1]), predicate=row[2]) for row in rows
    ]


async def said(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> dict[ClassId, dict[EntityId, Tree]]:
    """Return what each of the reader's classes says of these entities."""
    parameters = {"entities": list(entities), "classes": list(reader.classes)}
    async with database.transaction() as connection:
        rows = await (await connection.execute(_CLASSES, parameters)).fetchall()
        found = await curated.trees(connection, [(row[0], row[1]) for row in rows])
    by_class: dict[ClassId, dict[EntityId, Tree]] = {}
    for (entity_id, class_id), tree in found.items():
        by_class.setdefault(ClassId(class_id), {})[EntityId(entity_id)] = tree
    return by_class


async def merge(database: Database, reader: Reader, new: NewMerge) -> None:
    """Write a merge down and let all mentions follow it, in one transaction; raise `Invalid` when it came too late."""
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "merge": new.id,
        "target": new.target,
        "sources": list(new.sources),
        "strategy": new.strategy.value,
        "by": sorted(reader.tags),
        "classes": list(new.summaries),
        "hashes": [made.inputs_hash for made in new.summaries.values()],
        "summaries": [made.summary for made in new.summaries.values()],
        "replies": [" ".join(map(str, made.replies)) for made in new.summaries.values()],
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        apart = await (await connection.execute(_STILL_APART, facts)).fetchone()
        if apart is None or not apart[0]:
            raise Invalid("Somebody has just merged or removed one of these; look again")
        members = await resolving.trees(connection, [*new.sources, new.target])
        for statement in (_MERGE, _MERGED, _SUMMARISED):
            await connection.execute(statement, facts)
        await resolving.resolve(connection, reader.project_id, members)
        await refresh_all(connection, reader.project_id)


async def unmerge(database: Database, reader: Reader, name: str, chosen: UUID) -> list[EntityId]:
    """Take back the merge with this id, or of this source, and return what stands by itself again.

    Raises `NotFound` unless the reader has heard of both sides; `name` is what the reader called it.
    """
    rows = await database.rows(_ACTIVE, {"project_id": reader.project_id, "id": chosen})
    heard = [row for row in rows if await _has_heard(database, reader, row)]
    if not heard:
        raise NotFound(f"There is no merge of {name!r} that you may see")
    sources = [EntityId(row[1]) for row in heard]
    await _undo(database, reader.project_id, MergeId(heard[0][0]), sources, sorted(reader.tags))
    return sources


async def standing(
    database: Database, reader: Reader, *, after: MergeId | None, limit: int
) -> list[StandingMerge]:
    """Return the merges that hold, the latest first, those before `after`: where the reader has heard of both sides.

    Of the merged entities those are named that the reader has heard of; an intermediate one counts by its own name.
    """
    rows = await database.rows(
        _STANDING,
        {
            "project_id": reader.project_id,
            "classes": list(reader.classes),
            "after": after,
            "limit": limit,
        },
    )
    return [
        StandingMerge(
            merge_id=MergeId(row[0]),
            target=row[1],
            sources=tuple(row[2]),
            strategy=MergeStrategy(row[3]),
            merged_at=row[4],
        )
        for row in rows
    ]


async def has_heard(database: Database, reader: Reader, root: EntityId) -> bool:
    """Return whether the reader sees something said under the entity's own name, not only under an alias."""
    rows = await database.rows(_HEARD, {"root": root, "classes": list(reader.classes)})
    return any(row[2] for row in rows if row[0] == root)


async def _undo(
    database: Database,
    project_id: ProjectId,
    merge_id: MergeId,
    sources: Sequence[EntityId],
    by: list[str],
) -> None:
    facts = {"project_id": project_id, "merge": merge_id, "sources": list(sources), "by": by}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        members = await resolving.trees(connection, sources)
        await connection.execute(_UNDO, facts)
        await resolving.resolve(connection, project_id, members)
        await refresh_all(connection, project_id)


async def _has_heard(database: Database, reader: Reader, merged: Row) -> bool:
    """Return whether the reader sees something of the source's side and something of the target's."""
    source, root = merged[1], merged[3]
    rows = await database.rows(_HEARD, {"root": root, "classes": list(reader.classes)})
    into = {row[0]: row[1] for row in rows}
    sides = {_is_below(row[0], source, into) for row in rows if row[2]}
    return sides == {True, False}


def _is_below(entity: UUID | None, top: UUID, into: Mapping[UUID, UUID | None]) -> bool:
    while entity is not None and entity != top:
        entity = into.get(entity)
    return entity == top

"""What the names and statements of texts stand for, since people merge and delete.

`named_as` and `stated_as` are what a text says; `entity_id` and `relation_id` follow from the active merges and
from what is hidden by hand, here and where mentions are written. They hold no truth of their own: taking a merge
back computes them anew.
"""

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, EntityId, ProjectId, new_id
from lightwell.records.database import Connection

_TREES = """
SELECT member.entity_id
FROM entities AS given
JOIN entities AS member
  ON coalesce(given.merged_into, given.entity_id) IN (member.entity_id, member.merged_into)
WHERE given.entity_id = ANY(%(entities)s)
GROUP BY member.entity_id ORDER BY member.entity_id
"""

_RETRACE = """
WITH RECURSIVE way AS (
    SELECT given.entity_id AS start, given.entity_id AS reached, 0 AS steps
    FROM unnest(%(entities)s::uuid[]) AS given (entity_id)
    UNION ALL
    SELECT way.start, merge.target_id, way.steps + 1
    FROM way
    JOIN merged_entities AS source ON source.source_id = way.reached AND source.undone_at IS NULL
    JOIN entity_merges AS merge USING (merge_id)
), ended AS (
    SELECT DISTINCT ON (start) start, nullif(reached, start) AS root FROM way ORDER BY start, steps DESC
)
UPDATE entities SET merged_into = ended.root FROM ended
WHERE entities.entity_id = ended.start AND entities.merged_into IS DISTINCT FROM ended.root
"""

_TOUCHING = """
SELECT relation_id FROM relations WHERE source_id = ANY(%(entities)s) OR target_id = ANY(%(entities)s)
"""

# The rows of class 0, which no mention has, let refresh look whether anything still holds the subject.
_STALE = """
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT subject_id, class_id, %(project_id)s, subject, %(sign)s * sum(mentions) FROM (
    SELECT entity_id AS subject_id, class_id, 'entity' AS subject, count(DISTINCT chunk_id) AS mentions
    FROM document_entity_mentions WHERE entity_id = ANY(%(entities)s) GROUP BY entity_id, class_id
    UNION ALL
    SELECT relation_id, class_id, 'relation', count(DISTINCT chunk_id)
    FROM relation_mentions WHERE relation_id = ANY(%(relations)s) GROUP BY relation_id, class_id
    UNION ALL
    SELECT entity_id, class_id, 'entity', 0 FROM entity_edits WHERE entity_id = ANY(%(entities)s)
    UNION ALL
    SELECT relation_id, class_id, 'relation', 0 FROM relation_edits WHERE relation_id = ANY(%(relations)s)
    UNION ALL
    SELECT subject_id, class_id, subject, 0 FROM profiles
    WHERE subject_id = ANY(%(entities)s || %(relations)s::uuid[])
    UNION ALL
    SELECT unnest(%(entities)s::uuid[]), 0, 'entity', 0
    UNION ALL
    SELECT unnest(%(relations)s::uuid[]), 0, 'relation', 0
) AS counted
GROUP BY subject_id, class_id, subject
ON CONFLICT (subject_id, class_id) DO UPDATE SET delta = stale_profiles.delta + excluded.delta
"""

_NAMED: LiteralString = """
UPDATE {table} AS said SET entity_id = resolved.entity_id
FROM (
    SELECT named.entity_id AS named_as, class.class_id,
           CASE WHEN class.tags && root.hidden_for OR class.tags && named.hidden_for THEN NULL
                ELSE root.entity_id END AS entity_id
    FROM entities AS named
    JOIN entities AS root ON root.entity_id = coalesce(named.merged_into, named.entity_id)
    JOIN access_classes AS class ON class.project_id = named.project_id
) AS resolved
WHERE resolved.named_as = said.named_as AND resolved.class_id = said.class_id
  AND said.entity_id IS DISTINCT FROM resolved.entity_id AND {where}
"""

_STATED: LiteralString = """
UPDATE {table} AS said SET relation_id = resolved.relation_id
FROM (
    SELECT stated.relation_id AS stated_as, class.class_id,
           CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
                  OR class.tags && source_root.hidden_for OR class.tags && target_root.hidden_for
                  OR class.tags && stated.hidden_for OR class.tags && relation.hidden_for
                THEN NULL ELSE relation.relation_id END AS relation_id
    FROM relations AS stated
    JOIN entities AS source ON source.entity_id = stated.source_id
    JOIN entities AS target ON target.entity_id = stated.target_id
    JOIN entities AS source_root ON source_root.entity_id = coalesce(source.merged_into, source.entity_id)
    JOIN entities AS target_root ON target_root.entity_id = coalesce(target.merged_into, target.entity_id)
    LEFT JOIN relations AS relation
      ON relation.source_id = source_root.entity_id AND relation.target_id = target_root.entity_id
     AND relation.predicate = stated.predicate
    JOIN access_classes AS class ON class.project_id = stated.project_id
) AS resolved
WHERE resolved.stated_as = said.stated_as AND resolved.class_id = said.class_id
  AND said.relation_id IS DISTINCT FROM resolved.relation_id AND {where}
"""

_MEANT = """
SELECT DISTINCT coalesce(source.merged_into, source.entity_id), coalesce(target.merged_into, target.entity_id),
       stated.predicate
FROM relations AS stated
JOIN entities AS source ON source.entity_id = stated.source_id
JOIN entities AS target ON target.entity_id = stated.target_id
WHERE stated.relation_id = ANY(%(relations)s)
  AND coalesce(source.merged_into, source.entity_id) <> coalesce(target.merged_into, target.entity_id)
  AND (source.merged_into IS NOT NULL OR target.merged_into IS NOT NULL)
"""

_RELATE = """
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
SELECT relation_id, %(project_id)s, source_id, target_id, predicate
FROM unnest(%(ids)s::uuid[], %(sources)s::uuid[], %(targets)s::uuid[], %(predicates)s::text[])
    AS given (relation_id, source_id, target_id, predicate)
ON CONFLICT (source_id, target_id, predicate) DO NOTHING
"""

_OF_DOCUMENTS: LiteralString = (
    "said.chunk_id IN (SELECT chunk_id FROM document_chunks WHERE document_id = ANY(%(documents)s))"
)

# By what they stand for, and then by what they say where that is something else: each has its index.
_RESOLVE_ENTITIES: tuple[LiteralString, ...] = (
    _NAMED.format(table="document_entity_mentions", where="said.entity_id = ANY(%(entities)s)"),
    _NAMED.format(
        table="document_entity_mentions",
        where="said.named_as = ANY(%(entities)s) AND said.entity_id IS DISTINCT FROM said.named_as",
    ),
    _NAMED.format(table="entity_edits", where="said.named_as = ANY(%(entities)s)"),
)

_RESOLVE_RELATIONS: tuple[LiteralString, ...] = (
    _STATED.format(table="relation_mentions", where="said.relation_id = ANY(%(relations)s)"),
    _STATED.format(
        table="relation_mentions",
        where="said.stated_as = ANY(%(relations)s) AND said.relation_id IS DISTINCT FROM said.stated_as",
    ),
    _STATED.format(table="relation_edits", where="said.stated_as = ANY(%(relations)s)"),
)

_RESOLVE_DOCUMENTS: tuple[LiteralString, ...] = (
    _NAMED.format(table="document_entity_mentions", where=_OF_DOCUMENTS),
    _STATED.format(table="relation_mentions", where=_OF_DOCUMENTS),
)


async def trees(connection: Connection, entities: Sequence[EntityId]) -> list[EntityId]:
    """Return these entities with all that stands, by merges, for the same things."""
    cursor = await connection.execute(_TREES, {"entities": list(entities)})
    return [EntityId(row[0]) for row in await cursor.fetchall()]


async def resolve(
    connection: Connection, project_id: ProjectId, entities: Sequence[EntityId]
) -> None:
    """Compute anew what these entities' names and statements stand for; refresh has to follow.

    `entities` are whole trees, those before and those after the change of facts. Nothing may be published meanwhile.
    """
    members = {"entities": list(entities), "project_id": project_id}
    relations = await _touching(connection, entities)
    await connection.execute(_STALE, {**members, "relations": relations, "sign": -1})
    await connection.execute(_RETRACE, members)
    await _relate(connection, project_id, relations)
    relations = await _touching(connection, entities)
    for statement in (*_RESOLVE_ENTITIES, *_RESOLVE_RELATIONS):
        await connection.execute(statement, {**members, "relations": relations})
    await connection.execute(_STALE, {**members, "relations": relations, "sign": 1})


async def resolve_documents(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Compute anew what these documents' mentions stand for, since they changed their access class."""
    for statement in _RESOLVE_DOCUMENTS:
        await connection.execute(statement, {"documents": list(documents)})


async def _touching(connection: Connection, entities: Sequence[EntityId]) -> list[UUID]:
    cursor = await connection.execute(_TOUCHING, {"entities": list(entities)})
    return [row[0] for row in await cursor.fetchall()]


async def _relate(connection: Connection, project_id: ProjectId, relations: Sequence[UUID]) -> None:
    cursor = await connection.execute(_MEANT, {"relations": list(relations)})
    meant = await cursor.fetchall()
    await connection.execute(
        _RELATE,
        {
            "project_id": project_id,
            "ids": [new_id() for _ in meant],
            "sources": [row[0] for row in meant],
            "targets": [row[1] for row in meant],
            "predicates": [row[2] for row in meant],
        },
    )

"""Which mentions and statements of texts show, since people delete entities and relations by hand.

`named_as` and `stated_as` are what a text says; `entity_id` and `relation_id` are the same, or null where it is hidden
from that access class. Merges change neither: they are applied when somebody reads (`merges_told` in the schema).
"""

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, EntityId, ProjectId
from lightwell.records.database import Connection

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

_SHOW_ENTITIES: LiteralString = """
UPDATE {table} AS said SET entity_id = shown.entity_id
FROM (
    SELECT named.entity_id AS named_as, class.class_id,
           CASE WHEN class.tags && named.hidden_for THEN NULL ELSE named.entity_id END AS entity_id
    FROM entities AS named JOIN access_classes AS class ON class.project_id = named.project_id
) AS shown
WHERE shown.named_as = said.named_as AND shown.class_id = said.class_id
  AND said.entity_id IS DISTINCT FROM shown.entity_id AND {where}
"""

_SHOW_RELATIONS: LiteralString = """
UPDATE {table} AS said SET relation_id = shown.relation_id
FROM (
    SELECT stated.relation_id AS stated_as, class.class_id,
           CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
                  OR class.tags && stated.hidden_for
                THEN NULL ELSE stated.relation_id END AS relation_id
    FROM relations AS stated
    JOIN entities AS source ON source.entity_id = stated.source_id
    JOIN entities AS target ON target.entity_id = stated.target_id
    JOIN access_classes AS class ON class.project_id = stated.project_id
) AS shown
WHERE shown.stated_as = said.stated_as AND shown.class_id = said.class_id
  AND said.relation_id IS DISTINCT FROM shown.relation_id AND {where}
"""

_OF_DOCUMENTS: LiteralString = (
    "said.chunk_id IN (SELECT chunk_id FROM document_chunks WHERE document_id = ANY(%(documents)s))"
)

# Those that show, and then those that are hidden: each has its index.
_RESOLVE: tuple[LiteralString, ...] = (
    _SHOW_ENTITIES.format(
        table="document_entity_mentions", where="said.entity_id = ANY(%(entities)s)"
    ),
    _SHOW_ENTITIES.format(
        table="document_entity_mentions",
        where="said.named_as = ANY(%(entities)s) AND said.entity_id IS DISTINCT FROM said.named_as",
    ),
    _SHOW_ENTITIES.format(table="entity_edits", where="said.named_as = ANY(%(entities)s)"),
    _SHOW_RELATIONS.format(
        table="relation_mentions", where="said.relation_id = ANY(%(relations)s)"
    ),
    _SHOW_RELATIONS.format(
        table="relation_mentions",
        where="said.stated_as = ANY(%(relations)s) AND said.relation_id IS DISTINCT FROM said.stated_as",
    ),
    _SHOW_RELATIONS.format(table="relation_edits", where="said.stated_as = ANY(%(relations)s)"),
)

_RESOLVE_DOCUMENTS: tuple[LiteralString, ...] = (
    _SHOW_ENTITIES.format(table="document_entity_mentions", where=_OF_DOCUMENTS),
    _SHOW_RELATIONS.format(table="relation_mentions", where=_OF_DOCUMENTS),
)


async def resolve(
    connection: Connection, project_id: ProjectId, entities: Sequence[EntityId]
) -> None:
    """Show or hide these entities' mentions and statements anew; refresh has to follow.

    Nothing may be published meanwhile.
    """
    subjects: dict[str, object] = {
        "entities": list(entities),
        "relations": await _touching(connection, entities),
        "project_id": project_id,
    }
    await connection.execute(_STALE, {**subjects, "sign": -1})
    for statement in _RESOLVE:
        await connection.execute(statement, subjects)
    await connection.execute(_STALE, {**subjects, "sign": 1})


async def resolve_documents(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Show or hide these documents' mentions anew, since they changed their access class."""
    for statement in _RESOLVE_DOCUMENTS:
        await connection.execute(statement, {"documents": list(documents)})


async def _touching(connection: Connection, entities: Sequence[EntityId]) -> list[UUID]:
    cursor = await connection.execute(_TOUCHING, {"entities": list(entities)})
    return [row[0] for row in await cursor.fetchall()]

"""What hard deletion takes besides documents: names that merges, splits and hidings keep, and that no document has any more.

A merge, or an entity deleted by hand, outlives its documents, so that their return changes nothing. After a hard
deletion nobody is to find their names; only what people said in words of their own keeps one.
"""

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, EntityId, ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph import resolution
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK

_MENTIONED: LiteralString = """
(EXISTS (SELECT FROM document_entity_mentions AS mention
         WHERE mention.entity_id = {entity}.entity_id)
 OR EXISTS (SELECT FROM document_entity_mentions AS mention
            WHERE mention.named_as = {entity}.entity_id AND mention.entity_id IS DISTINCT FROM mention.named_as))
"""

_HELD: LiteralString = """
({mentioned}
 OR NOT {entity}.entity_ref LIKE 'kg:entity:%%'
 OR EXISTS (SELECT FROM entity_edits AS edit WHERE edit.named_as = {entity}.entity_id)
 OR EXISTS (SELECT FROM entity_links AS link WHERE {entity}.entity_id IN (link.from_ref, link.to_ref)))
""".replace("{mentioned}", _MENTIONED)

_SHOW_RELATIONS: LiteralString = """
UPDATE relations SET hidden_for = NULL
WHERE project_id = %(project_id)s AND hidden_for IS NOT NULL
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE relations.relation_id = mention.relation_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.stated_as = relations.relation_id
                    AND mention.relation_id IS DISTINCT FROM mention.stated_as)
RETURNING source_id, target_id
"""

_SHOW_ENTITIES: LiteralString = """
UPDATE entities SET hidden_for = NULL
WHERE project_id = %(project_id)s AND hidden_for IS NOT NULL AND NOT {held}
RETURNING entity_id
""".replace("{held}", _HELD.replace("{entity}", "entities"))

# What stood for an end of a relation by hand that is there no more.
_DROP_WORDLESS: LiteralString = """
DELETE FROM entity_edits AS edit USING entities AS entity
WHERE entity.entity_id = edit.named_as AND entity.project_id = %(project_id)s
  AND edit.name IS NULL AND edit.entity_kind IS NULL AND edit.description IS NULL
  AND edit.source_ids IS NULL
  AND NOT {mentioned}
  AND NOT EXISTS (SELECT FROM relations AS relation JOIN relation_edits AS said ON said.stated_as = relation.relation_id
                  WHERE said.class_id = edit.class_id AND edit.named_as IN (relation.source_id, relation.target_id))
RETURNING edit.named_as
""".replace("{mentioned}", _MENTIONED.replace("{entity}", "entity"))

# A split of a name that no document has any more, or all of whose documents were erased, moves nothing.
_DROP_SPLIT_PASSAGES: LiteralString = """
DELETE FROM split_passages AS passage USING entities AS entity
WHERE entity.entity_id = passage.source_id AND entity.project_id = %(project_id)s AND NOT {held}
RETURNING passage.source_id
""".replace("{held}", _HELD.replace("{entity}", "entity"))

_DROP_SPLITS: LiteralString = """
DELETE FROM entity_splits AS split
WHERE split.project_id = %(project_id)s
  AND NOT EXISTS (SELECT FROM split_passages AS passage WHERE passage.split_id = split.split_id)
RETURNING split.part_id
"""

# A merge of which one side has no name any more says nothing to anybody.
_DROP_MERGES: LiteralString = """
WITH gone AS (
    DELETE FROM merged_entities AS source USING entities AS entity, entity_merges AS merge
    WHERE entity.entity_id = source.source_id AND merge.merge_id = source.merge_id
      AND entity.project_id = %(project_id)s AND NOT {held}
    RETURNING source.source_id, merge.target_id
)
SELECT source_id, target_id FROM gone
""".replace("{held}", _HELD.replace("{entity}", "entity"))

_DROP_TARGETS: LiteralString = """
WITH gone AS (
    DELETE FROM entity_merges AS merge USING entities AS entity
    WHERE entity.entity_id = merge.target_id AND entity.project_id = %(project_id)s
      AND (NOT {held}
           OR NOT EXISTS (SELECT FROM merged_entities AS source WHERE source.merge_id = merge.merge_id))
    RETURNING merge.merge_id, merge.target_id
)
SELECT gone.target_id, coalesce(source.source_id, gone.target_id)
FROM gone LEFT JOIN merged_entities AS source USING (merge_id)
""".replace("{held}", _HELD.replace("{entity}", "entity"))

# What only their splits held is looked at once more.
_FORGET_SPLITS = """
WITH gone AS (
    DELETE FROM split_passages WHERE document_id = ANY(%(documents)s) RETURNING split_id, source_id
)
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT entity_id, 0, %(project_id)s, 'entity', 0 FROM (
    SELECT source_id AS entity_id FROM gone UNION SELECT part_id FROM gone JOIN entity_splits USING (split_id)
) AS held
ON CONFLICT (subject_id, class_id) DO NOTHING
"""

_FACTS = (
    _SHOW_RELATIONS,
    _SHOW_ENTITIES,
    _DROP_WORDLESS,
    _DROP_SPLIT_PASSAGES,
    _DROP_SPLITS,
    _DROP_MERGES,
    _DROP_TARGETS,
)


async def forget_splits(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Drop what splits say of these documents; refresh has to follow."""
    facts = {"project_id": project_id, "documents": list(documents)}
    await connection.execute(_FORGET_SPLITS, facts)


async def delete_unused_names(connection: Connection, project_id: ProjectId) -> None:
    """Drop merges, splits and hidings of names that no document has any more and nobody's own words keep, and these names.

    Refresh must have followed the documents that went.
    """
    facts = {"project_id": project_id}
    await connection.execute(PUBLISHING_LOCK, facts)
    touched: set[UUID] = set()
    for statement in _FACTS:
        cursor = await connection.execute(statement, facts)
        touched.update(each for row in await cursor.fetchall() for each in row)
    if touched:
        await resolution.resolve(connection, project_id, [EntityId(each) for each in touched])
        await refresh_all(connection, project_id)

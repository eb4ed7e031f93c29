"""The second part of hard deletion: names that no document has any more, but merges, splits and hidden entities
keep.

A merge or a hidden entity outlives its documents, so that it applies again when they return. After a hard
deletion nobody may find their names; only manual edits keep one.
"""

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, EntityId, ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph import resolution
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch

# Both speak of `entity`.
_MENTIONED: LiteralString = """
(EXISTS (SELECT FROM document_entity_mentions AS mention
         WHERE mention.entity_id = entity.entity_id)
 OR EXISTS (SELECT FROM document_entity_mentions AS mention
            WHERE mention.named_as = entity.entity_id AND mention.entity_id IS DISTINCT FROM mention.named_as))
"""
_IN_USE: LiteralString = f"""
({_MENTIONED}
 OR NOT entity.entity_ref LIKE 'kg:entity:%%'
 OR EXISTS (SELECT FROM entity_edits AS edit WHERE edit.named_as = entity.entity_id))
"""

_UNHIDE_RELATIONS: LiteralString = """
UPDATE relations SET hidden_in = NULL
WHERE project_id = %(project_id)s AND hidden_in IS NOT NULL
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE relations.relation_id = mention.relation_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.stated_as = relations.relation_id
                    AND mention.relation_id IS DISTINCT FROM mention.stated_as)
RETURNING source_id, target_id
"""

_UNHIDE_ENTITIES: LiteralString = f"""
UPDATE entities AS entity SET hidden_in = NULL
WHERE project_id = %(project_id)s AND hidden_in IS NOT NULL AND NOT {_IN_USE}
RETURNING entity_id
"""  # noqa: S608 - only our own words

# An edit without content marks an end of a manually created relation; it goes with that relation.
_DELETE_EMPTY_EDITS: LiteralString = f"""
DELETE FROM entity_edits AS edit USING entities AS entity
WHERE entity.entity_id = edit.named_as AND entity.project_id = %(project_id)s
  AND edit.name IS NULL AND edit.entity_kind IS NULL AND edit.description IS NULL
  AND edit.source_ids IS NULL
  AND NOT {_MENTIONED}
  AND NOT EXISTS (SELECT FROM relations AS relation JOIN relation_edits AS said ON said.stated_as = relation.relation_id
                  WHERE said.class_id = edit.class_id AND edit.named_as IN (relation.source_id, relation.target_id))
RETURNING edit.named_as
"""  # noqa: S608 - only our own words

# A split is useless if no document has its name any more, or if all its documents were erased.
_DROP_SPLIT_PASSAGES: LiteralString = f"""
DELETE FROM split_passages AS passage USING entities AS entity
WHERE entity.entity_id = passage.source_id AND entity.project_id = %(project_id)s AND NOT {_IN_USE}
RETURNING passage.source_id
"""  # noqa: S608 - only our own words

_DROP_SPLITS: LiteralString = """
DELETE FROM entity_splits AS split
WHERE split.project_id = %(project_id)s
  AND NOT EXISTS (SELECT FROM split_passages AS passage WHERE passage.split_id = split.split_id)
RETURNING split.part_id
"""

# A merge is useless if one of its sides has no name any more.
_DROP_MERGES: LiteralString = f"""
WITH gone AS (
    DELETE FROM merged_entities AS source USING entities AS entity, entity_merges AS merge
    WHERE entity.entity_id = source.source_id AND merge.merge_id = source.merge_id
      AND entity.project_id = %(project_id)s AND NOT {_IN_USE}
    RETURNING source.source_id, merge.target_id
)
SELECT source_id, target_id FROM gone
"""  # noqa: S608 - only our own words

_DROP_TARGETS: LiteralString = f"""
WITH gone AS (
    DELETE FROM entity_merges AS merge USING entities AS entity
    WHERE entity.entity_id = merge.target_id AND entity.project_id = %(project_id)s
      AND (NOT {_IN_USE}
           OR NOT EXISTS (SELECT FROM merged_entities AS source WHERE source.merge_id = merge.merge_id))
    RETURNING merge.merge_id, merge.target_id
)
SELECT gone.target_id, coalesce(source.source_id, gone.target_id)
FROM gone LEFT JOIN merged_entities AS source USING (merge_id)
"""  # noqa: S608 - only our own words

# Refresh checks again whether anything still uses these entities.
_FORGET_SPLITS = """
WITH gone AS (
    DELETE FROM split_passages WHERE document_id = ANY(%(documents)s) RETURNING split_id, source_id
)
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT entity_id, 0, %(project_id)s, 'entity', 0 FROM (
    SELECT source_id AS entity_id FROM gone UNION SELECT part_id FROM gone JOIN entity_splits USING (split_id)
) AS held
ON CONFLICT (project_id, subject_id, class_id) DO NOTHING
"""

_STATEMENTS = (
    _UNHIDE_RELATIONS,
    _UNHIDE_ENTITIES,
    _DELETE_EMPTY_EDITS,
    _DROP_SPLIT_PASSAGES,
    _DROP_SPLITS,
    _DROP_MERGES,
    _DROP_TARGETS,
)


async def delete_splits_of(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Delete what splits record of these documents; the caller must refresh profiles afterwards."""
    facts = {"project_id": project_id, "documents": list(documents)}
    await connection.execute(_FORGET_SPLITS, facts)


async def delete_unused_names(connection: Connection, project_id: ProjectId) -> None:
    """Delete merges, splits and hidden entities whose names no document and no manual edit uses any more.

    Refresh must have run after the documents were deleted.
    """
    facts = {"project_id": project_id}
    await connection.execute(PUBLISHING_LOCK, facts)
    touched: set[UUID] = set()
    for statement in _STATEMENTS:
        for row in await fetch(connection, statement, facts):
            touched.update(row)
    if touched:
        await resolution.resolve(connection, project_id, [EntityId(entity) for entity in touched])
        await refresh_all(connection, project_id)

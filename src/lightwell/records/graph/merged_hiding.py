"""What a person hid of items that a business system merged into others: it stays hidden under the survivors.

Other corrections stay with the former item: its system took it away, and a person decides what holds of the survivor.
"""

from collections.abc import Mapping

from lightwell.domain.ids import GlobalRef, ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph import resolution
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch

_MERGED = """
SELECT entity_key(%(project_id)s, given.former), entity_key(%(project_id)s, given.survivor)
FROM unnest(%(former)s::text[], %(survivors)s::text[]) AS given (former, survivor)
JOIN entities AS entity ON entity.project_id = %(project_id)s AND entity.entity_ref = given.former
WHERE entity.hidden_in IS NOT NULL OR EXISTS (
    SELECT FROM relations WHERE hidden_in IS NOT NULL AND entity.entity_id IN (source_id, target_id))
ORDER BY 1
"""

# A survivor that no document names yet is delivered with the same page, or fetched.
_SURVIVORS = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT DISTINCT entity_key(%(project_id)s, given.survivor), %(project_id)s::uuid, given.survivor, lower(given.survivor)
FROM unnest(%(survivors)s::text[]) AS given (survivor) ORDER BY 1
ON CONFLICT (project_id, entity_ref) DO NOTHING
"""

# What a person hid stays hidden under the reference by which documents name it now. The former item stays hidden, too: some
# documents still name it.
_MOVE_HIDING = """
UPDATE entities AS entity
SET hidden_in = ARRAY(SELECT DISTINCT unnest(coalesce(entity.hidden_in, '{}') || said.classes) ORDER BY 1)
FROM (
    SELECT merged.survivor, array_agg(DISTINCT class_id) AS classes
    FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS merged (former, survivor)
    JOIN entities AS hidden ON hidden.entity_id = merged.former CROSS JOIN LATERAL unnest(hidden.hidden_in) AS class_id
    GROUP BY 1
) AS said
WHERE entity.entity_id = said.survivor
"""

_MOVE_HIDDEN_RELATIONS = """
WITH merged AS (
    SELECT * FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS given (former, survivor)
), renamed AS (
    SELECT coalesce(near.survivor, relation.source_id) AS source, coalesce(far.survivor, relation.target_id) AS target,
           relation.predicate, array_agg(DISTINCT class_id ORDER BY class_id) AS classes
    FROM relations AS relation
    LEFT JOIN merged AS near ON near.former = relation.source_id LEFT JOIN merged AS far ON far.former = relation.target_id
    CROSS JOIN LATERAL unnest(relation.hidden_in) AS class_id
    WHERE relation.source_id = ANY(%(former_ids)s::uuid[]) OR relation.target_id = ANY(%(former_ids)s::uuid[])
    GROUP BY 1, 2, 3
)
INSERT INTO relations AS kept (relation_id, project_id, source_id, target_id, predicate, hidden_in)
SELECT relation_key(%(project_id)s, source, target, predicate), %(project_id)s::uuid, source, target, predicate, classes
FROM renamed WHERE source <> target ORDER BY 1
ON CONFLICT (source_id, target_id, predicate) DO UPDATE
SET hidden_in = ARRAY(SELECT DISTINCT unnest(coalesce(kept.hidden_in, '{}') || excluded.hidden_in) ORDER BY 1)
"""


async def move(
    connection: Connection, project_id: ProjectId, merged: Mapping[GlobalRef, GlobalRef]
) -> None:
    """Hide the survivors of hidden items, and the relations of survivors that were hidden of the former items."""
    keys: dict[str, object] = {
        "project_id": project_id,
        "former": list(merged),
        "survivors": list(merged.values()),
    }
    rows = await fetch(connection, _MERGED, keys)
    if not rows:
        return
    keys["former_ids"] = [former for former, _ in rows]
    keys["survivor_ids"] = [survivor for _, survivor in rows]
    await connection.execute(PUBLISHING_LOCK, keys)
    for statement in (_SURVIVORS, _MOVE_HIDING, _MOVE_HIDDEN_RELATIONS):
        await connection.execute(statement, keys)
    touched = sorted({entity for pair in rows for entity in pair})
    await resolution.resolve(connection, project_id, touched)
    await refresh_all(connection, project_id)

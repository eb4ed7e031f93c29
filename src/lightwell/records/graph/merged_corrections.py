"""What people corrected by hand, moved from items that a business system merged into others to the survivors."""

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
ORDER BY 1
"""

# A survivor that no document names yet is delivered with the same page, or fetched.
_SURVIVORS = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT DISTINCT entity_key(%(project_id)s, given.survivor), %(project_id)s::uuid, given.survivor, lower(given.survivor)
FROM unnest(%(survivors)s::text[]) AS given (survivor) ORDER BY 1
ON CONFLICT (project_id, entity_ref) DO NOTHING
"""

# Each field that both have is that of the later edit. A name that a person gave the former item is not the survivor's. Nor
# does an edit keep what the former item was called, where its class knows the survivor.
_MOVE_EDITS = """
WITH merged AS (
    SELECT * FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS given (former, survivor)
), taken AS (
    DELETE FROM entity_edits USING merged WHERE named_as = merged.former RETURNING merged.survivor, entity_edits.*
), latest AS (
    SELECT DISTINCT ON (survivor, class_id) * FROM taken ORDER BY survivor, class_id, said_at DESC, named_as
)
INSERT INTO entity_edits AS edit (
    named_as, class_id, entity_kind, description, source_ids, attributes, alias_names, known_name, known_kind,
    normalized_name, said_by, said_at)
SELECT latest.survivor, latest.class_id, latest.entity_kind, latest.description, latest.source_ids, latest.attributes,
       latest.alias_names,
       coalesce(profile.display_name, latest.known_name), coalesce(profile.entity_kind, latest.known_kind),
       CASE WHEN profile.subject_id IS NULL THEN latest.normalized_name ELSE entity.normalized_name END,
       latest.said_by, latest.said_at
FROM latest JOIN entities AS entity ON entity.entity_id = latest.survivor
LEFT JOIN profiles AS profile ON profile.subject_id = latest.survivor AND profile.class_id = latest.class_id
WHERE coalesce(latest.entity_kind, latest.description) IS NOT NULL OR latest.source_ids IS NOT NULL
   OR latest.attributes <> '{}' OR profile.subject_id IS NULL
ON CONFLICT (named_as, class_id) DO UPDATE
SET entity_kind = CASE WHEN excluded.said_at > edit.said_at THEN coalesce(excluded.entity_kind, edit.entity_kind)
                       ELSE coalesce(edit.entity_kind, excluded.entity_kind) END,
    description = CASE WHEN excluded.said_at > edit.said_at THEN coalesce(excluded.description, edit.description)
                       ELSE coalesce(edit.description, excluded.description) END,
    source_ids = CASE WHEN excluded.said_at > edit.said_at THEN coalesce(excluded.source_ids, edit.source_ids)
                      ELSE coalesce(edit.source_ids, excluded.source_ids) END,
    attributes = CASE WHEN excluded.said_at > edit.said_at THEN edit.attributes || excluded.attributes
                      ELSE excluded.attributes || edit.attributes END,
    alias_names = CASE WHEN excluded.said_at > edit.said_at THEN coalesce(excluded.alias_names, edit.alias_names)
                       ELSE coalesce(edit.alias_names, excluded.alias_names) END,
    said_by = CASE WHEN excluded.said_at > edit.said_at THEN excluded.said_by ELSE edit.said_by END,
    said_at = greatest(excluded.said_at, edit.said_at)
"""

# A merge by hand of the two is the system's own now; one of the former item with others is one of the survivor.
_MOVE_SOURCES = """
WITH merged AS (
    SELECT * FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS given (former, survivor)
), taken AS (
    DELETE FROM merged_entities AS source USING merged, entity_merges AS merge
    WHERE merge.merge_id = source.merge_id AND source.undone_at IS NULL
      AND (source.source_id = merged.former OR source.source_id = merged.survivor AND merge.target_id = merged.former)
    RETURNING source.*, merged.former, merged.survivor, merge.target_id
)
INSERT INTO merged_entities (merge_id, source_id, place, source_classes)
SELECT merge_id, survivor, min(place), array_agg(DISTINCT class_id)
FROM taken CROSS JOIN LATERAL unnest(source_classes) AS class_id
WHERE source_id = former AND target_id <> survivor
GROUP BY merge_id, survivor
ON CONFLICT (merge_id, source_id) DO NOTHING
"""

_MOVE_TARGETS = """
UPDATE entity_merges AS merge SET target_id = merged.survivor
FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS merged (former, survivor)
WHERE merge.target_id = merged.former
"""

# The later of two edits of what is one relation now stands. A relation of an item with itself says nothing any more.
_MOVE_RELATION_EDITS = """
WITH merged AS (
    SELECT * FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS given (former, survivor)
), taken AS (
    DELETE FROM relation_edits AS said USING relations AS relation
    WHERE relation.relation_id = said.stated_as
      AND (relation.source_id = ANY(%(former_ids)s::uuid[]) OR relation.target_id = ANY(%(former_ids)s::uuid[]))
    RETURNING said.*, relation.source_id, relation.target_id, relation.predicate
), renamed AS (
    SELECT taken.*, coalesce(near.survivor, taken.source_id) AS source, coalesce(far.survivor, taken.target_id) AS target
    FROM taken LEFT JOIN merged AS near ON near.former = taken.source_id LEFT JOIN merged AS far ON far.former = taken.target_id
), latest AS (
    SELECT DISTINCT ON (source, target, predicate, class_id) renamed.*,
           relation_key(%(project_id)s, source, target, predicate) AS key
    FROM renamed WHERE source <> target ORDER BY source, target, predicate, class_id, said_at DESC, stated_as
), created AS (
    INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
    SELECT DISTINCT key, %(project_id)s::uuid, source, target, predicate FROM latest ORDER BY 1
    ON CONFLICT (source_id, target_id, predicate) DO NOTHING
)
INSERT INTO relation_edits AS edit (
    stated_as, class_id, keywords, description, weight, comparison, use_case, said_by, said_at)
SELECT key, class_id, keywords, description, weight, comparison, use_case, said_by, said_at FROM latest
ON CONFLICT (stated_as, class_id) DO UPDATE
SET keywords = excluded.keywords, description = excluded.description, weight = excluded.weight,
    comparison = excluded.comparison, use_case = excluded.use_case, said_by = excluded.said_by, said_at = excluded.said_at
WHERE edit.said_at < excluded.said_at
"""

# Documents that named the former item name the survivor when they are published again: a split moves that mention.
_MOVE_SPLITS = """
WITH merged AS (
    SELECT * FROM unnest(%(former_ids)s::uuid[], %(survivor_ids)s::uuid[]) AS given (former, survivor)
), taken AS (
    DELETE FROM split_passages AS passage USING merged WHERE passage.source_id = merged.former
    RETURNING merged.survivor, passage.*
)
INSERT INTO split_passages AS kept (split_id, source_id, document_id, class_id, chunk_hash, undone_by, undone_at)
SELECT DISTINCT ON (split_id, survivor, document_id, chunk_hash)
       split_id, survivor, document_id, class_id, chunk_hash, undone_by, undone_at
FROM taken ORDER BY split_id, survivor, document_id, chunk_hash, undone_at DESC NULLS FIRST
ON CONFLICT (split_id, source_id, document_id, chunk_hash) DO UPDATE
SET class_id = excluded.class_id, undone_by = NULL, undone_at = NULL
WHERE kept.undone_at IS NOT NULL AND excluded.undone_at IS NULL
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

# A rejection holds hashes of the two references, in order.
_MOVE_REJECTIONS = """
WITH merged AS (
    SELECT keyed_hash(%(project_id)s, encode(sha256(convert_to(given.former, 'UTF8')), 'hex')) AS former,
           keyed_hash(%(project_id)s, encode(sha256(convert_to(given.survivor, 'UTF8')), 'hex')) AS survivor
    FROM unnest(%(former)s::text[], %(survivors)s::text[]) AS given (former, survivor)
), taken AS (
    DELETE FROM rejected_merges AS rejected USING merged
    WHERE rejected.project_id = %(project_id)s AND merged.former IN (rejected.one, rejected.other)
    RETURNING rejected.*
), renamed AS (
    SELECT taken.*, coalesce(near.survivor, taken.one) AS near, coalesce(far.survivor, taken.other) AS far
    FROM taken LEFT JOIN merged AS near ON near.former = taken.one LEFT JOIN merged AS far ON far.former = taken.other
), turned AS (
    SELECT project_id, rejected_by, rejected_at, least(near, far) AS one, greatest(near, far) AS other,
           CASE WHEN near < far THEN one_classes ELSE other_classes END AS one_classes,
           CASE WHEN near < far THEN other_classes ELSE one_classes END AS other_classes
    FROM renamed WHERE near <> far
)
INSERT INTO rejected_merges AS rejected (project_id, one, other, one_classes, other_classes, rejected_by, rejected_at)
SELECT project_id, one, other, array_agg(DISTINCT one_class), array_agg(DISTINCT other_class), rejected_by, max(rejected_at)
FROM turned CROSS JOIN LATERAL unnest(one_classes) AS one_class CROSS JOIN LATERAL unnest(other_classes) AS other_class
GROUP BY project_id, one, other, rejected_by
ON CONFLICT (project_id, one, other, rejected_by) DO UPDATE
SET one_classes = rejected.one_classes || excluded.one_classes,
    other_classes = rejected.other_classes || excluded.other_classes
"""

_MOVES = (
    _SURVIVORS,
    _MOVE_HIDING,
    _MOVE_HIDDEN_RELATIONS,
    _MOVE_EDITS,
    _MOVE_SOURCES,
    _MOVE_TARGETS,
    _MOVE_RELATION_EDITS,
    _MOVE_SPLITS,
)

_DROP_SUMMARIES = "DELETE FROM merge_summaries WHERE members && %(former_ids)s::uuid[]"


async def move(
    connection: Connection, project_id: ProjectId, merged: Mapping[GlobalRef, GlobalRef]
) -> None:
    """Move edits, merges, splits, relations by hand and rejected proposals from the former items to their survivors, and
    refresh what they describe.
    """
    keys: dict[str, object] = {
        "project_id": project_id,
        "former": list(merged),
        "survivors": list(merged.values()),
    }
    await connection.execute(_MOVE_REJECTIONS, keys)
    rows = await fetch(connection, _MERGED, keys)
    if not rows:
        return
    keys["former_ids"] = [former for former, _ in rows]
    keys["survivor_ids"] = [survivor for _, survivor in rows]
    await connection.execute(PUBLISHING_LOCK, keys)
    for statement in (*_MOVES, _DROP_SUMMARIES):
        await connection.execute(statement, keys)
    touched = sorted({entity for pair in rows for entity in pair})
    await resolution.resolve(connection, project_id, touched)
    await refresh_all(connection, project_id)

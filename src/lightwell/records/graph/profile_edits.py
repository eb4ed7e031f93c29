"""Applies manual edits to profiles, after refresh has recomputed them from documents."""

from collections.abc import Sequence
from typing import LiteralString

from lightwell.domain.ids import ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph.profile_queue import Key, key_columns
from lightwell.records.graph.source_limits import KEPT_FIRST, LIMIT_OF_PROJECT

# A profile that only manual edits support has no sources, and repeats nothing of what documents stated.
_CLEAR_SOURCES: LiteralString = """
UPDATE profiles SET mention_count = 0, weight = 0, source_ids = '{}', attributes = NULL,
    alias_names = NULL, display_name = '', description = '', comparison = '', use_case = ''
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
WHERE profiles.subject_id = key.subject_id AND profiles.class_id = key.class_id
  AND (EXISTS (SELECT FROM entity_edits AS edit
               WHERE edit.entity_id = key.subject_id AND edit.class_id = key.class_id)
       OR EXISTS (SELECT FROM relation_edits AS edit
                  WHERE edit.relation_id = key.subject_id AND edit.class_id = key.class_id))
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = key.subject_id AND mention.class_id = key.class_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.relation_id = key.subject_id AND mention.class_id = key.class_id)
"""

# If no document names the entity, its reference follows from the name in the edit. Of the sources in the edit, only
# those count that every reader of the edit sees.
_WRITE_ENTITIES: LiteralString = f"""
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, attributes, alias_names, created_at, stated_at, entity_ref,
    by_hand, mention_count, source_ids)
SELECT edit.entity_id, edit.class_id, 'entity', coalesce(edit.name, edit.known_name),
       coalesce(edit.entity_kind, edit.known_kind), coalesce(edit.description, ''), edit.attributes, edit.alias_names,
       edit.said_at, edit.said_at,
       'kg:entity:' || replace(edit.normalized_name, ' ', '-'),
       array_remove(ARRAY[CASE WHEN edit.name IS NOT NULL THEN 'name' END,
                          CASE WHEN edit.entity_kind IS NOT NULL THEN 'kind' END,
                          CASE WHEN edit.description IS NOT NULL THEN 'description' END,
                          CASE WHEN named.sources <> '{{}}' THEN 'sources' END], NULL)
           || ARRAY(SELECT jsonb_object_keys(edit.attributes) ORDER BY 1),
       0, named.sources
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
JOIN entity_edits AS edit ON edit.entity_id = key.subject_id AND edit.class_id = key.class_id
JOIN access_classes AS class ON class.class_id = edit.class_id
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(kept.chunk_id ORDER BY kept.chunk_id), '{{}}') AS sources
    FROM (
        SELECT chunk.chunk_id
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        JOIN access_classes AS seen_by ON seen_by.class_id = chunk.class_id
        WHERE chunk.chunk_id = ANY(edit.source_ids) AND NOT document.is_deleted AND class.tags <@ seen_by.tags
        ORDER BY {KEPT_FIRST} LIMIT {LIMIT_OF_PROJECT}
    ) AS kept
) AS named
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = CASE WHEN profile.source_ids = '{{}}' OR 'name' = ANY(excluded.by_hand)
                        THEN excluded.display_name ELSE profile.display_name END,
    entity_kind = CASE WHEN profile.source_ids = '{{}}' OR 'kind' = ANY(excluded.by_hand)
                       THEN excluded.entity_kind ELSE profile.entity_kind END,
    description = CASE WHEN profile.source_ids = '{{}}' OR 'description' = ANY(excluded.by_hand)
                       THEN excluded.description ELSE profile.description END,
    attributes = nullif(coalesce(profile.attributes, '{{}}') || coalesce(excluded.attributes, '{{}}'), '{{}}'),
    alias_names = coalesce(excluded.alias_names, profile.alias_names),
    stated_at = CASE WHEN profile.source_ids = '{{}}' THEN excluded.stated_at
                     ELSE greatest(excluded.stated_at, profile.stated_at) END,
    entity_ref = CASE WHEN profile.source_ids = '{{}}' THEN excluded.entity_ref END,
    source_ids = CASE WHEN excluded.source_ids = '{{}}' THEN profile.source_ids ELSE excluded.source_ids END,
    by_hand = excluded.by_hand, updated_at = now()
"""  # noqa: S608 - only our own words

_WRITE_RELATIONS = """
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, comparison, use_case, weight, by_hand,
    mention_count, source_ids)
SELECT edit.relation_id, edit.class_id, 'relation', edit.keywords, relation.predicate, edit.description,
       edit.comparison, edit.use_case, edit.weight, '{weight}', 0, '{}'
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
JOIN relation_edits AS edit ON edit.relation_id = key.subject_id AND edit.class_id = key.class_id
JOIN relations AS relation ON relation.relation_id = edit.relation_id
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = coalesce(nullif(excluded.display_name, ''), profile.display_name),
    description = coalesce(nullif(excluded.description, ''), profile.description),
    comparison = concat_ws(' | ', nullif(excluded.comparison, ''), nullif(profile.comparison, '')),
    use_case = concat_ws(' | ', nullif(excluded.use_case, ''), nullif(profile.use_case, '')),
    weight = profile.weight + excluded.weight,
    by_hand = array_remove(ARRAY['weight', CASE WHEN excluded.display_name <> '' THEN 'keywords' END,
                                 CASE WHEN excluded.description <> '' THEN 'description' END], NULL),
    updated_at = now()
"""

# A summary of merged entities is valid only while the class's descriptions of all of them are unchanged.
_DROP_SUMMARIES = """
DELETE FROM merge_summaries AS kept
USING unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
WHERE kept.class_id = key.class_id AND key.subject_id = ANY(kept.members)
  AND kept.inputs_hash IS DISTINCT FROM (
      SELECT encode(sha256(convert_to(string_agg(
                 profile.subject_id || '=' || profile.description, E'\\n' ORDER BY profile.subject_id), 'UTF8')), 'hex')
      FROM profiles AS profile
      WHERE profile.subject_id = ANY(kept.members) AND profile.class_id = kept.class_id)
"""


async def refresh(connection: Connection, project_id: ProjectId, keys: Sequence[Key]) -> None:
    """Apply manual edits to those of the recomputed profiles that have one."""
    columns = {**key_columns(keys), "project_id": project_id}
    for statement in (_CLEAR_SOURCES, _WRITE_ENTITIES, _WRITE_RELATIONS):
        await connection.execute(statement, columns)


async def drop_outdated_summaries(connection: Connection, keys: Sequence[Key]) -> None:
    """Delete the summaries of merges that include one of these profiles, if its description has changed."""
    await connection.execute(_DROP_SUMMARIES, key_columns(keys))

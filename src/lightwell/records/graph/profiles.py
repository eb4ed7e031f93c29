"""Refresh: recomputes the profiles whose mentions a batch changed, and no others.

A profile is a pure function of one class's mentions of one entity or relation: their number, and what the
latest fifty state (or as many, and which, as the project is configured to keep:
`records/graph/source_limits.py`). Chunk ids are UUID v7, so their order is the order of arrival. The cost does
not grow with the number of mentions of an entity.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.graph import SourceIdStrategy
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph import (
    link_proposals,
    profile_edits,
    profile_queue,
    source_limits,
    summaries,
)
from lightwell.records.graph.profile_queue import Key, key_columns
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch

_BATCH_SIZE = 500

# PostgreSQL may run a subquery with LIMIT again for each row, and then take more than the limit; a materialized CTE runs once.
_TAKE = """
WITH next AS MATERIALIZED (
    SELECT subject_id, class_id FROM stale_profiles
    WHERE project_id = %(project_id)s AND (%(only)s::uuid[] IS NULL OR subject_id = ANY(%(only)s))
    ORDER BY subject_id, class_id LIMIT %(limit)s FOR UPDATE
)
DELETE FROM stale_profiles AS stale USING next
WHERE stale.project_id = %(project_id)s AND stale.subject_id = next.subject_id AND stale.class_id = next.class_id
RETURNING stale.subject_id, stale.class_id, stale.subject, stale.delta
"""


# What the latest mentions state, each text once, in the order of arrival.
def _joined(column: LiteralString) -> LiteralString:
    return f"""CASE WHEN max(mention.{column}) = '' THEN '' ELSE (
               SELECT string_agg(said.text, ' | ' ORDER BY said.first)
               FROM (SELECT text, min(place) AS first FROM unnest(array_agg(mention.{column}
                        ORDER BY mention.chunk_id, mention.{column})) WITH ORDINALITY AS each (text, place)
                     WHERE text <> '' GROUP BY text) AS said) END"""  # noqa: S608 - only our own words


# The best quotation of the latest mentions, by its words alone.
_QUOTE: LiteralString = """coalesce((array_agg(mention.quote ORDER BY mention.quote_rank, abs(length(mention.quote) - 100),
               mention.quote COLLATE "C") FILTER (WHERE mention.quote <> ''))[1], '') AS quote,
           coalesce(min(mention.quote_rank) FILTER (WHERE mention.quote <> ''), 0) AS quote_rank"""

_SOURCES: LiteralString = (
    "array_agg(DISTINCT mention.chunk_id ORDER BY mention.chunk_id) AS sources"
)

# Lists are those of all latest mentions together; of a category and a difficulty, the latest one counts.
_CONCEPT: LiteralString = """CASE WHEN count(mention.attributes) > 0 THEN (
               SELECT jsonb_object_agg(key, value) FROM (
                   SELECT key, CASE WHEN key IN ('aliases', 'tags') THEN string_agg(DISTINCT value, ', ')
                                    ELSE (array_agg(value ORDER BY place DESC))[1] END AS value
                   FROM unnest(array_agg(mention.attributes ORDER BY mention.chunk_id, mention.name))
                       WITH ORDINALITY AS each (attributes, place)
                   CROSS JOIN LATERAL jsonb_each_text(attributes)
                   WHERE key IN ('aliases', 'category', 'difficulty', 'tags') GROUP BY key) AS concept) END"""

_ALIAS_NAMES: LiteralString = """CASE WHEN count(mention.alias_names) > 0 THEN (
               SELECT array_agg(DISTINCT name ORDER BY name) FROM unnest(string_to_array(string_agg(
                   array_to_string(mention.alias_names, E'\\n'), E'\\n'), E'\\n')) AS name) END"""


def _refresh_entities(order: LiteralString) -> LiteralString:
    return f"""
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, attributes, alias_names, created_at, stated_at,
    mention_count, source_ids, quote, quote_rank)
SELECT stale.subject_id, stale.class_id, 'entity', coalesce(own.name, latest.stated_name, latest.name),
       coalesce(own.entity_kind, latest.kind), latest.description,
       nullif(coalesce(own.attributes, latest.attributes, '{{}}') || coalesce(latest.concept, '{{}}'), '{{}}'),
       latest.alias_names, latest.created_at, latest.stated_at,
       stale.delta, latest.sources, latest.quote, latest.quote_rank
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(deltas)s::integer[])
    AS stale (subject_id, class_id, delta)
CROSS JOIN LATERAL (
    SELECT mode() WITHIN GROUP (ORDER BY coalesce(mention.part_name, mention.name)) AS name,
           (array_agg(mention.name ORDER BY document.updated_at DESC, mention.chunk_id DESC, mention.name)
                FILTER (WHERE mention.names IS NOT NULL))[1] AS stated_name,
           CASE WHEN count(*) FILTER (WHERE mention.entity_kind <> 'term') * 12 >= count(*)
                THEN mode() WITHIN GROUP (ORDER BY nullif(mention.entity_kind, 'term')) ELSE 'term' END AS kind,
           {_joined("description")} AS description,
           {_QUOTE},
           (array_agg(mention.attributes ORDER BY mention.chunk_id DESC, mention.name)
                FILTER (WHERE mention.attributes IS NOT NULL))[1] AS attributes,
           {_CONCEPT} AS concept, {_ALIAS_NAMES} AS alias_names, min(mention.created_at) AS created_at,
           max(mention.created_at) AS stated_at,
           {_SOURCES}
    FROM (
        SELECT * FROM document_entity_mentions
        WHERE entity_id = stale.subject_id AND class_id = stale.class_id
        ORDER BY chunk_id {order}, name LIMIT %(max_sources)s
    ) AS mention
    JOIN document_chunks AS chunk USING (chunk_id)
    JOIN source_documents AS document USING (document_id)
) AS latest
LEFT JOIN LATERAL (
    SELECT name, entity_kind, attributes FROM document_entity_mentions
    WHERE entity_id = stale.subject_id AND class_id = stale.class_id AND is_own
    ORDER BY chunk_id DESC, name LIMIT 1
) AS own ON true
WHERE latest.name IS NOT NULL
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = excluded.display_name, entity_kind = excluded.entity_kind, description = excluded.description,
    attributes = excluded.attributes, alias_names = excluded.alias_names, stated_at = excluded.stated_at, entity_ref = NULL, by_hand = '{{}}', summary_ids = '{{}}',
    mention_count = profile.mention_count + excluded.mention_count,
    source_ids = excluded.source_ids, quote = excluded.quote, quote_rank = excluded.quote_rank, updated_at = now()
"""  # noqa: S608 - only our own words


def _refresh_relations(order: LiteralString) -> LiteralString:
    return f"""
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, comparison, use_case, weight, mention_count,
    source_ids, quote, quote_rank)
SELECT stale.subject_id, stale.class_id, 'relation', latest.keywords, relation.predicate, latest.description,
       CASE WHEN relation.predicate = 'COMPARED_TO' THEN latest.comparison ELSE '' END,
       CASE WHEN relation.predicate = 'COMPARED_TO' THEN latest.use_case ELSE '' END, latest.weight, stale.delta,
       latest.sources, latest.quote, latest.quote_rank
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(deltas)s::integer[])
    AS stale (subject_id, class_id, delta)
JOIN relations AS relation ON relation.relation_id = stale.subject_id
CROSS JOIN LATERAL (
    SELECT coalesce(string_agg(DISTINCT mention.keywords, ', ') FILTER (WHERE mention.keywords <> ''), '') AS keywords,
           {_joined("description")} AS description,
           {_joined("comparison")} AS comparison,
           {_joined("use_case")} AS use_case,
           {_QUOTE},
           sum(mention.weight) AS weight,
           {_SOURCES}
    FROM (
        SELECT * FROM relation_mentions
        WHERE relation_id = stale.subject_id AND class_id = stale.class_id
        ORDER BY chunk_id {order}, description LIMIT %(max_sources)s
    ) AS mention
) AS latest
WHERE latest.sources IS NOT NULL
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = excluded.display_name, entity_kind = excluded.entity_kind, description = excluded.description,
    comparison = excluded.comparison, use_case = excluded.use_case, weight = excluded.weight, by_hand = '{{}}', summary_ids = '{{}}',
    mention_count = profile.mention_count + excluded.mention_count,
    source_ids = excluded.source_ids, quote = excluded.quote, quote_rank = excluded.quote_rank, updated_at = now()
"""  # noqa: S608 - only our own words


_REFRESH: Mapping[SourceIdStrategy, Mapping[str, LiteralString]] = {
    SourceIdStrategy.FIFO: {
        "entity": _refresh_entities("DESC"),
        "relation": _refresh_relations("DESC"),
    },
    SourceIdStrategy.KEEP: {
        "entity": _refresh_entities("ASC"),
        "relation": _refresh_relations("ASC"),
    },
}

_DROP_EMPTY = """
DELETE FROM profiles USING unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS stale (subject_id, class_id)
WHERE profiles.subject_id = stale.subject_id AND profiles.class_id = stale.class_id
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stale.subject_id AND mention.class_id = stale.class_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.relation_id = stale.subject_id AND mention.class_id = stale.class_id)
  AND NOT EXISTS (SELECT FROM entity_edits AS edit
                  WHERE edit.entity_id = stale.subject_id AND edit.class_id = stale.class_id)
  AND NOT EXISTS (SELECT FROM relation_edits AS edit
                  WHERE edit.relation_id = stale.subject_id AND edit.class_id = stale.class_id)
"""

_DROP_RELATIONS = """
DELETE FROM relations WHERE relation_id = ANY(%(subjects)s) AND hidden_in IS NULL
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention WHERE mention.relation_id = relations.relation_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.stated_as = relations.relation_id
                    AND mention.relation_id IS DISTINCT FROM mention.stated_as)
  AND NOT EXISTS (SELECT FROM relation_edits AS edit
                  WHERE relations.relation_id IN (edit.stated_as, edit.relation_id))
"""

_DROP_ENTITIES = """
DELETE FROM entities WHERE entity_id = ANY(%(subjects)s) AND hidden_in IS NULL
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention WHERE mention.entity_id = entities.entity_id)
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.named_as = entities.entity_id
                    AND mention.entity_id IS DISTINCT FROM mention.named_as)
  AND NOT EXISTS (SELECT FROM split_passages AS passage JOIN entity_splits AS split USING (split_id)
                  WHERE passage.undone_at IS NULL AND entities.entity_id IN (passage.source_id, split.part_id))
  AND NOT EXISTS (SELECT FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
                  WHERE source.undone_at IS NULL AND entities.entity_id IN (source.source_id, merge.target_id))
  AND NOT EXISTS (SELECT FROM entity_edits AS edit WHERE entities.entity_id IN (edit.named_as, edit.entity_id))
  AND NOT EXISTS (SELECT FROM relations AS relation
                  WHERE entities.entity_id IN (relation.source_id, relation.target_id)
                    AND (relation.hidden_in IS NOT NULL
                         OR EXISTS (SELECT FROM relation_edits AS edit
                                    WHERE relation.relation_id IN (edit.stated_as, edit.relation_id))))
"""

# A name that no mention has any more; the names of an entity that is deleted go with it.
_DROP_NAMES = """
DELETE FROM entity_names WHERE entity_id = ANY(%(subjects)s)
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.named_as = entity_names.entity_id
                    AND entity_names.normalized_name = ANY(mention.names))
"""


async def refresh(
    connection: Connection,
    project_id: ProjectId,
    *,
    limit: int,
    only: Sequence[UUID] | None = None,
) -> int:
    """Recompute up to `limit` stale profiles and return how many were taken; 0 means that none is stale.

    `only` limits it to these entities and relations. Those that nothing mentions any more are deleted. The
    publishing lock prevents that a new document uses one of them meanwhile.
    """
    parameters = {
        "project_id": project_id,
        "limit": limit,
        "only": None if only is None else list(only),
    }
    async with connection.pipeline():
        await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
        rows = await fetch(connection, _TAKE, parameters)
        retention = await source_limits.get(connection, project_id)
        for subject, statement in _REFRESH[retention.strategy].items():
            stale = sorted(row for row in rows if subject in row)
            if stale:
                columns: dict[str, object] = {
                    "subjects": [subject_id for subject_id, *_ in stale],
                    "classes": [class_id for _, class_id, *_ in stale],
                    "deltas": [delta for *_, delta in stale],
                    "max_sources": retention.limit,
                }
                await connection.execute(statement, columns)
        keys: list[Key] = [(subject_id, class_id) for subject_id, class_id, *_ in rows]
        await profile_edits.refresh(connection, project_id, keys)
        await connection.execute(_DROP_EMPTY, key_columns(keys))
        await profile_edits.drop_outdated_summaries(connection, keys)
        shrunk = {"subjects": [subject_id for subject_id, *_, delta in rows if delta <= 0]}
        if shrunk["subjects"]:
            for statement in (_DROP_RELATIONS, _DROP_ENTITIES, _DROP_NAMES):
                await connection.execute(statement, shrunk)
        await summaries.mark_long(connection, keys)
        await profile_queue.mark_changed(connection, keys)
        entities = [(entity, class_id) for entity, class_id, kind, _ in rows if kind == "entity"]
        await link_proposals.mark_changed(connection, project_id, entities)
    return len(rows)


async def refresh_all(connection: Connection, project_id: ProjectId) -> None:
    """Recompute all stale profiles, in the transaction that made them stale."""
    while await refresh(connection, project_id, limit=_BATCH_SIZE):
        pass


async def refresh_subjects(
    connection: Connection, project_id: ProjectId, subjects: Collection[UUID]
) -> None:
    """Recompute the stale profiles of these entities and relations, in the transaction that made them stale.

    Use it when readers lose access: no profile may repeat the removed text after that transaction.
    """
    only = sorted(subjects)
    while only and await refresh(connection, project_id, limit=_BATCH_SIZE, only=only):
        pass

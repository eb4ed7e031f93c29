"""Mentions and statements, the graph's truth: what each chunk says, written down in the transaction that shows it."""

from collections.abc import Mapping
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.graph import Extraction, normalized, text_ref
from lightwell.domain.ids import ChunkId, ProjectId, new_id
from lightwell.records.database import Connection

_ENTITIES = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT entity_id, %(project_id)s, entity_ref, normalized_name
FROM unnest(%(ids)s::uuid[], %(refs)s::text[], %(names)s::text[]) AS given (entity_id, entity_ref, normalized_name)
ON CONFLICT (project_id, entity_ref) DO NOTHING
"""

_MENTIONS = """
INSERT INTO document_entity_mentions (
    named_as, chunk_id, entity_id, class_id, name, entity_kind, description, mention_type, confidence, frequency,
    attributes)
SELECT DISTINCT ON (entity.entity_id, given.chunk_id)
       entity.entity_id, given.chunk_id,
       CASE WHEN class.tags && root.hidden_for OR class.tags && entity.hidden_for THEN NULL ELSE root.entity_id END,
       chunk.class_id, given.name, given.kind, given.description, given.type, given.confidence, given.frequency,
       given.attributes
FROM unnest(%(chunks)s::uuid[], %(refs)s::text[], %(names)s::text[], %(kinds)s::text[], %(descriptions)s::text[],
            %(types)s::text[], %(confidences)s::real[], %(frequencies)s::integer[], %(attributes)s::jsonb[])
    AS given (chunk_id, ref, name, kind, description, type, confidence, frequency, attributes)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS entity ON entity.project_id = %(project_id)s AND entity.entity_ref = given.ref
JOIN entities AS root ON root.entity_id = coalesce(entity.merged_into, entity.entity_id)
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.frequency DESC, given.name
"""

# Each statement as it is stated, and what it stands for since a merge.
_RELATIONS = """
WITH stated AS (
    SELECT given.stated_id, given.resolved_id, given.predicate,
           source.entity_id AS source_id, target.entity_id AS target_id,
           coalesce(source.merged_into, source.entity_id) AS source_root,
           coalesce(target.merged_into, target.entity_id) AS target_root
    FROM unnest(%(ids)s::uuid[], %(more_ids)s::uuid[], %(sources)s::text[], %(targets)s::text[],
                %(predicates)s::text[])
        AS given (stated_id, resolved_id, source, target, predicate)
    JOIN entities AS source ON source.project_id = %(project_id)s AND source.entity_ref = given.source
    JOIN entities AS target ON target.project_id = %(project_id)s AND target.entity_ref = given.target
    WHERE source.entity_id <> target.entity_id
)
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
SELECT DISTINCT ON (source_id, target_id, predicate) relation_id, %(project_id)s, source_id, target_id, predicate
FROM (
    SELECT stated_id AS relation_id, source_id, target_id, predicate FROM stated
    UNION ALL
    SELECT resolved_id, source_root, target_root, predicate FROM stated
    WHERE source_root <> target_root AND (source_root <> source_id OR target_root <> target_id)
) AS wanted
ON CONFLICT (source_id, target_id, predicate) DO NOTHING
"""

_RELATION_MENTIONS = """
INSERT INTO relation_mentions (
    stated_as, chunk_id, relation_id, class_id, keywords, description, weight, confidence, comparison, use_case)
SELECT DISTINCT ON (stated.relation_id, given.chunk_id)
       stated.relation_id, given.chunk_id,
       CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
              OR class.tags && source_root.hidden_for OR class.tags && target_root.hidden_for
              OR class.tags && stated.hidden_for OR class.tags && resolved.hidden_for
            THEN NULL ELSE resolved.relation_id END,
       chunk.class_id, given.keywords, given.description, given.weight, given.confidence, given.comparison,
       given.use_case
FROM unnest(%(chunks)s::uuid[], %(sources)s::text[], %(targets)s::text[], %(predicates)s::text[],
            %(keywords)s::text[], %(descriptions)s::text[], %(weights)s::real[], %(confidences)s::real[],
            %(comparisons)s::text[], %(use_cases)s::text[])
    AS given (chunk_id, source, target, predicate, keywords, description, weight, confidence, comparison, use_case)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS source ON source.project_id = %(project_id)s AND source.entity_ref = given.source
JOIN entities AS target ON target.project_id = %(project_id)s AND target.entity_ref = given.target
JOIN entities AS source_root ON source_root.entity_id = coalesce(source.merged_into, source.entity_id)
JOIN entities AS target_root ON target_root.entity_id = coalesce(target.merged_into, target.entity_id)
JOIN relations AS stated
  ON stated.source_id = source.entity_id AND stated.target_id = target.entity_id
 AND stated.predicate = given.predicate
LEFT JOIN relations AS resolved
  ON resolved.source_id = source_root.entity_id AND resolved.target_id = target_root.entity_id
 AND resolved.predicate = given.predicate
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.weight DESC, given.description
"""


async def write(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    """Write down what these chunks say, and what it stands for since people merged and hid."""
    await _write_mentions(connection, project_id, extractions)
    await _write_statements(connection, project_id, extractions)


async def _write_mentions(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    given = [
        (chunk_id, mention)
        for chunk_id, extraction in extractions.items()
        for mention in extraction.mentions
        if normalized(mention.name)
    ]
    refs = [text_ref(mention.name) for _, mention in given]
    distinct = {
        ref: normalized(mention.name) for ref, (_, mention) in zip(refs, given, strict=True)
    }
    await connection.execute(
        _ENTITIES,
        {
            "project_id": project_id,
            "ids": [new_id() for _ in distinct],
            "refs": list(distinct),
            "names": list(distinct.values()),
        },
    )
    await connection.execute(
        _MENTIONS,
        {
            "project_id": project_id,
            "chunks": [chunk_id for chunk_id, _ in given],
            "refs": refs,
            "names": [mention.name for _, mention in given],
            "kinds": [mention.kind for _, mention in given],
            "descriptions": [mention.description for _, mention in given],
            "types": [mention.type.value for _, mention in given],
            "confidences": [mention.confidence for _, mention in given],
            "frequencies": [mention.count for _, mention in given],
            "attributes": [Jsonb(dict(m.attributes)) if m.attributes else None for _, m in given],
        },
    )


async def _write_statements(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    given = [
        (chunk_id, statement)
        for chunk_id, extraction in extractions.items()
        for statement in extraction.statements
    ]
    ends: dict[str, object] = {
        "project_id": project_id,
        "sources": [text_ref(statement.subject) for _, statement in given],
        "targets": [text_ref(statement.object) for _, statement in given],
        "predicates": [statement.predicate.value for _, statement in given],
    }
    ids: list[UUID] = [new_id() for _ in given]
    more_ids: list[UUID] = [new_id() for _ in given]
    await connection.execute(_RELATIONS, {"ids": ids, "more_ids": more_ids, **ends})
    await connection.execute(
        _RELATION_MENTIONS,
        {
            "chunks": [chunk_id for chunk_id, _ in given],
            "keywords": [statement.keywords for _, statement in given],
            "descriptions": [statement.description for _, statement in given],
            "weights": [statement.weight for _, statement in given],
            "confidences": [statement.confidence for _, statement in given],
            "comparisons": [statement.comparison for _, statement in given],
            "use_cases": [statement.use_case for _, statement in given],
            **ends,
        },
    )

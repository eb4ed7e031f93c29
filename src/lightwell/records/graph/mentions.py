"""Mentions and statements, the graph's truth: what each chunk says, written down in the transaction that shows it."""

from collections.abc import Mapping

from psycopg.types.json import Jsonb

from lightwell.domain.entity_refs import text_ref
from lightwell.domain.graph import Extraction, normalize_name
from lightwell.domain.ids import ChunkId, ProjectId
from lightwell.records.database import Connection

# Rows are made in the order of their keys: two that make the same names do not wait in a circle.
_ENTITIES = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT keyed_id(project.id_key, given.entity_ref), project.project_id, given.entity_ref, given.normalized_name
FROM unnest(%(refs)s::text[], %(names)s::text[]) AS given (entity_ref, normalized_name)
JOIN projects AS project ON project.project_id = %(project_id)s
ORDER BY given.entity_ref
ON CONFLICT (project_id, entity_ref) DO NOTHING
"""

_MENTIONS = """
INSERT INTO document_entity_mentions (
    named_as, chunk_id, entity_id, class_id, name, entity_kind, description, mention_type, confidence, frequency,
    attributes)
SELECT DISTINCT ON (entity.entity_id, given.chunk_id)
       entity.entity_id, given.chunk_id,
       CASE WHEN class.tags && entity.hidden_for THEN NULL ELSE entity.entity_id END,
       chunk.class_id, given.name, given.kind, given.description, given.type, given.confidence, given.frequency,
       given.attributes
FROM unnest(%(chunks)s::uuid[], %(refs)s::text[], %(names)s::text[], %(kinds)s::text[], %(descriptions)s::text[],
            %(types)s::text[], %(confidences)s::real[], %(frequencies)s::integer[], %(attributes)s::jsonb[])
    AS given (chunk_id, ref, name, kind, description, type, confidence, frequency, attributes)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS entity ON entity.project_id = %(project_id)s AND entity.entity_ref = given.ref
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.frequency DESC, given.name
"""

_RELATIONS = """
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
SELECT keyed_id(project.id_key, source.entity_id || ' ' || given.predicate || ' ' || target.entity_id),
       project.project_id, source.entity_id, target.entity_id, given.predicate
FROM (SELECT DISTINCT source, target, predicate
      FROM unnest(%(sources)s::text[], %(targets)s::text[], %(predicates)s::text[])
          AS stated (source, target, predicate)) AS given
JOIN projects AS project ON project.project_id = %(project_id)s
JOIN entities AS source ON source.project_id = project.project_id AND source.entity_ref = given.source
JOIN entities AS target ON target.project_id = project.project_id AND target.entity_ref = given.target
WHERE source.entity_id <> target.entity_id
ORDER BY source.entity_id, target.entity_id, given.predicate
ON CONFLICT (source_id, target_id, predicate) DO NOTHING
"""

_RELATION_MENTIONS = """
INSERT INTO relation_mentions (
    stated_as, chunk_id, relation_id, class_id, keywords, description, weight, confidence, comparison, use_case)
SELECT DISTINCT ON (stated.relation_id, given.chunk_id)
       stated.relation_id, given.chunk_id,
       CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
              OR class.tags && stated.hidden_for
            THEN NULL ELSE stated.relation_id END,
       chunk.class_id, given.keywords, given.description, given.weight, given.confidence, given.comparison,
       given.use_case
FROM unnest(%(chunks)s::uuid[], %(sources)s::text[], %(targets)s::text[], %(predicates)s::text[],
            %(keywords)s::text[], %(descriptions)s::text[], %(weights)s::real[], %(confidences)s::real[],
            %(comparisons)s::text[], %(use_cases)s::text[])
    AS given (chunk_id, source, target, predicate, keywords, description, weight, confidence, comparison, use_case)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS source ON source.project_id = %(project_id)s AND source.entity_ref = given.source
JOIN entities AS target ON target.project_id = %(project_id)s AND target.entity_ref = given.target
JOIN relations AS stated
  ON stated.source_id = source.entity_id AND stated.target_id = target.entity_id
 AND stated.predicate = given.predicate
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.weight DESC, given.description
"""


async def write(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    """Write down what these chunks say; what people deleted by hand stays hidden."""
    await _write_mentions(connection, project_id, extractions)
    await _write_statements(connection, project_id, extractions)


async def _write_mentions(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    given = [
        (chunk_id, mention)
        for chunk_id, extraction in extractions.items()
        for mention in extraction.mentions
        if normalize_name(mention.name)
    ]
    refs = [text_ref(mention.name) for _, mention in given]
    distinct = {
        ref: normalize_name(mention.name) for ref, (_, mention) in zip(refs, given, strict=True)
    }
    await connection.execute(
        _ENTITIES,
        {
            "project_id": project_id,
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
        for statement in extraction.relation_mentions
    ]
    ends: dict[str, object] = {
        "project_id": project_id,
        "sources": [text_ref(statement.subject) for _, statement in given],
        "targets": [text_ref(statement.object) for _, statement in given],
        "predicates": [statement.predicate.value for _, statement in given],
    }
    await connection.execute(_RELATIONS, ends)
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

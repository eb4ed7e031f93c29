"""Storage of mentions and relation mentions, in the transaction that publishes their chunks."""

from collections.abc import Mapping

from psycopg.types.json import Jsonb

from lightwell.domain.concepts import split_list
from lightwell.domain.entity_refs import text_ref
from lightwell.domain.graph import Extraction, Mention, normalize_name, normalize_names
from lightwell.domain.ids import ChunkId, GlobalRef, ProjectId
from lightwell.records.database import Connection

# Rows are inserted in the order of their keys, so that two transactions with the same names do not deadlock.
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
    attributes, alias_names, names, is_own, quote, quote_rank)
SELECT DISTINCT ON (entity.entity_id, given.chunk_id)
       entity.entity_id, given.chunk_id,
       CASE WHEN class.class_id = ANY(entity.hidden_in) THEN NULL ELSE entity.entity_id END,
       chunk.class_id, given.name, given.kind, given.description, given.type, given.confidence, given.frequency,
       given.attributes,
       CASE WHEN given.aliases IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(given.aliases)) END,
       CASE WHEN given.names IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(given.names)) END, given.is_own,
       given.quote, given.quote_rank
FROM unnest(%(chunks)s::uuid[], %(refs)s::text[], %(names)s::text[], %(kinds)s::text[], %(descriptions)s::text[],
            %(types)s::text[], %(confidences)s::real[], %(frequencies)s::integer[], %(attributes)s::jsonb[],
            %(aliases)s::jsonb[], %(searched)s::jsonb[], %(own)s::boolean[], %(quotes)s::text[], %(ranks)s::smallint[])
    AS given (chunk_id, ref, name, kind, description, type, confidence, frequency, attributes, aliases, names, is_own,
              quote, quote_rank)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS entity ON entity.project_id = %(project_id)s AND entity.entity_ref = given.ref
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.is_own DESC, given.frequency DESC, given.name
"""

_NAMES = """
INSERT INTO entity_names (entity_id, normalized_name)
SELECT DISTINCT entity.entity_id, name
FROM unnest(%(refs)s::text[], %(searched)s::jsonb[]) AS given (ref, names)
CROSS JOIN LATERAL jsonb_array_elements_text(given.names) AS name
JOIN entities AS entity ON entity.project_id = %(project_id)s AND entity.entity_ref = given.ref
ORDER BY 1, 2
ON CONFLICT DO NOTHING
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
    stated_as, chunk_id, relation_id, class_id, keywords, description, weight, confidence, comparison, use_case,
    quote, quote_rank)
SELECT DISTINCT ON (stated.relation_id, given.chunk_id)
       stated.relation_id, given.chunk_id,
       CASE WHEN class.class_id = ANY(source.hidden_in) OR class.class_id = ANY(target.hidden_in)
              OR class.class_id = ANY(stated.hidden_in)
            THEN NULL ELSE stated.relation_id END,
       chunk.class_id, given.keywords, given.description, given.weight, given.confidence, given.comparison,
       given.use_case, given.quote, given.quote_rank
FROM unnest(%(chunks)s::uuid[], %(sources)s::text[], %(targets)s::text[], %(predicates)s::text[],
            %(keywords)s::text[], %(descriptions)s::text[], %(weights)s::real[], %(confidences)s::real[],
            %(comparisons)s::text[], %(use_cases)s::text[], %(quotes)s::text[], %(ranks)s::smallint[])
    AS given (chunk_id, source, target, predicate, keywords, description, weight, confidence, comparison, use_case,
              quote, quote_rank)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN entities AS source ON source.project_id = %(project_id)s AND source.entity_ref = given.source
JOIN entities AS target ON target.project_id = %(project_id)s AND target.entity_ref = given.target
JOIN relations AS stated
  ON stated.source_id = source.entity_id AND stated.target_id = target.entity_id
 AND stated.predicate = given.predicate
LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
ORDER BY 1, 2, given.weight DESC, given.description
"""


async def store(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    """Store the mentions of these chunks. Mentions of entities that people deleted by hand stay hidden."""
    await _write_mentions(connection, project_id, extractions)
    await _write_relation_mentions(connection, project_id, extractions)


async def _write_mentions(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    rows = [
        (chunk_id, mention)
        for chunk_id, extraction in extractions.items()
        for mention in extraction.mentions
        if mention.ref or normalize_name(mention.name)
    ]
    refs = [mention.ref or text_ref(mention.name) for _, mention in rows]
    # the name of an entity with a reference is no part of its identity: it differs between access classes
    distinct = {
        ref: mention.ref.casefold() if mention.ref else normalize_name(mention.name)
        for ref, (_, mention) in zip(refs, rows, strict=True)
    }
    await connection.execute(
        _ENTITIES,
        {
            "project_id": project_id,
            "refs": list(distinct),
            "names": list(distinct.values()),
        },
    )
    searched = [Jsonb(mention.searched_names) if mention.ref else None for _, mention in rows]
    await connection.execute(
        _MENTIONS,
        {
            "project_id": project_id,
            "chunks": [chunk_id for chunk_id, _ in rows],
            "refs": refs,
            "names": [mention.name for _, mention in rows],
            "kinds": [mention.kind for _, mention in rows],
            "descriptions": [mention.description for _, mention in rows],
            "types": [mention.type.value for _, mention in rows],
            "confidences": [mention.confidence for _, mention in rows],
            "frequencies": [mention.count for _, mention in rows],
            "attributes": [Jsonb(dict(m.attributes)) if m.attributes else None for _, m in rows],
            "aliases": [_alias_names(mention) for _, mention in rows],
            "searched": searched,
            "own": [mention.is_own for _, mention in rows],
            "quotes": [mention.quote.text for _, mention in rows],
            "ranks": [mention.quote.rank for _, mention in rows],
        },
    )
    if any(searched):
        await connection.execute(
            _NAMES, {"project_id": project_id, "refs": refs, "searched": searched}
        )


def _alias_names(mention: Mention) -> Jsonb | None:
    """Return the normalised aliases that a text states, None where it states none."""
    names = normalize_names(split_list(mention.attributes.get("aliases", "")))
    return Jsonb(names) if names else None


async def _write_relation_mentions(
    connection: Connection, project_id: ProjectId, extractions: Mapping[ChunkId, Extraction]
) -> None:
    rows = [
        (chunk_id, relation_mention)
        for chunk_id, extraction in extractions.items()
        for relation_mention in extraction.relation_mentions
    ]
    stated = {chunk_id: _stated_refs(extraction) for chunk_id, extraction in extractions.items()}
    ends: dict[str, object] = {
        "project_id": project_id,
        "sources": [_end_ref(stated[chunk_id], mention.subject) for chunk_id, mention in rows],
        "targets": [_end_ref(stated[chunk_id], mention.object) for chunk_id, mention in rows],
        "predicates": [relation_mention.predicate.value for _, relation_mention in rows],
    }
    await connection.execute(_RELATIONS, ends)
    await connection.execute(
        _RELATION_MENTIONS,
        {
            "chunks": [chunk_id for chunk_id, _ in rows],
            "keywords": [relation_mention.keywords for _, relation_mention in rows],
            "descriptions": [relation_mention.description for _, relation_mention in rows],
            "weights": [relation_mention.weight for _, relation_mention in rows],
            "confidences": [relation_mention.confidence for _, relation_mention in rows],
            "comparisons": [relation_mention.comparison for _, relation_mention in rows],
            "use_cases": [relation_mention.use_case for _, relation_mention in rows],
            "quotes": [relation_mention.quote.text for _, relation_mention in rows],
            "ranks": [relation_mention.quote.rank for _, relation_mention in rows],
            **ends,
        },
    )


def _stated_refs(extraction: Extraction) -> dict[str, GlobalRef]:
    """Return the references of the entities that a business system states, by those names that no other has."""
    bearers: dict[str, set[GlobalRef]] = {}
    for mention in extraction.mentions:
        if mention.ref:
            for name in mention.searched_names:
                bearers.setdefault(name, set()).add(mention.ref)
    return {name: next(iter(refs)) for name, refs in bearers.items() if len(refs) == 1}


def _end_ref(stated: Mapping[str, GlobalRef], name: str) -> str:
    return stated.get(normalize_name(name)) or text_ref(name)

"""How a document becomes visible, changes hands and goes: one transaction each.

Publishing is one at a time per project (an advisory lock, held for some milliseconds), so the counts that
full text needs are exact and two workers never wait for each other in a circle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.graph import Extraction, normalized, text_ref
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, ProjectId, new_id
from lightwell.records import resolving
from lightwell.records.database import Connection
from lightwell.records.locks import PUBLISHING_LOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedText:
    """What a document's row shows once it is published; `chunks` is how many it has."""

    document_id: DocumentId
    text: str
    language: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTerms:
    """A chunk's terms with their frequencies; `length` counts all its terms."""

    chunk_id: ChunkId
    length: int
    frequencies: Mapping[str, int]


_PUBLISH_CHUNKS = """
UPDATE document_chunks SET class_id = document.class_id
FROM source_documents AS document
WHERE document_chunks.document_id = document.document_id
  AND document.document_id = ANY(%(documents)s) AND document_chunks.class_id = 0
"""

_PUBLISH_DOCUMENTS = """
UPDATE source_documents
SET text_content = given.text, language = given.language, chunk_count = given.chunks, ingested_at = now()
FROM unnest(%(documents)s::uuid[], %(texts)s::text[], %(languages)s::text[], %(chunks)s::integer[])
    AS given (document_id, text, language, chunks)
WHERE source_documents.document_id = given.document_id
"""

_PUBLISH_TERMS = """
INSERT INTO chunk_terms (chunk_id, class_id, topic_tag, length, terms)
SELECT given.chunk_id, document.class_id, document.topic_tag, given.length, given.terms::tsvector
FROM unnest(%(chunks)s::uuid[], %(lengths)s::integer[], %(terms)s::text[]) AS given (chunk_id, length, terms)
JOIN document_chunks USING (chunk_id)
JOIN source_documents AS document USING (document_id)
"""

_COUNT_TERMS = """
INSERT INTO term_counts (class_id, term, chunks)
SELECT chunk_terms.class_id, entry.lexeme, %(sign)s * count(*)
FROM chunk_terms
JOIN document_chunks USING (chunk_id)
CROSS JOIN LATERAL unnest(chunk_terms.terms) AS entry
WHERE document_id = ANY(%(documents)s)
GROUP BY chunk_terms.class_id, entry.lexeme
ON CONFLICT (class_id, term) DO UPDATE SET chunks = term_counts.chunks + excluded.chunks
"""

_COUNT_TOTALS = """
INSERT INTO class_totals (class_id, documents, chunks, length)
SELECT chunk_terms.class_id, %(sign)s * count(DISTINCT document_id), %(sign)s * count(*),
       %(sign)s * sum(chunk_terms.length)
FROM chunk_terms JOIN document_chunks USING (chunk_id)
WHERE document_id = ANY(%(documents)s)
GROUP BY chunk_terms.class_id
ON CONFLICT (class_id) DO UPDATE
SET documents = class_totals.documents + excluded.documents,
    chunks = class_totals.chunks + excluded.chunks,
    length = class_totals.length + excluded.length
"""

_DROP_UNCOUNTED = """
DELETE FROM term_counts
USING (
    SELECT DISTINCT chunk_terms.class_id, entry.lexeme
    FROM chunk_terms
    JOIN document_chunks USING (chunk_id)
    CROSS JOIN LATERAL unnest(chunk_terms.terms) AS entry
    WHERE document_id = ANY(%(documents)s)
) AS gone
WHERE term_counts.class_id = gone.class_id AND term_counts.term = gone.lexeme AND term_counts.chunks = 0
"""

_STALE = """
WITH counted AS (
    SELECT entity_id AS subject_id, mention.class_id, 'entity' AS subject, count(DISTINCT chunk_id) AS mentions
    FROM document_entity_mentions AS mention JOIN document_chunks USING (chunk_id)
    WHERE document_id = ANY(%(documents)s) AND entity_id IS NOT NULL
    GROUP BY entity_id, mention.class_id
    UNION ALL
    SELECT named_as, mention.class_id, 'entity', 0
    FROM document_entity_mentions AS mention JOIN document_chunks USING (chunk_id)
    WHERE document_id = ANY(%(documents)s) AND entity_id IS DISTINCT FROM named_as
    UNION ALL
    SELECT relation_id, mention.class_id, 'relation', count(DISTINCT chunk_id)
    FROM relation_mentions AS mention JOIN document_chunks USING (chunk_id)
    WHERE document_id = ANY(%(documents)s) AND relation_id IS NOT NULL
    GROUP BY relation_id, mention.class_id
    UNION ALL
    SELECT stated_as, mention.class_id, 'relation', 0
    FROM relation_mentions AS mention JOIN document_chunks USING (chunk_id)
    WHERE document_id = ANY(%(documents)s) AND relation_id IS DISTINCT FROM stated_as
)
INSERT INTO stale_profiles (subject_id, class_id, subject, delta)
SELECT subject_id, class_id, subject, %(sign)s * sum(mentions) FROM counted
GROUP BY subject_id, class_id, subject
ON CONFLICT (subject_id, class_id) DO UPDATE SET delta = stale_profiles.delta + excluded.delta
"""

_RETIRE_CHUNKS = """
WITH gone AS (
    DELETE FROM document_chunks
    WHERE document_id = ANY(%(documents)s) AND (class_id <> 0 OR %(staged)s)
    RETURNING chunk_id, class_id
)
INSERT INTO index_changes (chunk_id, project_id)
SELECT chunk_id, %(project_id)s FROM gone WHERE class_id <> 0
ON CONFLICT (chunk_id) DO NOTHING
"""

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

_RECLASSIFY: tuple[LiteralString, ...] = (
    "UPDATE chunk_terms SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE chunk_terms.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "UPDATE document_entity_mentions SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE document_entity_mentions.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "UPDATE relation_mentions SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE relation_mentions.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    """
    WITH moved AS (
        UPDATE document_chunks SET class_id = %(class_id)s
        WHERE document_id = ANY(%(documents)s) AND class_id <> 0
        RETURNING chunk_id
    )
    INSERT INTO index_changes (chunk_id, project_id)
    SELECT chunk_id, %(project_id)s FROM moved ON CONFLICT (chunk_id) DO NOTHING
    """,
)


async def publish(
    connection: Connection,
    project_id: ProjectId,
    documents: Sequence[PublishedText],
    terms: Sequence[PublishedTerms],
    extractions: Mapping[ChunkId, Extraction],
) -> None:
    """Replace what these documents showed by their staged chunks, with terms and mentions.

    The old chunks go in the same transaction, so a reader sees the old version or the new one.
    """
    ids = [document.document_id for document in documents]
    await retire(connection, project_id, ids, staged=False)
    await connection.execute(_PUBLISH_CHUNKS, {"documents": ids})
    await connection.execute(
        _PUBLISH_DOCUMENTS,
        {
            "documents": ids,
            "texts": [document.text for document in documents],
            "languages": [document.language for document in documents],
            "chunks": [document.chunks for document in documents],
        },
    )
    await connection.execute(
        _PUBLISH_TERMS,
        {
            "chunks": [entry.chunk_id for entry in terms],
            "lengths": [entry.length for entry in terms],
            "terms": [_tsvector(entry.frequencies) for entry in terms],
        },
    )
    await _write_mentions(connection, project_id, extractions)
    await _write_statements(connection, project_id, extractions)
    await _count(connection, ids, sign=1)


async def retire(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId], *, staged: bool
) -> None:
    """Take away what these documents show, with its terms, mentions and counts; staged chunks on request."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
    await _count(connection, documents, sign=-1)
    await connection.execute(_DROP_UNCOUNTED, {"documents": list(documents)})
    await connection.execute(
        _RETIRE_CHUNKS, {"documents": list(documents), "project_id": project_id, "staged": staged}
    )


async def reclassify(
    connection: Connection, project_id: ProjectId, document_id: DocumentId, class_id: ClassId
) -> None:
    """Move all that a document shows to another access class."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
    documents = [document_id]
    await _count(connection, documents, sign=-1)
    await connection.execute(_DROP_UNCOUNTED, {"documents": documents})
    for statement in _RECLASSIFY:
        await connection.execute(
            statement, {"documents": documents, "class_id": class_id, "project_id": project_id}
        )
    await resolving.resolve_documents(connection, documents)
    await _count(connection, documents, sign=1)


async def _count(connection: Connection, documents: Sequence[DocumentId], *, sign: int) -> None:
    parameters = {"documents": list(documents), "sign": sign}
    for statement in (_COUNT_TERMS, _COUNT_TOTALS, _STALE):
        await connection.execute(statement, parameters)


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


def _tsvector(frequencies: Mapping[str, int]) -> str:
    """Return a tsvector's text in which a term's frequency is the number of its positions."""
    entries: list[str] = []
    for term, count in frequencies.items():
        quoted = term.replace("\\", "\\\\").replace("'", "''")
        entries.append(f"'{quoted}':" + ",".join(str(place) for place in range(1, count + 1)))
    return " ".join(entries)

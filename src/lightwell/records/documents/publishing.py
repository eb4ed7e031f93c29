"""Publishing, change of access class, and removal of what a document shows: one transaction each.

Publishing is one at a time per project (an advisory lock, held for milliseconds). So the counts that full-text
search needs are exact, and no two workers wait for each other in a cycle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, ProjectId
from lightwell.domain.reranking import ENCODED_LANGUAGE
from lightwell.records.database import Connection
from lightwell.records.documents import originals, structures
from lightwell.records.graph import mentions, resolution, same_names, stated_links
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.passage_gaps import ROUND
from lightwell.records.rows import fetch_values


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDocument:
    """What a document's row shows once it is published; `chunks` is the number of its chunks."""

    document_id: DocumentId
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
SET language = given.language, chunk_count = given.chunks, ingested_at = now()
FROM unnest(%(documents)s::uuid[], %(languages)s::text[], %(chunks)s::integer[])
    AS given (document_id, language, chunks)
WHERE source_documents.document_id = given.document_id
"""

_PUBLISH_TERMS = """
INSERT INTO chunk_terms (chunk_id, class_id, topic_tag, length, terms)
SELECT given.chunk_id, document.class_id, document.topic_tag, given.length, given.terms::tsvector
FROM unnest(%(chunks)s::uuid[], %(lengths)s::integer[], %(terms)s::text[]) AS given (chunk_id, length, terms)
JOIN document_chunks USING (chunk_id)
JOIN source_documents AS document USING (document_id)
"""

# A space for which no vector was staged, because its model runs in this process, is new here or failed, gets the vectors later.
_NOTE_GAPS = """
INSERT INTO chunk_gaps (chunk_id, space_id, document_id, round)
SELECT chunk.chunk_id, space.space_id, chunk.document_id, chunk.chunk_index / %(round)s
FROM embedding_spaces AS space
CROSS JOIN document_chunks AS chunk
WHERE space.project_id = %(project_id)s AND space.status IN ('building', 'active', 'retired')
  AND chunk.document_id = ANY(%(documents)s) AND chunk.class_id <> 0
  AND NOT EXISTS (SELECT FROM staged_vectors AS staged
                  WHERE staged.chunk_id = chunk.chunk_id AND staged.space_id = space.space_id)
ORDER BY chunk.chunk_id, space.space_id
ON CONFLICT DO NOTHING
"""

# Passages are encoded for late interaction once they are published.
_NOTE_UNENCODED = """
INSERT INTO multi_vector_gaps (chunk_id, document_id, round)
SELECT chunk.chunk_id, chunk.document_id, chunk.chunk_index / %(round)s FROM document_chunks AS chunk
WHERE chunk.document_id = ANY(%(documents)s) AND chunk.class_id <> 0 AND chunk.language = %(language)s
  AND NOT EXISTS (SELECT FROM chunk_multi_vectors AS held WHERE held.chunk_id = chunk.chunk_id)
ORDER BY chunk.chunk_id
ON CONFLICT DO NOTHING
"""

# Document frequencies and totals are kept per access class: a reader's BM25 statistics are sums over visible classes.
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

_DELETE_ZERO_COUNTS = """
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
    UNION ALL
    SELECT subject_id, class_id, subject, 0 FROM profiles
    WHERE source_ids && ARRAY(SELECT chunk_id FROM document_chunks WHERE document_id = ANY(%(documents)s))
      AND 'sources' = ANY(by_hand)
)
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT subject_id, class_id, %(project_id)s, subject, %(sign)s * sum(mentions) FROM counted
GROUP BY subject_id, class_id, subject
ON CONFLICT (project_id, subject_id, class_id) DO UPDATE SET delta = stale_profiles.delta + excluded.delta
RETURNING subject_id
"""

_DELETE_CHUNKS = """
WITH gone AS (
    DELETE FROM document_chunks
    WHERE document_id = ANY(%(documents)s) AND (class_id <> 0 OR %(staged)s)
    RETURNING chunk_id, class_id
)
INSERT INTO index_changes (chunk_id, project_id)
SELECT chunk_id, %(project_id)s FROM gone WHERE class_id <> 0 ORDER BY chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET change_id = DEFAULT
"""

_DELETE_MENTIONS: tuple[LiteralString, ...] = (
    "DELETE FROM document_entity_mentions AS said USING document_chunks AS chunk"
    " WHERE said.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "DELETE FROM relation_mentions AS said USING document_chunks AS chunk"
    " WHERE said.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
)

_RECLASSIFY: tuple[LiteralString, ...] = (
    "UPDATE chunk_terms SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE chunk_terms.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "UPDATE document_entity_mentions SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE document_entity_mentions.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "UPDATE relation_mentions SET class_id = %(class_id)s FROM document_chunks AS chunk"
    " WHERE relation_mentions.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)",
    "UPDATE entity_links SET class_id = %(class_id)s WHERE document_id = ANY(%(documents)s)",
    """
    WITH moved AS (
        UPDATE document_chunks SET class_id = %(class_id)s
        WHERE document_id = ANY(%(documents)s) AND class_id <> 0
        RETURNING chunk_id
    )
    INSERT INTO index_changes (chunk_id, project_id)
    SELECT chunk_id, %(project_id)s FROM moved ORDER BY chunk_id
    ON CONFLICT (chunk_id) DO UPDATE SET change_id = DEFAULT
    """,
)


async def publish(
    connection: Connection,
    project_id: ProjectId,
    documents: Sequence[PublishedDocument],
    terms: Sequence[PublishedTerms],
    extractions: Mapping[ChunkId, Extraction],
) -> None:
    """Replace what these documents show by their staged chunks, with terms and mentions.

    The old chunks are deleted in the same transaction, so a reader sees the old version or the new one.
    """
    async with connection.pipeline():
        ids = [document.document_id for document in documents]
        names, _ = await _unpublish(connection, project_id, ids, staged=False)
        await originals.publish(connection, ids)
        await connection.execute(_PUBLISH_CHUNKS, {"documents": ids})
        gaps = {"documents": ids, "project_id": project_id, "round": ROUND}
        await connection.execute(_NOTE_GAPS, gaps)
        await connection.execute(_NOTE_UNENCODED, {**gaps, "language": ENCODED_LANGUAGE})
        await connection.execute(
            _PUBLISH_DOCUMENTS,
            {
                "documents": ids,
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
        stated = await structures.list_stated(connection, project_id, ids)
        await mentions.store(connection, project_id, structures.add_mentions(extractions, stated))
        await stated_links.store(connection, project_id, structures.list_links(stated))
        await resolution.apply_splits(connection, ids)
        await _count(connection, project_id, ids, sign=1)
        names |= await same_names.list_names_with_attributes(connection, ids)
        await resolution.update_bearers(connection, project_id, names)


async def republish_extractions(
    connection: Connection,
    project_id: ProjectId,
    documents: Sequence[DocumentId],
    extractions: Mapping[ChunkId, Extraction],
) -> None:
    """Replace the mentions of these documents' published chunks; the chunks stay as they are."""
    async with connection.pipeline():
        await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
        keys: dict[str, object] = {"documents": list(documents), "project_id": project_id}
        names = await same_names.list_names_with_attributes(connection, documents)
        await connection.execute(_STALE, {**keys, "sign": -1})
        for statement in _DELETE_MENTIONS:
            await connection.execute(statement, keys)
        await stated_links.delete(connection, documents)
        stated = await structures.list_stated(connection, project_id, documents)
        await mentions.store(connection, project_id, structures.add_mentions(extractions, stated))
        await stated_links.store(connection, project_id, structures.list_links(stated))
        await resolution.apply_splits(connection, documents)
        await connection.execute(_STALE, {**keys, "sign": 1})
        names |= await same_names.list_names_with_attributes(connection, documents)
        await resolution.update_bearers(connection, project_id, names)


async def unpublish(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId], *, staged: bool
) -> set[UUID]:
    """Delete the documents' published chunks, terms, mentions and counts, and with `staged` their staged
    chunks.

    Returns the entities and relations whose profiles are stale now.
    """
    names, stale = await _unpublish(connection, project_id, documents, staged=staged)
    await resolution.update_bearers(connection, project_id, names)
    return stale


async def _unpublish(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId], *, staged: bool
) -> tuple[set[UUID], set[UUID]]:
    """Return the names whose bearers must be updated, because the documents stated them, and the stale subjects."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
    names = await same_names.list_names_with_attributes(connection, documents)
    stale = await _count(connection, project_id, documents, sign=-1)
    await connection.execute(_DELETE_ZERO_COUNTS, {"documents": list(documents)})
    await stated_links.delete(connection, documents)
    await connection.execute(
        _DELETE_CHUNKS, {"documents": list(documents), "project_id": project_id, "staged": staged}
    )
    return names, stale


async def reclassify(
    connection: Connection,
    project_id: ProjectId,
    documents: Sequence[DocumentId],
    class_id: ClassId,
) -> set[UUID]:
    """Move all that documents show to another access class; return the subjects whose profiles are stale now."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
    stale = await _count(connection, project_id, documents, sign=-1)
    await connection.execute(_DELETE_ZERO_COUNTS, {"documents": list(documents)})
    for statement in _RECLASSIFY:
        await connection.execute(
            statement,
            {"documents": list(documents), "class_id": class_id, "project_id": project_id},
        )
    await resolution.resolve_documents(connection, documents)
    stale |= await _count(connection, project_id, documents, sign=1)
    names = await same_names.list_names_with_attributes(connection, documents)
    await resolution.update_bearers(connection, project_id, names)
    return stale


async def mark_profiles_stale(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Mark the profiles that use these documents for refresh; their counts do not change."""
    keys = {"documents": list(documents), "project_id": project_id, "sign": 0}
    await connection.execute(_STALE, keys)


async def _count(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId], *, sign: int
) -> set[UUID]:
    parameters = {"documents": list(documents), "project_id": project_id, "sign": sign}
    for statement in (_COUNT_TERMS, _COUNT_TOTALS):
        await connection.execute(statement, parameters)
    return set(await fetch_values(connection, _STALE, parameters))


def _tsvector(frequencies: Mapping[str, int]) -> str:
    """Return the text of a tsvector in which a term has as many positions as its frequency, and for 1 none: that ranks the same."""
    entries: list[str] = []
    for term, count in frequencies.items():
        quoted = term.replace("\\", "\\\\").replace("'", "''")
        places = ":" + ",".join(map(str, range(1, count + 1))) if count > 1 else ""
        entries.append(f"'{quoted}'{places}")
    return " ".join(entries)

"""What retrieval reads: full-text search, entities by name, statistics; all within the reader's classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk, address_at_source, parse_due, parse_work_state
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.domain.questions import CitedPlace, Filters
from lightwell.records import chunk_layout
from lightwell.records.database import Database, format_uuid_array
from lightwell.records.filters import matches_filters
from lightwell.records.rows import make
from lightwell.text.analysis.stored import VERSION, StoredAnalysis


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """BM25's statistics of the reader's chunks: their number, mean length in terms, each term's document frequency.

    `is_scattered`: they are few of those in the store, in many classes.
    """

    chunks: int
    mean_length: float
    chunks_with: Mapping[str, int]
    is_scattered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalHit:
    """A chunk's length in terms and its frequencies, 0 to 8, of the question's terms, in their order.

    (`url`, `index`) orders chunks the same way in every store; `title` is its document's.
    """

    chunk_id: ChunkId
    length: int
    frequencies: tuple[int, ...]
    title: str
    url: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity that the question names; `chunks` counts the reader's chunks that mention it."""

    id: EntityId
    name: str
    chunks: int


SCATTERED = 20
"""From which part of the store's chunks on, one in so many, a reader's many classes are no longer looked up one by one."""

# Statistics are stored per access class and summed over the reader's classes, so that scores do not depend on
# documents that the reader may not see. The row without a term holds the totals.
_STATISTICS = """
SELECT NULL, coalesce(sum(chunks), 0), coalesce(sum(length), 0)::bigint,
       (SELECT greatest(0, reltuples)::bigint FROM pg_class WHERE oid = to_regclass('chunk_terms'))
FROM class_totals
WHERE sees(%(classes)s, class_id)
UNION ALL
SELECT term, sum(chunks), 0, 0 FROM term_counts
WHERE sees(%(classes)s, class_id) AND term = ANY(%(terms)s)
GROUP BY term
"""

# BM25 with k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009), over the chunks that match `match_query`. Most contain one
# or two of the terms, and testing whether a term occurs is much cheaper than counting it.
_BY_WORDS = f"""
SELECT best.chunk_id, best.length, ARRAY(
    SELECT CASE WHEN best.terms @@ term THEN term_frequency(best.terms, term) ELSE 0 END
    FROM unnest(%(terms)s::tsquery[]) WITH ORDINALITY AS asked (term, place) ORDER BY place
) AS frequencies, title, source_url AS url, chunk_index AS index
FROM (
    SELECT chunk_id, length, terms, (
        SELECT sum(weight * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * (length / %(mean_length)s))))
        FROM (
            SELECT weight, term_frequency(terms, term) AS frequency
            FROM unnest(%(terms)s::tsquery[], %(weights)s::float8[]) AS asked (term, weight)
            WHERE terms @@ term
        ) AS held
    ) AS score
    FROM chunk_terms
    WHERE terms @@ %(draw)s::tsquery
      AND sees(%(classes)s, class_id)
      AND {matches_filters("chunk_terms.chunk_id")}
    ORDER BY score DESC, length, chunk_id
    LIMIT %(limit)s
) AS best
JOIN document_chunks AS chunk USING (chunk_id) JOIN source_documents USING (document_id)
WHERE sees(%(classes)s, chunk.class_id) AND NOT is_deleted
ORDER BY best.score DESC, best.length, best.chunk_id
"""  # noqa: S608 - only our own words

# Where what the reader sees is few of what there is, its classes are looked up, too, instead of testing each chunk with the words.
_BY_WORDS_OF_CLASSES: LiteralString = _BY_WORDS.replace(
    "AND sees(%(classes)s, class_id)",
    "AND sees(%(classes)s, class_id) AND class_id = ANY((SELECT %(class_ids)s::integer[])::integer[])",
)

_WORDS_OF = f"""
SELECT chunk_id, length, ARRAY(
    SELECT CASE WHEN terms @@ term THEN term_frequency(terms, term) ELSE 0 END
    FROM unnest(%(terms)s::tsquery[]) WITH ORDINALITY AS asked (term, place) ORDER BY place
) AS frequencies, title, source_url AS url, chunk_index AS index
FROM chunk_terms JOIN document_chunks AS chunk USING (chunk_id) JOIN source_documents AS document USING (document_id)
WHERE chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, chunk_terms.class_id)
  AND sees(%(classes)s, chunk.class_id) AND NOT is_deleted
  AND {matches_filters("chunk_terms.chunk_id")}
"""  # noqa: S608 - only our own words

# A name counts only if one of the reader's chunks, or a manual edit that the reader sees, uses it.
ALIASED: LiteralString = """
SELECT profile.subject_id AS entity_id, alias.name, profile.display_name, entity.entity_ref
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
CROSS JOIN LATERAL unnest(profile.alias_names) AS alias (name)
WHERE entity.project_id = %(project_id)s AND sees(%(classes)s, profile.class_id)
  AND profile.alias_names IS NOT NULL AND profile.alias_names && %(names)s::text[] AND alias.name = ANY(%(names)s::text[])
"""
"""The entities to which the reader's documents, or people for the reader, give one of these names as an alias; `names` are normalised."""

_NAMED = f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), said AS (
    SELECT entity.entity_id, entity.normalized_name
    FROM entities AS entity
    WHERE entity.project_id = %(project_id)s AND entity.normalized_name = ANY(%(names)s)
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = entity.entity_id AND sees(%(classes)s, mention.class_id))
    UNION
    SELECT edit.entity_id, edit.normalized_name
    FROM entity_edits AS edit JOIN entities AS entity ON entity.entity_id = edit.named_as
    WHERE entity.project_id = %(project_id)s AND edit.normalized_name = ANY(%(names)s)
      AND sees(%(classes)s, edit.class_id)
    UNION
    SELECT stated.entity_id, stated.normalized_name
    FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
    WHERE entity.project_id = %(project_id)s AND stated.normalized_name = ANY(%(names)s)
      AND EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = stated.entity_id AND sees(%(classes)s, mention.class_id)
                    AND stated.normalized_name = ANY(mention.names))
), called AS (
    SELECT * FROM said
    UNION
    SELECT aliased.entity_id, aliased.name FROM ({ALIASED}) AS aliased
    WHERE NOT EXISTS (SELECT FROM said WHERE said.normalized_name = aliased.name)
), named AS (
    SELECT DISTINCT coalesce(merged.root_id, said.entity_id) AS entity_id, said.normalized_name
    FROM called AS said LEFT JOIN merged USING (entity_id)
)
SELECT named.entity_id AS id, named.normalized_name AS name, sum(profile.mention_count)::integer AS chunks
FROM named
CROSS JOIN LATERAL (
    SELECT named.entity_id UNION ALL SELECT merged.entity_id FROM merged WHERE merged.root_id = named.entity_id
) AS member
JOIN profiles AS profile ON profile.subject_id = member.entity_id
WHERE sees(%(classes)s, profile.class_id)
GROUP BY named.entity_id, named.normalized_name
ORDER BY named.normalized_name, named.entity_id
"""  # noqa: S608 - only our own words

_CHUNKS = """
SELECT chunk_id AS id, document_id, global_ref AS document_ref, chunk_index AS index, chunk_text AS text,
       token_count AS tokens, title, source_url AS url, source_system AS system, source_type AS kind, topic_tag AS topic,
       chunk.language, page_number AS "locator.page", last_page AS "locator.last_page", section_path AS "locator.section",
       start_offset AS "locator.start", end_offset AS "locator.end", layout, document.created_at, document.updated_at, ingested_at, has_code, has_formula, has_table,
       CASE WHEN llm_cache_ids = '{}' THEN '{}' ELSE ARRAY(
           SELECT cache_type || ':' || content_hash
           FROM unnest(llm_cache_ids) WITH ORDINALITY AS noted (id, place) JOIN extraction_cache USING (id)
           ORDER BY place) END AS llm_cache_ids,
       document.metadata ->> 'work_state' AS work_state, chunk.is_supplied,
       CASE WHEN item_ref <> '' THEN document.metadata ->> 'due' END AS due,
       CASE WHEN item_ref <> '' THEN document.metadata ->> 'own_authors' END AS own_authors,
       coalesce(document.metadata ->> 'source_address', '') AS stated_address,
       CASE WHEN document.is_dated THEN document.updated_at END AS dated_at,
       CASE WHEN analysed.version = %(version)s THEN analysis END AS analysis
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
LEFT JOIN chunk_analyses AS analysed USING (chunk_id)
WHERE chunk_id = ANY(%(chunks)s) AND sees(%(classes)s, chunk.class_id) AND NOT is_deleted
"""


_CHUNKS_NEAR = f"""
SELECT chunk.chunk_id
FROM unnest(%(documents)s::uuid[], %(starts)s::integer[]) AS cited (document_id, start)
JOIN document_chunks AS chunk USING (document_id) JOIN source_documents AS document USING (document_id)
WHERE sees(%(classes)s, chunk.class_id) AND NOT is_deleted
  AND {matches_filters("chunk.chunk_id")}
GROUP BY chunk.chunk_id
ORDER BY min(abs(chunk.start_offset - cited.start)), chunk.chunk_id
LIMIT %(limit)s
"""  # noqa: S608 - only our own words


async def get_term_statistics(
    database: Database, reader: Reader, terms: Sequence[str]
) -> TermStatistics:
    """Return the statistics of the reader's chunks for these terms."""
    parameters = {**reader.parameters, "terms": list(terms)}
    rows = await database.rows(_STATISTICS, parameters)
    (chunks, length, size), *_ = [totals for term, *totals in rows if term is None]
    return TermStatistics(
        chunks=chunks,
        mean_length=length / chunks if chunks else 1.0,
        chunks_with={term: count for term, count, *_ in rows if term is not None},
        is_scattered=not reader.classes.is_listed and chunks < size / SCATTERED,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalQuery:
    """A full-text query: terms with their weights, and the tsquery that selects the candidates."""

    weights: Mapping[str, float]
    mean_length: float
    match_query: str
    filters: Filters
    is_scattered: bool = False


async def search_lexical(
    database: Database, reader: Reader, query: LexicalQuery, *, limit: int
) -> list[LexicalHit]:
    """Return the reader's chunks that match the query, best first by BM25 with its term weights."""
    return await database.rows(
        _BY_WORDS_OF_CLASSES if query.is_scattered else _BY_WORDS,
        {
            **reader.parameters,
            "class_ids": reader.classes.listed if query.is_scattered else None,
            "terms": [tsquery(term) for term in query.weights],
            "weights": list(query.weights.values()),
            "mean_length": query.mean_length,
            "draw": query.match_query,
            **query.filters.parameters,
            "limit": limit,
        },
        into=LexicalHit,
    )


async def get_term_frequencies(
    database: Database,
    reader: Reader,
    chunks: Sequence[ChunkId],
    terms: Sequence[str],
    *,
    filters: Filters,
) -> list[LexicalHit]:
    """Return the term frequencies of those of the chunks that the reader sees and that match the filters."""
    return await database.rows(
        _WORDS_OF,
        {
            **reader.parameters,
            "chunks": format_uuid_array(chunks),
            "terms": [tsquery(term) for term in terms],
            **filters.parameters,
        },
        into=LexicalHit,
    )


async def find_named_entities(
    database: Database, reader: Reader, names: Sequence[str]
) -> list[NamedEntity]:
    """Return the reader's entities with one of these normalised names."""
    return await database.rows(
        _NAMED, {**reader.parameters, "names": list(names)}, into=NamedEntity
    )


async def find_chunks_near(
    database: Database,
    reader: Reader,
    places: Sequence[CitedPlace],
    *,
    filters: Filters,
    limit: int,
) -> list[ChunkId]:
    """Return the chunks of those of these documents that the reader sees and that match the filters, those next to the places first."""
    parameters = {
        **reader.parameters,
        "documents": format_uuid_array([place.document_id for place in places]),
        "starts": [place.start for place in places],
        **filters.parameters,
        "limit": limit,
    }
    return [chunk for (chunk,) in await database.rows(_CHUNKS_NEAR, parameters)]


async def get_chunks(
    database: Database, reader: Reader, ids: Sequence[ChunkId]
) -> dict[ChunkId, Chunk]:
    """Return those of the chunks that the reader sees, with what was read in them."""
    if not ids:
        return {}
    parameters = {"chunks": list(ids), "version": VERSION, **reader.parameters}
    return {chunk.id: chunk for chunk in await database.rows(_CHUNKS, parameters, into=_chunk)}


def tsquery(term: str) -> str:
    """Return the term as a tsquery with one lexeme."""
    quoted = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{quoted}'"


def _chunk(
    *,
    layout: object,
    work_state: str | None,
    due: str | None,
    own_authors: str | None,
    stated_address: str,
    analysis: bytes | None,
    **columns: Any,
) -> Chunk:
    return make(
        Chunk,
        analysis=StoredAnalysis(text=columns["text"], data=analysis or b""),
        layout=chunk_layout.from_json(layout),
        work_state=parse_work_state(work_state),
        due=parse_due(due),
        own_authors=tuple((own_authors or "").splitlines()),
        source_address=address_at_source(columns["url"], columns["system"], stated_address),
        **columns,
    )

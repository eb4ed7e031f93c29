"""What the copy of a graph in another store must still apply, and the state of that in PostgreSQL.

Chunks are recorded in `graph_changes`, since questions leave out what the copy has not applied. Documents and profiles are
recorded in `graph_description_changes`: they are for people who look at the copy.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar
from uuid import UUID

from lightwell.domain.graph import normalize_name
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, ProjectId, RelationId
from lightwell.ports import (
    CopiedChunk,
    CopiedDocument,
    CopiedEntity,
    CopiedMention,
    CopiedRelation,
    CopiedStatement,
    DocumentMention,
    GoneSubjects,
    GraphBatch,
)
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.rows import Row, fetch, make

_PREVIEW = 200

_NEXT_FENCE = """
UPDATE graph_copies SET fence = fence + 1 WHERE project_id = %(project_id)s AND store = %(store)s
RETURNING graph_id, fence
"""

_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

_OPEN_CHUNKS = """
SELECT chunk_id, change_id FROM graph_changes
WHERE project_id = %(project_id)s AND applied_at IS NULL ORDER BY change_id LIMIT %(limit)s
"""

_OPEN_DESCRIPTIONS = """
SELECT subject_id, class_id, subject, change_id FROM graph_description_changes
WHERE project_id = %(project_id)s ORDER BY change_id LIMIT %(limit)s
"""

_CHUNKS = """
SELECT chunk.chunk_id AS id, chunk.document_id, chunk.class_id, coalesce(term.topic_tag, '') AS topic,
       left(chunk.chunk_text, %(preview)s) AS preview, encode(chunk.chunk_hash, 'hex') AS hash, chunk.token_count AS tokens,
       chunk.has_code, chunk.has_formula, chunk.has_table, before.chunk_id AS before, after.chunk_id AS after,
       chunk.section_path
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
LEFT JOIN chunk_terms AS term USING (chunk_id)
LEFT JOIN document_chunks AS before
    ON before.document_id = chunk.document_id AND before.chunk_index = chunk.chunk_index - 1 AND before.class_id <> 0
LEFT JOIN document_chunks AS after
    ON after.document_id = chunk.document_id AND after.chunk_index = chunk.chunk_index + 1 AND after.class_id <> 0
WHERE chunk.chunk_id = ANY(%(chunks)s) AND chunk.class_id <> 0 AND NOT document.is_deleted
"""

_MENTIONS = """
SELECT chunk_id, entity_id, normalized_name, sum(frequency)::integer, max(confidence)
FROM document_entity_mentions AS mention JOIN entities USING (entity_id)
WHERE chunk_id = ANY(%(chunks)s)
GROUP BY chunk_id, entity_id, normalized_name
"""

_STATEMENTS = """
SELECT chunk_id, relation_id AS relation, source_id AS source, source.normalized_name AS source_name, target_id AS target,
       target.normalized_name AS target_name, predicate, weight, confidence
FROM relation_mentions AS mention JOIN relations USING (relation_id)
JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
WHERE chunk_id = ANY(%(chunks)s)
"""

_DOCUMENTS = """
SELECT document_id AS id, class_id, source_url AS url, title, format, author, ingested_at, chunk_count, status
FROM source_documents AS document
WHERE document_id = ANY(%(documents)s) AND NOT is_deleted
  AND EXISTS (SELECT FROM document_chunks AS chunk WHERE chunk.document_id = document.document_id AND chunk.class_id <> 0)
"""

_DOCUMENT_MENTIONS = """
SELECT document_id, entity_id AS entity, normalized_name AS name, sum(frequency)::integer AS frequency,
       sum(frequency)::float8 / max(sum(frequency)) OVER (PARTITION BY document_id) AS relevance
FROM document_chunks AS chunk JOIN document_entity_mentions AS mention USING (chunk_id) JOIN entities USING (entity_id)
WHERE document_id = ANY(%(documents)s) AND chunk.class_id <> 0
GROUP BY document_id, entity_id, normalized_name
"""

# The URLs of a profile's sources, each once, in the order of arrival.
_PATHS: LiteralString = """ARRAY(
           SELECT source_url FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
           WHERE chunk.chunk_id = ANY(profile.source_ids) GROUP BY source_url ORDER BY min(chunk.chunk_id::text))"""

_ENTITIES = f"""
SELECT subject_id AS id, profile.class_id, normalized_name AS name, display_name, entity_kind AS kind,
       coalesce(nullif(description, ''), quote) AS description, coalesce(attributes, '{{}}') AS attributes,
       profile.created_at, profile.updated_at, source_ids AS source_chunks, {_PATHS} AS source_paths
FROM unnest(%(subjects)s::uuid[], %(of)s::integer[]) AS given (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id) JOIN entities ON entity_id = subject_id
"""  # noqa: S608 - only our own words

_RELATIONS = f"""
SELECT subject_id AS id, profile.class_id, source_id AS source, source.normalized_name AS source_name, target_id AS target,
       target.normalized_name AS target_name, relation.predicate, profile.display_name AS keywords,
       coalesce(nullif(profile.description, ''), quote) AS description, weight, source_ids AS source_chunks,
       {_PATHS} AS source_paths,
       comparison, use_case
FROM unnest(%(subjects)s::uuid[], %(of)s::integer[]) AS given (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id) JOIN relations AS relation ON relation_id = subject_id
JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
"""  # noqa: S608 - only our own words

# A row that a publishing transaction holds is left: its subject changes again.
_APPLY = """
UPDATE graph_changes SET applied_at = clock_timestamp()
WHERE chunk_id IN (
    SELECT change.chunk_id FROM graph_changes AS change
    JOIN unnest(%(chunks)s::uuid[], %(changes)s::bigint[]) AS given (chunk_id, change_id) USING (chunk_id, change_id)
    ORDER BY change.chunk_id FOR UPDATE OF change SKIP LOCKED)
"""

_APPLY_DESCRIPTIONS = """
DELETE FROM graph_description_changes WHERE (subject_id, class_id) IN (
    SELECT change.subject_id, change.class_id FROM graph_description_changes AS change
    JOIN unnest(%(subjects)s::uuid[], %(of)s::integer[], %(described)s::bigint[]) AS given (subject_id, class_id, change_id)
        USING (subject_id, class_id, change_id)
    ORDER BY change.subject_id, change.class_id FOR UPDATE OF change SKIP LOCKED)
"""

_FORGET = """
DELETE FROM graph_changes WHERE chunk_id IN (
    SELECT chunk_id FROM graph_changes
    WHERE project_id = %(project_id)s AND applied_at < clock_timestamp() - interval '15 minutes'
    ORDER BY chunk_id FOR UPDATE SKIP LOCKED)
"""

T = TypeVar("T")
Key = tuple[UUID, int]
"""An entity or relation, and an access class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChanges:
    """What a copy has not applied, chunks and descriptions each with the number of their change, and its current state."""

    batch: GraphBatch
    chunks: Mapping[UUID, int]
    descriptions: Mapping[Key, int]


@repeatable
async def read_changes(
    database: Database, project_id: ProjectId, store: str, *, limit: int
) -> OpenChanges | None:
    """Return up to `limit` changed chunks, and as many documents and profiles, as a new version of the copy (`fence`).

    Returns None where nothing is open, or the project has no copy in this store.
    """
    facts = {"project_id": project_id, "store": store, "limit": limit}
    versions = await database.rows(_NEXT_FENCE, facts)
    if not versions:
        return None
    async with database.transaction() as connection:
        await connection.execute(_ONE_SNAPSHOT)
        chunks = {chunk: change for chunk, change in await fetch(connection, _OPEN_CHUNKS, facts)}
        descriptions: dict[Key, int] = {}
        subjects: dict[str, list[Key]] = {"document": [], "entity": [], "relation": []}
        for subject_id, class_id, subject, change in await fetch(
            connection, _OPEN_DESCRIPTIONS, facts
        ):
            descriptions[subject_id, class_id] = change
            subjects[subject].append((subject_id, class_id))
        if not chunks and not descriptions:
            return None
        batch = await _read_batch(connection, versions[0], list(chunks), subjects)
    return OpenChanges(batch=batch, chunks=chunks, descriptions=descriptions)


@repeatable
async def mark_applied(database: Database, project_id: ProjectId, applied: OpenChanges) -> None:
    """Record that the copy has applied these changes; what changed again since stays open."""
    facts = {
        "project_id": project_id,
        "chunks": list(applied.chunks),
        "changes": list(applied.chunks.values()),
        "subjects": [subject for subject, _ in applied.descriptions],
        "of": [class_id for _, class_id in applied.descriptions],
        "described": list(applied.descriptions.values()),
    }
    async with database.transaction() as connection:
        for statement in (_APPLY, _APPLY_DESCRIPTIONS, _FORGET):
            await connection.execute(statement, facts)


async def _read_batch(
    connection: Connection,
    version: Row,
    changed: Sequence[UUID],
    subjects: Mapping[str, Sequence[Key]],
) -> GraphBatch:
    graph, fence = version
    document_ids = [document_id for document_id, _ in subjects["document"]]
    chunks = await _read_chunks(connection, changed)
    documents = await _read_documents(connection, document_ids)
    entities = await _profiles(connection, _ENTITIES, subjects["entity"], _entity)
    relations = await _profiles(connection, _RELATIONS, subjects["relation"], CopiedRelation)
    gone_chunks = sorted({*changed} - {chunk.id for chunk in chunks})
    gone_documents = sorted({*document_ids} - {document.id for document in documents})
    gone_entities = sorted(
        {*subjects["entity"]} - {(entity.id, entity.class_id) for entity in entities}
    )
    gone_relations = sorted(
        {*subjects["relation"]} - {(relation.id, relation.class_id) for relation in relations}
    )
    gone = GoneSubjects(
        chunks=tuple(ChunkId(chunk) for chunk in gone_chunks),
        documents=tuple(DocumentId(document) for document in gone_documents),
        entities=tuple((EntityId(entity), ClassId(class_id)) for entity, class_id in gone_entities),
        relations=tuple(
            (RelationId(relation), ClassId(class_id)) for relation, class_id in gone_relations
        ),
    )
    return GraphBatch(
        graph=graph,
        fence=fence,
        chunks=tuple(chunks),
        documents=tuple(documents),
        entities=tuple(entities),
        relations=tuple(relations),
        gone=gone,
    )


async def _read_chunks(connection: Connection, ids: Sequence[UUID]) -> list[CopiedChunk]:
    facts = {"chunks": list(ids), "preview": _PREVIEW}
    mentions: defaultdict[UUID, list[Row]] = defaultdict(list)
    for chunk_id, *mention in await fetch(connection, _MENTIONS, facts):
        mentions[chunk_id].append(tuple(mention))
    statements: defaultdict[UUID, list[CopiedStatement]] = defaultdict(list)
    for columns in await fetch(connection, _STATEMENTS, facts, into=dict[str, Any]):
        statements[columns.pop("chunk_id")].append(CopiedStatement(**columns))
    return [
        make(
            CopiedChunk,
            mentions=_mentions(mentions[columns["id"]], columns.pop("section_path")),
            statements=tuple(statements[columns["id"]]),
            **columns,
        )
        for columns in await fetch(connection, _CHUNKS, facts, into=dict[str, Any])
    ]


async def _read_documents(connection: Connection, ids: Sequence[UUID]) -> list[CopiedDocument]:
    facts = {"documents": list(ids)}
    mentions: defaultdict[UUID, list[DocumentMention]] = defaultdict(list)
    for columns in await fetch(connection, _DOCUMENT_MENTIONS, facts, into=dict[str, Any]):
        mentions[columns.pop("document_id")].append(DocumentMention(**columns))
    return [
        CopiedDocument(mentions=tuple(mentions[columns["id"]]), **columns)
        for columns in await fetch(connection, _DOCUMENTS, facts, into=dict[str, Any])
    ]


async def _profiles(
    connection: Connection, query: LiteralString, keys: Sequence[Key], into: Callable[..., T]
) -> list[T]:
    if not keys:
        return []
    facts = {
        "subjects": [subject for subject, _ in keys],
        "of": [class_id for _, class_id in keys],
    }
    return await fetch(connection, query, facts, into=into)


def _mentions(mentions: Sequence[Row], headings: Sequence[str]) -> tuple[CopiedMention, ...]:
    topics = topics_of({entity: (name, count) for entity, name, count, _ in mentions}, headings)
    return tuple(
        CopiedMention(
            entity=entity,
            name=name,
            frequency=frequency,
            confidence=confidence,
            is_topic=entity in topics,
        )
        for entity, name, frequency, confidence in mentions
    )


def topics_of(mentioned: Mapping[UUID, tuple[str, int]], headings: Sequence[str]) -> set[UUID]:
    """Return what a chunk is about, of the names and frequencies that it mentions: what its last heading names, else what it names most."""
    heading = f" {normalize_name(headings[-1])} " if headings else ""
    named = {entity: name for entity, (name, _) in mentioned.items() if f" {name} " in heading}
    if named:  # of a name and a part of it, the whole name counts
        return {
            entity
            for entity, name in named.items()
            if not any(name != other and name in other for other in named.values())
        }
    most = max((count for _, count in mentioned.values()), default=0)
    return {entity for entity, (_, count) in mentioned.items() if count == most}


def _entity(*, attributes: Mapping[str, object], **columns: Any) -> CopiedEntity:
    words = {key: str(value) for key, value in attributes.items()}
    return make(CopiedEntity, attributes=words, **columns)

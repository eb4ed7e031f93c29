"""What the copy of a graph in another store must still apply, and the state of that in PostgreSQL.

Chunks are recorded in `graph_changes`, since questions leave out what the copy has not applied. Documents and profiles are
recorded in `graph_description_changes`: they are for people who look at the copy.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString, cast
from uuid import UUID

from lightwell.domain.graph import ProfileSubject, normalize_name
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, ProjectId, RelationId
from lightwell.graph_ports import (
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
from lightwell.records.database import Connection, Database, Row, repeatable

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
SELECT chunk.chunk_id, chunk.document_id, chunk.class_id, coalesce(term.topic_tag, ''), left(chunk.chunk_text, %(preview)s),
       encode(chunk.chunk_hash, 'hex'), chunk.token_count, chunk.has_code, chunk.has_formula, chunk.has_table,
       before.chunk_id, after.chunk_id, chunk.section_path
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
LEFT JOIN chunk_terms AS term USING (chunk_id)
LEFT JOIN document_chunks AS before
    ON before.document_id = chunk.document_id AND before.chunk_index = chunk.chunk_index - 1 AND before.class_id <> 0
LEFT JOIN document_chunks AS after
    ON after.document_id = chunk.document_id AND after.chunk_index = chunk.chunk_index + 1 AND after.class_id <> 0
WHERE chunk.chunk_id = ANY(%(chunks)s) AND chunk.class_id <> 0 AND NOT document.is_deleted
"""

_MENTIONS = """
SELECT chunk_id, entity_id, normalized_name, sum(frequency), max(confidence)
FROM document_entity_mentions AS mention JOIN entities USING (entity_id)
WHERE chunk_id = ANY(%(chunks)s)
GROUP BY chunk_id, entity_id, normalized_name
"""

_STATEMENTS = """
SELECT chunk_id, relation_id, source_id, source.normalized_name, target_id, target.normalized_name, predicate, weight, confidence
FROM relation_mentions AS mention JOIN relations USING (relation_id)
JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
WHERE chunk_id = ANY(%(chunks)s)
"""

_DOCUMENTS = """
SELECT document_id, class_id, source_url, title, format, author, ingested_at, chunk_count, status
FROM source_documents AS document
WHERE document_id = ANY(%(documents)s) AND NOT is_deleted
  AND EXISTS (SELECT FROM document_chunks AS chunk WHERE chunk.document_id = document.document_id AND chunk.class_id <> 0)
"""

_DOCUMENT_MENTIONS = """
SELECT document_id, entity_id, normalized_name, sum(frequency) AS frequency,
       sum(frequency)::float8 / max(sum(frequency)) OVER (PARTITION BY document_id) AS relevance
FROM document_chunks AS chunk JOIN document_entity_mentions AS mention USING (chunk_id) JOIN entities USING (entity_id)
WHERE document_id = ANY(%(documents)s) AND chunk.class_id <> 0
GROUP BY document_id, entity_id, normalized_name
"""

_ENTITIES = """
SELECT subject_id, profile.class_id, normalized_name, display_name, entity_kind, coalesce(nullif(description, ''), quote), attributes, profile.created_at,
       profile.updated_at, source_ids, source_paths
FROM unnest(%(subjects)s::uuid[], %(of)s::integer[]) AS given (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id) JOIN entities ON entity_id = subject_id
"""

_RELATIONS = """
SELECT subject_id, profile.class_id, source_id, source.normalized_name, target_id, target.normalized_name, relation.predicate,
       profile.display_name, coalesce(nullif(profile.description, ''), quote), weight, source_ids, source_paths, comparison, use_case
FROM unnest(%(subjects)s::uuid[], %(of)s::integer[]) AS given (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id) JOIN relations AS relation ON relation_id = subject_id
JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
"""

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
    fences = await database.rows(_NEXT_FENCE, facts)
    if not fences:
        return None
    async with database.transaction() as connection:
        await connection.execute(_ONE_SNAPSHOT)
        chunks = await (await connection.execute(_OPEN_CHUNKS, facts)).fetchall()
        described = await (await connection.execute(_OPEN_DESCRIPTIONS, facts)).fetchall()
        if not chunks and not described:
            return None
        batch = await _read_batch(
            connection,
            (fences[0][0], fences[0][1]),
            [row[0] for row in chunks],
            described,
        )
    return OpenChanges(
        batch=batch,
        chunks={row[0]: row[1] for row in chunks},
        descriptions={(row[0], row[1]): row[3] for row in described},
    )


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
    version: tuple[UUID, int],
    changed: Sequence[UUID],
    described: Sequence[Row],
) -> GraphBatch:
    graph, fence = version
    document_ids = [row[0] for row in described if row[2] == "document"]
    entity_keys = [(row[0], row[1]) for row in described if row[2] == ProfileSubject.ENTITY]
    relation_keys = [(row[0], row[1]) for row in described if row[2] == ProfileSubject.RELATION]
    chunks = await _read_chunks(connection, changed)
    documents = await _read_documents(connection, document_ids)
    entities = [_entity(row) for row in await _profiles(connection, _ENTITIES, entity_keys)]
    relations = [_relation(row) for row in await _profiles(connection, _RELATIONS, relation_keys)]
    gone = GoneSubjects(
        chunks=tuple(ChunkId(each) for each in sorted({*changed} - {chunk.id for chunk in chunks})),
        documents=tuple(
            DocumentId(each) for each in sorted({*document_ids} - {each.id for each in documents})
        ),
        entities=tuple(
            (EntityId(each), ClassId(class_id))
            for each, class_id in sorted(
                {*entity_keys} - {(each.id, each.class_id) for each in entities}
            )
        ),
        relations=tuple(
            (RelationId(each), ClassId(class_id))
            for each, class_id in sorted(
                {*relation_keys} - {(each.id, each.class_id) for each in relations}
            )
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
    mentioned = _by_first(await (await connection.execute(_MENTIONS, facts)).fetchall())
    stated = _by_first(await (await connection.execute(_STATEMENTS, facts)).fetchall())
    rows = await (await connection.execute(_CHUNKS, facts)).fetchall()
    return [_chunk(row, mentioned[row[0]], stated[row[0]]) for row in rows]


async def _read_documents(connection: Connection, ids: Sequence[UUID]) -> list[CopiedDocument]:
    facts = {"documents": list(ids)}
    mentioned = _by_first(await (await connection.execute(_DOCUMENT_MENTIONS, facts)).fetchall())
    return [
        CopiedDocument(
            id=DocumentId(row[0]),
            class_id=ClassId(row[1]),
            url=row[2],
            title=row[3],
            format=row[4],
            author=row[5],
            ingested_at=row[6],
            chunk_count=row[7],
            status=row[8],
            mentions=tuple(
                DocumentMention(
                    entity=EntityId(each[1]),
                    name=each[2],
                    frequency=int(each[3]),
                    relevance=float(each[4]),
                )
                for each in mentioned[row[0]]
            ),
        )
        for row in await (await connection.execute(_DOCUMENTS, facts)).fetchall()
    ]


async def _profiles(connection: Connection, query: LiteralString, keys: Sequence[Key]) -> list[Row]:
    if not keys:
        return []
    facts = {
        "subjects": [subject for subject, _ in keys],
        "of": [class_id for _, class_id in keys],
    }
    return await (await connection.execute(query, facts)).fetchall()


def _by_first(rows: Sequence[Row]) -> defaultdict[UUID, list[Row]]:
    grouped: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row[0]].append(row)
    return grouped


def _chunk(row: Row, mentioned: Sequence[Row], stated: Sequence[Row]) -> CopiedChunk:
    topics = topics_of({each[1]: (each[2], int(each[3])) for each in mentioned}, row[12])
    return CopiedChunk(
        id=ChunkId(row[0]),
        document_id=DocumentId(row[1]),
        class_id=ClassId(row[2]),
        topic=row[3],
        preview=row[4],
        hash=row[5],
        tokens=row[6],
        has_code=row[7],
        has_formula=row[8],
        has_table=row[9],
        before=row[10],
        after=row[11],
        mentions=tuple(
            CopiedMention(
                entity=EntityId(each[1]),
                name=each[2],
                frequency=int(each[3]),
                confidence=each[4],
                is_topic=each[1] in topics,
            )
            for each in mentioned
        ),
        statements=tuple(
            CopiedStatement(
                relation=RelationId(each[1]),
                source=EntityId(each[2]),
                source_name=each[3],
                target=EntityId(each[4]),
                target_name=each[5],
                predicate=each[6],
                weight=each[7],
                confidence=each[8],
            )
            for each in stated
        ),
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


def _entity(row: Row) -> CopiedEntity:
    attributes = cast("Mapping[str, object]", row[6] or {})
    return CopiedEntity(
        id=EntityId(row[0]),
        class_id=ClassId(row[1]),
        name=row[2],
        display_name=row[3],
        kind=row[4],
        description=row[5],
        attributes={key: str(value) for key, value in attributes.items()},
        created_at=row[7],
        updated_at=row[8],
        source_chunks=tuple(row[9]),
        source_paths=tuple(row[10]),
    )


def _relation(row: Row) -> CopiedRelation:
    return CopiedRelation(
        id=RelationId(row[0]),
        class_id=ClassId(row[1]),
        source=EntityId(row[2]),
        source_name=row[3],
        target=EntityId(row[4]),
        target_name=row[5],
        predicate=row[6],
        keywords=row[7],
        description=row[8],
        weight=row[9],
        comparison=row[12],
        use_case=row[13],
        source_chunks=tuple(row[10]),
        source_paths=tuple(row[11]),
    )

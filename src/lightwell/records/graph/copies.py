"""Copies of the graph in other stores: what they must still apply, and whether what they say still holds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.graph_copies import CopyLag
from lightwell.domain.ids import (
    ChunkId,
    ClassId,
    DocumentId,
    EntityId,
    ProjectId,
    RelationId,
    new_id,
)
from lightwell.graph_ports import CopiedChunk, CopiedMention, CopiedRelation, GraphBatch
from lightwell.records.database import Connection, Database, Row, repeatable

_PREVIEW = 200
_DESCRIPTION = 1000

_FIND = "SELECT graph_id, is_filled FROM graph_copies WHERE project_id = %(project_id)s AND store = %(store)s"

# Waits for the transactions that write mentions now: none of them knows yet that it has to record its changes.
_STOP_WRITERS = "LOCK TABLE document_entity_mentions, relation_mentions IN SHARE ROW EXCLUSIVE MODE"

_DELETE = "DELETE FROM graph_copies WHERE project_id = %(project_id)s"

_CREATE = """
INSERT INTO graph_copies (project_id, store, graph_id) VALUES (%(project_id)s, %(store)s, %(graph)s)
"""

_CHANGE_ALL = """
INSERT INTO graph_changes (chunk_id, project_id)
SELECT chunk_id, %(project_id)s
FROM (SELECT chunk_id, class_id FROM document_entity_mentions UNION SELECT chunk_id, class_id FROM relation_mentions) AS mention
JOIN access_classes USING (class_id)
WHERE project_id = %(project_id)s
ORDER BY chunk_id
"""

_NEXT_FENCE = """
UPDATE graph_copies SET fence = fence + 1 WHERE project_id = %(project_id)s AND store = %(store)s
RETURNING graph_id, fence
"""

_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

_OPEN = """
SELECT chunk_id, change_id FROM graph_changes
WHERE project_id = %(project_id)s AND applied_at IS NULL ORDER BY change_id LIMIT %(limit)s
"""

_CHUNKS = """
SELECT chunk.chunk_id, chunk.document_id, chunk.class_id, coalesce(term.topic_tag, ''), left(chunk.chunk_text, %(preview)s),
       document.source_url
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
LEFT JOIN chunk_terms AS term USING (chunk_id)
WHERE chunk_id = ANY(%(chunks)s) AND chunk.class_id <> 0 AND NOT document.is_deleted
"""

_MENTIONS = """
SELECT chunk_id, entity_id, normalized_name, sum(frequency), max(confidence), max(mention.entity_kind),
       max(left(mention.description, %(description)s))
FROM document_entity_mentions AS mention JOIN entities USING (entity_id)
WHERE chunk_id = ANY(%(chunks)s)
GROUP BY chunk_id, entity_id, normalized_name
"""

_RELATIONS = """
SELECT chunk_id, relation_id, source_id, source.normalized_name, target_id, target.normalized_name, predicate,
       weight, confidence, left(mention.description, %(description)s)
FROM relation_mentions AS mention JOIN relations USING (relation_id)
JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
WHERE chunk_id = ANY(%(chunks)s)
"""

# A row that a publishing transaction holds is left: its chunk changes again.
_APPLY = """
UPDATE graph_changes SET applied_at = clock_timestamp()
WHERE chunk_id IN (
    SELECT change.chunk_id FROM graph_changes AS change
    JOIN unnest(%(chunks)s::uuid[], %(changes)s::bigint[]) AS given (chunk_id, change_id) USING (chunk_id, change_id)
    ORDER BY change.chunk_id FOR UPDATE OF change SKIP LOCKED)
"""

_FORGET = """
DELETE FROM graph_changes WHERE chunk_id IN (
    SELECT chunk_id FROM graph_changes
    WHERE project_id = %(project_id)s AND applied_at < clock_timestamp() - interval '15 minutes'
    ORDER BY chunk_id FOR UPDATE SKIP LOCKED)
"""

_FILLED = """
UPDATE graph_copies SET is_filled = true
WHERE project_id = %(project_id)s AND graph_id = %(graph)s AND NOT is_filled
  AND NOT EXISTS (SELECT FROM graph_changes AS change
                  WHERE change.project_id = graph_copies.project_id AND change.applied_at IS NULL)
"""

_DROPPED = "SELECT graph_id FROM dropped_graphs WHERE store = %(store)s ORDER BY graph_id"

_LAG = """
SELECT tenants.name, projects.name, copy.store, copy.is_filled, count(change.chunk_id),
       coalesce(extract(epoch FROM clock_timestamp() - min(change.changed_at)), 0)
FROM graph_copies AS copy JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
LEFT JOIN graph_changes AS change ON change.project_id = copy.project_id AND change.applied_at IS NULL
GROUP BY tenants.name, projects.name, copy.store, copy.is_filled ORDER BY tenants.name, projects.name
"""

# Whether a chunk is as the copy has it: nothing of it waits, and nothing was applied since `began`.
_HOLDS: LiteralString = """
SELECT chunk.chunk_id FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE chunk.chunk_id = ANY(%(chunks)s::uuid[]) AND chunk.class_id = ANY(%(classes)s) AND NOT document.is_deleted
  AND NOT EXISTS (SELECT FROM graph_changes AS change WHERE change.chunk_id = chunk.chunk_id
                  AND (change.applied_at IS NULL OR change.applied_at >= {began}))
"""

_VIEW = """
SELECT copy.graph_id, copy.is_filled, clock_timestamp(),
       EXISTS (SELECT FROM graph_changes AS change
               WHERE change.project_id = copy.project_id AND change.applied_at IS NULL
                 AND change.changed_at < clock_timestamp() - make_interval(secs => %(max_lag)s)),
       ARRAY(SELECT ARRAY[entity_id, root_id] FROM merged_entities_of(%(classes)s)),
       with_merged(%(entities)s::uuid[], %(classes)s),
       with_merged_relations(%(relations)s::uuid[], %(classes)s),
       ARRAY({holds})
FROM graph_copies AS copy WHERE project_id = %(project_id)s AND store = %(store)s
""".replace("{holds}", _HOLDS.replace("{began}", "'infinity'"))

_STILL_HOLDS = _HOLDS.replace("{began}", "%(began)s") + (
    " AND EXISTS (SELECT FROM graph_copies WHERE graph_id = %(graph)s)"
)

# An entity that only one of the reader's chunks mentions leads nowhere, and a common one everywhere.
_RARE = """
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), near AS (
    SELECT DISTINCT coalesce(merged.root_id, given.entity_id) AS root_id
    FROM unnest(%(entities)s::uuid[]) AS given (entity_id) LEFT JOIN merged USING (entity_id)
), member AS (
    SELECT root_id, root_id AS entity_id FROM near
    UNION ALL
    SELECT root_id, merged.entity_id FROM merged JOIN near USING (root_id)
), rare AS (
    SELECT member.root_id, sum(profile.mention_count) AS mentions
    FROM member JOIN profiles AS profile ON profile.subject_id = member.entity_id
    WHERE profile.class_id = ANY(%(classes)s)
    GROUP BY member.root_id
    HAVING sum(profile.mention_count) BETWEEN 2 AND %(rarest)s
)
SELECT entity_id, root_id, mentions FROM member JOIN rare USING (root_id)
"""

MAX_LAG_SECONDS = 60.0
"""A copy that is longer behind is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChanges:
    """Chunks whose changes a copy has not applied, each with its change, and their current state."""

    batch: GraphBatch
    changes: tuple[tuple[UUID, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """What a question of the graph starts from."""

    entities: Sequence[EntityId] = ()
    relations: Sequence[RelationId] = ()
    chunks: Sequence[ChunkId] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyView:
    """What PostgreSQL says before a copy is read: `began` is when; the starts hold what is merged with them.

    Of the chunks only those are left that the reader sees and whose changes the copy has applied. `is_late` says that
    a change has waited for more than a minute.
    """

    graph: UUID
    is_filled: bool
    is_late: bool
    began: datetime
    roots: dict[EntityId, EntityId]
    entities: tuple[EntityId, ...]
    relations: tuple[RelationId, ...]
    chunks: tuple[ChunkId, ...]


async def find(database: Database, project_id: ProjectId, store: str) -> tuple[UUID, bool] | None:
    """Return the id of the project's copy in this store, and whether it was ever complete."""
    rows = await database.rows(_FIND, {"project_id": project_id, "store": store})
    return (rows[0][0], rows[0][1]) if rows else None


@repeatable
async def start(database: Database, project_id: ProjectId, store: str) -> UUID:
    """Begin a new copy of the project in this store, in place of any other, and let it apply everything."""
    graph = new_id()
    facts = {"project_id": project_id, "store": store, "graph": graph}
    async with database.transaction() as connection:
        for statement in (_STOP_WRITERS, _DELETE, _CREATE, _CHANGE_ALL):
            await connection.execute(statement, facts)
    return graph


@repeatable
async def read_changes(
    database: Database, project_id: ProjectId, store: str, *, limit: int
) -> OpenChanges | None:
    """Return up to `limit` changed chunks with their state, as a new version of the copy (`fence`); None where none is open."""
    facts = {"project_id": project_id, "store": store, "limit": limit}
    fences = await database.rows(_NEXT_FENCE, facts)
    if not fences:
        return None
    async with database.transaction() as connection:
        await connection.execute(_ONE_SNAPSHOT)
        changes = await (await connection.execute(_OPEN, facts)).fetchall()
        if not changes:
            return None
        chunks = await _read_chunks(connection, [row[0] for row in changes])
    stated = {chunk.id for chunk in chunks}
    graph, fence = fences[0]
    return OpenChanges(
        batch=GraphBatch(
            graph=graph,
            fence=fence,
            chunks=tuple(chunks),
            gone=tuple(ChunkId(row[0]) for row in changes if row[0] not in stated),
        ),
        changes=tuple((row[0], row[1]) for row in changes),
    )


@repeatable
async def mark_applied(database: Database, project_id: ProjectId, applied: OpenChanges) -> None:
    """Record that the copy has applied these changes; chunks that changed again since stay open."""
    facts = {
        "project_id": project_id,
        "graph": applied.batch.graph,
        "chunks": [chunk for chunk, _ in applied.changes],
        "changes": [change for _, change in applied.changes],
    }
    async with database.transaction() as connection:
        await connection.execute(_APPLY, facts)
        await connection.execute(_FORGET, facts)


async def mark_filled(database: Database, project_id: ProjectId, graph: UUID) -> None:
    """Let questions use the copy, if it has applied everything."""
    await database.execute(_FILLED, {"project_id": project_id, "graph": graph})


async def list_dropped(database: Database, store: str) -> list[UUID]:
    """Return the copies that this store must still delete."""
    return [row[0] for row in await database.rows(_DROPPED, {"store": store})]


async def forget_dropped(database: Database, graph: UUID) -> None:
    """Record that the store has deleted this copy."""
    facts = {"graph": graph}
    await database.execute("DELETE FROM dropped_graphs WHERE graph_id = %(graph)s", facts)


async def list_lags(database: Database) -> list[CopyLag]:
    """Return how far each copy is behind, by tenant and project."""
    return [_lag(row) for row in await database.rows(_LAG, {})]


async def list_lags_on(connection: Connection) -> list[CopyLag]:
    """Return the same on a database whose migrations may not be applied yet."""
    cursor = await connection.execute("SELECT to_regclass('graph_copies') IS NOT NULL")
    if not (await cursor.fetchall())[0][0]:
        return []
    return [_lag(row) for row in await (await connection.execute(_LAG)).fetchall()]


async def view(database: Database, reader: Reader, store: str, starts: Starts) -> CopyView | None:
    """Return what must be known before the copy is read; None where the project has none in this store."""
    rows = await database.rows(
        _VIEW,
        {
            "project_id": reader.project_id,
            "store": store,
            "classes": list(reader.classes),
            "entities": list(starts.entities),
            "relations": list(starts.relations),
            "chunks": list(starts.chunks),
            "max_lag": MAX_LAG_SECONDS,
        },
    )
    if not rows:
        return None
    graph, is_filled, began, is_late, roots, entities, relations, chunks = rows[0]
    return CopyView(
        graph=graph,
        is_filled=is_filled,
        is_late=is_late,
        began=began,
        roots={EntityId(one): EntityId(root) for one, root in roots},
        entities=tuple(entities),
        relations=tuple(relations),
        chunks=tuple(chunks),
    )


async def still_hold(
    database: Database, reader: Reader, seen: CopyView, chunks: Sequence[ChunkId]
) -> set[ChunkId]:
    """Return those of the chunks that the reader sees and that the copy had right when it was read."""
    facts = {
        "chunks": list(chunks),
        "classes": list(reader.classes),
        "began": seen.began,
        "graph": seen.graph,
    }
    rows = await database.rows(_STILL_HOLDS, facts)
    return {ChunkId(row[0]) for row in rows}


async def list_rare(
    database: Database, reader: Reader, entities: Sequence[EntityId], *, rarest: int
) -> list[tuple[EntityId, EntityId, int]]:
    """Return those of the entities that 2 to `rarest` of the reader's chunks mention, with all that is merged with them.

    Each comes with its root and the number of those chunks.
    """
    facts = {"entities": list(entities), "classes": list(reader.classes), "rarest": rarest}
    rows = await database.rows(_RARE, facts)
    return [(EntityId(row[0]), EntityId(row[1]), int(row[2])) for row in rows]


async def _read_chunks(connection: Connection, ids: Sequence[UUID]) -> list[CopiedChunk]:
    """Return the published chunks that mention or state something."""
    facts = {"chunks": list(ids), "preview": _PREVIEW, "description": _DESCRIPTION}
    mentions: defaultdict[UUID, list[CopiedMention]] = defaultdict(list)
    for row in await (await connection.execute(_MENTIONS, facts)).fetchall():
        mentions[row[0]].append(
            CopiedMention(
                entity=EntityId(row[1]),
                name=row[2],
                frequency=int(row[3]),
                confidence=row[4],
                kind=row[5],
                description=row[6],
            )
        )
    relations: defaultdict[UUID, list[CopiedRelation]] = defaultdict(list)
    for row in await (await connection.execute(_RELATIONS, facts)).fetchall():
        relations[row[0]].append(_relation(row))
    rows = await (await connection.execute(_CHUNKS, facts)).fetchall()
    return [
        CopiedChunk(
            id=ChunkId(row[0]),
            document_id=DocumentId(row[1]),
            class_id=ClassId(row[2]),
            topic=row[3],
            preview=row[4],
            url=row[5],
            mentions=tuple(mentions[row[0]]),
            relations=tuple(relations[row[0]]),
        )
        for row in rows
        if row[0] in mentions or row[0] in relations
    ]


def _relation(row: Row) -> CopiedRelation:
    return CopiedRelation(
        relation=RelationId(row[1]),
        source=EntityId(row[2]),
        source_name=row[3],
        target=EntityId(row[4]),
        target_name=row[5],
        predicate=row[6],
        weight=row[7],
        confidence=row[8],
        description=row[9],
    )


def _lag(row: Row) -> CopyLag:
    return CopyLag(
        tenant=row[0],
        project=row[1],
        store=row[2],
        is_filled=row[3],
        changes=row[4],
        seconds=float(row[5]),
    )

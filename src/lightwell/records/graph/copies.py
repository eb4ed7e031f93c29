"""Copies of the graph in other stores: which there are, how far they are behind, and whether what they say still holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.ids import (
    ChunkId,
    EntityId,
    ProjectId,
    RelationId,
    new_id,
)
from lightwell.domain.operations import CopyLag
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.rows import fetch, fetch_values, make

_VERSION = 2
"""Of what a copy holds; one of another version is written anew, and not read until then."""

_FIND = """
SELECT graph_id AS graph, is_filled, version = %(version)s AS is_current FROM graph_copies WHERE project_id = %(project_id)s AND store = %(store)s
"""

# Waits for the transactions that write these now: none of them knows yet that it has to record its changes.
_STOP_WRITERS = """
LOCK TABLE source_documents, document_chunks, document_entity_mentions, relation_mentions, profiles IN SHARE ROW EXCLUSIVE MODE
"""

_DELETE = "DELETE FROM graph_copies WHERE project_id = %(project_id)s"

_CREATE = """
INSERT INTO graph_copies (project_id, store, graph_id, version) VALUES (%(project_id)s, %(store)s, %(graph)s, %(version)s)
"""

_CHANGE_ALL = """
INSERT INTO graph_changes (chunk_id, project_id)
SELECT chunk_id, %(project_id)s FROM document_chunks JOIN access_classes USING (class_id)
WHERE project_id = %(project_id)s
ORDER BY chunk_id
"""

_DESCRIBE_ALL = """
INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
SELECT document_id, 0, 'document', project_id FROM source_documents
WHERE project_id = %(project_id)s AND ingested_at IS NOT NULL AND NOT is_deleted
UNION ALL
SELECT subject_id, class_id, subject, project_id FROM profiles JOIN access_classes USING (class_id)
WHERE project_id = %(project_id)s
"""

_FILLED = """
UPDATE graph_copies SET is_filled = true
WHERE project_id = %(project_id)s AND graph_id = %(graph)s AND NOT is_filled
  AND NOT EXISTS (SELECT FROM graph_changes AS change
                  WHERE change.project_id = graph_copies.project_id AND change.applied_at IS NULL)
  AND NOT EXISTS (SELECT FROM graph_description_changes AS change WHERE change.project_id = graph_copies.project_id)
"""

_DROPPED = "SELECT graph_id FROM dropped_graphs WHERE store = %(store)s ORDER BY graph_id"

_LAG = """
SELECT tenants.name AS tenant, projects.name AS project, copy.store, copy.is_filled, count(change.changed_at) AS changes,
       coalesce(extract(epoch FROM clock_timestamp() - min(change.changed_at)), 0)::float8 AS seconds
FROM graph_copies AS copy JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
LEFT JOIN (SELECT project_id, changed_at FROM graph_changes WHERE applied_at IS NULL
           UNION ALL SELECT project_id, changed_at FROM graph_description_changes) AS change USING (project_id)
GROUP BY tenants.name, projects.name, copy.store, copy.is_filled ORDER BY tenants.name, projects.name
"""

# Whether a chunk is as the copy has it: nothing of it waits, and nothing was applied since `began`, where that is given.
_HOLDS: LiteralString = """
SELECT chunk.chunk_id FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE chunk.chunk_id = ANY(%(chunks)s::uuid[]) AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
  AND NOT EXISTS (SELECT FROM graph_changes AS change WHERE change.chunk_id = chunk.chunk_id
                  AND (change.applied_at IS NULL OR change.applied_at >= coalesce(%(began)s::timestamptz, 'infinity')))
"""

_VIEW = f"""
SELECT copy.graph_id AS graph, copy.is_filled AND copy.version = %(version)s AS is_filled, clock_timestamp() AS began,
       EXISTS (SELECT FROM graph_changes AS change
               WHERE change.project_id = copy.project_id AND change.applied_at IS NULL
                 AND change.changed_at < clock_timestamp() - make_interval(secs => %(max_lag)s)) AS is_late,
       ARRAY(SELECT ARRAY[entity_id, root_id] FROM merged_entities_of(%(classes)s)) AS roots,
       with_merged(%(entities)s::uuid[], %(classes)s) AS entities,
       with_merged_relations(%(relations)s::uuid[], %(classes)s) AS relations,
       ARRAY({_HOLDS}) AS chunks
FROM graph_copies AS copy WHERE project_id = %(project_id)s AND store = %(store)s
"""  # noqa: S608 - only our own words

_STILL_HOLDS = f"{_HOLDS} AND EXISTS (SELECT FROM graph_copies WHERE graph_id = %(graph)s)"

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
    FROM member CROSS JOIN LATERAL (
        SELECT mention_count FROM profiles
        WHERE subject_id = member.entity_id AND sees(%(classes)s, class_id) LIMIT %(rarest)s + 1
    ) AS profile
    GROUP BY member.root_id
    HAVING sum(profile.mention_count) BETWEEN 2 AND %(rarest)s
)
SELECT entity_id, root_id, mentions::integer FROM member JOIN rare USING (root_id)
"""

MAX_LAG_SECONDS = 60.0
"""A copy that is longer behind is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCopy:
    """A copy's id, whether it was ever complete, and whether it is of this version of Lightwell (`is_current`)."""

    graph: UUID
    is_filled: bool
    is_current: bool


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


async def find(database: Database, project_id: ProjectId, store: str) -> FoundCopy | None:
    """Return the project's copy in this store."""
    facts = {"project_id": project_id, "store": store, "version": _VERSION}
    return await database.row(_FIND, facts, into=FoundCopy)


@repeatable
async def start(database: Database, project_id: ProjectId, store: str) -> UUID:
    """Begin a new copy of the project in this store, in place of any other, and let it apply everything."""
    graph = new_id()
    facts = {"project_id": project_id, "store": store, "graph": graph, "version": _VERSION}
    async with database.transaction() as connection:
        for statement in (_STOP_WRITERS, _DELETE, _CREATE, _CHANGE_ALL, _DESCRIBE_ALL):
            await connection.execute(statement, facts)
    return graph


async def mark_filled(database: Database, project_id: ProjectId, graph: UUID) -> None:
    """Let questions use the copy, if it has applied everything."""
    await database.execute(_FILLED, {"project_id": project_id, "graph": graph})


async def list_dropped(database: Database, store: str) -> list[UUID]:
    """Return the copies that this store must still delete."""
    return await database.values(_DROPPED, {"store": store})


async def forget_dropped(database: Database, graph: UUID) -> None:
    """Record that the store has deleted this copy."""
    facts = {"graph": graph}
    await database.execute("DELETE FROM dropped_graphs WHERE graph_id = %(graph)s", facts)


async def list_lags(database: Database) -> list[CopyLag]:
    """Return how far each copy is behind, by tenant and project."""
    return await database.rows(_LAG, {}, into=CopyLag)


async def list_lags_on(connection: Connection) -> list[CopyLag]:
    """Return the same on a database whose migrations may not be applied yet."""
    query = "SELECT to_regclass('graph_description_changes') IS NOT NULL"
    has_table = await fetch_values(connection, query, {})
    return await fetch(connection, _LAG, {}, into=CopyLag) if has_table == [True] else []


async def view(database: Database, reader: Reader, store: str, starts: Starts) -> CopyView | None:
    """Return what must be known before the copy is read; None where the project has none in this store."""
    return await database.row(
        _VIEW,
        {
            **reader.parameters,
            "store": store,
            "began": None,
            "entities": list(starts.entities),
            "relations": list(starts.relations),
            "chunks": list(starts.chunks),
            "max_lag": MAX_LAG_SECONDS,
            "version": _VERSION,
        },
        into=_view,
    )


async def still_hold(
    database: Database, reader: Reader, seen: CopyView, chunks: Sequence[ChunkId]
) -> set[ChunkId]:
    """Return those of the chunks that the reader sees and that the copy had right when it was read."""
    facts = {
        "chunks": list(chunks),
        **reader.parameters,
        "began": seen.began,
        "graph": seen.graph,
    }
    return set(await database.values(_STILL_HOLDS, facts))


async def list_rare(
    database: Database, reader: Reader, entities: Sequence[EntityId], *, rarest: int
) -> list[tuple[EntityId, EntityId, int]]:
    """Return those of the entities that 2 to `rarest` of the reader's chunks mention, with all that is merged with them.

    Each comes with its root and the number of those chunks.
    """
    facts = {"entities": list(entities), **reader.parameters, "rarest": rarest}
    rows = await database.rows(_RARE, facts)
    return [(entity, root, mentions) for entity, root, mentions in rows]


def _view(*, roots: Sequence[tuple[EntityId, EntityId]], **columns: Any) -> CopyView:
    return make(CopyView, roots=dict(roots), **columns)

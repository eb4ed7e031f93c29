"""Documents: registration, listing, change of access, deletion to a tombstone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader, Tags
from lightwell.domain.access_explanations import DocumentAccess
from lightwell.domain.document_lists import (
    DocumentCount,
    DocumentFilter,
    DocumentOrder,
    parse_cursor,
)
from lightwell.domain.documents import Document, DocumentState
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ClassId, DocumentId, ProjectId
from lightwell.records import access_classes, analytics, conversations
from lightwell.records.database import Connection, Database
from lightwell.records.documents import originals
from lightwell.records.documents.publishing import reclassify, unpublish
from lightwell.records.filters import matches_document
from lightwell.records.graph.profiles import refresh_subjects
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch

_CANCEL = """
WITH open AS (
    SELECT id FROM ingestion_jobs
    WHERE document_id = ANY(%(documents)s) AND status IN ('queued', 'chunking', 'embedding', 'extracting')
    ORDER BY id FOR UPDATE
)
UPDATE ingestion_jobs
SET status = 'cancelled', leased_by = NULL, leased_until = NULL, completed_at = now()
FROM open WHERE ingestion_jobs.id = open.id
"""

_RETAG = """
UPDATE source_documents SET acl_tags = %(tags)s, class_id = %(class_id)s
WHERE document_id = %(id)s AND class_id <> %(class_id)s
RETURNING document_id, class_id
"""

_BREAK = """
UPDATE source_documents SET status = 'failed', error_code = 'unreadable_document', error_message = %(message)s
WHERE document_id = %(id)s AND NOT is_deleted
"""

_TOMBSTONE = """
UPDATE source_documents
SET is_deleted = true, status = 'archived', title = '', author = '', author_ref = NULL, topic_tag = '',
    raw_payload = NULL, metadata = '{}', content_hash = '', chunk_count = 0, omitted_chunks = 0, error_code = '', error_message = '',
    updated_at = now()
FROM (SELECT document_id FROM source_documents WHERE document_id = ANY(%(documents)s)
      ORDER BY document_id FOR UPDATE) AS gone
WHERE source_documents.document_id = gone.document_id
"""

_COLUMNS: LiteralString = """
document_id AS id, global_ref AS ref, source_url AS url, title, format, author, topic_tag AS topic, language, acl_tags,
class_id, status AS state, error_message AS error, content_hash, file_size, chunk_count, created_at, updated_at,
ingested_at, coalesce(author_ref, '') AS author_ref, metadata, coalesce(raw_payload, '{}') AS raw_payload,
omitted_chunks,
(SELECT count(*)::integer FROM chunk_gaps AS gap JOIN embedding_spaces AS space USING (space_id)
 WHERE gap.document_id = source_documents.document_id AND space.status = 'active') AS waiting_chunks, source_system AS system, source_type AS kind, CASE WHEN is_dated THEN updated_at END AS dated_at,
EXISTS (SELECT FROM document_originals AS original
        WHERE original.document_id = source_documents.document_id AND place <> 'none') AS has_original,
coalesce((SELECT page_count FROM document_originals AS original
          WHERE original.document_id = source_documents.document_id AND is_published), 0) AS page_count
"""

# By each order: the value of a document, and what makes one of the text in a cursor.
_ORDERS: Mapping[DocumentOrder, tuple[LiteralString, LiteralString]] = {
    DocumentOrder.URL: ("source_url", "%(after)s::text"),
    DocumentOrder.TITLE: (
        "lower(left(title, 200))",
        "lower(left(%(after)s::text, 200))",
    ),
    DocumentOrder.CHANGED: ("updated_at", "nullif(%(after)s::text, '')::timestamptz"),
    DocumentOrder.CREATED: ("created_at", "nullif(%(after)s::text, '')::timestamptz"),
    DocumentOrder.SYSTEM: ("source_system || ' ' || source_type", "%(after)s::text"),
    DocumentOrder.STATUS: ("status", "%(after)s::text"),
}


def _list(order: DocumentOrder, *, is_descending: bool) -> LiteralString:
    value, after = _ORDERS[order]
    behind, direction = ("<", "DESC") if is_descending else (">", "ASC")
    return f"""
SELECT {_COLUMNS} FROM source_documents
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND NOT is_deleted
  AND (%(is_first)s OR ({value}, document_id) {behind} ({after}, %(after_id)s))
  AND (%(states)s::text[] = '{{}}' OR status = ANY(%(states)s)) AND {matches_document("source_documents")}
  AND (%(title)s = '' OR strpos(lower(title), lower(%(title)s)) > 0)
ORDER BY {value} {direction}, document_id {direction} LIMIT %(limit)s
"""  # noqa: S608 - only our own words


_LISTS: Mapping[tuple[DocumentOrder, bool], LiteralString] = {
    (order, is_descending): _list(order, is_descending=is_descending)
    for order in DocumentOrder
    for is_descending in (False, True)
}

_SUMMARY = """
SELECT source_system AS system, source_type AS kind, status AS state, count(*) AS documents FROM source_documents
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND NOT is_deleted
GROUP BY source_system, source_type, status ORDER BY source_system, source_type, status
"""

_SHOW = f"""
SELECT {_COLUMNS} FROM source_documents
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND NOT is_deleted
  AND (document_id::text = %(name)s OR global_ref = %(name)s OR source_url = %(name)s)
ORDER BY document_id LIMIT 1
"""  # noqa: S608 - only our own column names

_PUBLISHED = """
SELECT document_id FROM source_documents
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND status = 'active' AND NOT is_deleted
ORDER BY source_url
"""

_TEXT = """
SELECT document_text(document_id, class_id) FROM source_documents
WHERE document_id = %(id)s AND sees(%(classes)s, class_id) AND NOT is_deleted
"""


_ACCESS = """
SELECT document_id AS id, source_url AS url, acl_tags, status AS state, is_deleted AS deleted FROM source_documents
WHERE project_id = %(project_id)s
  AND (document_id::text = %(name)s OR global_ref = %(name)s OR source_url = %(name)s)
"""

_COUNTS = """
SELECT status, count(*) FROM source_documents
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND NOT is_deleted GROUP BY status ORDER BY status
"""

_VISIBLE = """
SELECT (SELECT coalesce(sum(chunks), 0)::integer FROM class_totals WHERE sees(%(classes)s, class_id)) AS chunks,
       (SELECT count(*)::integer FROM chunk_gaps AS gap JOIN embedding_spaces AS space USING (space_id)
        JOIN source_documents AS document ON document.document_id = gap.document_id
        WHERE space.status = 'active' AND space.project_id = %(project_id)s AND sees(%(classes)s, document.class_id)) AS waiting_chunks,
       entities, relations
FROM graph_size(%(classes)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """How many chunks, entities and relations a reader sees; `waiting_chunks` are those without a vector yet."""

    chunks: int
    waiting_chunks: int
    entities: int
    relations: int


async def cancel_jobs(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Cancel these documents' open jobs, and delete what they have to read.

    Failed and cancelled jobs have it for a retry until here: a newer version, or the deletion of the document.
    """
    await connection.execute(_CANCEL, {"documents": list(documents)})
    await originals.drop_staged(connection, documents)


async def change_access(
    connection: Connection, project_id: ProjectId, tags: Mapping[DocumentId, Tags]
) -> None:
    """Give these documents other access tags; every query follows when the transaction commits."""
    await lock_project(connection, project_id)
    classes = {
        acl_tags: await access_classes.get_or_create_class(connection, project_id, acl_tags)
        for acl_tags in dict.fromkeys(tags.values())
    }
    rows = [
        {
            "id": document_id,
            "tags": sorted(tags[document_id]),
            "class_id": classes[tags[document_id]],
        }
        for document_id in sorted(tags)
    ]
    await move(connection, project_id, rows)


async def move(
    connection: Connection, project_id: ProjectId, rows: Sequence[Mapping[str, object]]
) -> None:
    """Move documents and what they show to other access classes, unless they have those classes.

    Profiles are refreshed once for all, because neighbours often name the same entities.
    """
    moved: dict[ClassId, list[DocumentId]] = {}
    for row in rows:
        for document_id, class_id in await fetch(connection, _RETAG, row):
            moved.setdefault(class_id, []).append(document_id)
    stale: set[UUID] = set()
    for class_id, documents in moved.items():
        stale |= await reclassify(connection, project_id, documents, class_id)
    await refresh_subjects(connection, project_id, stale)


async def mark_unavailable(database: Database, document_id: DocumentId, message: str) -> None:
    """Mark a document that its source cannot deliver any more; its published chunks stay."""
    await database.execute(_BREAK, {"id": document_id, "message": message})


async def tombstone(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Delete the content of these documents; only their references and URLs remain."""
    ids = {"documents": list(documents)}
    await lock_project(connection, project_id)
    await cancel_jobs(connection, documents)
    stale = await unpublish(connection, project_id, documents, staged=True)
    await refresh_subjects(connection, project_id, stale)
    await originals.delete(connection, documents)
    await connection.execute(_TOMBSTONE, ids)
    await conversations.delete_exchanges_citing(connection, documents)
    await analytics.delete_comments_citing(connection, documents)


async def list_page(
    database: Database,
    reader: Reader,
    wanted: DocumentFilter,
    *,
    after: str,
    limit: int,
) -> list[Document]:
    """Return the reader's documents in the order that is wanted, those after the URL or cursor `after`; raise `Invalid` for another text."""
    value, document_id = (
        parse_cursor(after, wanted.order, is_descending=wanted.is_descending)
        if after
        else ("", None)
    )
    parameters = {
        **reader.parameters,
        "is_first": not after,
        "after": value,
        "after_id": document_id,
        "limit": limit,
        "states": [state.value for state in wanted.states],
        **wanted.filters.parameters,
        "title": wanted.title,
    }
    query = _LISTS[wanted.order, wanted.is_descending]
    return await database.rows(query, parameters, into=Document)


async def get(database: Database, reader: Reader, name: str) -> Document:
    """Return the reader's document with this id, reference or URL; raise `NotFound`."""
    document = await database.row(_SHOW, {**reader.parameters, "name": name}, into=Document)
    if document is None:
        raise NotFound(f"There is no document {name!r} that you may see")
    return document


async def list_published(database: Database, reader: Reader) -> list[DocumentId]:
    """Return the reader's documents whose ingestion is complete, by URL."""
    return await database.values(_PUBLISHED, reader.parameters)


async def get_text(database: Database, reader: Reader, document_id: DocumentId) -> str:
    """Return the document's published text; raise `NotFound`."""
    text = await database.value(_TEXT, {**reader.parameters, "id": document_id})
    if text is None:
        raise NotFound(f"There is no document {document_id} that you may see")
    return text


async def find_access(
    database: Database, project_id: ProjectId, name: str
) -> DocumentAccess | None:
    """Return what decides who sees the document with this id, reference or URL, None for no document.

    It takes no reader: it is for administrators.
    """
    parameters = {"project_id": project_id, "name": name}
    return await database.row(_ACCESS, parameters, into=DocumentAccess)


async def count_by_state(database: Database, reader: Reader) -> dict[DocumentState, int]:
    """Return how many of the reader's documents are in each state."""
    rows = await database.rows(_COUNTS, reader.parameters)
    return {DocumentState(state): count for state, count in rows}


async def count_by_kind(database: Database, reader: Reader) -> list[DocumentCount]:
    """Return how many of the reader's documents come from each system, with each type and in each state, in this order."""
    return await database.rows(_SUMMARY, reader.parameters, into=DocumentCount)


async def count_visible(database: Database, reader: Reader) -> StoreCounts:
    """Return how many chunks, entities and relations the reader sees."""
    return (await database.rows(_VISIBLE, reader.parameters, into=StoreCounts))[0]

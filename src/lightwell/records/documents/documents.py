"""Documents: registration, listing, change of access, deletion to a tombstone."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader, Tags
from lightwell.domain.documents import (
    Document,
    DocumentFilter,
    DocumentState,
    NewDocument,
    estimate_chunks,
    parse_cursor,
)
from lightwell.domain.entity_refs import author_ref
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import (
    ClassId,
    DocumentId,
    GlobalRef,
    JobId,
    ProjectId,
    new_id,
)
from lightwell.domain.jobs import QueuedJob
from lightwell.records import access_classes, analytics, conversations
from lightwell.records.database import Connection, Database, Row
from lightwell.records.documents.publishing import reclassify, unpublish
from lightwell.records.documents.registered import (
    check_url,
    check_url_owner,
    document_ref,
    find_registered,
)
from lightwell.records.graph.profiles import refresh_subjects
from lightwell.records.locks import lock_project

_INSERT = """
INSERT INTO source_documents (
    document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id, source_url,
    title, format, topic_tag, content_hash, file_size, author, author_ref, metadata, raw_payload, acl_tags, class_id,
    updated_at)
SELECT %(id)s, project_id, tenant_id, %(ref)s, %(system)s, %(kind)s, %(source_id)s, %(url)s,
       %(title)s, %(format)s, %(topic)s, %(hash)s, %(size)s, %(author)s, %(author_ref)s, %(metadata)s,
       %(raw_payload)s, %(tags)s, %(class_id)s,
       coalesce(%(updated_at)s, now())
FROM projects WHERE project_id = %(project_id)s
"""

_UPDATE = """
UPDATE source_documents
SET source_url = %(url)s, title = %(title)s, format = %(format)s, topic_tag = %(topic)s, content_hash = %(hash)s,
    file_size = %(size)s, author = %(author)s, author_ref = %(author_ref)s, metadata = %(metadata)s,
    raw_payload = %(raw_payload)s, is_deleted = false, erase_requested = false, status = 'pending',
    error_code = '', error_message = '', updated_at = coalesce(%(updated_at)s, now())
WHERE document_id = %(id)s
"""

# The URL of a deleted document may be reused by another source system.
_ADOPT = """
UPDATE source_documents
SET source_system = %(system)s, source_type = %(kind)s, source_id = %(source_id)s, global_ref = %(ref)s
WHERE document_id = %(id)s AND source_system <> %(system)s
"""

# The author is kept where only the document, not the source, names one.
_DESCRIBE = """
UPDATE source_documents
SET metadata = %(metadata)s, raw_payload = %(raw_payload)s,
    author = CASE WHEN %(author)s::text = '' THEN author ELSE %(author)s END,
    author_ref = coalesce(%(author_ref)s, author_ref)
WHERE document_id = %(id)s
"""

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

# Failed and cancelled jobs keep their bytes for a retry, until a newer version or the deletion of the document.
_DROP_UPLOADS = """
UPDATE ingestion_jobs SET upload = NULL WHERE document_id = ANY(%(documents)s) AND upload IS NOT NULL
"""

_ENQUEUE = """
INSERT INTO ingestion_jobs (id, project_id, document_id, upload)
VALUES (%(job)s, %(project_id)s, %(id)s, %(upload)s)
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
    text_content = '', raw_payload = NULL, metadata = '{}', content_hash = '', chunk_count = 0, omitted_chunks = 0, error_code = '', error_message = '',
    updated_at = now()
FROM (SELECT document_id FROM source_documents WHERE document_id = ANY(%(documents)s)
      ORDER BY document_id FOR UPDATE) AS gone
WHERE source_documents.document_id = gone.document_id
"""

_COLUMNS = """
document_id, global_ref, source_url, title, format, author, topic_tag, language, acl_tags, class_id, status,
error_message, content_hash, file_size, chunk_count, created_at, updated_at, ingested_at,
coalesce(author_ref, ''), metadata, coalesce(raw_payload, '{}'), omitted_chunks, source_system, source_type
"""

_LIST = f"""
SELECT {_COLUMNS} FROM source_documents
WHERE class_id = ANY(%(classes)s) AND NOT is_deleted AND (source_url, document_id) > (%(after)s, %(after_id)s)
  AND (%(state)s = '' OR status = %(state)s) AND (%(system)s = '' OR source_system = %(system)s)
  AND (%(kind)s = '' OR source_type = %(kind)s) AND (%(tag)s = '' OR %(tag)s = ANY(acl_tags))
  AND (%(title)s = '' OR strpos(lower(title), lower(%(title)s)) > 0)
ORDER BY source_url, document_id LIMIT %(limit)s
"""  # noqa: S608 - only our own column names

_SHOW = f"""
SELECT {_COLUMNS} FROM source_documents
WHERE class_id = ANY(%(classes)s) AND NOT is_deleted
  AND (document_id::text = %(name)s OR global_ref = %(name)s OR source_url = %(name)s)
ORDER BY document_id LIMIT 1
"""  # noqa: S608 - only our own column names

_PUBLISHED = """
SELECT document_id FROM source_documents
WHERE project_id = %(project_id)s AND class_id = ANY(%(classes)s) AND status = 'active' AND NOT is_deleted
ORDER BY source_url
"""

_TEXT = """
SELECT text_content FROM source_documents
WHERE document_id = %(id)s AND class_id = ANY(%(classes)s) AND NOT is_deleted
"""


async def register(
    connection: Connection, project_id: ProjectId, documents: Sequence[NewDocument]
) -> list[QueuedJob]:
    """Store the documents with a job each, in order; changed access tags take effect with the commit.

    Two versions with equal reference or URL are one document, and the last one counts. Unfinished jobs of older
    versions are cancelled. The project's publishing lock makes other registrations wait. Raises `Invalid` for a
    URL that another source system uses.
    """
    for document in documents:
        check_url(document)
    await lock_project(connection, project_id)
    latest = _latest(documents)
    known = await find_registered(connection, project_id, latest)
    for document in latest:
        check_url_owner(document, known)
    await cancel_jobs(connection, sorted({each.id for each in known.values()}))
    classes = {
        tags: await access_classes.get_or_create_class(connection, project_id, tags)
        for tags in dict.fromkeys(document.acl_tags for document in latest)
    }
    queued: list[QueuedJob] = []
    rows: list[dict[str, object]] = []
    for document in latest:
        old = known.get(document.url) or known.get(document_ref(document))
        document_id = DocumentId(new_id()) if old is None else old.id
        job_id = JobId(new_id())
        queued.append(
            QueuedJob(
                id=job_id,
                document_id=document_id,
                url=document.url,
                is_new=old is None,
                estimated_chunks=estimate_chunks(document),
            )
        )
        fields = _fields(project_id, document_id, document)
        rows.append({**fields, "class_id": classes[document.acl_tags], "job": job_id})
    await _write(connection, project_id, queued, rows)
    return queued


async def _write(
    connection: Connection,
    project_id: ProjectId,
    queued: Sequence[QueuedJob],
    rows: Sequence[Mapping[str, object]],
) -> None:
    new = [row for job, row in zip(queued, rows, strict=True) if job.is_new]
    old = [row for job, row in zip(queued, rows, strict=True) if not job.is_new]
    old.sort(key=lambda row: str(row["id"]))
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT, new)
        await cursor.executemany(_ADOPT, old)
        await cursor.executemany(_UPDATE, old)
    await _move(connection, project_id, old)
    async with connection.cursor() as cursor:
        await cursor.executemany(_ENQUEUE, rows)


def _latest(documents: Sequence[NewDocument]) -> list[NewDocument]:
    """Return the last version of each document, in input order."""
    seen: set[str] = set()
    latest: list[NewDocument] = []
    for document in reversed(documents):
        names = (
            {document.url} if document.system == "file" else {document.url, document_ref(document)}
        )
        if seen.isdisjoint(names):
            latest.append(document)
            seen |= names
    return latest[::-1]


async def cancel_jobs(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Cancel these documents' open jobs and delete the bytes that their jobs keep."""
    keys = {"documents": list(documents)}
    await connection.execute(_CANCEL, keys)
    await connection.execute(_DROP_UPLOADS, keys)


async def change_access(
    connection: Connection, project_id: ProjectId, tags: Mapping[DocumentId, Tags]
) -> None:
    """Give these documents other access tags; every query follows when the transaction commits."""
    await lock_project(connection, project_id)
    classes = {
        each: await access_classes.get_or_create_class(connection, project_id, each)
        for each in dict.fromkeys(tags.values())
    }
    rows = [
        {
            "id": document_id,
            "tags": sorted(tags[document_id]),
            "class_id": classes[tags[document_id]],
        }
        for document_id in sorted(tags)
    ]
    await _move(connection, project_id, rows)


async def _move(
    connection: Connection, project_id: ProjectId, rows: Sequence[Mapping[str, object]]
) -> None:
    """Move documents and what they show to other access classes, unless they have those classes.

    Profiles are refreshed once for all, because neighbours often name the same entities.
    """
    moved: dict[ClassId, list[DocumentId]] = {}
    for row in rows:
        changed = await (await connection.execute(_RETAG, row)).fetchone()
        if changed is not None:
            moved.setdefault(ClassId(changed[1]), []).append(DocumentId(changed[0]))
    stale: set[UUID] = set()
    for class_id, documents in moved.items():
        stale |= await reclassify(connection, project_id, documents, class_id)
    await refresh_subjects(connection, project_id, stale)


async def update_metadata(
    connection: Connection, project_id: ProjectId, document_id: DocumentId, document: NewDocument
) -> None:
    """Store what the source says of a document whose content has not changed."""
    await connection.execute(_DESCRIBE, _fields(project_id, document_id, document))


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
    """Return the reader's documents by URL, those after the URL or cursor `after`."""
    url, document_id = parse_cursor(after)
    parameters = {
        "classes": list(reader.classes),
        "after": url,
        "after_id": document_id,
        "limit": limit,
        "state": wanted.state.value if wanted.state else "",
        "system": wanted.system,
        "kind": wanted.kind,
        "tag": wanted.tag,
        "title": wanted.title,
    }
    return [_document(row) for row in await database.rows(_LIST, parameters)]


async def get(database: Database, reader: Reader, name: str) -> Document:
    """Return the reader's document with this id, reference or URL; raise `NotFound`."""
    rows = await database.rows(_SHOW, {"classes": list(reader.classes), "name": name})
    if not rows:
        raise NotFound(f"There is no document {name!r} that you may see")
    return _document(rows[0])


async def list_published(database: Database, reader: Reader) -> list[DocumentId]:
    """Return the reader's documents whose ingestion is complete, by URL."""
    parameters = {"project_id": reader.project_id, "classes": list(reader.classes)}
    return [DocumentId(row[0]) for row in await database.rows(_PUBLISHED, parameters)]


async def get_text(database: Database, reader: Reader, document_id: DocumentId) -> str:
    """Return the document's published text; raise `NotFound`."""
    rows = await database.rows(_TEXT, {"classes": list(reader.classes), "id": document_id})
    if not rows:
        raise NotFound(f"There is no document {document_id} that you may see")
    return str(rows[0][0])


def _fields(
    project_id: ProjectId, document_id: DocumentId, document: NewDocument
) -> dict[str, object]:
    return {
        "id": document_id,
        "project_id": project_id,
        "ref": document_ref(document, document_id),
        "system": document.system,
        "kind": document.kind,
        "source_id": document.source_id,
        "url": document.url,
        "title": document.title,
        "format": document.format.value,
        "topic": document.topic,
        "hash": document.content_hash,
        "size": len(document.content),
        "author": document.author,
        "author_ref": document.author_ref or author_ref(document.author),
        "metadata": Jsonb(dict(document.metadata)),
        "raw_payload": Jsonb(dict(document.raw_payload)),
        "tags": sorted(document.acl_tags),
        "updated_at": document.updated_at,
        "upload": document.content,
    }


def _document(row: Row) -> Document:
    return Document(
        id=DocumentId(row[0]),
        ref=GlobalRef(row[1]),
        url=row[2],
        title=row[3],
        format=row[4],
        author=row[5],
        topic=row[6],
        language=row[7],
        acl_tags=frozenset(row[8]),
        class_id=ClassId(row[9]),
        state=DocumentState(row[10]),
        error=row[11],
        content_hash=row[12],
        file_size=row[13],
        chunk_count=row[14],
        created_at=row[15],
        updated_at=row[16],
        ingested_at=row[17],
        author_ref=row[18],
        metadata=row[19],
        raw_payload=row[20],
        omitted_chunks=row[21],
        system=row[22],
        kind=row[23],
    )

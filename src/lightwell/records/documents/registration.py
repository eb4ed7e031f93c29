"""Registration: new and changed documents are stored together with their jobs, in one transaction."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.business_systems import SourceId
from lightwell.domain.documents import FILE, NewDocument, estimate_chunks
from lightwell.domain.entity_refs import author_ref
from lightwell.domain.ids import DocumentId, JobId, ProjectId, new_id
from lightwell.domain.jobs import QueuedJob
from lightwell.domain.originals import place_of
from lightwell.records import access_classes
from lightwell.records.database import Connection
from lightwell.records.documents import documents, index_descriptions, originals
from lightwell.records.documents.registered import (
    check_url,
    check_url_owner,
    document_ref,
    find_registered,
)
from lightwell.records.documents.structures import structure_to_json
from lightwell.records.locks import lock_project

_INSERT = """
INSERT INTO source_documents (
    document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id, source_url,
    title, format, topic_tag, content_hash, file_size, author, author_ref, metadata, raw_payload, acl_tags, class_id,
    source_key, item_ref, structure, body_hash, created_at, updated_at, is_dated)
SELECT %(id)s, project_id, tenant_id, %(ref)s, %(system)s, %(kind)s, %(source_id)s, %(url)s,
       %(title)s, %(format)s, %(topic)s, %(hash)s, %(size)s, %(author)s, %(author_ref)s, %(metadata)s,
       %(raw_payload)s, %(tags)s, %(class_id)s, %(source)s, %(item_ref)s, %(structure)s, %(body_hash)s,
       coalesce(%(created_at)s, now()), coalesce(%(updated_at)s, now()), %(is_dated)s
FROM projects WHERE project_id = %(project_id)s
"""

_UPDATE = """
UPDATE source_documents
SET source_url = %(url)s, title = %(title)s, format = %(format)s, topic_tag = %(topic)s, content_hash = %(hash)s,
    file_size = %(size)s, author = %(author)s, author_ref = %(author_ref)s, metadata = %(metadata)s,
    raw_payload = %(raw_payload)s, is_deleted = false, erase_requested = false, status = 'pending',
    source_key = %(source)s, item_ref = %(item_ref)s, structure = %(structure)s, body_hash = %(body_hash)s,
    error_code = '', error_message = '', created_at = coalesce(%(created_at)s, created_at),
    updated_at = coalesce(%(updated_at)s, now()), is_dated = %(is_dated)s
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

# The document's chunks stay; what the source states beside the text is published anew.
_RESTATE = """
UPDATE source_documents
SET source_url = %(url)s, content_hash = %(hash)s, author_ref = %(author_ref)s, metadata = %(metadata)s,
    author = CASE WHEN %(author)s::text = '' THEN author ELSE %(author)s END,
    raw_payload = %(raw_payload)s, source_key = %(source)s, item_ref = %(item_ref)s, structure = %(structure)s,
    created_at = coalesce(%(created_at)s, created_at), updated_at = coalesce(%(updated_at)s, updated_at)
WHERE document_id = %(id)s
"""

_ENQUEUE = """
INSERT INTO ingestion_jobs (id, project_id, document_id)
VALUES (%(job)s, %(project_id)s, %(id)s)
"""

_ENQUEUE_RESTATED = """
INSERT INTO ingestion_jobs (id, project_id, document_id, status, current_step, progress, total_chunks, processed_chunks)
SELECT %(job)s, project_id, document_id, 'extracting', %(restate_step)s, 75, chunk_count, chunk_count
FROM source_documents WHERE document_id = %(id)s
"""


_ENQUEUE_AGAIN = """
INSERT INTO ingestion_jobs (id, project_id, document_id, status, current_step, progress, total_chunks, processed_chunks)
SELECT given.id, project_id, document_id, 'extracting', %(step)s, 75, chunk_count, chunk_count
FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[]) AS given (id, document_id)
JOIN source_documents AS document USING (document_id)
WHERE document.status = 'active' AND NOT document.is_deleted
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOrigin:
    """The source of the documents of items; `restate_step` is the first step of jobs that keep a document's chunks."""

    source: SourceId
    restate_step: str


async def register(
    connection: Connection,
    project_id: ProjectId,
    new_documents: Sequence[NewDocument],
    origin: ItemOrigin | None = None,
) -> list[QueuedJob]:
    """Store the documents with a job each, in order; changed access tags take effect with the commit.

    Two versions with equal reference or URL are one document, and the last one counts; for items (with `origin`) the
    reference alone counts. Unfinished jobs of older versions are cancelled. The project's publishing lock makes other
    registrations wait. Raises `Invalid` for a URL that another source system uses.
    """
    for document in new_documents:
        check_url(document)
    await lock_project(connection, project_id)
    latest = _latest(new_documents)
    registered = await find_registered(connection, project_id, latest)
    if origin is None:
        for document in latest:
            check_url_owner(document, registered)
    await documents.cancel_jobs(
        connection, sorted({document.id for document in registered.values()})
    )
    classes = {
        tags: await access_classes.get_or_create_class(connection, project_id, tags)
        for tags in dict.fromkeys(document.acl_tags for document in latest)
    }
    queued: list[QueuedJob] = []
    rows: list[dict[str, object]] = []
    for document in latest:
        old = registered.get(document_ref(document))
        old = (registered.get(document.url) or old) if origin is None else old
        job = QueuedJob(
            id=JobId(new_id()),
            document_id=DocumentId(new_id()) if old is None else old.id,
            url=document.url,
            is_new=old is None,
            estimated_chunks=estimate_chunks(document),
        )
        queued.append(job)
        fields = _fields(project_id, job.document_id, document, origin)
        keeps_chunks = origin is not None and old is not None and old.has_body(body_hash(document))
        rows.append(
            {
                **fields,
                "class_id": classes[document.acl_tags],
                "job": job.id,
                "is_new": job.is_new,
                "keeps_chunks": keeps_chunks,
            }
        )
    await _write(connection, project_id, rows)
    return queued


async def restate(connection: Connection, documents: Sequence[DocumentId], step: str) -> None:
    """Publish anew what these documents state beside their texts, from this step on; one with an open job does so anyway."""
    keys = {"ids": [new_id() for _ in documents], "documents": list(documents), "step": step}
    await connection.execute(_ENQUEUE_AGAIN, keys)


async def _write(
    connection: Connection, project_id: ProjectId, rows: Sequence[Mapping[str, object]]
) -> None:
    new = [row for row in rows if row["is_new"]]
    old = sorted((row for row in rows if not row["is_new"]), key=lambda row: str(row["id"]))
    restated = [row for row in old if row["keeps_chunks"]]
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT, new)
        await cursor.executemany(_ADOPT, old)
        await cursor.executemany(_UPDATE, [row for row in old if not row["keeps_chunks"]])
        await cursor.executemany(_RESTATE, restated)
    await index_descriptions.note(
        connection, project_id, [DocumentId(cast("UUID", row["id"])) for row in restated]
    )
    await documents.move(connection, project_id, old)
    async with connection.cursor() as cursor:
        changed = [row for row in rows if not row["keeps_chunks"]]
        await cursor.executemany(_ENQUEUE, changed)
        await cursor.executemany(originals.STAGE, changed)
        await cursor.executemany(
            originals.STAGE_PART,
            (
                part
                for row in changed
                for part in originals.parts_of(
                    JobId(cast("UUID", row["job"])), cast("bytes", row["content"])
                )
            ),
        )
        await cursor.executemany(_ENQUEUE_RESTATED, [row for row in rows if row["keeps_chunks"]])


def _latest(documents: Sequence[NewDocument]) -> list[NewDocument]:
    """Return the last version of each document, in input order."""
    seen: set[str] = set()
    latest: list[NewDocument] = []
    for document in reversed(documents):
        names = {document.url, document_ref(document)}
        if document.system == FILE:
            names = {document.url}
        elif document.item_ref is not None:
            names = {document_ref(document)}
        if seen.isdisjoint(names):
            latest.append(document)
            seen |= names
    return latest[::-1]


async def update_metadata(
    connection: Connection, project_id: ProjectId, document_id: DocumentId, document: NewDocument
) -> None:
    """Store what the source says of a document whose content has not changed."""
    await connection.execute(_DESCRIBE, _fields(project_id, document_id, document))


def _fields(
    project_id: ProjectId,
    document_id: DocumentId,
    document: NewDocument,
    origin: ItemOrigin | None = None,
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
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "is_dated": document.updated_at is not None and document.system != FILE,
        "content": document.content,
        "sha256": hashlib.sha256(document.content).digest(),
        "place": place_of(document).value,
        "source": origin.source if origin else None,
        "restate_step": origin.restate_step if origin else "",
        "item_ref": document.item_ref or "",
        "structure": Jsonb(structure_to_json(document.structure)) if document.item_ref else None,
        "body_hash": body_hash(document) if document.item_ref else "",
    }


def body_hash(document: NewDocument) -> str:
    """Return the hash of what determines a document's chunks; the version of a file stands for its content and format."""
    if document.file_version:
        head = "\0".join(["file", document.title, document.topic, document.file_version])
        return hashlib.sha256(head.encode()).hexdigest()
    head = "\0".join([document.format.value, document.title, document.topic, ""])
    return hashlib.sha256(head.encode() + document.content).hexdigest()

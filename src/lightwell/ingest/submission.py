"""Documents that somebody hands in, and access tags that somebody changes: registered within what that person may do."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader, TagAuthority, Tags
from lightwell.domain.documents import UPLOAD, WEB, NewDocument
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import DocumentId, new_id
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import IdempotencyKey, IngestResponse
from lightwell.records import idempotency
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.documents import documents, registration, submitted
from lightwell.records.documents.registered import document_ref
from lightwell.records.locks import lock_project


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Documents that `reader` hands in together. `documents` may be read several times; each time it loads them one by one.

    With a `key`, the same submission again gets the responses of the first and has no other effect.
    """

    documents: Iterable[NewDocument]
    reader: Reader
    authority: TagAuthority
    key: IdempotencyKey | None = None


@repeatable
async def submit(database: Database, submission: Submission) -> tuple[IngestResponse, ...]:
    """Register the documents with a job each, in order, in one transaction: all or none.

    They are durable when this returns. Raises `Invalid` for tags that the authority may not give, `NotFound` for a
    file whose document the reader may not see, and `KeyReused`.
    """
    project_id, key = submission.reader.project_id, submission.key
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        earlier = await idempotency.claim(connection, project_id, key) if key else None
        if earlier is not None:
            return earlier
        responses = [
            await _register(connection, submission, document)
            async for document in _load(submission.documents)
        ]
        if key:
            await idempotency.store(connection, project_id, key, responses)
    return tuple(responses)


@repeatable
async def find_earlier(
    database: Database, reader: Reader, key: IdempotencyKey
) -> tuple[IngestResponse, ...] | None:
    """Return the responses of a submission with this key, None where it is new; raise `KeyReused`."""
    async with database.transaction() as connection:
        return await idempotency.find(connection, reader.project_id, key)


async def _load(documents: Iterable[NewDocument]) -> AsyncGenerator[NewDocument, None]:
    """Yield the documents, each loaded in a thread: it may have many bytes."""
    waiting = iter(documents)
    while (document := await asyncio.to_thread(next, waiting, None)) is not None:
        yield document


async def _register(
    connection: Connection, submission: Submission, document: NewDocument
) -> IngestResponse:
    reader, tags = submission.reader, document.acl_tags
    old: Tags | None = None
    parts: list[DocumentId] = []
    if document.system == WEB:
        page_id = await submitted.find_page(connection, reader.project_id, document.url, tags)
        document = replace(document, source_id=page_id or str(new_id()))
        if page_id is not None:  # others see it, and what it is called
            submission.authority.require_all(tags)
    elif document.system == UPLOAD:
        ref = document_ref(document)
        earlier = await submitted.find_upload_tags(connection, reader, ref)
        if earlier is not None:  # others see it, and get what it says now
            submission.authority.require_all(earlier)
    else:
        old = await submitted.find_file_tags(connection, reader, document.url)
    if old is None:
        submission.authority.require_new(tags)
    else:
        submission.authority.require_change(old, tags)
        parts = await submitted.list_parts(connection, reader, document.url) if old != tags else []
    (job,) = await registration.register(connection, reader.project_id, [document])
    if parts:  # who sees a file sees what is in it
        await documents.change_access(connection, reader.project_id, dict.fromkeys(parts, tags))
    return IngestResponse(
        job_id=job.id,
        document_id=job.document_id,
        status=JobState.QUEUED,
        estimated_chunks=job.estimated_chunks,
    )


@repeatable
async def change_access(
    database: Database, reader: Reader, authority: TagAuthority, document: DocumentId, tags: Tags
) -> list[DocumentId]:
    """Give one of the reader's documents other tags, and its parts with it, and return them all.

    Raises `NotFound`, or `Invalid` where the authority may not.
    """
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        changed = await submitted.add_parts(connection, reader, [document])
        old_tags = await submitted.lock_tags(connection, reader, changed)
        if document not in old_tags:
            raise NotFound("Document not found")
        authority.require_change(old_tags[document], tags)
        await documents.change_access(connection, reader.project_id, dict.fromkeys(changed, tags))
    return changed

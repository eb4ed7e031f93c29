"""Durable work: jobs claimed under a lease, one document each.

A worker writes for a job only inside a transaction that began with `advance` or `finish`, which fail with
`Lost` once the lease has gone to another worker. So a worker that was paused past its lease can do no harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.documents import Format
from lightwell.domain.entity_refs import author_ref
from lightwell.domain.errors import Lost
from lightwell.domain.ids import ClassId, DocumentId, GlobalRef, JobId, ProjectId, new_id
from lightwell.domain.jobs import JobState
from lightwell.records.database import Connection, Database, Row, repeatable
from lightwell.records.locks import lock_project


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A job in the hands of one worker, with its document; `step` is the step to go on with, "" at first.

    `upload` holds the document's bytes until it has been cut into chunks, and is b"" from then on.
    """

    job_id: JobId
    project_id: ProjectId
    document_id: DocumentId
    ref: GlobalRef
    url: str
    title: str
    format: Format
    topic: str
    class_id: ClassId
    step: str
    attempts: int
    upload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who holds leases, and for how long: `seconds` without a heartbeat, and others may take over."""

    name: str
    seconds: float


MAX_ATTEMPTS = 10
"""A job that was begun this often without an end fails by itself: it may have killed its workers."""

_CLAIM = """
WITH next AS (
    SELECT id FROM ingestion_jobs
    WHERE project_id = %(project_id)s
      AND (%(only)s::uuid[] IS NULL OR document_id = ANY(%(only)s))
      AND status IN ('queued', 'chunking', 'embedding', 'extracting')
      AND (leased_until IS NULL OR leased_until < now())
    ORDER BY created_at, id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE ingestion_jobs AS job
    SET leased_by = %(worker)s,
        leased_until = now() + make_interval(secs => %(seconds)s),
        attempts = attempts + 1,
        status = CASE status WHEN 'queued' THEN 'chunking' ELSE status END,
        started_at = coalesce(started_at, now())
    FROM next WHERE job.id = next.id
    RETURNING job.*
), document AS (
    SELECT document_id FROM source_documents
    WHERE document_id IN (SELECT document_id FROM claimed WHERE current_step = '')
    ORDER BY document_id FOR NO KEY UPDATE
), begun AS (
    UPDATE source_documents SET status = 'chunking'
    FROM document WHERE source_documents.document_id = document.document_id
)
SELECT claimed.id, claimed.project_id, document_id, global_ref, source_url, title, format, topic_tag, class_id,
       claimed.current_step, claimed.attempts, coalesce(claimed.upload, ''::bytea)
FROM claimed JOIN source_documents USING (document_id)
ORDER BY claimed.created_at, claimed.id
"""

_AGAIN = """
INSERT INTO ingestion_jobs (id, project_id, document_id, status, current_step, progress, total_chunks, processed_chunks)
SELECT given.id, project_id, document_id, 'extracting', %(step)s, 75, chunk_count, chunk_count
FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[]) AS given (id, document_id)
JOIN source_documents AS document USING (document_id)
WHERE project_id = %(project_id)s AND class_id = ANY(%(classes)s) AND status = 'active' AND NOT is_deleted
ON CONFLICT DO NOTHING
"""

# Rows are locked in the order of their keys, here and below: nobody waits in a circle (records/locks.py).
_OWN = """
WITH own AS (
    SELECT id FROM ingestion_jobs
    WHERE id = ANY(%(jobs)s) AND leased_by = %(worker)s AND leased_until > now()
    ORDER BY id FOR UPDATE
)
"""

_ADVANCE = f"""
{_OWN}
UPDATE ingestion_jobs
SET status = %(status)s, current_step = %(step)s, progress = greatest(progress, %(progress)s),
    leased_until = now() + make_interval(secs => %(seconds)s)
FROM own WHERE ingestion_jobs.id = own.id
RETURNING document_id
"""  # noqa: S608 - only our own words

_RENEW = f"""
{_OWN}
UPDATE ingestion_jobs SET leased_until = now() + make_interval(secs => %(seconds)s)
FROM own WHERE ingestion_jobs.id = own.id
"""  # noqa: S608 - only our own words

_DOCUMENT_STATE = """
WITH document AS (
    SELECT document_id FROM source_documents WHERE document_id = ANY(%(documents)s)
    ORDER BY document_id FOR NO KEY UPDATE
)
UPDATE source_documents SET status = %(status)s, error_code = '', error_message = ''
FROM document
WHERE source_documents.document_id = document.document_id AND status IS DISTINCT FROM %(status)s
"""

_COUNTED = """
UPDATE ingestion_jobs
SET processed_chunks = processed_chunks + counted.chunks,
    progress = 25 + 50 * (processed_chunks + counted.chunks) / greatest(total_chunks, 1)
FROM unnest(%(jobs)s::uuid[], %(chunks)s::integer[]) AS counted (id, chunks)
WHERE ingestion_jobs.id = counted.id
"""

# A copied file has the time of its copying: what it says of itself is better, unless that cannot be.
_CUT = """
WITH given AS (
    SELECT * FROM unnest(%(jobs)s::uuid[], %(chunks)s::integer[], %(titles)s::text[], %(authors)s::text[],
                         %(author_refs)s::text[], %(dates)s::timestamptz[])
        AS given (id, chunks, title, author, author_ref, dated)
), job AS (
    UPDATE ingestion_jobs SET total_chunks = given.chunks, processed_chunks = 0, upload = NULL
    FROM given WHERE ingestion_jobs.id = given.id
    RETURNING document_id, given.title, given.author, given.author_ref, given.dated
)
UPDATE source_documents
SET title = job.title, author = coalesce(nullif(source_documents.author, ''), job.author),
    author_ref = coalesce(source_documents.author_ref, job.author_ref),
    updated_at = CASE WHEN source_system = 'file' AND job.dated > 'epoch' AND job.dated <= now() THEN job.dated
                      ELSE updated_at END
FROM job WHERE source_documents.document_id = job.document_id
"""

_COMPLETE = f"""
{_OWN}
UPDATE ingestion_jobs
SET status = 'complete', current_step = '', progress = 100, processed_chunks = coalesce(total_chunks, 0),
    leased_by = NULL, leased_until = NULL, completed_at = now(), error_code = '', error_message = ''
FROM own WHERE ingestion_jobs.id = own.id
RETURNING document_id
"""  # noqa: S608 - only our own words

_FAIL = """
WITH failed AS (
    UPDATE ingestion_jobs
    SET status = 'failed', error_code = %(code)s, error_message = %(message)s,
        leased_by = NULL, leased_until = NULL, completed_at = now()
    WHERE id = %(job)s AND leased_by = %(worker)s AND leased_until > now()
    RETURNING document_id
), emptied AS (
    DELETE FROM document_chunks USING failed
    WHERE document_chunks.document_id = failed.document_id AND class_id = 0
)
UPDATE source_documents SET status = 'failed', error_code = %(code)s, error_message = %(message)s
FROM failed WHERE source_documents.document_id = failed.document_id
"""

_HEARTBEAT = """
WITH own AS (
    SELECT id FROM ingestion_jobs
    WHERE leased_by = %(worker)s AND leased_until > now()
      AND status IN ('queued', 'chunking', 'embedding', 'extracting')
    ORDER BY id FOR UPDATE
)
UPDATE ingestion_jobs SET leased_until = now() + make_interval(secs => %(seconds)s)
FROM own WHERE ingestion_jobs.id = own.id
"""

_RELEASE = """
WITH own AS (
    SELECT id FROM ingestion_jobs
    WHERE leased_by = %(worker)s AND status IN ('queued', 'chunking', 'embedding', 'extracting')
      AND (%(jobs)s::uuid[] IS NULL OR id = ANY(%(jobs)s))
    ORDER BY id FOR UPDATE
)
UPDATE ingestion_jobs
SET leased_by = NULL, leased_until = NULL,
    attempts = attempts - CASE WHEN leased_until > now() THEN %(attempts)s ELSE 0 END
FROM own WHERE ingestion_jobs.id = own.id
"""

_OPEN = """
SELECT count(*) FROM ingestion_jobs
WHERE project_id = %(project_id)s AND (%(only)s::uuid[] IS NULL OR document_id = ANY(%(only)s)) AND status IN ('queued', 'chunking', 'embedding', 'extracting')
"""

_OPEN_URLS = """
SELECT source_url FROM ingestion_jobs AS job JOIN source_documents USING (document_id)
WHERE job.project_id = %(project_id)s AND job.status IN ('queued', 'chunking', 'embedding', 'extracting')
"""

_OPEN_FOR = """
SELECT count(*) FROM ingestion_jobs AS job JOIN source_documents USING (document_id)
WHERE class_id = ANY(%(classes)s) AND job.status IN ('queued', 'chunking', 'embedding', 'extracting')
"""


@repeatable
async def enqueue_reextraction(
    database: Database, reader: Reader, documents: Sequence[DocumentId], *, step: str
) -> int:
    """Enqueue those of the reader's documents that are published, from this step on; return how many.

    One that has an open job is left out: it is read anew anyway.
    """
    parameters = {
        "ids": [new_id() for _ in documents],
        "documents": list(documents),
        "project_id": reader.project_id,
        "classes": list(reader.classes),
        "step": step,
    }
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        return (await connection.execute(_AGAIN, parameters)).rowcount


async def claim(
    database: Database,
    project_id: ProjectId,
    worker: Worker,
    *,
    limit: int,
    only: Sequence[DocumentId] | None = None,
) -> list[Claim]:
    """Take up to `limit` open jobs, oldest first, whose lease is free or has run out; `only` those of these documents."""
    parameters = {
        "project_id": project_id,
        "worker": worker.name,
        "seconds": worker.seconds,
        "limit": limit,
        "only": None if only is None else list(only),
    }
    return [_claim(row) for row in await database.rows(_CLAIM, parameters)]


async def advance(
    connection: Connection,
    jobs: Sequence[JobId],
    worker: Worker,
    *,
    state: JobState,
    step: str,
    progress: int,
) -> None:
    """Begin a step of all these jobs, or raise `Lost` when any of them is no longer this worker's."""
    parameters = {
        "jobs": list(jobs),
        "worker": worker.name,
        "seconds": worker.seconds,
        "status": state.value,
        "step": step,
        "progress": progress,
    }
    rows = await (await connection.execute(_ADVANCE, parameters)).fetchall()
    if len(rows) != len(jobs):
        raise Lost("Another worker has taken these jobs over")
    documents: list[UUID] = [row[0] for row in rows]
    await connection.execute(_DOCUMENT_STATE, {"documents": documents, "status": state.value})


async def renew(connection: Connection, jobs: Sequence[JobId], worker: Worker) -> None:
    """Begin another transaction of the step that these jobs are in, or raise `Lost`."""
    parameters = {"jobs": list(jobs), "worker": worker.name, "seconds": worker.seconds}
    renewed = await connection.execute(_RENEW, parameters)
    if renewed.rowcount != len(jobs):
        raise Lost("Another worker has taken these jobs over")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedJob:
    """What cutting a job's document into chunks brought to light."""

    job_id: JobId
    chunks: int
    title: str
    author: str
    dated: datetime | None


async def record_chunking(connection: Connection, cuts: Sequence[ChunkedJob]) -> None:
    """Record what each job's document is, and let go of its bytes."""
    await connection.execute(
        _CUT,
        {
            "jobs": [entry.job_id for entry in cuts],
            "chunks": [entry.chunks for entry in cuts],
            "titles": [entry.title for entry in cuts],
            "authors": [entry.author for entry in cuts],
            "author_refs": [author_ref(entry.author) for entry in cuts],
            "dates": [entry.dated for entry in cuts],
        },
    )


async def add_processed(connection: Connection, chunks: dict[JobId, int]) -> None:
    """Add to each job's processed chunks."""
    await connection.execute(_COUNTED, {"jobs": list(chunks), "chunks": list(chunks.values())})


async def complete(connection: Connection, jobs: Sequence[JobId], worker: Worker) -> None:
    """End these jobs well, or raise `Lost`."""
    done = await connection.execute(_COMPLETE, {"jobs": list(jobs), "worker": worker.name})
    rows = await done.fetchall()
    if len(rows) != len(jobs):
        raise Lost("Another worker has taken these jobs over")
    documents: list[UUID] = [row[0] for row in rows]
    await connection.execute(_DOCUMENT_STATE, {"documents": documents, "status": "active"})


async def fail(database: Database, job: JobId, worker: Worker, *, code: str, message: str) -> None:
    """End a job badly; what it had staged is dropped, what was published before stays."""
    await database.execute(
        _FAIL, {"job": job, "worker": worker.name, "code": code, "message": message}
    )


async def renew_leases(database: Database, worker: Worker) -> int:
    """Renew all of the worker's leases; return how many it still holds."""
    return await database.execute(_HEARTBEAT, {"worker": worker.name, "seconds": worker.seconds})


async def release(database: Database, worker: Worker, jobs: Sequence[JobId] | None = None) -> None:
    """Free these of the worker's open jobs, None for all, so that others need not wait; the attempt counts."""
    given = None if jobs is None else list(jobs)
    await database.execute(_RELEASE, {"worker": worker.name, "attempts": 0, "jobs": given})


async def undo_claim(database: Database, worker: Worker) -> None:
    """Free all of the worker's open jobs as if they had not been claimed: what stopped them was not theirs.

    The attempt counts all the same where the lease has run out: that may well be the document's doing.
    """
    await database.execute(_RELEASE, {"worker": worker.name, "attempts": 1, "jobs": None})


async def count_open(
    database: Database, project_id: ProjectId, only: Sequence[DocumentId] | None = None
) -> int:
    """Return how many jobs of the project, or of these documents of it, are not at their end."""
    documents = None if only is None else list(only)
    rows = await database.rows(_OPEN, {"project_id": project_id, "only": documents})
    return int(rows[0][0])


async def open_urls(database: Database, project_id: ProjectId) -> set[str]:
    """Return the URLs of the project's documents whose jobs are not at their end, for whoever follows their source."""
    return {row[0] for row in await database.rows(_OPEN_URLS, {"project_id": project_id})}


async def count_open_for(database: Database, reader: Reader) -> int:
    """Return how many open jobs are for documents that the reader sees."""
    rows = await database.rows(_OPEN_FOR, {"classes": list(reader.classes)})
    return int(rows[0][0])


def _claim(row: Row) -> Claim:
    return Claim(
        job_id=JobId(row[0]),
        project_id=ProjectId(row[1]),
        document_id=DocumentId(row[2]),
        ref=GlobalRef(row[3]),
        url=row[4],
        title=row[5],
        format=Format(row[6]),
        topic=row[7],
        class_id=ClassId(row[8]),
        step=row[9],
        attempts=row[10],
        upload=bytes(row[11]),
    )

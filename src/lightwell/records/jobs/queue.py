"""The job queue: one job per document, claimed under a lease.

A worker writes for a job only in transactions that begin with `advance`, `renew_or_raise` or `complete`. These
raise `LeaseLost` once another worker has taken the job over. So a worker that was paused longer than its lease can do
no harm. `renew_all_leases` is the heartbeat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.access import Reader
from lightwell.domain.documents import Format
from lightwell.domain.entity_refs import author_ref
from lightwell.domain.errors import LeaseLost
from lightwell.domain.ids import ClassId, DocumentId, GlobalRef, JobId, ProjectId, new_id
from lightwell.domain.jobs import JobState
from lightwell.domain.usage import TokenSummary
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.locks import LeaseHolder, lock_project
from lightwell.records.rows import fetch_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A job that a worker has claimed, with its document; `step` is the step to continue with, "" at first.

    `is_item` marks a document of a business system.
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
    is_item: bool = False


MAX_ATTEMPTS = 10
"""A job that was claimed this often without an end fails: it may crash its workers."""

_CLAIM = """
WITH next AS (
    SELECT id FROM ingestion_jobs
    WHERE project_id = %(project_id)s
      AND (%(only)s::uuid[] IS NULL OR document_id = ANY(%(only)s))
      AND status IN ('queued', 'chunking', 'embedding', 'extracting')
      AND lease_is_over(leased_until)
    ORDER BY created_at, id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE ingestion_jobs AS job
    SET leased_by = %(worker)s,
        leased_until = clock_timestamp() + make_interval(secs => %(seconds)s),
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
SELECT claimed.id AS job_id, claimed.project_id, document_id, global_ref AS ref, source_url AS url, title, format,
       topic_tag AS topic, class_id, claimed.current_step AS step, claimed.attempts,
       source_key IS NOT NULL AS is_item
FROM claimed JOIN source_documents USING (document_id)
ORDER BY claimed.created_at, claimed.id
"""

_REENQUEUE = """
INSERT INTO ingestion_jobs (id, project_id, document_id, status, current_step, progress, total_chunks, processed_chunks)
SELECT given.id, project_id, document_id, 'extracting', %(step)s, 75, chunk_count, chunk_count
FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[]) AS given (id, document_id)
JOIN source_documents AS document USING (document_id)
WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND status = 'active' AND NOT is_deleted
ON CONFLICT DO NOTHING
"""

# Statements lock rows by their keys (records/locks.py). A lease runs from its statement on: transactions may take long.
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
    leased_until = clock_timestamp() + make_interval(secs => %(seconds)s)
FROM own WHERE ingestion_jobs.id = own.id
RETURNING document_id
"""  # noqa: S608 - only our own words

_RENEW = f"""
{_OWN}
UPDATE ingestion_jobs SET leased_until = clock_timestamp() + make_interval(secs => %(seconds)s)
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

_ADD_PROCESSED = """
UPDATE ingestion_jobs
SET processed_chunks = processed_chunks + counted.chunks,
    progress = 25 + 50 * (processed_chunks + counted.chunks) / greatest(total_chunks, 1)
FROM unnest(%(jobs)s::uuid[], %(chunks)s::integer[]) AS counted (id, chunks)
WHERE ingestion_jobs.id = counted.id
"""

# Copying a file changes its time, so a plausible date in the document itself is preferred; without one the file is not dated.
_RECORD_CHUNKING = """
WITH given AS (
    SELECT * FROM unnest(%(jobs)s::uuid[], %(chunks)s::integer[], %(titles)s::text[], %(authors)s::text[],
                         %(author_refs)s::text[], %(dates)s::timestamptz[], %(omitted)s::integer[])
        AS given (id, chunks, title, author, author_ref, dated, omitted)
), job AS (
    UPDATE ingestion_jobs SET total_chunks = given.chunks, processed_chunks = 0
    FROM given WHERE ingestion_jobs.id = given.id
    RETURNING document_id, given.title, given.author, given.author_ref, given.dated, given.omitted,
              coalesce(given.dated > 'epoch' AND given.dated <= now(), false) AS is_plausible
)
UPDATE source_documents
SET title = job.title, omitted_chunks = job.omitted, author = coalesce(nullif(source_documents.author, ''), job.author),
    author_ref = coalesce(source_documents.author_ref, job.author_ref),
    updated_at = CASE WHEN NOT is_dated AND job.is_plausible THEN job.dated ELSE updated_at END,
    is_dated = is_dated OR job.is_plausible
FROM job WHERE source_documents.document_id = job.document_id
"""

_ADD_USAGE = """
UPDATE ingestion_jobs
SET model_calls = model_calls + spent.calls, input_tokens = input_tokens + spent.input,
    output_tokens = output_tokens + spent.output
FROM unnest(%(jobs)s::uuid[], %(calls)s::integer[], %(inputs)s::bigint[], %(outputs)s::bigint[])
    AS spent (id, calls, input, output)
WHERE ingestion_jobs.id = spent.id
"""

_RECORD_UNKNOWN = """
UPDATE ingestion_jobs SET unknown_predicates = given.relations
FROM unnest(%(jobs)s::uuid[], %(relations)s::integer[]) AS given (id, relations)
WHERE ingestion_jobs.id = given.id
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

_RENEW_ALL = """
WITH own AS (
    SELECT id FROM ingestion_jobs
    WHERE leased_by = %(worker)s AND leased_until > now()
      AND status IN ('queued', 'chunking', 'embedding', 'extracting')
    ORDER BY id FOR UPDATE
)
UPDATE ingestion_jobs SET leased_until = clock_timestamp() + make_interval(secs => %(seconds)s)
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

_OPEN_OF_READER = """
SELECT count(*) FROM ingestion_jobs AS job JOIN source_documents USING (document_id)
WHERE sees(%(classes)s, class_id) AND job.status IN ('queued', 'chunking', 'embedding', 'extracting')
"""


@repeatable
async def enqueue_reextraction(
    database: Database, reader: Reader, documents: Sequence[DocumentId], *, step: str
) -> int:
    """Enqueue those of the reader's documents that are published, from this step on; return their number.

    A document with an open job is left out, because that job extracts from it anyway.
    """
    parameters = {
        "ids": [new_id() for _ in documents],
        "documents": list(documents),
        **reader.parameters,
        "step": step,
    }
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        return (await connection.execute(_REENQUEUE, parameters)).rowcount


async def claim(
    database: Database,
    project_id: ProjectId,
    worker: LeaseHolder,
    *,
    limit: int,
    only: Sequence[DocumentId] | None = None,
) -> list[Claim]:
    """Claim up to `limit` open jobs, oldest first, whose lease is free or has expired; `only` those of these documents."""
    documents = None if only is None else list(only)
    lease = {"worker": worker.name, "seconds": worker.seconds}
    parameters = {"project_id": project_id, "limit": limit, "only": documents, **lease}
    return await database.rows(_CLAIM, parameters, into=Claim)


async def advance(
    connection: Connection,
    jobs: Sequence[JobId],
    worker: LeaseHolder,
    *,
    state: JobState,
    step: str,
    progress: int,
) -> None:
    """Begin a step of these jobs and renew their leases; raise `LeaseLost` if another worker has taken one of them over."""
    parameters = {
        "jobs": list(jobs),
        "worker": worker.name,
        "seconds": worker.seconds,
        "status": state.value,
        "step": step,
        "progress": progress,
    }
    documents = await fetch_values(connection, _ADVANCE, parameters)
    if len(documents) != len(jobs):
        raise LeaseLost("Another worker has taken these jobs over")
    await connection.execute(_DOCUMENT_STATE, {"documents": documents, "status": state.value})


async def renew_or_raise(
    connection: Connection, jobs: Sequence[JobId], worker: LeaseHolder
) -> None:
    """Renew these jobs' leases, at either end of a transaction; raise `LeaseLost` if another worker has taken one over."""
    parameters = {"jobs": list(jobs), "worker": worker.name, "seconds": worker.seconds}
    renewed = await connection.execute(_RENEW, parameters)
    if renewed.rowcount != len(jobs):
        raise LeaseLost("Another worker has taken these jobs over")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedJob:
    """The result of chunking a job's document: the numbers of chunks, and title, author and date from the document."""

    job_id: JobId
    chunks: int
    title: str
    author: str
    document_date: datetime | None
    omitted: int = 0


async def record_chunking(connection: Connection, chunked: Sequence[ChunkedJob]) -> None:
    """Store the result of chunking."""
    await connection.execute(
        _RECORD_CHUNKING,
        {
            "jobs": [entry.job_id for entry in chunked],
            "chunks": [entry.chunks for entry in chunked],
            "titles": [entry.title for entry in chunked],
            "authors": [entry.author for entry in chunked],
            "author_refs": [author_ref(entry.author) for entry in chunked],
            "dates": [entry.document_date for entry in chunked],
            "omitted": [entry.omitted for entry in chunked],
        },
    )


async def add_processed(connection: Connection, chunks: dict[JobId, int]) -> None:
    """Add to each job's number of processed chunks."""
    await connection.execute(
        _ADD_PROCESSED, {"jobs": list(chunks), "chunks": list(chunks.values())}
    )


async def add_usage(database: Database, usage_by_job: Mapping[JobId, TokenSummary]) -> None:
    """Add these calls of models, for the extraction of the jobs' documents, to what each job has cost."""
    spent = {job: usage for job, usage in sorted(usage_by_job.items()) if usage.calls}
    if spent:
        await database.execute(
            _ADD_USAGE,
            {
                "jobs": list(spent),
                "calls": [usage.calls for usage in spent.values()],
                "inputs": [usage.total_input_tokens for usage in spent.values()],
                "outputs": [usage.total_output_tokens for usage in spent.values()],
            },
        )


async def record_unknown_predicates(connection: Connection, counts: Mapping[JobId, int]) -> None:
    """Record for each job how many relations became RELATED_TO because their predicate is not in the list."""
    await connection.execute(
        _RECORD_UNKNOWN, {"jobs": list(counts), "relations": list(counts.values())}
    )


async def complete(connection: Connection, jobs: Sequence[JobId], worker: LeaseHolder) -> None:
    """Complete these jobs; raise `LeaseLost` if another worker has taken one of them over."""
    parameters = {"jobs": list(jobs), "worker": worker.name}
    documents = await fetch_values(connection, _COMPLETE, parameters)
    if len(documents) != len(jobs):
        raise LeaseLost("Another worker has taken these jobs over")
    await connection.execute(_DOCUMENT_STATE, {"documents": documents, "status": "active"})


async def fail(
    database: Database, job: JobId, worker: LeaseHolder, *, code: str, message: str
) -> None:
    """Fail a job: delete the document's staged chunks, keep its published ones."""
    await database.execute(
        _FAIL, {"job": job, "worker": worker.name, "code": code, "message": message}
    )


async def renew_all_leases(database: Database, worker: LeaseHolder) -> int:
    """Renew the leases of all jobs of the worker, as a heartbeat; return their number."""
    return await database.execute(_RENEW_ALL, {"worker": worker.name, "seconds": worker.seconds})


async def release(
    database: Database, worker: LeaseHolder, jobs: Sequence[JobId] | None = None
) -> None:
    """Release these open jobs of the worker, None for all, so that others can claim them; the attempt counts."""
    job_ids = None if jobs is None else list(jobs)
    await database.execute(_RELEASE, {"worker": worker.name, "attempts": 0, "jobs": job_ids})


async def release_without_attempt(database: Database, worker: LeaseHolder) -> None:
    """Release all open jobs of the worker without counting the attempt: something other than the jobs stopped
    it.

    The attempt counts if the lease has expired, because then the document may be the cause.
    """
    await database.execute(_RELEASE, {"worker": worker.name, "attempts": 1, "jobs": None})


async def count_open(
    database: Database, project_id: ProjectId, only: Sequence[DocumentId] | None = None
) -> int:
    """Return the number of open jobs of the project, or of these documents."""
    documents = None if only is None else list(only)
    return await database.value(_OPEN, {"project_id": project_id, "only": documents})


async def list_open_urls(database: Database, project_id: ProjectId) -> set[str]:
    """Return the URLs of the project's documents with open jobs."""
    return set(await database.values(_OPEN_URLS, {"project_id": project_id}))


async def count_open_for(database: Database, reader: Reader) -> int:
    """Return the number of open jobs of documents that the reader sees."""
    return await database.value(_OPEN_OF_READER, reader.parameters)

"""Job control for people: list, show, retry, cancel.

A failed or cancelled job keeps what a retry needs, the document's bytes or its staged chunks, until the
document has a newer job or is deleted.
"""

from typing import Any

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.jobs import VECTORS, Job, JobState
from lightwell.domain.usage import OperationType, TokenSummary
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch, fetch_values, make

_STATE = "CASE WHEN waiting.chunks > 0 THEN 'embedding' ELSE job.status END"

_COLUMNS = f"""
job.id, job.project_id, job.document_id, document.source_url AS url, {_STATE} AS state,
CASE WHEN waiting.chunks > 0 THEN 'vectors' ELSE job.current_step END AS step,
CASE WHEN waiting.chunks > 0 THEN 99 - 74 * waiting.chunks / greatest(job.total_chunks, waiting.chunks) ELSE job.progress END AS progress,
job.total_chunks, greatest(0, job.processed_chunks - waiting.chunks) AS processed_chunks, job.error_code,
job.error_message AS error, job.attempts, job.created_at, job.started_at,
CASE WHEN waiting.chunks = 0 THEN job.completed_at END AS completed_at,
job.model_calls, job.input_tokens, job.output_tokens, job.unknown_predicates
"""

# A job whose document is published is shown as open until its passages have vectors: the document's latest one that has published.
_WITH_WAITING = """
ingestion_jobs AS job JOIN source_documents AS document USING (document_id)
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS chunks FROM chunk_gaps AS gap JOIN embedding_spaces AS space USING (space_id)
    WHERE gap.document_id = job.document_id AND space.status = 'active' AND job.status = 'complete'
      AND NOT EXISTS (SELECT FROM ingestion_jobs AS later
                      WHERE later.document_id = job.document_id AND later.id > job.id AND later.status = 'complete')
) AS waiting
"""

_JOB = f"""
SELECT {_COLUMNS}
FROM {_WITH_WAITING}
WHERE job.id = %(job)s AND document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id)
  AND NOT document.is_deleted
"""  # noqa: S608 - only our own column names

_JOB_TO_CHANGE = f"{_JOB} FOR UPDATE OF job"

_JOBS = f"""
SELECT {_COLUMNS}
FROM {_WITH_WAITING}
WHERE document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
  AND (%(before)s::uuid IS NULL OR job.id < %(before)s) AND (%(state)s::text IS NULL OR {_STATE} = %(state)s)
  AND (%(document)s::uuid IS NULL OR job.document_id = %(document)s)
ORDER BY job.id DESC LIMIT %(limit)s
"""  # noqa: S608 - only our own column names

_LATEST = """
SELECT job.id FROM ingestion_jobs AS job JOIN source_documents AS document USING (document_id)
WHERE job.document_id = %(document)s AND sees(%(classes)s, document.class_id)
ORDER BY job.id DESC LIMIT 1
"""

# A retry needs the step's input: the bytes, the staged chunks, or the published ones.
_RETRY = """
UPDATE ingestion_jobs AS job
SET status = CASE current_step WHEN '' THEN 'queued' WHEN 'embed' THEN 'embedding' ELSE 'extracting' END,
    error_code = '', error_message = '', attempts = 0, completed_at = NULL
WHERE job.id = %(job)s
  AND CASE WHEN current_step = '' THEN EXISTS (SELECT FROM document_originals
                                              WHERE original_id = job.id AND NOT is_published)
           ELSE EXISTS (SELECT FROM document_chunks AS chunk
                        WHERE chunk.document_id = job.document_id
                          AND (chunk.class_id = 0) = (job.current_step IN ('embed', 'read'))) END
"""

_WAITING = """
UPDATE source_documents SET status = 'pending', error_code = '', error_message = ''
WHERE document_id = %(document)s
"""

_CANCEL = """
UPDATE ingestion_jobs
SET status = 'cancelled', leased_by = NULL, leased_until = NULL, completed_at = now()
WHERE id = %(job)s
"""

# Published chunks stay. The next sync of the source finds a failed document and enqueues it again.
_CANCELLED = """
UPDATE source_documents
SET status = 'failed', error_code = 'cancelled',
    error_message = 'its ingestion was cancelled; retry the job, or ingest its source again'
WHERE document_id = %(document)s
"""

_STILL_ACTIVE = "UPDATE source_documents SET status = 'active' WHERE document_id = %(document)s"

_READ_AGAIN, _PUBLISHED = "read again", ("index", VECTORS)
_UNKNOWN = "There is no job {} that you may see"


async def get(database: Database, reader: Reader, job_id: JobId) -> Job:
    """Return a job of a document that the reader sees; raise `NotFound`."""
    job = await database.row(_JOB, {**reader.parameters, "job": job_id}, into=_job)
    if job is None:
        raise NotFound(_UNKNOWN.format(job_id))
    return job


async def list_page(
    database: Database,
    reader: Reader,
    *,
    state: JobState | None,
    document: DocumentId | None,
    before: JobId | None,
    limit: int,
) -> list[Job]:
    """Return up to `limit` jobs of documents that the reader sees, the latest first, those before `before`."""
    parameters = {
        **reader.parameters,
        "state": state and state.value,
        "document": document,
        "before": before,
        "limit": limit,
    }
    return await database.rows(_JOBS, parameters, into=_job)


@repeatable
async def retry(database: Database, reader: Reader, job_id: JobId) -> Job:
    """Requeue a failed or cancelled job at the step where it ended; raise `NotFound` or `Invalid`."""
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        job = await _lock_for_update(connection, reader, job_id)
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            raise Invalid(
                f"The job is {job.state.value}: only failed and cancelled jobs can be retried"
            )
        keys = {"job": job_id, "document": job.document_id, **reader.parameters}
        (latest,) = await fetch_values(connection, _LATEST, keys)
        if latest != job_id:
            raise Invalid(f"The document has a newer job, {latest}: retry that one")
        retried = await connection.execute(_RETRY, keys)
        if not retried.rowcount:
            raise Invalid(
                "The content for this job is no longer stored: run `lightwell ingest` on its source again"
            )
        await connection.execute(_WAITING, keys)
    return await get(database, reader, job_id)


@repeatable
async def cancel(database: Database, reader: Reader, job_id: JobId) -> Job:
    """Cancel an open job; raise `NotFound`, or `Invalid` if it has ended or its document is published.

    What the document showed before stays. A worker that holds the job stops at its next step.
    """
    async with database.transaction() as connection:
        job = await _lock_for_update(connection, reader, job_id)
        if not job.state.is_open:
            raise Invalid(f"The job is {job.state.value} already: there is nothing to cancel")
        if job.step in _PUBLISHED:
            raise Invalid("The document is published already: delete the document to remove it")
        keys = {"job": job_id, "document": job.document_id}
        await connection.execute(_CANCEL, keys)
        is_reread = job.step == _READ_AGAIN
        await connection.execute(_STILL_ACTIVE if is_reread else _CANCELLED, keys)
    return await get(database, reader, job_id)


async def _lock_for_update(connection: Connection, reader: Reader, job_id: JobId) -> Job:
    parameters = {**reader.parameters, "job": job_id}
    for job in await fetch(connection, _JOB_TO_CHANGE, parameters, into=_job):
        return job
    raise NotFound(_UNKNOWN.format(job_id))


def _job(*, model_calls: int, input_tokens: int, output_tokens: int, **columns: Any) -> Job:
    tokens = {OperationType.INGESTION: input_tokens + output_tokens}
    usage = TokenSummary(
        calls=model_calls,
        total_input_tokens=input_tokens,
        total_output_tokens=output_tokens,
        by_operation_type=tokens if model_calls else {},
    )
    return make(Job, usage=usage, **columns)

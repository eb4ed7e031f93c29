"""Jobs: each ingests one document."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from lightwell.domain.api_keys import Scope
from lightwell.domain.ids import JobId
from lightwell.domain.jobs import JobState
from lightwell.domain.texts import require_text
from lightwell.entrypoints.operations.citations import Usage
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    After,
    Moment,
    NextAfter,
    PageLimit,
    Reply,
    page_of,
    parse_after,
    read_from,
)

jobs = Subject(prefix="/v1/jobs", tag="jobs")

JobName = Annotated[
    UUID,
    Field(description="The job's id.", examples=["019f0000-0000-7000-8000-000000000001"]),
]


class Job(Reply):
    """A job: the specification's IngestStatusResponse, and more. A cancelled job has the status `failed`.

    `progress` is a percentage. The chunks are counted once the document is parsed. In the `currentStep` `vectors` the document is
    found by its words and in the graph already; the job ends when all its chunks have vectors.
    `usage` is what the extraction from this document cost so far; `unknownPredicates` counts relations that became RELATED_TO.
    """

    job_id: Annotated[UUID, read_from("jobId", "id")]
    document_id: UUID
    document_url: Annotated[str, read_from("documentUrl", "url")]
    status: Literal["queued", "chunking", "embedding", "extracting", "complete", "failed"]
    job_state: Annotated[JobState, read_from("jobState", "state")]
    current_step: Annotated[str, read_from("currentStep", "step")]
    progress: Annotated[int, Field(ge=0, le=100)]
    total_chunks: int | None
    processed_chunks: int
    error_code: str
    error_message: str
    usage: Usage
    unknown_predicates: int
    attempts: int
    created_at: Moment
    started_at: Moment | None
    completed_at: Moment | None


class FollowedJob(Job):
    """A job as its stream shows it, with the rate of the last two minutes and how long the rest takes, both null while they are unknown.

    `secondsLeft` is known in the last step alone, `vectors`.
    """

    passages_per_minute: float | None = None
    seconds_left: float | None = None


class JobPage(Reply):
    """Jobs of documents that you see, the latest first."""

    jobs: list[Job]
    next_after: NextAfter


@jobs.operation("GET", scope=Scope.INGEST)
async def list_jobs(
    caller: Caller,
    state: JobState | None = None,
    document: Annotated[
        str, Field(max_length=2000, description="Id, reference or URL of a document.")
    ] = "",
    limit: PageLimit = 100,
    after: After = "",
) -> JobPage:
    """List the jobs of documents that the caller sees, the latest first."""
    require_text(document, "The document")
    following = await caller.knowledge_base.jobs.list(
        caller.reader,
        before=parse_after(after, JobId),
        state=state,
        document=document,
        limit=limit + 1,
    )
    page, next_after = page_of(following, limit, lambda job: str(job.id))
    return JobPage(jobs=[Job.model_validate(job) for job in page], next_after=next_after)


@jobs.operation("GET", "/{job_id}", scope=Scope.INGEST)
async def get_job(caller: Caller, job_id: JobName) -> Job:
    """Return a job: how far its document is, or why it failed."""
    return Job.model_validate(await caller.knowledge_base.jobs.get(caller.reader, JobId(job_id)))


@jobs.operation("POST", "/{job_id}/cancel", scope=Scope.INGEST)
async def cancel_job(caller: Caller, job_id: JobName) -> Job:
    """Cancel a job that has not ended; what its document showed before stays."""
    cancelled = await caller.knowledge_base.jobs.cancel(caller.reader, JobId(job_id))
    return Job.model_validate(cancelled)


@jobs.operation("POST", "/{job_id}/retry", scope=Scope.INGEST, has_job=True)
async def retry_job(caller: Caller, job_id: JobName) -> Job:
    """Enqueue a failed or cancelled job again, at the step where it stopped."""
    return Job.model_validate(await caller.knowledge_base.jobs.retry(caller.reader, JobId(job_id)))

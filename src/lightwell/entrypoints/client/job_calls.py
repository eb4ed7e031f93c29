"""Calls about jobs: each ingests one document."""

from uuid import UUID

from lightwell.entrypoints.operations.calls import Call, reader_of
from lightwell.entrypoints.schemas.jobs import JobPage, JobQuery, JobSchema

_PATH = "/v1/jobs"
_read_page = reader_of(JobPage)
_read_job = reader_of(JobSchema)


def list_jobs(query: JobQuery | None = None) -> Call[JobPage]:
    """List a page of jobs, the latest first."""
    return Call(method="GET", path=_PATH, query=query, read=_read_page)


def get_job(job: UUID | str) -> Call[JobSchema]:
    """Return a job: how far its document is, or why it failed."""
    return Call(method="GET", path=f"{_PATH}/{UUID(str(job))}", read=_read_job)


def cancel_job(job: UUID | str) -> Call[JobSchema]:
    """Cancel a job that has not ended; what its document showed before stays."""
    path = f"{_PATH}/{UUID(str(job))}/cancel"
    return Call(method="POST", path=path, read=_read_job, is_repeatable=False)


def retry_job(job: UUID | str) -> Call[JobSchema]:
    """Enqueue a failed or cancelled job again, at the step where it stopped."""
    path = f"{_PATH}/{UUID(str(job))}/retry"
    return Call(method="POST", path=path, read=_read_job, is_repeatable=False)

"""Jobs: list, status, cancel, retry, and their progress as events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import count
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request

from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden, LightwellError, NotFound
from lightwell.domain.ids import JobId
from lightwell.domain.jobs import Job
from lightwell.entrypoints.http.authentication import Caller, Ingesting, projects_of, recheck_caller
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.problems import Unauthenticated
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.schemas.jobs import (
    JobPage,
    JobQuery,
    JobSchema,
    job_page,
    job_schema,
)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobName = Annotated[
    UUID,
    Path(description="The job's id.", examples=["019f0000-0000-7000-8000-000000000001"]),
]

_POLL_SECONDS = 0.5
_POLLS_PER_RECHECK = 20


@router.get("")
async def list_jobs(query: Annotated[JobQuery, Query()], caller: Ingesting) -> JobPage:
    """List the jobs of documents that the caller sees, the latest first."""
    found = await caller.knowledge_base.jobs.list(
        caller.reader,
        before=query.before(),
        state=query.state,
        document=query.document,
        limit=query.limit + 1,
    )
    return job_page(found, query)


@router.get("/{job_id}")
async def get_job(job_id: JobName, caller: Ingesting) -> JobSchema:
    """Return a job: how far its document is, or why it failed."""
    return job_schema(await caller.knowledge_base.jobs.get(caller.reader, JobId(job_id)))


@router.post("/{job_id}/cancel")
async def cancel_job(job_id: JobName, caller: Ingesting) -> JobSchema:
    """Cancel a job that has not ended; what its document showed before stays."""
    return job_schema(await caller.knowledge_base.jobs.cancel(caller.reader, JobId(job_id)))


@router.post("/{job_id}/retry")
async def retry_job(
    job_id: JobName, caller: Ingesting, projects: Annotated[Projects, Depends(projects_of)]
) -> JobSchema:
    """Enqueue a failed or cancelled job again, at the step where it stopped."""
    retried = await caller.knowledge_base.jobs.retry(caller.reader, JobId(job_id))
    projects.has_work.set()
    return job_schema(retried)


@router.get("/{job_id}/events", response_class=EventStream, status_code=200)
async def stream_job(request: Request, job_id: JobName, caller: Ingesting) -> EventStream:
    """Send a job as event `progress` whenever it has changed, and as `done` when it has ended; `error` if it is gone."""

    async def renewed() -> Caller:
        try:
            return await recheck_caller(request, Scope.INGEST)
        except (Unauthenticated, Forbidden) as error:
            raise NotFound(f"There is no job {job_id} that you may see") from error

    events = follow_job(caller, JobId(job_id), renewed)
    return EventStream(events, render_error=render_error)


async def follow_job(
    caller: Caller, job_id: JobId, renewed: Callable[[], Awaitable[Caller]]
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a job until it has ended; raise `NotFound` where the caller does not see it, or not any more.

    `renewed` returns the caller as it is now. It is called before each event but the first, and now and then.
    """
    sent: Job | None = None
    for polls in count():
        job = await caller.knowledge_base.jobs.get(caller.reader, job_id)
        if polls and (job != sent or polls % _POLLS_PER_RECHECK == 0):
            caller = await renewed()
            job = await caller.knowledge_base.jobs.get(caller.reader, job_id)
        if job != sent:
            kind = "progress" if job.state.is_open else "done"
            yield format_event(kind=kind, data=job_schema(job).model_dump_json(by_alias=True))
            sent = job
        if not job.state.is_open:
            return
        await asyncio.sleep(_POLL_SECONDS)


def render_error(error: LightwellError) -> bytes:
    """Return the event of an error that ends the events."""
    data = json.dumps({"code": error.code, "error": str(error)}, ensure_ascii=False)
    return format_event(kind="error", data=data)

"""The progress of a job as events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import count
from time import monotonic
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request

from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden, LightwellError, NotFound
from lightwell.domain.ids import JobId
from lightwell.domain.jobs import VECTORS, Job
from lightwell.domain.pace import Pace
from lightwell.entrypoints.http.authentication import Caller, Ingesting, recheck_caller
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.problems import Unauthenticated
from lightwell.entrypoints.operations.jobs import FollowedJob

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobName = Annotated[
    UUID,
    Path(description="The job's id.", examples=["019f0000-0000-7000-8000-000000000001"]),
]

_POLL_SECONDS = 0.5
_POLLS_PER_RECHECK = 20


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
    pace = Pace()
    for polls in count():
        job = await caller.knowledge_base.jobs.get(caller.reader, job_id)
        if polls and (job != sent or polls % _POLLS_PER_RECHECK == 0):
            caller = await renewed()
            job = await caller.knowledge_base.jobs.get(caller.reader, job_id)
        if job != sent:
            kind = "progress" if job.state.is_open else "done"
            now = monotonic()
            pace.begin(now)
            if sent is not None and job.processed_chunks > sent.processed_chunks:
                pace.move(job.step, job.processed_chunks - sent.processed_chunks, now)
            reply = _measured(FollowedJob.model_validate(job), pace, now)
            yield format_event(kind=kind, data=reply.model_dump_json(by_alias=True))
            sent = job
        if not job.state.is_open:
            return
        await asyncio.sleep(_POLL_SECONDS)


def _measured(job: FollowedJob, pace: Pace, now: float) -> FollowedJob:
    """Return the job with its rate and remaining time, as far as this stream has seen it move."""
    rate = pace.rate(job.current_step, now)
    if rate is None or job.total_chunks is None:
        return job
    rest = job.total_chunks - job.processed_chunks
    is_last = job.current_step == VECTORS
    return job.model_copy(
        update={
            "passages_per_minute": round(60 * rate, 1),
            "seconds_left": round(rest / rate) if is_last else None,
        }
    )


def render_error(error: LightwellError) -> bytes:
    """Return the event of an error that ends the events."""
    data = json.dumps({"code": error.code, "error": str(error)}, ensure_ascii=False)
    return format_event(kind="error", data=data)

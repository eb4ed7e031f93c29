"""Workers: claim jobs under a lease, bring them in, give back what cannot be done now."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import structlog

from lightwell.domain.errors import Lost, ModelFailed
from lightwell.domain.ids import ProjectId, new_id
from lightwell.ingest.pipeline import ingest
from lightwell.ingest.way import Outcome, Way
from lightwell.records import jobs
from lightwell.records.jobs import Claim, Worker

LEASE_SECONDS = 30.0
JOBS_AT_ONCE = 8
_POLL_SECONDS = 0.5

_log = structlog.get_logger(__name__)


def new_worker(seconds: float = LEASE_SECONDS) -> Worker:
    """Return a worker with a name of its own; after `seconds` without a heartbeat others may take over."""
    return Worker(name=f"{socket.gethostname()}:{os.getpid()}:{new_id()}", seconds=seconds)


async def drain(way: Way, project_id: ProjectId, tell: Callable[[Outcome], None]) -> None:
    """Work until the project has no open job, also waiting for what other workers hold.

    Raises `ModelFailed` when a model does; the jobs then stay open for the next worker or the next command.
    """
    async with _leased(way):
        while True:
            if await _round(way, project_id, tell):
                continue
            if await jobs.open_jobs(way.database, project_id) == 0:
                return
            await asyncio.sleep(_POLL_SECONDS)


async def serve(
    way: Way, project_id: ProjectId, tell: Callable[[Outcome], None], stop: asyncio.Event
) -> None:
    """Work until told to stop; while a model fails, wait twice as long each time, a minute at most."""
    pause = _POLL_SECONDS
    async with _leased(way):
        while not stop.is_set():
            try:
                worked = await _round(way, project_id, tell)
                pause = _POLL_SECONDS
            except ModelFailed as error:
                _log.warning("a model failed; the jobs wait", error=str(error), seconds=pause)
                worked, pause = False, min(pause * 2, 60.0)
            if not worked:
                await _wait(stop, pause)


async def _round(way: Way, project_id: ProjectId, tell: Callable[[Outcome], None]) -> bool:
    """Claim and bring in one batch; return whether there was one."""
    batch = await jobs.claim(way.database, project_id, way.worker, limit=JOBS_AT_ONCE)
    if not batch:
        return False
    try:
        for part in _parts(batch):
            await ingest(way, part, tell)
    except Lost:
        _log.warning("another worker has taken over", jobs=len(batch))
        await jobs.release(way.database, way.worker)
    except ModelFailed:
        await jobs.release(way.database, way.worker)
        raise
    return True


def _parts(batch: list[Claim]) -> list[list[Claim]]:
    """Return the batch with each job that ended a worker before on its own, last."""
    fresh = [claim for claim in batch if claim.attempts == 1]
    return ([fresh] if fresh else []) + [[claim] for claim in batch if claim.attempts > 1]


@asynccontextmanager
async def _leased(way: Way) -> AsyncGenerator[None, None]:
    """Keep the worker's leases fresh meanwhile, and give them back at the end."""
    beating = asyncio.create_task(_beat(way))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await jobs.release(way.database, way.worker)


async def _beat(way: Way) -> None:
    while True:
        await asyncio.sleep(way.worker.seconds / 3)
        await jobs.heartbeat(way.database, way.worker)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return

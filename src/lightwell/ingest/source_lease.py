"""The lease on a source: one process writes into it at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lightwell.domain.business_systems import Source, SourceId
from lightwell.domain.errors import StoreFailed
from lightwell.logs import logger
from lightwell.records import sources
from lightwell.records.database import Database
from lightwell.records.locks import LeaseHolder
from lightwell.tasks import cancel_and_wait

_log = logger(__name__)


@asynccontextmanager
async def hold_source(
    database: Database, source: SourceId, worker: LeaseHolder
) -> AsyncGenerator[Source | None, None]:
    """Hold the lease on a source during the block, and renew it three times per lease period."""
    acquired = await sources.acquire(database, source, worker)
    if acquired is None:
        yield None
        return
    heartbeat = asyncio.create_task(_renew(database, source, worker))
    try:
        yield acquired
    finally:
        await cancel_and_wait(heartbeat)
        try:
            await sources.release(database, source, worker)
        except StoreFailed as error:
            _log.warning("the lease on a source will expire", error=str(error))


async def _renew(database: Database, source: SourceId, worker: LeaseHolder) -> None:
    while True:
        await asyncio.sleep(worker.seconds / 3)
        try:
            await sources.renew(database, source, worker)
        except StoreFailed as error:
            _log.warning("the lease on a source was not renewed", error=str(error))

"""Workers: claim jobs under a lease, ingest them, and release the jobs that cannot be done now.

A lease lets another worker take over when this process dies. The heartbeat renews it while the process lives.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from math import ceil

from lightwell.domain.errors import (
    BudgetSpent,
    IndexFailed,
    LeaseLost,
    ModelFailed,
    ParserFailed,
    StoreConflict,
    StoreFailed,
    Unreadable,
)
from lightwell.domain.ids import new_id
from lightwell.ingest.chunk_analysis import renew_analyses
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.derived_data import finish_derived
from lightwell.ingest.embedding_change import work_on_change
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.passage_reading import is_being_read, read_some, report_waiting
from lightwell.ingest.pipeline import ingest
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ingest.table_reading import renew_tables
from lightwell.logs import logger
from lightwell.records import freed_space
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim
from lightwell.tasks import cancel_and_wait
from lightwell.tracing import span

_JOBS_PER_MODEL_BATCH = 4
_POLL_SECONDS = 0.5
_IDLE_SECONDS = 30.0
_MAX_PAUSE_SECONDS = 60.0
_WORTH_A_VACUUM = 20
"""Documents of one ingestion."""
_CRASHED = (
    f"its ingestion was started {queue.MAX_ATTEMPTS} times and never ended, possibly for lack of memory;"
    " `lightwell jobs retry` tries again"
)

_log = logger(__name__)


def with_batches_for(context: IngestContext, slots: int) -> IngestContext:
    """Return the context with enough small concurrent batches to keep a model's `slots` busy.

    Twice as many documents as slots can wait for the model, and two more batches are prepared or published meanwhile.
    """
    return replace(
        context,
        jobs_per_batch=_JOBS_PER_MODEL_BATCH,
        max_batches=2 + ceil(2 * slots / _JOBS_PER_MODEL_BATCH),
    )


async def run_until_done(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None]
) -> None:
    """Work until the project, or its part in `context.only`, has no open job and the network has read all passages.

    This waits for what other workers do, too. Raises `ModelFailed` if a model fails; the rest stays for the next worker or command.
    """
    ended, is_stale = 0, True

    def count(outcome: DocumentOutcome) -> None:
        nonlocal ended
        ended += 1
        on_outcome(outcome)

    while True:
        is_stale |= await run_claimable(context, count, asyncio.Event())
        others = await queue.count_open(context.database, context.project_id, context.only)
        if is_stale and not others:
            await report_waiting(context)
            await finish_derived(context)
            await report_waiting(context)  # again: the time in between was not for reading them
            is_stale = False
        if await read_some(context):
            continue
        if not others and not await is_being_read(context):
            if ended >= _WORTH_A_VACUUM:
                await freed_space.give_back(context.database)
            return
        await asyncio.sleep(_POLL_SECONDS)


async def run_worker(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None], stop: asyncio.Event
) -> None:
    """Work until `stop` is set. While a model or the database fails, wait twice as long each time, at most a minute.

    Derived data is finished at the start, after each batch, and after 30 idle seconds; when no job can be claimed, the network reads
    a few passages, and the worker embeds for a change of the embedding model. Raises `BudgetSpent`, because waiting does not
    help then.
    """
    pause, idle = _POLL_SECONDS, _IDLE_SECONDS
    while not stop.is_set():
        try:
            if await run_claimable(context, on_outcome, stop) or idle >= _IDLE_SECONDS:
                await run_until_idle(context, on_outcome, stop)
                idle = 0.0
            if pause > _POLL_SECONDS:
                _log.warning("the worker has recovered and continues")
            pause = _POLL_SECONDS
        except BudgetSpent:
            raise
        except (ModelFailed, ParserFailed, StoreFailed) as error:
            pause = min(pause * 2, _MAX_PAUSE_SECONDS)
            _log.warning(
                "a service failed; the worker waits and tries again",
                error=str(error),
                seconds=pause,
            )
        await _wait(stop, pause)
        idle += pause


async def run_until_idle(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None], stop: asyncio.Event
) -> None:
    """Work until no job can be claimed and no passage has to be read, or `stop` is set; raise `ModelFailed`, `StoreFailed`, `ParserFailed`.

    Derived data is finished at the start, and again after jobs that came meanwhile.
    """
    is_stale = True
    while not stop.is_set():
        is_stale |= await run_claimable(context, on_outcome, stop)
        if stop.is_set():
            return
        if is_stale:
            await finish_derived(context)
            is_stale = False
        if not await _read_or_embed(context):
            return


async def _read_or_embed(context: IngestContext) -> bool:
    """Read a few passages, else those that older rules have read or some for a change of the embedding model; return whether there was anything to do."""
    return (
        await read_some(context)
        or await renew_analyses(context)
        or await renew_tables(context)
        or await work_on_change(context)
    )


async def run_claimable(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None], stop: asyncio.Event
) -> bool:
    """Ingest batches concurrently until no job can be claimed or `stop` is set; return whether there was any.

    Derived data is left to the caller.

    While one batch waits for a model, another is chunked or published, so a slow document delays no other. The first
    error cancels the other batches and is raised.
    """
    running: dict[asyncio.Task[None], IngestContext] = {}
    has_worked = False
    try:
        while True:
            batch = None
            if len(running) < context.max_batches and not stop.is_set():
                batch = await _claim(context)
            if batch:
                has_worked = True
                running[asyncio.create_task(_ingest_batch(*batch, on_outcome))] = batch[0]
                continue
            if not running:
                return has_worked
            done, _ = await asyncio.wait(
                running, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                del running[task]
                task.result()
    finally:
        await cancel_and_wait(*running)
        await asyncio.gather(*running, return_exceptions=True)  # how they ended is in their jobs
        for batch_context in running.values():
            await _release(batch_context, with_attempt=False)


async def _claim(context: IngestContext) -> tuple[IngestContext, list[Claim]] | None:
    """Claim a batch under its own worker name, so that it can be lost or released independently of other batches."""
    current = await follow_space(context)
    batch_context = replace(
        current, worker=replace(context.worker, name=f"{context.worker.name}/{new_id()}")
    )
    try:
        batch = await queue.claim(
            context.database,
            context.project_id,
            batch_context.worker,
            limit=context.jobs_per_batch,
            only=context.only,
        )
    except asyncio.CancelledError:
        # The claim may have been committed before the cancellation.
        await _release(batch_context, with_attempt=False)
        raise
    return (batch_context, batch) if batch else None


async def _ingest_batch(
    context: IngestContext, batch: list[Claim], on_outcome: Callable[[DocumentOutcome], None]
) -> None:
    """Ingest the batch. The attempt counts for a failure of the documents or of the database, and for no other."""
    try:
        async with heartbeat(context):
            new = [claim for claim in batch if claim.attempts == 1]
            tried = [[claim] for claim in batch if claim.attempts > 1]  # each alone
            for part in [new, *tried] if new else tried:
                await _ingest_part(context, part, on_outcome)
    except (asyncio.CancelledError, IndexFailed, ModelFailed, ParserFailed):
        await _release(context, with_attempt=False)
        raise
    except (LeaseLost, StoreConflict) as error:
        # one document may have been replaced or deleted meanwhile: the others are released without a counted attempt
        _log.warning("a batch was released", jobs=len(batch), why=str(error))
        await _release(context, with_attempt=False)
    finally:
        await _release(context, with_attempt=True)


async def _ingest_part(
    context: IngestContext, part: Sequence[Claim], on_outcome: Callable[[DocumentOutcome], None]
) -> None:
    """Ingest the part. If one of several documents makes it fail, release all; each is tried alone next time.

    So one bad document fails alone, and so does one that was started too often without ending.
    """
    first = part[0]
    try:
        _reject_crashing(first)
        with span("ingest.batch"):
            await ingest(context, part, on_outcome)
    except Exception as error:
        failure = document_failure(error, first.url)
        if failure is None:
            raise
        if len(part) > 1:
            await queue.release(context.database, context.worker, [claim.job_id for claim in part])
            return
        await queue.fail(
            context.database,
            first.job_id,
            context.worker,
            code=failure.code,
            message=failure.message,
        )
        on_outcome(DocumentOutcome(url=first.url, chunks=0, error=failure.message))


async def _release(context: IngestContext, *, with_attempt: bool) -> None:
    release = queue.release if with_attempt else queue.release_without_attempt
    try:
        await release(context.database, context.worker)
    except StoreFailed as error:
        _log.warning("jobs could not be released; their leases will expire", error=str(error))


def _reject_crashing(claim: Claim) -> None:
    if claim.attempts > queue.MAX_ATTEMPTS:
        raise Unreadable("crashed", _CRASHED)


@asynccontextmanager
async def heartbeat(context: IngestContext) -> AsyncGenerator[None, None]:
    """Renew the worker's leases during the block. An unexpected error ends the heartbeat, is logged at once and raised."""
    task = asyncio.create_task(_heartbeat(context))
    task.add_done_callback(_log_heartbeat_end)
    try:
        yield
    finally:
        await cancel_and_wait(task)
    if not task.cancelled():
        task.result()


def _log_heartbeat_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("the heartbeat ended; the leases will expire", error=type(error).__name__)


async def _heartbeat(context: IngestContext) -> None:
    """Renew the leases three times per lease period, so that a database outage of two periods loses none."""
    missed = 0
    while True:
        await asyncio.sleep(context.worker.seconds / 3)
        try:
            await queue.renew_all_leases(context.database, context.worker)
            missed = 0
        except StoreFailed as error:
            missed += 1
            _log.warning(
                "a heartbeat was missed",
                error=str(error),
                missed=missed,
                lease=context.worker.seconds,
            )


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        # Not `wait_for`: in Python 3.11 it forgets a cancellation that comes together with the event.
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return

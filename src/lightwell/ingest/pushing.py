"""Stores what programs push into a source, batch by batch, by the same code as a page of a source that is pulled.

    lease ─ versions, and who belongs to what ─ the items that are current, as a page

What takes access away is in force before anything new is visible. The version of an item is noted before the item is stored: after a crash in
between, its line was not acknowledged; it comes again, is not older, and is stored.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lightwell.domain.business_systems import Source, SourceCounts
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, RunId
from lightwell.domain.pushes import (
    BatchPlan,
    LineFailure,
    PushBatch,
    PushedGroup,
    PushedItem,
    PushResult,
    external_id,
    plan_batch,
)
from lightwell.domain.source_items import ItemPage
from lightwell.domain.withdrawals import Act, NoteWithdrawals, Withdrawal, hash_tag
from lightwell.ingest.item_pages import PagePosition, StoredPage, SyncTarget, store_page
from lightwell.ingest.item_sync import describe_mass_deletion
from lightwell.ingest.source_lease import hold_source
from lightwell.records import pushes, source_runs, sources
from lightwell.records.database import Database, repeatable
from lightwell.records.directory import DIRECTORY_LOCK
from lightwell.records.locks import new_lease_holder
from lightwell.records.pushes import PushRun

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 40.0
"""Longer than a lease lasts after a crash."""

_REMOVED_AT_ONCE = 200
_HOW_TO_ALLOW = (
    "send `complete` again with allowMassDeletion (`lightwell push` has --allow-mass-deletion)"
)


class SourceBusy(Exception):
    """Another push into the source has not ended in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A push under way: into which source, as which of its runs, and as a part of which sync of everything, "" for none.

    `note_withdrawals` keeps outside the database what a restored backup must not show: nobody pushes it again by themselves.
    """

    database: Database
    source: Source
    run: RunId
    note_withdrawals: NoteWithdrawals
    sync: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the end of a sync of everything removed; `warning` says why it removed nothing, "" if it did not refuse."""

    counts: SourceCounts
    warning: str = ""


async def begin_push(
    database: Database, source: Source, sync: str, note_withdrawals: NoteWithdrawals
) -> Push:
    """Begin a push; `end_push` ends it."""
    run = await source_runs.begin(database, source, is_alone=False)
    return Push(
        database=database, source=source, run=run, sync=sync, note_withdrawals=note_withdrawals
    )


async def end_push(push: Push, error: str) -> None:
    """Store the end of a push; `error` is "" if it succeeded."""
    await source_runs.end(push.database, push.run, error)


async def store_batch(push: Push, batch: PushBatch) -> PushResult:
    """Store a batch, and return what it did; raise `SourceBusy`, and `LeaseLost` where it took longer than its lease."""
    async with _hold(push) as target:
        plan = await _plan(target, push.sync, batch)
        items = [line for line in plan.latest.values() if isinstance(line, PushedItem)]
        page = ItemPage(
            items=tuple(line.item for line in items if line.item),
            removed=tuple(line.ref for line in items if line.item is None),
            cursor="",
        )
        stored = await _store(push, target, page)
    return PushResult(
        counts=stored.counts,
        outdated=plan.outdated,
        groups=len(plan.latest) - len(items),
        failures=tuple(
            LineFailure(
                number=plan.latest[failed.ref].number,
                id=external_id(push.source.name, failed.ref),
                message=failed.message,
            )
            for failed in stored.unreadable
        ),
    )


async def complete(push: Push, *, allows_mass_deletion: bool) -> Completion:
    """Remove what no line has named since the sync of everything began, and end that; raise as `store_batch` does.

    Nothing is removed where a line of it could not be read at all, where it has ended before, or where it is too much at once.
    """
    counts = SourceCounts()
    async with _hold(push) as target:
        run = await _open_run(target, push.sync)
        warning = await _find_objection(target, run, is_allowed=allows_mass_deletion)
        if warning:
            return Completion(counts=counts, warning=warning)
        while gone := await _list_unseen(target, run):
            counts += (
                await _store(push, target, ItemPage(items=(), removed=gone, cursor=""))
            ).counts
        await _end_run(target, run)
    return Completion(counts=counts)


async def _store(push: Push, target: SyncTarget, page: ItemPage) -> StoredPage:
    """Store the page, and note what it takes from readers."""
    now = await push.database.now()
    stored = await store_page(target, page, PagePosition(asked_at=now))
    push.note_withdrawals(
        [
            *(
                Withdrawal(document=document, act=Act.DELETED, at=now)
                for document in stored.removed
            ),
            *(
                Withdrawal(
                    document=document,
                    act=Act.RETAGGED,
                    at=now,
                    tag_hashes=frozenset(map(hash_tag, tags)),
                )
                for document, tags in stored.retagged.items()
            ),
        ]
    )
    return stored


@asynccontextmanager
async def _hold(push: Push) -> AsyncGenerator[SyncTarget]:
    """Hold the source; wait for other pushes to end."""
    worker = new_lease_holder()
    for _ in range(round(_PATIENCE_SECONDS / _POLL_SECONDS)):
        async with hold_source(push.database, push.source.id, worker) as source:
            if source is not None:
                if source.is_paused:
                    raise Invalid(f"The source {source.name!r} is paused")
                yield SyncTarget(database=push.database, source=source, worker=worker, run=push.run)
                return
        await asyncio.sleep(_POLL_SECONDS)
    raise SourceBusy


@repeatable
async def _plan(target: SyncTarget, sync: str, batch: PushBatch) -> BatchPlan:
    """Note what the batch names, write who belongs to what, and return what of the batch counts."""
    source = target.source
    async with target.database.transaction() as connection:
        await connection.execute(DIRECTORY_LOCK, {"project_id": source.project_id})
        await sources.renew_or_raise(connection, source.id, target.worker)
        if sync:
            await pushes.open_run(connection, source.id, sync)
            await pushes.add_unread(connection, source.id, sync, batch.unread)
        refs = {line.ref for line in batch.lines}
        plan = plan_batch(batch.lines, await pushes.list_versions(connection, source.id, refs))
        await pushes.note(connection, source.id, plan.versions)
        await pushes.see(connection, source.id, batch.kept)
        latest = plan.latest.values()
        groups = [line for line in latest if isinstance(line, PushedGroup)]
        await pushes.save_groups(connection, source, groups)
        grants = {grant for line in latest if isinstance(line, PushedItem) for grant in line.grants}
        await pushes.save_grants(connection, source, grants)
    return plan


@repeatable
async def _open_run(target: SyncTarget, sync: str) -> PushRun:
    async with target.database.transaction() as connection:
        await sources.renew_or_raise(connection, target.source.id, target.worker)
        await pushes.open_run(connection, target.source.id, sync)
        return await pushes.get_run(connection, target.source.id, sync)


@repeatable
async def _find_objection(target: SyncTarget, run: PushRun, *, is_allowed: bool) -> str:
    """Return why nothing may be removed at the end of the run, "" if it may."""
    source = target.source.id
    if run.ended_at is not None:
        return f"the sync {run.name!r} has ended before; a new one needs another name"
    if run.unread:
        return (
            f"{run.unread:,} lines of the sync {run.name!r} could not be read, so what they name is unknown, and nothing was removed:"
            " mend them, and push everything again under another name"
        )
    async with target.database.transaction() as connection:
        await sources.renew_or_raise(connection, source, target.worker)
        count = await pushes.count_unseen(connection, source, run)
        warning = "" if is_allowed else describe_mass_deletion([count], _HOW_TO_ALLOW)
        await sources.record_sweep(connection, source, warning)
    return warning


@repeatable
async def _list_unseen(target: SyncTarget, run: PushRun) -> tuple[GlobalRef, ...]:
    async with target.database.transaction() as connection:
        await sources.renew_or_raise(connection, target.source.id, target.worker)
        unseen = await pushes.list_unseen(connection, target.source.id, run, limit=_REMOVED_AT_ONCE)
    return tuple(unseen)


@repeatable
async def _end_run(target: SyncTarget, run: PushRun) -> None:
    async with target.database.transaction() as connection:
        await sources.renew_or_raise(connection, target.source.id, target.worker)
        await pushes.end_run(connection, target.source.id, run.name)

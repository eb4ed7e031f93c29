"""Syncs a business system: who may see what, then what changed, what was hinted at, and now and then what is gone.

    lease ─ directory ─ each stream's pages ─ sweep (when due) ─ items to fetch

Each page is one transaction with its cursor (`ingest/item_pages.py`). So a crash repeats at most the page under way.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lightwell.domain.business_systems import Source, SourceCounts, SourceId
from lightwell.domain.errors import LeaseLost, LightwellError
from lightwell.domain.ids import GlobalRef, RunId
from lightwell.domain.source_items import UnreadableItem
from lightwell.ingest.context import OpenConnector
from lightwell.ingest.item_pages import PagePosition, SyncTarget, store_page
from lightwell.ingest.source_lease import hold_source
from lightwell.ports import ItemSource
from lightwell.records import item_fetches, source_directory, source_runs, sources
from lightwell.records.database import Database, repeatable
from lightwell.records.item_fetches import KindCount
from lightwell.records.locks import LEASE_SECONDS, new_lease_holder

T = TypeVar("T")

_ITEMS_PER_FETCH = 50
_MASS_SHARE, _MASS_ITEMS = 0.2, 10
"""A sweep that misses more than this share, and more than this number, waits for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncProgress:
    """How far a sync is: the `stage` is `directory`, `sweep`, `fetches` or the name of a stream."""

    source: str
    stage: str
    counts: SourceCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """How to sync. `is_full` pulls all streams although they are not due, and `with_sweep` looks for deletions, too.

    With `allows_mass_deletion`, a sweep may remove any number of items. `lease_seconds` after a crash, another process
    may sync the source.
    """

    is_full: bool = False
    with_sweep: bool = False
    allows_mass_deletion: bool = False
    lease_seconds: float = LEASE_SECONDS
    progress: Callable[[SyncProgress], None] = lambda progress: None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of a sync; `warning` says what a sweep did not remove, "" if nothing."""

    run: RunId
    counts: SourceCounts
    warning: str


@dataclass(slots=True, kw_only=True)
class _Sync:
    """A sync under way."""

    target: SyncTarget
    connector: ItemSource
    request: SyncRequest
    counts: SourceCounts = field(default_factory=SourceCounts)
    warning: str = ""

    @property
    def database(self) -> Database:
        return self.target.database

    @property
    def source(self) -> Source:
        return self.target.source

    def report_progress(self, stage: str) -> None:
        self.request.progress(
            SyncProgress(source=self.source.name, stage=stage, counts=self.counts)
        )


async def sync_source(
    database: Database, source_id: SourceId, open_connector: OpenConnector, request: SyncRequest
) -> SyncReport | None:
    """Sync a source if no other process does; return None where one does.

    Raises what the connector raises (`SourceFailed`, `Invalid`), after the failure and the time of the next try are
    stored. What was stored before stays.
    """
    worker = new_lease_holder(request.lease_seconds)
    async with hold_source(database, source_id, worker) as source:
        if source is None:
            return None
        run = await source_runs.begin(database, source)
        target = SyncTarget(database=database, source=source, worker=worker, run=run)
        try:
            async with open_connector(source) as connector:
                sync = _Sync(target=target, connector=connector, request=request)
                await _run(sync)
        except LeaseLost:
            raise
        except Exception as error:
            # An unexpected error may quote an item, so only its type is kept.
            defect = f"the connector failed with {type(error).__name__}; this is a defect, please report it"
            message = str(error) if isinstance(error, LightwellError) else defect
            await source_runs.end(database, run, message)
            await sources.record_failure(database, source.id, worker, message)
            raise
        await source_runs.end(database, run, "")
        was_full = request.is_full or source.is_sync_due
        await sources.record_success(database, source.id, worker, was_full=was_full)
        return SyncReport(run=run, counts=sync.counts, warning=sync.warning)


async def _run(sync: _Sync) -> None:
    """Sync the directory first: what it takes from a person is in force before anything new is visible."""
    source, request = sync.source, sync.request
    is_full = request.is_full or source.is_sync_due
    if is_full or source.is_directory_due:
        sync.report_progress("directory")
        await sources.note_directory_read(sync.database, sync.source.id)
        directory = await sync.connector.directory()
        await source_directory.apply(sync.database, sync.source, sync.target.worker, directory)
    if is_full:
        positions = await sources.list_cursors(sync.database, source.id)
        cursors = {position.stream: position.cursor for position in positions}
        for stream in sync.connector.streams:
            sync.report_progress(stream)
            asked_at = await sync.database.now()
            async with _closing(sync.connector.pull(stream, cursors.get(stream, ""))) as pages:
                async for page in pages:
                    position = PagePosition(asked_at=asked_at, stream=stream)
                    sync.counts += (await store_page(sync.target, page, position)).counts
                    sync.report_progress(stream)
                    asked_at = await sync.database.now()
        if request.with_sweep or source.is_sweep_due:
            await _sweep(sync)
    await _fetch_due(sync)


async def _fetch_due(sync: _Sync) -> None:
    """Fetch what webhooks named, what could not be read, and what a sweep missed."""
    now, after = await sync.database.now(), ""
    while refs := await item_fetches.list_due(
        sync.database, sync.source.id, now, after=after, limit=_ITEMS_PER_FETCH
    ):
        after = refs[-1]
        position = PagePosition(asked_at=await sync.database.now())
        page = await sync.connector.fetch(refs)
        answered = {item.ref for item in page.items} | set(page.removed)
        answered |= {item.ref for item in page.unreadable}
        missing = tuple(
            UnreadableItem(ref=ref, reason="unanswered", message="the source said nothing about it")
            for ref in refs
            if ref not in answered
        )
        page = replace(page, unreadable=(*page.unreadable, *missing))
        sync.counts += (await store_page(sync.target, page, position)).counts
        sync.report_progress("fetches")


async def _sweep(sync: _Sync) -> None:
    """List everything that the source has; what is stored and not listed is fetched, so that the source says it is gone.

    An incomplete listing raises an error before anything is concluded from it.
    """
    sync.report_progress("sweep")
    await item_fetches.begin_sweep(sync.database, sync.source.id)
    for stream in sync.connector.streams:
        async with _closing(sync.connector.list_present(stream)) as pages:
            async for refs in pages:
                await _add_swept(sync.target, refs)
    sync.warning = await _request_missing(sync.target, sync.request)


@repeatable
async def _add_swept(target: SyncTarget, refs: Sequence[GlobalRef]) -> None:
    async with target.database.relaxed_transaction() as connection:
        await sources.renew_or_raise(connection, target.source.id, target.worker)
        await item_fetches.add_swept(connection, target.source.id, refs)


@repeatable
async def _request_missing(target: SyncTarget, request: SyncRequest) -> str:
    source = target.source.id
    async with target.database.transaction() as connection:
        await sources.renew_or_raise(connection, source, target.worker)
        counted = await item_fetches.count_missing(connection, source)
        is_allowed = request.allows_mass_deletion or target.source.allows_mass_deletion
        warning = "" if is_allowed else describe_mass_deletion(counted)
        if not warning:
            await item_fetches.request_missing(connection, source)
        await sources.record_sweep(connection, source, warning)
    return warning


def describe_mass_deletion(
    counted: Sequence[KindCount],
    how_to_allow: str = "sync with --allow-mass-deletion (over HTTP allowMassDeletion)",
) -> str:
    """Return what is missing, where it is too much of one kind or of all to be removed without a person; else ""."""
    total = KindCount(
        kind="item",
        stored=sum(count.stored for count in counted),
        missing=sum(count.missing for count in counted),
    )
    for count in (*counted, total):
        if count.missing > _MASS_ITEMS and count.missing > _MASS_SHARE * count.stored:
            return (
                f"{count.missing:,} of {count.stored:,} items of the kind {count.kind!r} are missing in the source, so nothing"
                f" was removed; if that is right, {how_to_allow}"
            )
    return ""


@asynccontextmanager
async def _closing(pages: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Yield the iterator, and close it at the end if it is a generator."""
    try:
        yield pages
    finally:
        if isinstance(pages, AsyncGenerator):
            await pages.aclose()

"""The verbs on sources: business systems that are synced into the project."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.business_systems import (
    NOTHING_TO_READ,
    ItemFailure,
    NewSource,
    Source,
    SourceChange,
    SourceId,
    SourceRun,
    SourceTrial,
    StreamPosition,
    check_change,
    check_new_source,
    not_stored,
)
from lightwell.domain.documents import PUSHED
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.ids import DocumentId
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import apply_pending_changes, finish_derived
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.metering import stop_recording
from lightwell.records import item_fetches, source_runs, sources
from lightwell.records.database import repeatable
from lightwell.records.documents import documents, items
from lightwell.records.locks import lock_project

_DOCUMENTS_PER_BATCH = 200
_POLL_SECONDS = 0.1
_TRIAL_SECONDS = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDetails:
    """A source with its latest runs, the items that could not be read, and where its streams go on.

    `documents` counts its documents by kind; `failed` counts all items that could not be read.
    """

    source: Source
    runs: tuple[SourceRun, ...]
    failures: tuple[ItemFailure, ...]
    failed: int
    positions: tuple[StreamPosition, ...]
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources of one project. Its caller must be an administrator, or hold the database itself.

    A source is named by its name or its id.
    """

    context: IngestContext

    async def create(self, source: NewSource) -> Source:
        """Store a new source, which is due at once. Its connector is opened once, so that a missing secret is noticed.

        Raises `Invalid` for a name that is taken or not allowed, and for what the connector refuses.
        """
        checked = check_new_source(source)
        database, project_id = self.context.database, self.context.project_id
        created = await sources.create(database, project_id, checked)
        if created.system == PUSHED:
            return created
        try:
            async with self.context.open_source(created):
                pass
        except LightwellError:
            await sources.delete(database, created.id)
            raise
        return created

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems that have a connector, plug-ins included."""
        return self.context.list_systems()

    async def try_out(self, source: NewSource) -> SourceTrial:
        """Ask a system for its people and groups as a source would, and store nothing; the secrets are those of the environment."""
        database, project_id = self.context.database, self.context.project_id
        try:
            checked = check_new_source(source)
            if any(stored.name == checked.name for stored in await self.list()):
                raise Invalid(f"This project has a source {checked.name!r} already")
            trial = not_stored(checked, project_id, await database.now())
            async with (
                asyncio.timeout(_TRIAL_SECONDS),
                self.context.open_source(trial) as connector,
            ):
                directory = await connector.directory()
        except LightwellError as error:
            return SourceTrial(problem=str(error))
        except TimeoutError:
            return SourceTrial(problem=f"It did not answer within {_TRIAL_SECONDS:.0f} seconds")
        return SourceTrial(
            problem="",
            streams=connector.streams,
            people=len(directory.people),
            groups=tuple(sorted(group.name for group in directory.groups)),
        )

    async def list(self) -> list[Source]:
        """Return the sources by name."""
        return await sources.list_all(self.context.database, self.context.project_id)

    async def get(self, name: str) -> Source:
        """Return a source; raise `NotFound`."""
        return await sources.get(self.context.database, self.context.project_id, name)

    async def show(self, name: str, *, limit: int = 10) -> SourceDetails:
        """Return a source with its latest runs and failures, `limit` of each; raise `NotFound`."""
        database, source = self.context.database, await self.get(name)
        return SourceDetails(
            source=source,
            runs=tuple(await source_runs.list_latest(database, source.id, limit=limit)),
            failures=tuple(await item_fetches.list_failures(database, source.id, limit=limit)),
            failed=await item_fetches.count_failures(database, source.id),
            positions=tuple(await sources.list_cursors(database, source.id)),
            documents=await items.count_by_kind(database, source.id),
        )

    async def pause(self, name: str) -> Source:
        """Pause a source: it is synced no more until it is resumed. Webhooks are kept for then."""
        return await self._set_paused(name, is_paused=True)

    async def resume(self, name: str) -> Source:
        """Go on with a paused source, at once."""
        return await self._set_paused(name, is_paused=False)

    async def sync(self, name: str, request: SyncRequest) -> SyncReport:
        """Sync a source now, as a person asks for it; raise `NotFound`, `Invalid` while another process syncs it, and what its connector raises.

        Workers then ingest the documents that are new or changed.
        """
        source = await self.get(name)
        await sources.note_asked(self.context.database, source.id)
        report = await self._sync(source.id, request)
        if report is None:
            raise Invalid(f"The source {source.name!r} is being synced already; try again later")
        return report

    async def change(self, name: str, change: SourceChange) -> Source:
        """Change a source's intervals or options; its connector is opened once with them.

        Raises `NotFound`, and `Invalid` for what is not allowed or what the connector refuses.
        """
        source, checked = await self.get(name), check_change(change)
        if checked.options is not None:
            async with self.context.open_source(replace(source, options=checked.options)):
                pass
        await sources.change(self.context.database, source.id, checked)
        return await self.get(name)

    async def request_sync(
        self, name: str, *, with_sweep: bool = False, allows_mass_deletion: bool = False
    ) -> Source:
        """Ask workers to sync a source now; raise `NotFound`, and `Invalid` for one that programs push into.

        With `allows_mass_deletion` the next sweep may remove any number of items.
        """
        source = await self.get(name)
        if source.system == PUSHED:
            raise Invalid(NOTHING_TO_READ)
        await sources.request_sync(
            self.context.database,
            source.id,
            with_sweep=with_sweep,
            allows_mass_deletion=allows_mass_deletion,
        )
        return await self.get(name)

    async def retry(self, name: str) -> int:
        """Make all items that could not be read due now, and return their number; raise `NotFound`."""
        source = await self.get(name)
        return await item_fetches.retry_failures(self.context.database, source.id)

    async def start_over(self, name: str) -> Source:
        """Let a source begin from its first item at the next sync; what is unchanged is not ingested again."""
        source = await self.get(name)
        await sources.forget_cursors(self.context.database, source.id)
        return source

    async def remove(self, name: str, *, patience_seconds: float = 10) -> int:
        """Delete a source with its groups, and turn its documents into tombstones; return the number of documents.

        A sync that runs may end first. Raises `NotFound`, and `Invalid` where a process still syncs the source
        after `patience_seconds`.
        """
        source = await self.pause(name)
        for _ in range(round(patience_seconds / _POLL_SECONDS)):
            if not source.is_running:
                break
            await asyncio.sleep(_POLL_SECONDS)
            source = await self.get(str(source.id))
        if source.is_running:
            raise Invalid(
                f"The source {source.name!r} is being synced; it is paused now, so try again soon"
            )
        removed = 0
        database = self.context.database
        while gone := await items.list_documents_of(
            database, source.id, limit=_DOCUMENTS_PER_BATCH
        ):
            await _tombstone(self.context, gone)
            removed += len(gone)
        await sources.delete(database, source.id)
        await apply_pending_changes(self.context)
        with stop_recording():  # what it costs would tell of what the caller does not see
            await finish_derived(self.context)
        return removed

    async def list_due(self) -> Sequence[tuple["Sources", Source]]:
        """Return the sources to sync now, which no process syncs, each with these sources."""
        due = await sources.list_due(self.context.database, self.context.project_id)
        return [(self, source) for source in due]

    async def sync_due(self, source: Source) -> None:
        """Sync what is due of a source; nothing where another process does. Raises what its connector raises."""
        await self._sync(source.id, SyncRequest(lease_seconds=self.context.worker.seconds))

    async def _sync(self, source: SourceId, request: SyncRequest) -> SyncReport | None:
        context = self.context
        report = await sync_source(context.database, source, context.open_source, request)
        if report is not None:
            await apply_pending_changes(context)
        return report

    async def _set_paused(self, name: str, *, is_paused: bool) -> Source:
        source = await self.get(name)
        await sources.set_paused(self.context.database, source.id, is_paused=is_paused)
        return await self.get(name)


@repeatable
async def _tombstone(context: IngestContext, gone: list[DocumentId]) -> None:
    async with context.database.transaction() as connection:
        await lock_project(connection, context.project_id)
        await documents.tombstone(connection, context.project_id, gone)

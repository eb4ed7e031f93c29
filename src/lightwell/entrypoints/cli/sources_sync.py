"""`sources sync`: syncs a source here, or asks a server to."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import NoWait, Server
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.remote import require_server, send
from lightwell.entrypoints.cli.sources import SourceArgument, sources
from lightwell.entrypoints.cli.sources_output import (
    counts_line,
    report_source,
    report_sync_on_server,
)
from lightwell.entrypoints.cli.store import open_store_project, settings_of_store

if TYPE_CHECKING:
    from lightwell.entrypoints.cli.logins import Login
    from lightwell.entrypoints.schemas.sources import SyncBody
    from lightwell.ingest.item_sync import SyncProgress
    from lightwell.ingest.progress import DocumentOutcome

_POLL_SECONDS = 1.0


@command(
    sources,
    "sync",
    "lightwell sources sync tracker",
    "lightwell sources sync tracker --sweep",
    "lightwell sources sync tracker --sweep --allow-mass-deletion",
    audited="sources sync",
)
async def sync_source(
    name: SourceArgument,
    *,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also look for items that were deleted in the system.")
    ] = False,
    allow_mass_deletion: Annotated[
        bool,
        typer.Option(
            "--allow-mass-deletion",
            help="Look for deleted items, and remove them although more than a fifth of the items is gone.",
        ),
    ] = False,
    start_over: Annotated[
        bool,
        typer.Option(
            "--start-over", help="Read all items again; what is unchanged is not ingested again."
        ),
    ] = False,
    no_wait: NoWait = False,
    server: Server = None,
) -> Report:
    """Sync a source now, and ingest what is new or changed there.

    A server syncs and ingests in the background; this command waits for the sync only.
    """
    from lightwell.entrypoints.schemas.sources import SyncBody

    body = SyncBody(sweep=sweep, allow_mass_deletion=allow_mass_deletion, start_over=start_over)
    if server:
        return await _sync_on_server(name, body, require_server(server), no_wait=no_wait)
    return await _sync_here(name, body, no_wait=no_wait)


async def _sync_here(name: str, body: "SyncBody", *, no_wait: bool) -> Report:
    from lightwell.entrypoints import json_sources
    from lightwell.ingest.item_sync import SyncRequest

    async with open_store_project(settings_of_store()) as kb:
        if body.start_over:
            await kb.sources.start_over(name)
        request = SyncRequest(
            is_full=True,
            with_sweep=body.sweep or body.allow_mass_deletion,
            allows_mass_deletion=body.allow_mass_deletion,
            progress=_print_progress,
        )
        report = await kb.sources.sync(name, request)
        done = () if no_wait else await kb.ingestion.finish_jobs(on_outcome=_print_outcome)
    failed = sum(1 for each in done if each.error)
    ingested = {"ingested": len(done) - failed, "failed": failed}
    text = counts_line(report.counts)
    if not no_wait:
        text += f" {count_of(len(done) - failed, 'document')} ingested, {failed:,} failed."
    if report.warning:
        text += f"\nWarning: {report.warning}"
    is_incomplete = failed or report.counts.unreadable or report.warning
    return Report(
        document={**json_sources.report(report), **ingested},
        text=Text(clean(text)),
        code=Exit.INCOMPLETE if is_incomplete else Exit.FINE,
    )


async def _sync_on_server(name: str, body: "SyncBody", at: "Login", *, no_wait: bool) -> Report:
    from lightwell.entrypoints.client import source_calls

    before = await send(source_calls.get_source(name, limit=1), at)
    requested = await send(source_calls.request_sync(name, body), at)
    if no_wait or requested.paused:
        return report_source(requested)
    known = {each.run_id for each in before.runs}
    while True:
        found = await send(source_calls.get_source(name, limit=1), at)
        if any(run.run_id not in known and run.finished_at for run in found.runs):
            return report_sync_on_server(found)
        await asyncio.sleep(_POLL_SECONDS)


def _print_progress(progress: "SyncProgress") -> None:
    line = f"{progress.source}: {progress.stage}: {counts_line(progress.counts)}"
    errors_console().print(Text(clean(line)))


def _print_outcome(outcome: "DocumentOutcome") -> None:
    end = f"failed: {outcome.error}" if outcome.error else count_of(outcome.chunks, "passage")
    errors_console().print(Text(clean(f"{outcome.url}: {end}")))

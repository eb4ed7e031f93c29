"""`documents reread`: extracts entities and relations from stored passages again."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.costs import Costs, budgeted_meter, costs_of, estimate_report
from lightwell.entrypoints.cli.documents import document_name, documents
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.ingest import STOPPED
from lightwell.entrypoints.cli.options import As, Budget, Estimate, NoWait
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.registration import Work, command
from lightwell.entrypoints.cli.store import open_as, settings

if TYPE_CHECKING:
    from lightwell.ingest.progress import DocumentOutcome


@command(
    documents,
    "reread",
    "lightwell documents reread --all --as team:us --estimate",
    "lightwell documents reread --all --as team:us --budget 1000000",
    "lightwell documents reread handbook/leave.md --as team:us",
)
def reread_documents(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
    ] = None,
    *,
    who: As = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All documents that you may see.")
    ] = False,
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
) -> Work:
    """Extract entities and relations from stored passages again, with the current settings; no file is read.

    Cached replies of the model are used. A document keeps its previous entities until its extraction is done.
    """
    if bool(names) == everything:
        raise typer.BadParameter("give either document names or --all")
    chosen = None if everything else names
    if estimate:
        return _estimate(chosen, who)
    return _enqueue(chosen, who) if no_wait else _reread(chosen, who, budget=budget)


async def _reread(
    names: Sequence[str] | None, who: Sequence[str] | None, *, budget: int | None
) -> Report:
    """Extract from the named documents again, from all for None; report each result. `budget` overrides the settings."""
    from lightwell.ingest.sync import SyncResult

    console, meter = errors_console(), budgeted_meter(budget)
    async with open_as(who, meter) as (kb, reader):
        try:
            with show_progress(console) as progress:
                done = await kb.ingestion.reread(
                    reader,
                    _document_urls(names),
                    on_start=lambda open_jobs: progress.start(SyncResult(), open_jobs),
                    on_outcome=progress.advance,
                )
        except asyncio.CancelledError:
            console.print(Text(STOPPED))
            raise
    return _report(done, costs_of(meter))


async def _enqueue(names: Sequence[str] | None, who: Sequence[str] | None) -> Report:
    """Enqueue the extraction for workers."""
    async with open_as(who) as (kb, reader):
        waiting = await kb.ingestion.enqueue_again(reader, _document_urls(names))
    return Report(
        document={"waiting": waiting},
        text=Text(f"{count_of(waiting, 'document')} waiting for `lightwell worker`."),
    )


async def _estimate(names: Sequence[str] | None, who: Sequence[str] | None) -> Report:
    """Report what the extraction would cost; call no model and store nothing."""
    async with open_as(who) as (kb, reader):
        estimated = await kb.ingestion.estimate_again(reader, _document_urls(names))
    return estimate_report([estimated], settings(), which="to be read again")


def _document_urls(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [document_name(name) for name in names]


def _report(outcomes: "Sequence[DocumentOutcome]", usage: Costs) -> Report:
    failed = [outcome for outcome in outcomes if outcome.error]
    read, chunks = len(outcomes) - len(failed), sum(outcome.chunks for outcome in outcomes)
    lines: list[RenderableType] = [
        Text(
            f"{count_of(read, 'document')} read again, {count_of(chunks, 'passage')}", style="bold"
        )
    ]
    if usage.summary.calls:
        lines.append(Text(usage.text()))
    lines += [
        Text(clean(f"failed  {outcome.url}: {outcome.error}"), overflow="fold")
        for outcome in failed
    ]
    return Report(
        document={
            "read": read,
            "failed": [
                {"documentUrl": outcome.url, "errorMessage": outcome.error} for outcome in failed
            ],
            "chunks": chunks,
            "usage": usage.document(),
        },
        text=Group(*lines),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )

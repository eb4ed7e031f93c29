"""`documents reread`: extracts entities and relations from stored passages again."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.costs import budgeted_meter, costs_of, estimate_report
from lightwell.entrypoints.cli.documents import document_name, documents
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.ingest import STOPPED
from lightwell.entrypoints.cli.options import As, Budget, Estimate, NoWait
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.store import open_as, settings


@command(
    documents,
    "reread",
    "lightwell documents reread --all --as team:us --estimate",
    "lightwell documents reread --all --as team:us --budget 1000000",
    "lightwell documents reread handbook/leave.md --as team:us",
)
async def reread_documents(
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
) -> Report:
    """Extract entities and relations from stored passages again, with the current settings; no file is read.

    Cached replies of the model are used. A document keeps its previous entities until its extraction is done.
    """
    if bool(names) == everything:
        raise typer.BadParameter("give either document names or --all")
    urls = None if everything else [document_name(name) for name in names or ()]
    if estimate:
        async with open_as(who) as (kb, reader):
            estimated = await kb.ingestion.estimate_again(reader, urls)
        return estimate_report(estimated, settings(), which="to be read again")
    if no_wait:
        async with open_as(who) as (kb, reader):
            waiting = await kb.ingestion.enqueue_again(reader, urls)
        text = f"{count_of(waiting, 'document')} waiting for `lightwell worker`."
        return Report(document={"waiting": waiting}, text=Text(text))
    return await _reread(urls, who, budget=budget)


async def _reread(
    urls: Sequence[str] | None, who: Sequence[str] | None, *, budget: int | None
) -> Report:
    """Extract from these documents again, from all for None; report each result. `budget` overrides the settings."""
    from lightwell.ingest.sync import SyncResult

    console, meter = errors_console(), budgeted_meter(budget)
    async with open_as(who, meter) as (kb, reader):
        try:
            with show_progress(console) as progress:
                outcomes = await kb.ingestion.reread(
                    reader,
                    urls,
                    on_start=lambda open_jobs: progress.start(SyncResult(), open_jobs),
                    on_outcome=progress.advance,
                    progress=progress.progress,
                )
        except asyncio.CancelledError:
            console.print(Text(STOPPED))
            raise
    usage = costs_of(meter)
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

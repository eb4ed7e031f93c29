"""What `documents reread` does."""

import asyncio
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
from lightwell.entrypoints.cli.edge import Exit, Report, errors_console, settings_of_store
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.reading import document_name
from lightwell.entrypoints.cli.show import clean, count_of
from lightwell.entrypoints.cli.writing import STOPPED
from lightwell.ingest.context import Outcome
from lightwell.ingest.sync import SyncResult
from lightwell.models.meter import Meter
from lightwell.wiring import open_knowledge_base


async def reread(names: Sequence[str] | None, who: Sequence[str], *, budget: int | None) -> Report:
    """Read the reader's documents anew, all for None, and report what became of each; `budget` goes before the settings'."""
    tags, console, chosen = people.tags(who), errors_console(), settings_of_store()
    meter = Meter(chosen.token_budget if budget is None else budget)
    async with open_knowledge_base(chosen, meter) as kb:
        try:
            with show_progress(console) as progress:
                done = await kb.reread(
                    await kb.reader(tags),
                    _document_urls(names),
                    on_start=lambda open_jobs: progress.start(SyncResult(), open_jobs),
                    on_outcome=progress.advance,
                )
        except asyncio.CancelledError:
            console.print(Text(STOPPED))
            raise
    return _report(done, costs.actual_costs(meter.usages, chosen))


async def enqueue(names: Sequence[str] | None, who: Sequence[str]) -> Report:
    """Leave the reading to workers."""
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        waiting = await kb.enqueue_again(await kb.reader(tags), _document_urls(names))
    return Report(
        document={"waiting": waiting},
        text=Text(f"{count_of(waiting, 'document')} waiting for `lightwell worker`."),
    )


async def estimate(names: Sequence[str] | None, who: Sequence[str]) -> Report:
    """Report what reading anew would cost; nothing is spent or written down."""
    tags, chosen = people.tags(who), settings_of_store()
    async with open_knowledge_base(chosen) as kb:
        found = await kb.estimate_again(await kb.reader(tags), _document_urls(names))
    return costs.estimate_report([found], chosen, which="to be read again")


def _document_urls(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [document_name(name) for name in names]


def _report(outcomes: Sequence[Outcome], usage: costs.Costs) -> Report:
    failed = [outcome for outcome in outcomes if outcome.error]
    read, chunks = len(outcomes) - len(failed), sum(outcome.chunks for outcome in outcomes)
    lines: list[RenderableType] = [
        Text(
            f"{count_of(read, 'document')} read again, {count_of(chunks, 'passage')}", style="bold"
        )
    ]
    if usage.summary.calls:
        lines.append(Text(usage.text()))
    lines += [Text(clean(f"failed  {each.url}: {each.error}"), overflow="fold") for each in failed]
    return Report(
        document={
            "read": read,
            "failed": [{"documentUrl": each.url, "errorMessage": each.error} for each in failed],
            "chunks": chunks,
            "usage": usage.document(),
        },
        text=Group(*lines),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )

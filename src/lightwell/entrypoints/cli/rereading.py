"""What `documents reread` does."""

import asyncio
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
from lightwell.entrypoints.cli.edge import Exit, Report, errors_console, settings_of_store
from lightwell.entrypoints.cli.progress import following
from lightwell.entrypoints.cli.reading import named
from lightwell.entrypoints.cli.show import clean, counted
from lightwell.entrypoints.cli.writing import STOPPED
from lightwell.ingest.sync import Sync
from lightwell.ingest.way import Outcome
from lightwell.models.meter import Meter
from lightwell.wiring import opened


async def reread(names: Sequence[str] | None, who: Sequence[str], *, budget: int | None) -> Report:
    """Read the reader's documents anew, all for None, and report what became of each; `budget` goes before the settings'."""
    tags, console, chosen = people.tags(who), errors_console(), settings_of_store()
    meter = Meter(chosen.token_budget if budget is None else budget)
    async with opened(chosen, meter) as kb:
        try:
            with following(console) as progress:
                done = await kb.reread(
                    await kb.reader(tags),
                    _named(names),
                    begun=lambda open_jobs: progress.begun(Sync(), open_jobs),
                    tell=progress.tell,
                )
        except asyncio.CancelledError:
            console.print(Text(STOPPED))
            raise
    return _report(done, costs.spent(meter.usages, chosen))


async def enqueue(names: Sequence[str] | None, who: Sequence[str]) -> Report:
    """Leave the reading to workers."""
    tags = people.tags(who)
    async with opened(settings_of_store()) as kb:
        waiting = await kb.enqueue_again(await kb.reader(tags), _named(names))
    return Report(
        document={"waiting": waiting},
        text=Text(f"{counted(waiting, 'document')} waiting for `lightwell worker`."),
    )


async def estimate(names: Sequence[str] | None, who: Sequence[str]) -> Report:
    """Report what reading anew would cost; nothing is spent or written down."""
    tags, chosen = people.tags(who), settings_of_store()
    async with opened(chosen) as kb:
        found = await kb.estimate_again(await kb.reader(tags), _named(names))
    return costs.estimated([found], chosen, which="to be read again")


def _named(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [named(name) for name in names]


def _report(done: Sequence[Outcome], usage: costs.Costs) -> Report:
    failed = [outcome for outcome in done if outcome.error]
    read, chunks = len(done) - len(failed), sum(outcome.chunks for outcome in done)
    lines: list[RenderableType] = [
        Text(f"{counted(read, 'document')} read again, {counted(chunks, 'passage')}", style="bold")
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

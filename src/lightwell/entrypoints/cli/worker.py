"""`worker`: processes enqueued documents until it is stopped."""

import asyncio
import signal
from typing import TYPE_CHECKING

from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import open_store_project, settings

if TYPE_CHECKING:
    from lightwell.ingest.progress import DocumentOutcome


worker = single_command()


@command(worker, "worker", "lightwell worker", "lightwell worker --verbose")
async def process_jobs() -> Report:
    """Process enqueued documents until SIGINT (Ctrl-C) or SIGTERM.

    Any number of workers may run, on any machine that reaches the database. On the first
    signal the worker finishes its current documents; on the second it stops at once. Nothing is lost either way.
    """
    outcomes: list[DocumentOutcome] = []
    console = errors_console()

    def print_outcome(outcome: "DocumentOutcome") -> None:
        outcomes.append(outcome)
        end = f"failed: {outcome.error}" if outcome.error else count_of(outcome.chunks, "passage")
        console.print(Text(clean(f"{outcome.url}: {end}")))

    chosen, meter = settings(), budgeted_meter()
    async with open_store_project(chosen, meter) as kb:
        stop = _stop_on_signal()
        console.print(Text(f"Working on the project {chosen.project!r}; Ctrl-C stops."))
        await kb.ingestion.work(stop, print_outcome)
    failed = sum(1 for outcome in outcomes if outcome.error)
    counts = {
        "done": len(outcomes) - failed,
        "failed": failed,
        "chunks": sum(outcome.chunks for outcome in outcomes),
    }
    text = Text(f"{counts['done']} documents ingested, {failed} failed.")
    return report_with_costs(meter, counts, text)


def _stop_on_signal() -> asyncio.Event:
    stop, loop, task = asyncio.Event(), asyncio.get_running_loop(), asyncio.current_task()

    def stop_or_cancel() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_or_cancel)
    return stop

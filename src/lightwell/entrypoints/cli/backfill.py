"""`backfill`: processes enqueued documents on a Ray cluster."""

import asyncio
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from lightwell.domain.pace import Pace
from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Budget
from lightwell.entrypoints.cli.progress import describe_left, progress_bar
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import settings_of_store

if TYPE_CHECKING:
    from lightwell.ingest.backfill import PortionResult


backfill = single_command()

_STOPPED = "Stopped. Finished documents are kept; run `lightwell backfill` again or `lightwell worker` to continue."


@command(
    backfill,
    "backfill",
    "lightwell backfill",
    "lightwell backfill --address 10.0.0.1:6379 --nodes 3",
    "lightwell backfill --address 10.0.0.1:6379 --batch-size 50 --budget 5000000",
)
async def run_backfill(
    *,
    address: Annotated[
        str,
        typer.Option(
            "--address",
            metavar="HOST:PORT",
            help="The head of a running Ray cluster, of which this host is one. Without it, Ray runs on this host alone until the end.",
        ),
    ] = "",
    nodes: Annotated[
        int,
        typer.Option("--nodes", min=1, help="Wait until the cluster has this many hosts."),
    ] = 1,
    cpus: Annotated[
        int,
        typer.Option(
            "--cpus",
            min=0,
            help="Without --address: how many portions run at once; 0 is one per core.",
        ),
    ] = 0,
    batch_size: Annotated[
        int,
        typer.Option("--batch-size", min=1, max=10_000, help="Documents of one Ray task."),
    ] = 100,
    budget: Budget = None,
) -> Report:
    """Process all enqueued documents on the hosts of a Ray cluster, or on the cores of this one.

    Enqueue first: `lightwell ingest PATH --no-wait`, or sync a source. PostgreSQL stays the record: workers may run
    beside it, a host that dies loses nothing, and after Ctrl-C the next run continues. Each host takes
    its LIGHTWELL_* settings from its own environment. It needs `uv tool install '.[ray]'` on every host.
    """
    from lightwell.ingest.backfill import BackfillOptions
    from lightwell.wiring import backfills
    from lightwell.wiring.clusters import Cluster

    if not address and nodes > 1:
        raise typer.BadParameter("--nodes needs --address: without it, there is only this host")
    if address and cpus:
        raise typer.BadParameter(
            "--cpus is for this host alone; `ray start --num-cpus` sets those of a cluster's"
        )
    meter = budgeted_meter(budget)
    options = BackfillOptions(documents=batch_size, tokens=meter.budget)
    cluster = Cluster(address=address, slots=cpus, hosts=nodes)
    console = errors_console()
    bar = progress_bar(console)
    shown = _Shown(console, bar)
    watch = backfills.Watch(on_start=shown.start, on_result=shown.advance)
    try:
        with bar:
            ended = await backfills.run_backfill(
                settings_of_store(), meter, cluster, options, watch
            )
    except asyncio.CancelledError:
        console.print(Text(_STOPPED))
        raise
    text = f"{count_of(ended.done, 'document')} ingested, {count_of(ended.chunks, 'passage')}, {ended.failed} failed."
    if ended.failed:
        text += " `lightwell jobs list --as TAG` says why."
    counts = {
        "done": ended.done,
        "failed": ended.failed,
        "chunks": ended.chunks,
        "hosts": shown.hosts,
        "cpuSeconds": round(sum(result.cpu_seconds for result in shown.results), 1),
    }
    code = Exit.INCOMPLETE if ended.failed else Exit.FINE
    return report_with_costs(meter, counts, Text(text), code)


@dataclass(slots=True)
class _Shown:
    """Shows how far the backfill is, and sums up the results."""

    console: Console
    bar: Progress
    total: int = 0
    pace: Pace = field(default_factory=Pace)
    results: "list[PortionResult]" = field(default_factory=list)

    def start(self, waiting: int) -> None:
        self.total = waiting
        self.pace.begin(monotonic())
        self.bar.add_task("Backfill", total=waiting, left="", at="")
        self.console.print(Text(f"{count_of(waiting, 'document')} waiting."))

    def advance(self, result: "PortionResult") -> None:
        self.results.append(replace(result, calls=()))
        done = sum(result.ingested + result.failed for result in self.results)
        self.total = max(self.total, done)
        host, now = clean(result.host), monotonic()
        self.pace.move("document", result.ingested + result.failed, now)
        left = describe_left(self.pace.seconds_left({"document": self.total - done}, now))
        self.bar.update(self.bar.task_ids[0], completed=done, total=self.total, left=left, at=host)
        if not self.console.is_terminal and result.ingested + result.failed:
            failed = f", {result.failed} failed" if result.failed else ""
            line = f"[{done}/{self.total}] {host}: {count_of(result.ingested, 'document')}{failed}"
            self.console.print(Text(line))

    @property
    def hosts(self) -> list[str]:
        return sorted({result.host for result in self.results if result.ingested})

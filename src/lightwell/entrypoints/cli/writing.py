"""Commands that bring documents in: `ingest` and `worker`."""

import asyncio
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.edge import Report, errors_console, settings
from lightwell.entrypoints.cli.ingest_report import IngestSummary
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.show import clean, count_of
from lightwell.entrypoints.cli.source import GuardedSource
from lightwell.ingest.context import Outcome
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring import files, open_knowledge_base
from lightwell.wiring.database import has_store

_LONGEST_TOPIC = 256
STOPPED = (
    "Stopped. Finished documents are kept; run `lightwell ingest` again "
    "or `lightwell worker` to continue."
)


async def ingest(
    paths: Sequence[Path], acl: Sequence[str], *, topic: str, budget: int | None
) -> Report:
    """Bring the paths in and report what became of each document; `budget` goes before the settings'."""
    sources = _sources(paths, acl, topic)
    console, chosen = errors_console(), settings()
    meter = Meter(chosen.token_budget if budget is None else budget)
    async with open_knowledge_base(chosen, meter) as kb:
        try:
            with show_progress(console) as progress:
                ended = [
                    await kb.ingest(
                        source,
                        on_start=progress.start,
                        on_outcome=progress.advance,
                        progress=progress.progress,
                    )
                    for source in sources
                ]
        except asyncio.CancelledError:
            console.print(Text(STOPPED))
            raise
    return IngestSummary(
        found=[each.found for each in ended],
        done=[outcome for each in ended for outcome in each.done],
        sources=sources,
        usage=costs.actual_costs(meter.usages, chosen),
    ).report()


async def estimate(paths: Sequence[Path], acl: Sequence[str], *, topic: str) -> Report:
    """Report what reading the paths would cost; nothing is spent or stored.

    Where no store exists, an empty one in a temporary folder stands in for it, and is deleted again.
    """
    sources, chosen = _sources(paths, acl, topic), settings()
    with _existing_or_temporary(chosen) as there:
        async with open_knowledge_base(there) as kb:
            found = [await kb.estimate(source) for source in sources]
    return costs.estimate_report(found, chosen, which="new or changed")


@contextmanager
def _existing_or_temporary(settings: Settings) -> Generator[Settings]:
    """Yield the settings, with a temporary data directory where no store exists."""
    if has_store(settings):
        yield settings
        return
    place = settings.data.expanduser().resolve()
    message = f"Note: There is no store in {place} yet, so every document counts as new."
    typer.echo(clean(message), err=True)
    with TemporaryDirectory(prefix="lightwell-") as folder:
        Path(folder).chmod(0o711)  # the server may run under another account, which has to pass
        yield settings.model_copy(update={"data": Path(folder) / "store"})


async def enqueue(paths: Sequence[Path], acl: Sequence[str], *, topic: str) -> Report:
    """Write down what changed in the paths, and leave the work to workers."""
    sources = _sources(paths, acl, topic)
    async with open_knowledge_base(settings()) as kb:
        found = [await kb.enqueue(source) for source in sources]
    return IngestSummary(found=found, done=None, sources=sources).report()


async def work() -> Report:
    """Work on what is enqueued until told to stop, and report how much was done.

    The first SIGINT or SIGTERM lets the documents in hand come to their end, the second stops at once.
    """
    done: list[Outcome] = []
    console = errors_console()

    def tell(outcome: Outcome) -> None:
        done.append(outcome)
        end = f"failed: {outcome.error}" if outcome.error else count_of(outcome.chunks, "passage")
        console.print(Text(clean(f"{outcome.url}: {end}")))

    chosen = settings()
    meter = Meter(chosen.token_budget)
    async with open_knowledge_base(chosen, meter) as kb:
        stop = _stop_on_signal()
        console.print(Text(f"Working on the project {chosen.project!r}; Ctrl-C stops."))
        await kb.work(stop, tell)
    failed = sum(1 for outcome in done if outcome.error)
    paid = costs.actual_costs(meter.usages, chosen)
    return Report(
        document={
            "done": len(done) - failed,
            "failed": failed,
            "chunks": sum(each.chunks for each in done),
            "usage": paid.document(),
        },
        text=Group(
            Text(f"{len(done) - failed} documents ingested, {failed} failed."), *paid.lines()
        ),
    )


def _sources(paths: Sequence[Path], acl: Sequence[str], topic: str) -> list[GuardedSource]:
    if len(topic) > _LONGEST_TOPIC:
        raise Invalid(f"A topic has at most {_LONGEST_TOPIC} characters")
    tags, chosen = people.acl(acl), settings()
    found = [files(path, tags, chosen) for path in paths]
    for message in dict.fromkeys(
        word for source in found for word in source.describe_ignored_settings()
    ):
        typer.echo(clean(f"Note: {message}"), err=True)
    return [GuardedSource(source=source, topic=topic.strip(), acl=tags) for source in found]


def _stop_on_signal() -> asyncio.Event:
    stop, loop, task = asyncio.Event(), asyncio.get_running_loop(), asyncio.current_task()

    def told() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, told)
    return stop

"""`sources`: business systems that are synced into the project. Whoever may open the database may do this."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lightwell.domain.business_systems import (
    SWEEP_SECONDS,
    SYNC_SECONDS,
    ItemFailure,
    NewSource,
    Source,
    SourceChange,
    SourceCounts,
)
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean, count_of, errors_console, new_table
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import NoWait, Rows, Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import (
    open_store_project,
    settings_for_new_documents,
    settings_of_store,
)

if TYPE_CHECKING:
    from lightwell.ingest.item_sync import SyncProgress
    from lightwell.ingest.progress import DocumentOutcome
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.knowledge_base.sources import SourceDetails

sources = new_group(
    "Add, sync, show and remove business systems, such as Linear, Attio, Chatwoot and GitHub.",
    "lightwell sources add tracker linear",
    "lightwell sources sync tracker",
    "lightwell sources show tracker",
)

SourceArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name or the id of the source.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="An address or a name that the connector needs, such as base_url=https://chat.example.com; repeat it for several. "
        "Never a secret: those are in the environment.",
    ),
]
Every = Annotated[
    int, typer.Option("--every", metavar="MINUTES", min=1, help="Minutes between two syncs.")
]
SweepEvery = Annotated[
    int,
    typer.Option(
        "--sweep-every", metavar="HOURS", min=1, help="Hours between two looks for deleted items."
    ),
]


@asynccontextmanager
async def _open() -> "AsyncGenerator[KnowledgeBase]":
    async with open_store_project(settings_of_store()) as kb:
        yield kb


@command(
    sources,
    "add",
    "lightwell sources add tracker linear",
    "lightwell sources add chat chatwoot --option base_url=https://chat.example.com --option account=1 --every 5",
    audited="sources add",
)
async def add_source(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Its name here: small letters, digits and hyphens; not to be changed.",
        ),
    ],
    system: Annotated[
        str,
        typer.Argument(
            metavar="SYSTEM", help="The system: linear, attio, chatwoot, github, or a plug-in's."
        ),
    ],
    *,
    option: Options = None,
    every: Every = SYNC_SECONDS // 60,
    sweep_every: SweepEvery = SWEEP_SECONDS // 3600,
    adds_people: Annotated[
        bool,
        typer.Option(
            "--add-people",
            help="Add people whom the directory lacks, by the e-mail addresses that the system has verified.",
        ),
    ] = False,
) -> Report:
    """Add a business system as a source; workers and servers then sync it regularly.

    Its token is in the environment: LIGHTWELL_SOURCE_<NAME>_TOKEN, with _ for each hyphen of the name.
    """
    new = NewSource(
        name=name,
        system=system,
        options=_parse_options(option or ()),
        every_seconds=every * 60,
        sweep_seconds=sweep_every * 3600,
        adds_people=adds_people,
    )
    async with open_store_project(settings_for_new_documents()) as kb:
        return _report(await kb.sources.create(new))


@command(sources, "list", "lightwell sources list", "lightwell sources list --json")
async def list_sources() -> Report:
    """List the sources of the project by name, with the time of the next sync."""
    from lightwell.entrypoints import json_sources

    async with _open() as kb:
        found = await kb.sources.list()
    return Report(
        document={"sources": [json_sources.source(each) for each in found]}, text=_table(found)
    )


@command(sources, "show", "lightwell sources show tracker", "lightwell sources show tracker --json")
async def show_source(name: SourceArgument, *, limit: Rows = 10) -> Report:
    """Show a source with its latest syncs, and the items that could not be read."""
    from lightwell.entrypoints import json_sources

    async with _open() as kb:
        found = await kb.sources.show(name, limit=limit)
    return Report(document=json_sources.details(found), text=Text(_describe(found)))


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
) -> Report:
    """Sync a source now, and ingest what is new or changed there."""
    from lightwell.entrypoints import json_sources
    from lightwell.ingest.item_sync import SyncRequest

    async with _open() as kb:
        if start_over:
            await kb.sources.start_over(name)
        request = SyncRequest(
            is_full=True,
            with_sweep=sweep or allow_mass_deletion,
            allows_mass_deletion=allow_mass_deletion,
            progress=_print_progress,
        )
        report = await kb.sources.sync(name, request)
        done = () if no_wait else await kb.finish_jobs(on_outcome=_print_outcome)
    failed = sum(1 for each in done if each.error)
    ingested = {"ingested": len(done) - failed, "failed": failed}
    text = _counts_line(report.counts)
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


@command(
    sources,
    "change",
    "lightwell sources change tracker --every 5",
    "lightwell sources change chat --option base-url=https://chat.example.com --option account=2",
    audited="sources change",
)
async def change_source(
    name: SourceArgument,
    *,
    option: Options = None,
    every: Annotated[
        int | None,
        typer.Option("--every", metavar="MINUTES", min=1, help="Minutes between two syncs."),
    ] = None,
    sweep_every: Annotated[
        int | None,
        typer.Option(
            "--sweep-every",
            metavar="HOURS",
            min=1,
            help="Hours between two looks for deleted items.",
        ),
    ] = None,
) -> Report:
    """Change how often a source is synced, or its options; options that are given replace all of them."""
    change = SourceChange(
        options=None if option is None else _parse_options(option),
        every_seconds=None if every is None else every * 60,
        sweep_seconds=None if sweep_every is None else sweep_every * 3600,
    )
    async with _open() as kb:
        return _report(await kb.sources.change(name, change))


@command(sources, "pause", "lightwell sources pause tracker", audited="sources pause")
async def pause_source(name: SourceArgument) -> Report:
    """Pause a source: it is synced no more until it is resumed."""
    async with _open() as kb:
        return _report(await kb.sources.pause(name))


@command(sources, "resume", "lightwell sources resume tracker", audited="sources resume")
async def resume_source(name: SourceArgument) -> Report:
    """Go on with a paused source; workers and servers sync it at once."""
    async with _open() as kb:
        return _report(await kb.sources.resume(name))


@command(
    sources,
    "remove",
    "lightwell sources remove tracker",
    "lightwell sources remove tracker --yes",
    audited="sources remove",
)
def remove_source(name: SourceArgument, *, yes: Yes = False) -> Work:
    """Remove a source with its documents and its groups; the system itself is left alone."""
    confirm(f"Remove the source {name!r} with all its documents?", yes=yes)
    return _remove(name)


async def _remove(name: str) -> Report:
    async with _open() as kb:
        source = await kb.sources.get(name)
        removed = await kb.sources.remove(name)
    return Report(
        document={"sourceId": str(source.id), "documentsRemoved": removed},
        text=Text(f"Removed the source {source.name}, and {count_of(removed, 'document')}."),
    )


@command(
    sources,
    "failures",
    "lightwell sources failures tracker",
    "lightwell sources failures tracker --limit 1000 --json",
)
async def list_failures(name: SourceArgument, *, limit: Rows = 100) -> Report:
    """List the items of a source that could not be read, and when each is tried again."""
    from lightwell.entrypoints import json_sources

    async with _open() as kb:
        found = await kb.sources.show(name, limit=limit)
    return Report(
        document={
            "failedItems": found.failed,
            "failures": [json_sources.failure(each) for each in found.failures],
        },
        text=_failures_table(found.failures),
    )


@command(sources, "retry", "lightwell sources retry tracker", audited="sources retry")
async def retry_failures(name: SourceArgument) -> Report:
    """Try all items that could not be read again, at the next sync or by a worker at once."""
    async with _open() as kb:
        retried = await kb.sources.retry(name)
    return Report(
        document={"retried": retried},
        text=Text(f"{count_of(retried, 'item')} will be tried again."),
    )


def _parse_options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals or key in found:
            raise Invalid(f"{word!r} is not an option; write KEY=VALUE, each key once")
        found[key.strip()] = value.strip()
    return found


def _print_progress(progress: "SyncProgress") -> None:
    line = f"{progress.source}: {progress.stage}: {_counts_line(progress.counts)}"
    errors_console().print(Text(clean(line)))


def _print_outcome(outcome: "DocumentOutcome") -> None:
    end = f"failed: {outcome.error}" if outcome.error else count_of(outcome.chunks, "passage")
    errors_console().print(Text(clean(f"{outcome.url}: {end}")))


def _counts_line(counts: SourceCounts) -> str:
    return (
        f"{counts.inserted:,} new, {counts.updated:,} changed, {counts.deleted:,} deleted,"
        f" {counts.unchanged:,} unchanged, {counts.unreadable:,} unreadable."
    )


def _report(source: Source) -> Report:
    from lightwell.entrypoints import json_sources

    return Report(document=json_sources.source(source), text=_table([source]))


def _state(source: Source) -> str:
    if source.is_paused:
        return "paused"
    if source.is_running:
        return "running"
    return f"failed {source.failures} times: {source.error}" if source.error else "waiting"


def _table(found: Sequence[Source]) -> Table:
    table = new_table("Name", "System", "State", "Next sync", "Every")
    for each in found:
        table.add_row(
            clean(each.name),
            clean(each.system),
            clean(_state(each)),
            each.next_sync_at.isoformat(timespec="seconds"),
            f"{each.every_seconds / 60:g} min",
        )
    return table


def _failures_table(found: Sequence[ItemFailure]) -> Table:
    table = new_table("Item", "Reason", "Attempts", "Next try", "Message")
    for each in found:
        due = each.due_at.isoformat(timespec="seconds")
        table.add_row(
            clean(each.ref), clean(each.reason), str(each.attempts), due, clean(each.message)
        )
    return table


def _describe(found: "SourceDetails") -> str:
    source = found.source
    documents = ", ".join(f"{count:,} {kind}" for kind, count in found.documents.items()) or "none"
    lines = [
        f"{source.name} ({source.system}): {_state(source)}",
        f"Documents: {documents}",
        f"Next sync: {source.next_sync_at.isoformat(timespec='seconds')},"
        f" next sweep: {source.next_sweep_at.isoformat(timespec='seconds')}",
        f"Webhooks go to: /v1/webhooks/{source.id}",
    ]
    if source.warning:
        lines.append(f"Warning: {source.warning}")
    for run in found.runs:
        end = f" {run.error}" if run.error else ""
        began = run.started_at.isoformat(timespec="seconds")
        lines.append(f"{began} {run.state.value}: {_counts_line(run.counts)}{end}")
    if found.failed:
        lines.append(f"{count_of(found.failed, 'item')} could not be read:")
        lines += [f"  {each.ref}: {each.message}" for each in found.failures]
    return clean("\n".join(lines))

"""`sources`: business systems that are synced into the project.

Whoever may open the database may do this, or has a server's admin key.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.operations.sources as operations
from lightwell.domain.business_systems import SWEEP_SECONDS, SYNC_SECONDS, SourceCounts
from lightwell.domain.documents import PUSHED
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.asking import Administrator
from lightwell.entrypoints.cli.console import clean, count_of, errors_console, new_table
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import NoWait, PageSize, Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import (
    open_store_project,
    settings_of_store,
    settings_that_may_create_a_store,
)
from lightwell.entrypoints.operations.sources import NewSource, Source, SourceDetails, SourceRun

if TYPE_CHECKING:
    from lightwell.ingest.item_sync import SyncProgress, SyncRequest
    from lightwell.ingest.progress import DocumentOutcome

_POLL_SECONDS = 1.0

sources = new_group(
    "Add, sync, show and remove sources: Linear, Attio, Chatwoot, GitHub, web sites, buckets, mailboxes, pushes.",
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
        help="A name or a number that the connector needs, such as account=1; repeat it for several. "
        "Never a secret, nor an address to which one goes: those are in the environment.",
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


@command(
    sources,
    "add",
    "lightwell sources add tracker linear",
    "lightwell sources add support chatwoot --option account=1 --every 5",
    "lightwell sources add handbook site --option urls=https://docs.example.com/guide/ --option acl_tags=team:eng",
    audited="sources add",
)
async def add_source(  # noqa: PLR0913 - the options of a command are its arguments
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
            metavar="SYSTEM",
            help="The system: linear, attio, chatwoot, github, site, bucket, imap, push (programs bring its items), or a plug-in's.",
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
    administrator: Administrator,
) -> Report:
    """Add a source; workers and servers then sync it regularly.

    docs/connectors.md and docs/sources say which options each system has. Its token is in the environment of the process that syncs: LIGHTWELL_SOURCE_<NAME>_TOKEN, with _ for each hyphen of the name; the
    address of a server of your own beside it, as LIGHTWELL_SOURCE_<NAME>_BASE_URL. Both serve the project of LIGHTWELL_PROJECT, or
    that of LIGHTWELL_SOURCE_<NAME>_PROJECT.
    """
    new_source = NewSource(
        name=name,
        system=system,
        options=_parse_options(option or ()),
        every_seconds=every * 60,
        sweep_seconds=sweep_every * 3600,
        adds_people=adds_people,
    )
    adding = replace(administrator, choose_settings=settings_that_may_create_a_store)
    return _report_source(await adding(operations.add_source, new_source))


@command(
    sources,
    "list",
    "lightwell sources list",
    "lightwell sources list --json",
    "lightwell sources list --server http://127.0.0.1:8000",
)
async def list_sources(*, administrator: Administrator) -> Report:
    """List the sources of the project by name, with the time of the next sync."""
    listed = await administrator(operations.list_sources)
    return Report(document=listed, text=_table(listed.sources))


@command(sources, "show", "lightwell sources show tracker", "lightwell sources show tracker --json")
async def show_source(
    name: SourceArgument, *, limit: PageSize = 10, administrator: Administrator
) -> Report:
    """Show a source with its latest syncs, and the items that could not be read."""
    source = await administrator(operations.get_source, name, limit)
    return Report(document=source, text=Text(_describe(source)))


@command(
    sources,
    "change",
    "lightwell sources change tracker --every 5",
    "lightwell sources change support --option account=2",
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
    administrator: Administrator,
) -> Report:
    """Change how often a source is synced, or its options; options that are given replace all of them."""
    source = await administrator(
        operations.change_source,
        name,
        options=None if option is None else _parse_options(option),
        every_seconds=None if every is None else every * 60,
        sweep_seconds=None if sweep_every is None else sweep_every * 3600,
    )
    return _report_source(source)


@command(sources, "pause", "lightwell sources pause tracker", audited="sources pause")
async def pause_source(name: SourceArgument, *, administrator: Administrator) -> Report:
    """Pause a source: it is synced no more until it is resumed."""
    return _report_source(await administrator(operations.pause_source, name))


@command(sources, "resume", "lightwell sources resume tracker", audited="sources resume")
async def resume_source(name: SourceArgument, *, administrator: Administrator) -> Report:
    """Go on with a paused source; workers and servers sync it at once."""
    return _report_source(await administrator(operations.resume_source, name))


@command(
    sources,
    "remove",
    "lightwell sources remove tracker",
    "lightwell sources remove tracker --yes",
    audited="sources remove",
)
def remove_source(name: SourceArgument, *, yes: Yes = False, administrator: Administrator) -> Work:
    """Remove a source with its documents and its groups; the system itself is left alone.

    A sync that runs may end first, for up to ten seconds; then the command is refused, and the source stays paused.
    """
    confirm(f"Remove the source {name!r} with all its documents?", yes=yes)
    return _remove(name, administrator)


async def _remove(name: str, administrator: Administrator) -> Report:
    source = await administrator(operations.get_source, name, 1)
    await administrator(operations.remove_source, name)
    removed = sum(source.documents.values())
    return Report(
        document={"sourceId": str(source.source_id), "documentsRemoved": removed},
        text=Text(clean(f"Removed the source {source.name}, and {count_of(removed, 'document')}.")),
    )


@command(
    sources,
    "failures",
    "lightwell sources failures tracker",
    "lightwell sources failures tracker --limit 1000 --json",
)
async def list_failures(
    name: SourceArgument, *, limit: PageSize = 100, administrator: Administrator
) -> Report:
    """List the items of a source that could not be read, and when each is tried again."""
    source = await administrator(operations.get_source, name, limit)
    table = new_table("Item", "Reason", "Attempts", "Next try", "Message")
    for failure in source.failures:
        table.add_row(
            clean(failure.item_ref),
            clean(failure.reason),
            str(failure.attempts),
            _second(failure.due_at),
            clean(failure.message),
        )
    failures = [failure.to_document() for failure in source.failures]
    return Report(document={"failedItems": source.failed_items, "failures": failures}, text=table)


@command(sources, "retry", "lightwell sources retry tracker", audited="sources retry")
async def retry_failures(name: SourceArgument, *, administrator: Administrator) -> Report:
    """Try all items that could not be read again, at the next sync or by a worker at once."""
    retry = await administrator(operations.retry_source, name)
    text = Text(f"{count_of(retry.retried, 'item')} will be tried again.")
    return Report(document=retry, text=text)


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
    administrator: Administrator,
) -> Report:
    """Sync a source now, and ingest what is new or changed there.

    A server syncs and ingests in the background; this command waits for the sync only.
    """
    from lightwell.ingest.item_sync import SyncRequest

    if administrator.login is None:
        request = SyncRequest(
            is_full=True,
            with_sweep=sweep or allow_mass_deletion,
            allows_mass_deletion=allow_mass_deletion,
            progress=_print_progress,
        )
        return await _sync_here(name, request, start_over=start_over, no_wait=no_wait)
    before = await administrator(operations.get_source, name, 1)
    requested = await administrator(
        operations.sync_source,
        name,
        sweep=sweep,
        allow_mass_deletion=allow_mass_deletion,
        start_over=start_over,
    )
    if no_wait or requested.paused:
        return _report_source(requested)
    earlier = {run.run_id for run in before.runs}
    while True:
        source = await administrator(operations.get_source, name, 1)
        if any(run.run_id not in earlier and run.finished_at for run in source.runs):
            return _report_sync_on_server(source)
        await asyncio.sleep(_POLL_SECONDS)


async def _sync_here(
    name: str, request: "SyncRequest", *, start_over: bool, no_wait: bool
) -> Report:
    async with open_store_project(settings_of_store()) as kb:
        if start_over:
            await kb.sources.start_over(name)
        report = await kb.sources.sync(name, request)
        outcomes = () if no_wait else await kb.ingestion.finish_jobs(on_outcome=_print_outcome)
    failed = sum(1 for outcome in outcomes if outcome.error)
    ingested = len(outcomes) - failed
    text = _counts_line(report.counts)
    if not no_wait:
        text += f" {count_of(ingested, 'document')} ingested, {failed:,} failed."
    if report.warning:
        text += f"\nWarning: {report.warning}"
    document = {
        "runId": str(report.run),
        **asdict(report.counts),
        "warning": report.warning,
        "ingested": ingested,
        "failed": failed,
    }
    is_incomplete = failed or report.counts.unreadable or report.warning
    return Report(
        document=document,
        text=Text(clean(text)),
        code=Exit.INCOMPLETE if is_incomplete else Exit.FINE,
    )


def _report_sync_on_server(source: SourceDetails) -> Report:
    """Report the latest sync of a server; it ingests what is new on its own."""
    (latest, *_) = source.runs
    warning = f"\nWarning: {source.warning}" if source.warning else ""
    problem = f"\nThe sync failed: {latest.error}" if latest.error else ""
    text = f"{_counts_line(latest)} The server ingests what is new.{problem}{warning}"
    is_incomplete = latest.unreadable or latest.error or source.warning
    return Report(
        document={**latest.to_document(), "warning": source.warning},
        text=Text(clean(text)),
        code=Exit.INCOMPLETE if is_incomplete else Exit.FINE,
    )


def _print_progress(progress: "SyncProgress") -> None:
    line = f"{progress.source}: {progress.stage}: {_counts_line(progress.counts)}"
    errors_console().print(Text(clean(line)))


def _print_outcome(outcome: "DocumentOutcome") -> None:
    end = f"failed: {outcome.error}" if outcome.error else count_of(outcome.chunks, "passage")
    errors_console().print(Text(clean(f"{outcome.url}: {end}")))


def _parse_options(words: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals or key in options:
            raise Invalid(f"{word!r} is not an option; write KEY=VALUE, each key once")
        options[key.strip()] = value.strip()
    return options


def _report_source(source: Source) -> Report:
    """Report one source as a table of one row."""
    return Report(document=source, text=_table([source]))


def _table(sources: Sequence[Source]) -> Table:
    table = new_table("Name", "System", "State", "Next sync", "Every")
    for source in sources:
        table.add_row(
            clean(source.name),
            clean(source.system),
            clean(_state(source)),
            "" if source.system == PUSHED else _second(source.next_sync_at),
            "" if source.system == PUSHED else f"{source.every_seconds / 60:g} min",
        )
    return table


def _state(source: Source) -> str:
    if source.paused:
        return "paused"
    if source.running:
        return "running"
    if source.error:
        return f"failed {count_of(source.failures_in_row, 'time')}: {source.error}"
    return "waiting"


def _describe(source: SourceDetails) -> str:
    documents = ", ".join(f"{count:,} {kind}" for kind, count in source.documents.items())
    lines = [
        f"{source.name} ({source.system}): {_state(source)}",
        f"Documents: {documents or 'none'}",
    ]
    lines += (
        [f"Programs push to: /v1/sources/{source.name}/items"]
        if source.system == PUSHED
        else [
            f"Next sync: {_second(source.next_sync_at)}, next sweep: {_second(source.next_sweep_at)}",
            f"Webhooks go to: {source.webhook_path}",
        ]
    )
    if source.warning:
        lines.append(f"Warning: {source.warning}")
    for run in source.runs:
        end = f" {run.error}" if run.error else ""
        lines.append(f"{_second(run.started_at)} {run.state}: {_counts_line(run)}{end}")
    if source.failed_items:
        lines.append(f"{count_of(source.failed_items, 'item')} could not be read:")
        lines += [f"  {failure.item_ref}: {failure.message}" for failure in source.failures]
    return clean("\n".join(lines))


def _counts_line(counts: SourceCounts | SourceRun) -> str:
    """Return what a sync changed, in a line."""
    return (
        f"{counts.inserted:,} new, {counts.updated:,} changed, {counts.deleted:,} deleted,"
        f" {counts.unchanged:,} unchanged, {counts.unreadable:,} unreadable."
    )


def _second(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")

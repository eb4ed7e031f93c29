"""`ingest`: ingests files and folders, enqueues them, or estimates the cost."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean, errors_console
from lightwell.entrypoints.cli.costs import budgeted_meter, costs_of, estimate_report
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Budget, Estimate, NoWait
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.registration import Work, command, single_command
from lightwell.entrypoints.cli.store import (
    open_store_project,
    parse_document_tags,
    settings,
    settings_that_may_create_a_store,
)

if TYPE_CHECKING:
    from lightwell.entrypoints.cli.guarded_source import GuardedSource
    from lightwell.settings import Settings


ingest = single_command()


_LONGEST_TOPIC = 256


STOPPED = (
    "Stopped. Finished documents are kept; run `lightwell ingest` again "
    "or `lightwell worker` to continue."
)


@command(
    ingest,
    "ingest",
    "lightwell ingest ./handbook --acl team:us",
    "lightwell ingest ./deals contract.pdf --acl team:sales,user:ada --topic contracts",
    "lightwell ingest ./archive --acl team:us --estimate",
    "lightwell ingest ./archive --acl team:us --no-wait",
)
def ingest_paths(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", exists=True, help="Files, or folders with everything below them."
        ),
    ],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Who may see documents that name no access tags themselves: team:sales. "
            "Several by commas, or by repeating the option.",
        ),
    ] = None,
    topic: Annotated[
        str,
        typer.Option("--topic", metavar="TOPIC", help="The topic tag of documents that name none."),
    ] = "",
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
) -> Work:
    """Ingest documents; later runs process only what is new, changed or deleted.

    Reads markdown, pdf, docx, html and plain text. The access tags of a document come from its front
    matter (`acl_tags`), from a .lightwell.yaml beside or above it, or else from --acl. If a document cannot be
    read, the report gives the reason, and the others are ingested. Ctrl-C loses nothing: the next run continues.
    """
    if estimate:
        return _estimate(paths, acl, topic=topic)
    if no_wait:
        return _enqueue(paths, acl, topic=topic)
    return _ingest(paths, acl, topic=topic, budget=budget)


async def _ingest(
    paths: Sequence[Path], acl: Sequence[str] | None, *, topic: str, budget: int | None
) -> Report:
    """Ingest the paths and report the result of each document; `budget` overrides the settings."""
    from lightwell.entrypoints.cli.ingest_report import IngestSummary

    sources = _sources(paths, acl, topic)
    console, meter = errors_console(), budgeted_meter(budget)
    async with open_store_project(settings_that_may_create_a_store(), meter) as kb:
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
        usage=costs_of(meter),
    ).report()


async def _estimate(paths: Sequence[Path], acl: Sequence[str] | None, *, topic: str) -> Report:
    """Report what ingesting the paths would cost; no model is called, and nothing is stored.

    If no store exists, an empty one in a temporary folder replaces it, and is deleted afterwards.
    """
    sources, chosen = _sources(paths, acl, topic), settings()
    with _existing_or_temporary(chosen) as there:
        async with open_store_project(there) as kb:
            found = [await kb.estimate(source) for source in sources]
    return estimate_report(found, chosen, which="new or changed")


@contextmanager
def _existing_or_temporary(settings: "Settings") -> "Generator[Settings]":
    """Yield the settings, with a temporary data directory where no store exists."""
    from lightwell.wiring.database import has_store

    if has_store(settings):
        yield settings
        return
    place = settings.data.expanduser().resolve()
    message = f"Note: There is no store in {place} yet, so every document counts as new."
    typer.echo(clean(message), err=True)
    with TemporaryDirectory(prefix="lightwell-") as folder:
        Path(folder).chmod(0o711)  # the server may run under another account, which has to pass
        yield settings.model_copy(update={"data": Path(folder) / "store"})


async def _enqueue(paths: Sequence[Path], acl: Sequence[str] | None, *, topic: str) -> Report:
    """Enqueue what changed in the paths; workers do the rest."""
    from lightwell.entrypoints.cli.ingest_report import IngestSummary

    sources = _sources(paths, acl, topic)
    async with open_store_project(settings_that_may_create_a_store()) as kb:
        found = [await kb.enqueue(source) for source in sources]
    return IngestSummary(found=found, done=None, sources=sources).report()


def _sources(paths: Sequence[Path], acl: Sequence[str] | None, topic: str) -> "list[GuardedSource]":
    from lightwell.entrypoints.cli.guarded_source import GuardedSource
    from lightwell.wiring import files

    if len(topic) > _LONGEST_TOPIC:
        raise Invalid(f"A topic has at most {_LONGEST_TOPIC} characters")
    tags, chosen = parse_document_tags(acl), settings()
    found = [files(path, tags, chosen) for path in paths]
    for message in dict.fromkeys(
        word for source in found for word in source.describe_ignored_settings()
    ):
        typer.echo(clean(f"Note: {message}"), err=True)
    return [GuardedSource(source=source, topic=topic.strip(), acl=tags) for source in found]

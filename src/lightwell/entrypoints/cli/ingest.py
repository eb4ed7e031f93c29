"""`ingest`: ingests files and folders, enqueues them, or estimates the cost."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.folder_tags import FolderTags
from lightwell.entrypoints.cli.console import clean, errors_console
from lightwell.entrypoints.cli.costs import budgeted_meter, costs_of, estimate_report
from lightwell.entrypoints.cli.document_tags import (
    find_tags,
    login_tag,
    remember_tags,
    tags_of_owner,
)
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
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.knowledge_base.ingestion import IngestionResult
    from lightwell.ports import Connector
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
    "lightwell ingest ./notes",
    "lightwell ingest ./handbook --acl team:us",
    "lightwell ingest ./deals contract.pdf --acl team:sales,user:ada --topic contracts",
    "lightwell ingest ./archive --acl team:us --estimate",
    "lightwell ingest ./archive --acl team:us --no-wait",
)
def ingest_paths(  # noqa: PLR0913 - the options of a command are its arguments
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            help="Files, folders with everything below them, or exports of Notion and Confluence (.zip).",
        ),
    ],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Who may see documents that name no access tags themselves: team:sales. "
            "Several by commas, or by repeating the option. Left out, it stays as it was.",
        ),
    ] = None,
    no_acl: Annotated[
        bool,
        typer.Option(
            "--no-acl", help="Hide documents that name no access tags themselves from everybody."
        ),
    ] = False,
    topic: Annotated[
        str,
        typer.Option("--topic", metavar="TOPIC", help="The topic tag of documents that name none."),
    ] = "",
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
) -> Work:
    """Ingest documents; later runs process only what is new, changed or deleted.

    Reads texts, office files, data and code; docs/command-line.md lists the formats. The access tags of a document come from its front
    matter (`acl_tags`), from a .lightwell.yaml beside or above it, or else from --acl, which is remembered for
    the folder. Without any of them, documents of your own store are for you alone. If a document cannot be read,
    the report gives the reason, and the others are ingested. What is no document (pictures, what a .gitignore leaves
    out, `node_modules`) is skipped and counted. Ctrl-C loses nothing: the next run continues.
    """
    if len(topic) > _LONGEST_TOPIC:
        raise Invalid(f"A topic has at most {_LONGEST_TOPIC} characters")
    order = _Order(paths=paths, acl=_parse_acl(acl, no_acl=no_acl), topic=topic.strip())
    if estimate:
        return _estimate(order)
    if no_wait:
        return _enqueue(order)
    return _ingest(order, budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What a command ingests. `acl` is None where the command does not say who may see it, and empty for nobody."""

    paths: Sequence[Path]
    acl: Tags | None
    topic: str


def _parse_acl(acl: Sequence[str] | None, *, no_acl: bool) -> Tags | None:
    """Return the tags that the command gives, none for nobody, None where it says nothing; raise `Invalid`."""
    tags = parse_document_tags(acl)
    if no_acl and acl is None:
        return tags
    if acl is None:
        return None
    if no_acl or not tags:
        raise Invalid("Name access tags with --acl, or hide documents with --no-acl")
    return tags


async def _ingest(order: _Order, budget: int | None) -> Report:
    """Ingest the paths and report the result of each document; `budget` overrides the settings."""
    from lightwell.entrypoints.cli.ingest_report import IngestSummary

    meter = budgeted_meter(budget)
    chosen = settings_that_may_create_a_store()
    async with open_store_project(chosen, meter) as kb:
        sources = await _open_sources(kb, order, chosen)
        ended = await ingest_with_progress(kb, sources)
    return IngestSummary(
        synced=[result.found for result in ended],
        done=[outcome for result in ended for outcome in result.done],
        sources=sources,
        usage=costs_of(meter),
    ).report()


async def ingest_with_progress(
    kb: "KnowledgeBase", sources: "Sequence[Connector]", system: str = "file"
) -> "list[IngestionResult]":
    """Ingest the sources one after the other, and show the progress; where somebody stops it, say how to continue."""
    console = errors_console()
    try:
        with show_progress(console) as progress:
            ended = [
                await kb.ingestion.ingest(
                    source,
                    system,
                    on_start=progress.start,
                    on_outcome=progress.advance,
                    progress=progress.progress,
                )
                for source in sources
            ]
            progress.end()
    except asyncio.CancelledError:
        console.print(Text(STOPPED))
        raise
    return ended


async def _estimate(order: _Order) -> Report:
    """Report what ingesting the paths would take; no endpoint is called, and nothing is stored.

    If no store exists, an empty one in a temporary folder replaces it, and is deleted afterwards.
    """
    chosen = settings()
    anybody = frozenset({login_tag()})  # whoever may see documents, they cost the same
    with existing_or_temporary(chosen) as there:
        async with open_store_project(there) as kb:
            sources = [
                _source(path, order, await find_tags(kb, path, order.acl), chosen, anybody)
                for path in order.paths
            ]
            estimated = await kb.ingestion.estimate(*sources)
    return estimate_report(estimated, chosen, which="new or changed")


@contextmanager
def existing_or_temporary(settings: "Settings") -> "Generator[Settings]":
    """Yield the settings, with a temporary data directory where no store exists."""
    from lightwell.wiring.database import has_store

    if has_store(settings):
        yield settings
        return
    place = settings.data.expanduser().resolve()
    message = (
        f"Note: There is no store in {place} yet, so every document counts as new. An empty one takes"
        " another 60 MB."
    )
    typer.echo(clean(message), err=True)
    with TemporaryDirectory(prefix="lightwell-") as folder:
        Path(folder).chmod(0o711)  # the server may run under another account, which has to pass
        yield settings.model_copy(update={"data": Path(folder) / "store"})


async def _enqueue(order: _Order) -> Report:
    """Enqueue what changed in the paths; workers do the rest."""
    from lightwell.entrypoints.cli.ingest_report import IngestSummary

    chosen = settings_that_may_create_a_store()
    async with open_store_project(chosen) as kb:
        sources = await _open_sources(kb, order, chosen)
        results = [await kb.ingestion.enqueue(source) for source in sources]
    return IngestSummary(synced=results, done=None, sources=sources).report()


async def _open_sources(
    kb: "KnowledgeBase", order: _Order, chosen: "Settings"
) -> "list[GuardedSource]":
    """Return the paths as sources, and remember the access tags that the command gives, after saying what they change."""
    owner = await tags_of_owner(kb, chosen) if order.acl is None else frozenset[str]()
    sources: list[GuardedSource] = []
    for path in order.paths:
        remembered = await remember_tags(kb, path, order.acl, owner)
        sources.append(_source(path, order, remembered, chosen))
    for message in dict.fromkeys(
        note for source in sources for note in source.source.describe_ignored_settings()
    ):
        typer.echo(clean(f"Note: {message}"), err=True)
    return sources


def _source(
    path: Path,
    order: _Order,
    remembered: FolderTags,
    chosen: "Settings",
    default: Tags = frozenset(),
) -> "GuardedSource":
    from lightwell.entrypoints.cli.guarded_source import GuardedSource
    from lightwell.wiring import files

    source = files(path, default, chosen, remembered)
    return GuardedSource(source=source, topic=order.topic, acl=order.acl or frozenset())

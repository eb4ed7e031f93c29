"""`sources`: business systems that are synced into the project.

Whoever may open the database may do this, or has a server's admin key.

`sources_sync` holds the command that syncs, `sources_output` what all of them show.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.domain.business_systems import (
    SWEEP_SECONDS,
    SYNC_SECONDS,
)
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean, count_of
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import PageSize, Server, Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.remote import require_server, send
from lightwell.entrypoints.cli.sources_output import (
    report_details,
    report_failures,
    report_retry,
    report_source,
    report_sources,
)
from lightwell.entrypoints.cli.store import (
    open_store_project,
    settings_of_store,
    settings_that_may_create_a_store,
)

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.sources import SourceDetailsSchema

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
        help="A name or a number that the connector needs, such as account=1; repeat it for several. "
        "Never a secret or an address: those are in the environment.",
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
    server: Server = None,
) -> Report:
    """Add a business system as a source; workers and servers then sync it regularly.

    Its token is in the environment of the process that syncs: LIGHTWELL_SOURCE_<NAME>_TOKEN, with _ for each hyphen of the name; the
    address of a server of your own beside it, as LIGHTWELL_SOURCE_<NAME>_BASE_URL. Both serve the project of LIGHTWELL_PROJECT, or
    that of LIGHTWELL_SOURCE_<NAME>_PROJECT.
    """
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import SourceBody, source_schema

    body = SourceBody(
        name=name,
        system=system,
        options=_parse_options(option or ()),
        every_seconds=every * 60,
        sweep_seconds=sweep_every * 3600,
        adds_people=adds_people,
    )
    if server:
        return report_source(await send(source_calls.add_source(body), require_server(server)))
    async with open_store_project(settings_that_may_create_a_store()) as kb:
        return report_source(source_schema(await kb.sources.create(body.to_source())))


@command(
    sources,
    "list",
    "lightwell sources list",
    "lightwell sources list --json",
    "lightwell sources list --server http://127.0.0.1:8000",
)
async def list_sources(*, server: Server = None) -> Report:
    """List the sources of the project by name, with the time of the next sync."""
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import SourceList, source_schema

    if server:
        return report_sources(await send(source_calls.list_sources(), require_server(server)))
    async with open_store_project(settings_of_store()) as kb:
        found = [source_schema(each) for each in await kb.sources.list()]
    return report_sources(SourceList(sources=found))


@command(sources, "show", "lightwell sources show tracker", "lightwell sources show tracker --json")
async def show_source(
    name: SourceArgument, *, limit: PageSize = 10, server: Server = None
) -> Report:
    """Show a source with its latest syncs, and the items that could not be read."""
    return report_details(await _details(name, limit, server))


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
    server: Server = None,
) -> Report:
    """Change how often a source is synced, or its options; options that are given replace all of them."""
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import SourceChangeBody, source_schema

    body = SourceChangeBody(
        options=None if option is None else _parse_options(option),
        every_seconds=None if every is None else every * 60,
        sweep_seconds=None if sweep_every is None else sweep_every * 3600,
    )
    if server:
        call = source_calls.change_source(name, body)
        return report_source(await send(call, require_server(server)))
    async with open_store_project(settings_of_store()) as kb:
        return report_source(source_schema(await kb.sources.change(name, body.to_change())))


@command(sources, "pause", "lightwell sources pause tracker", audited="sources pause")
async def pause_source(name: SourceArgument, *, server: Server = None) -> Report:
    """Pause a source: it is synced no more until it is resumed."""
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import source_schema

    if server:
        call = source_calls.pause_source(name)
        return report_source(await send(call, require_server(server)))
    async with open_store_project(settings_of_store()) as kb:
        return report_source(source_schema(await kb.sources.pause(name)))


@command(sources, "resume", "lightwell sources resume tracker", audited="sources resume")
async def resume_source(name: SourceArgument, *, server: Server = None) -> Report:
    """Go on with a paused source; workers and servers sync it at once."""
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import source_schema

    if server:
        call = source_calls.resume_source(name)
        return report_source(await send(call, require_server(server)))
    async with open_store_project(settings_of_store()) as kb:
        return report_source(source_schema(await kb.sources.resume(name)))


@command(
    sources,
    "remove",
    "lightwell sources remove tracker",
    "lightwell sources remove tracker --yes",
    audited="sources remove",
)
def remove_source(name: SourceArgument, *, yes: Yes = False, server: Server = None) -> Work:
    """Remove a source with its documents and its groups; the system itself is left alone.

    A sync that runs may end first, for up to ten seconds; then the command is refused, and the source stays paused.
    """
    confirm(f"Remove the source {name!r} with all its documents?", yes=yes)
    return _remove(name, server)


async def _remove(name: str, server: str | None) -> Report:
    from lightwell.entrypoints.client import source_calls

    source = await _details(name, 1, server)
    if server:
        removed = sum(source.documents.values())
        await send(source_calls.remove_source(name), require_server(server))
    else:
        async with open_store_project(settings_of_store()) as kb:
            removed = await kb.sources.remove(name)
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
    name: SourceArgument, *, limit: PageSize = 100, server: Server = None
) -> Report:
    """List the items of a source that could not be read, and when each is tried again."""
    return report_failures(await _details(name, limit, server))


@command(sources, "retry", "lightwell sources retry tracker", audited="sources retry")
async def retry_failures(name: SourceArgument, *, server: Server = None) -> Report:
    """Try all items that could not be read again, at the next sync or by a worker at once."""
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import RetrySchema

    if server:
        return report_retry(await send(source_calls.retry_source(name), require_server(server)))
    async with open_store_project(settings_of_store()) as kb:
        return report_retry(RetrySchema(retried=await kb.sources.retry(name)))


async def _details(name: str, limit: int, server: str | None) -> "SourceDetailsSchema":
    from lightwell.entrypoints.client import source_calls
    from lightwell.entrypoints.schemas.sources import details_schema

    if server:
        return await send(source_calls.get_source(name, limit=limit), require_server(server))
    async with open_store_project(settings_of_store()) as kb:
        return details_schema(await kb.sources.show(name, limit=limit))


def _parse_options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals or key in found:
            raise Invalid(f"{word!r} is not an option; write KEY=VALUE, each key once")
        found[key.strip()] = value.strip()
    return found

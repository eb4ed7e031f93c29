"""`graph split`, `unsplit` and `splits`: for one name that means two entities."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import SplitId
from lightwell.entrypoints.cli.console import clean, count_of, dim, minute, new_table
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import EntityName, graph
from lightwell.entrypoints.cli.options import As, PageSize, Server
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.corrections import EntityList, SplitResponse


@command(
    graph,
    "split",
    'lightwell graph split "Anna Schmidt" --into "Anna Schmidt (Kiel)" --document file:///notes/kiel.md --as team:us',
    'lightwell graph split "Nordwind" --into "Nordwind Oslo" --passage file:document:42#0 --as team:us',
)
async def split_entity(
    name: EntityName,
    *,
    into: Annotated[
        str,
        typer.Option(
            "--into",
            metavar="NAME",
            help="The name of the other entity, which is created if it does not exist.",
        ),
    ],
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            metavar="DOCUMENT",
            help="A document that mentions the other entity, by URL, reference or id. Repeat it for several.",
        ),
    ] = None,
    passage: Annotated[
        list[str] | None,
        typer.Option(
            "--passage",
            metavar="PASSAGE",
            help="A passage that mentions it, by reference or id (`lightwell documents passages`). Repeat it for several.",
        ),
    ] = None,
    who: As = None,
    server: Server = None,
) -> Report:
    """Split an entity whose name means two things: move its mentions in some documents or passages to the other one.

    Ingesting the documents again keeps the split. `graph unsplit` undoes it.
    """
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.corrections import split_response

    documents, passages = document or [], passage or []
    if login := choose_server(server, who):
        call = graph_calls.split_entity(name, into, documents=documents, passages=passages)
        split = await send(call, login)
        return Report(document=dump(split), text=_split_text(split))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        done = await kb.graph.split(reader, name, into, documents=documents, passages=passages)
    split = split_response(done)
    return report_with_costs(meter, dump(split), _split_text(split))


@command(graph, "unsplit", 'lightwell graph unsplit "Anna Schmidt (Kiel)" --as team:us')
async def unsplit_entity(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ENTITY", help="The entity that a split made, or the id of the split."
        ),
    ],
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Undo a split in the documents that you may see; a server knows it by its id."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.corrections import EntityList
    from lightwell.entrypoints.schemas.graph import entity_schema

    if login := choose_server(server, who):
        there = await send(graph_calls.undo_split(_split_id(name)), login)
        return Report(document=dump(there), text=_whole_text(there))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        whole = await kb.graph.unsplit(reader, name)
    here = EntityList(entities=[entity_schema(each) for each in whole])
    return report_with_costs(meter, dump(here), _whole_text(here))


@command(
    graph,
    "splits",
    "lightwell graph splits --as team:us",
    "lightwell graph splits --as team:us --limit 20 --json",
)
async def list_splits(
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="SPLIT", help="Only splits older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active splits in documents that you may see, the latest first."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.operations.replies import PageQuery, cut_page
    from lightwell.entrypoints.schemas.corrections import split_page

    behind = _split_id(after) if after else None
    query = PageQuery(limit=limit, after=after)
    if login := choose_server(server, who):
        page = await send(graph_calls.list_splits(query), login)
    else:
        async with open_as(who) as (kb, reader):
            held = await kb.graph.splits(reader, after=behind, limit=limit + 1)
        page = split_page(*cut_page(held, query, lambda each: str(each.split_id)))
    table = new_table("name", "split off as", "documents", "when", "split")
    for each in page.splits:
        table.add_row(
            clean(", ".join(each.names)),
            clean(each.part),
            clean("\n".join(each.documents)),
            minute(each.made_at),
            clean(each.split_id),
        )
    more = [dim(f"There are more: --after {clean(page.next_after)}")] if page.next_after else []
    text = Group(table, *more) if page.splits else Text("There are no splits that you may see.")
    return Report(document=dump(page), text=text)


def _split_text(split: "SplitResponse") -> RenderableType:
    moved, part = count_of(split.passages, "passage"), split.part
    return Group(
        Text(clean(f"{moved} moved to {part.entity_name} ({part.entity_ref}).")),
        dim(clean(f"`lightwell graph unsplit {split.split_id}` undoes it.")),
    )


def _whole_text(whole: "EntityList") -> Text:
    names = ", ".join(each.entity_name for each in whole.entities)
    again = f" These entities have the mentions again: {names}." if names else ""
    return Text(clean(f"The split is undone.{again}"))


def _split_id(text: str) -> SplitId:
    try:
        return SplitId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a split id; `lightwell graph splits` lists the ids"
        ) from error

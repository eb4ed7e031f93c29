"""`graph split`, `unsplit` and `splits`: for one name that means two entities."""

from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.json_graph as json_graph
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import SplitId
from lightwell.entrypoints.cli.console import clean, count_of, dim, new_table
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import EntityName, graph
from lightwell.entrypoints.cli.groups import command
from lightwell.entrypoints.cli.options import As, Rows
from lightwell.entrypoints.cli.store import open_as


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
) -> Report:
    """Split an entity whose name means two things: move its mentions in some documents or passages to the other one.

    Ingesting the documents again keeps the split. `graph unsplit` undoes it.
    """
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        done = await kb.graph.split(
            reader, name, into, documents=document or [], passages=passage or []
        )
    moved = count_of(done.passages, "passage")
    text = Group(
        Text(clean(f"{moved} moved to {done.part.name} ({done.part.ref}).")),
        dim(f"`lightwell graph unsplit {done.split_id}` undoes it."),
    )
    return report_with_costs(meter, json_graph.split_result(done), text)


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
) -> Report:
    """Undo a split in the documents that you may see."""
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        whole = await kb.graph.unsplit(reader, name)
    names = ", ".join(each.name for each in whole)
    return report_with_costs(
        meter,
        {"entities": [json_graph.entity(each) for each in whole]},
        Text(
            clean(
                f"The split is undone. These entities have the mentions again: {names}."
                if whole
                else "The split is undone."
            )
        ),
    )


@command(
    graph,
    "splits",
    "lightwell graph splits --as team:us",
    "lightwell graph splits --as team:us --limit 20 --json",
)
async def list_splits(
    *,
    who: As = None,
    limit: Rows = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="SPLIT", help="Only splits older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active splits in documents that you may see, the latest first."""
    behind = _split_id(after) if after else None
    async with open_as(who) as (kb, reader):
        held = await kb.graph.splits(reader, after=behind, limit=limit + 1)
    page = held[:limit]
    following = str(page[-1].split_id) if len(held) > limit else None
    table = new_table("name", "split off as", "documents", "when", "split")
    for each in page:
        table.add_row(
            clean(", ".join(each.names)),
            clean(each.part),
            clean("\n".join(each.urls)),
            f"{each.split_at:%Y-%m-%d %H:%M}",
            str(each.split_id),
        )
    more = [dim(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no splits that you may see.")
    return Report(
        document={
            "splits": [json_graph.active_split(each) for each in page],
            "nextAfter": following,
        },
        text=text,
    )


def _split_id(text: str) -> SplitId:
    try:
        return SplitId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a split id; `lightwell graph splits` lists the ids"
        ) from error

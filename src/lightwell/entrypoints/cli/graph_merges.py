"""`graph merge`, `unmerge`, `merges`, `proposals` and `reject`: several entities that people make one."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import MergeStrategy
from lightwell.domain.ids import MergeId
from lightwell.entrypoints.cli.console import clean, count_of, dim, minute, new_table
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import SourceName, TargetName, graph
from lightwell.entrypoints.cli.options import As, PageSize, Server
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.corrections import (
        EntityList,
        MergeResponse,
        ProposalSchema,
    )


@command(
    graph,
    "merge",
    'lightwell graph merge "ACME Inc" --into "Acme Corp" --as team:us',
    'lightwell graph merge "A. Corp" "ACME" --into "Acme Corp" --strategy KEEP_LONGEST --as team:us',
)
async def merge_entities(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="ENTITY...", help="The entities to merge, by name, reference or id."
        ),
    ],
    *,
    into: Annotated[
        str,
        typer.Option("--into", metavar="ENTITY", help="The target entity, which keeps its name."),
    ],
    strategy: Annotated[
        MergeStrategy,
        typer.Option("--strategy", help="How the descriptions are combined.", case_sensitive=False),
    ] = MergeStrategy.CONCATENATE,
    who: As = None,
    server: Server = None,
) -> Report:
    """Merge several entities into one; their names become aliases.

    The merge also holds for documents that are ingested later. `graph unmerge` undoes it completely.
    """
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.corrections import merge_response

    if login := choose_server(server, who):
        call = graph_calls.merge_entities(sources, into, strategy=strategy)
        merged = await send(call, login)
        return Report(document=dump(merged), text=_merged(merged))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        done = await kb.graph.merge(reader, sources, into, strategy=strategy)
    merged = merge_response(done)
    return report_with_costs(meter, dump(merged), _merged(merged))


@command(graph, "unmerge", 'lightwell graph unmerge "ACME Inc" --as team:us')
async def unmerge_entity(
    name: Annotated[
        str, typer.Argument(metavar="ENTITY", help="The merged entity, or the id of the merge.")
    ],
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Undo a merge completely; a server knows it by its id."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.corrections import EntityList
    from lightwell.entrypoints.schemas.graph import entity_schema

    if login := choose_server(server, who):
        there = await send(graph_calls.undo_merge(_merge_id(name)), login)
        return Report(document=dump(there), text=_apart(there))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        apart = await kb.graph.unmerge(reader, name)
    here = EntityList(entities=[entity_schema(each) for each in apart])
    return report_with_costs(meter, dump(here), _apart(here))


@command(
    graph,
    "merges",
    "lightwell graph merges --as team:us",
    "lightwell graph merges --as team:us --limit 20 --json",
)
async def list_merges(
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="MERGE", help="Only merges older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active merges of which you see both sides, the latest first."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.operations.replies import PageQuery
    from lightwell.entrypoints.schemas.corrections import merge_page

    behind = _merge_id(after) if after else None
    if login := choose_server(server, who):
        page = await send(graph_calls.list_merges(PageQuery(limit=limit, after=after)), login)
    else:
        async with open_as(who) as (kb, reader):
            held = await kb.graph.merges(reader, after=behind, limit=limit + 1)
        following = str(held[limit - 1].merge_id) if len(held) > limit else None
        page = merge_page(held[:limit], following)
    table = new_table("merged", "into", "strategy", "when", "merge")
    for each in page.merges:
        names = clean(", ".join(each.sources))
        when = minute(each.merged_at)
        table.add_row(names, clean(each.target), each.strategy.value, when, each.merge_id)
    more = [dim(f"There are more: --after {page.next_after}")] if page.next_after else []
    text = Group(table, *more) if page.merges else Text("There are no merges that you may see.")
    return Report(document=dump(page), text=text)


@command(
    graph,
    "proposals",
    "lightwell graph proposals --as team:us",
    'lightwell graph proposals --about "Acme Corp" --as team:us',
)
async def list_merge_proposals(
    *,
    who: As = None,
    server: Server = None,
    about: Annotated[
        str,
        typer.Option("--about", metavar="ENTITY", help="Only possible duplicates of this entity."),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many, at most.")] = 20,
) -> Report:
    """List possible duplicates with the evidence; nothing is merged.

    Compares the 500 entities that were mentioned last, or only the one given by --about.
    """
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.corrections import proposal_list

    if login := choose_server(server, who):
        found = await send(graph_calls.list_merge_proposals(about=about, limit=limit), login)
    else:
        async with open_as(who) as (kb, reader):
            found = proposal_list(await kb.graph.proposals(reader, about=about, limit=limit))
    table = new_table("confidence", "entity", "possibly the same as", "evidence")
    for each in found.proposals:
        one, other = (clean(entity.entity_name) for entity in each.entities)
        table.add_row(f"{each.confidence:.2f}", one, other, _evidence_text(each))
    nothing = Text("There are no possible duplicates that you may see.")
    return Report(document=dump(found), text=table if found.proposals else nothing)


@command(graph, "reject", 'lightwell graph reject "Jane Smith" "Jane Smith Jr" --as team:us')
async def reject_merge(
    one: SourceName,
    other: TargetName,
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Reject a proposed merge; it is not proposed again."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import entity_schema

    if login := choose_server(server, who):
        pair = (await send(graph_calls.reject_merge_proposal(one, other), login)).entities
    else:
        async with open_as(who) as (kb, reader):
            apart = await kb.graph.reject(reader, one, other)
        pair = [entity_schema(each) for each in apart]
    first, second = (each.entity_name for each in pair)
    text = f"{first} and {second} stay separate; this merge is not proposed again."
    return Report(document={"rejected": [dump(each) for each in pair]}, text=Text(clean(text)))


def _merge_id(text: str) -> MergeId:
    try:
        return MergeId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a merge id; `lightwell graph merges` lists the ids"
        ) from error


def _apart(apart: "EntityList") -> Text:
    names = ", ".join(each.entity_name for each in apart.entities)
    return Text(clean(f"Separate entities again: {names}."))


def _merged(result: "MergeResponse") -> RenderableType:
    redirected = count_of(result.relations_redirected, "relation")
    joined = f", {result.relations_deduped} of them joined with an existing one"
    related = (
        f"{redirected} redirected{joined if result.relations_deduped else ''}."
        if result.relations_redirected or not result.note
        else result.note
    )
    merged = (
        "1 entity"
        if result.source_entities_deleted == 1
        else f"{result.source_entities_deleted} entities"
    )
    return Group(
        Text(clean(f"Merged {merged} into {result.target_entity.entity_name}. {related}")),
        dim(f"`lightwell graph unmerge {result.merge_id}` undoes it."),
    )


def _evidence_text(proposal: "ProposalSchema") -> str:
    words = {
        "email": "same address",
        "domain": "same domain",
        "alias": "alias",
        "name": "similarity of the names",
    }
    reasons = [f"{words.get(field, field)} {value}" for field, value in proposal.evidence.items()]
    if proposal.shared_neighbours:
        reasons.append(f"both related to {', '.join(proposal.shared_neighbours[:3])}")
    return clean("; ".join(reasons))

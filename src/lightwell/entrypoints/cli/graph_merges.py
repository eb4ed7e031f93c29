"""`graph merge`, `unmerge`, `merges`, `proposals` and `reject`: several entities that people make one."""

from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.json_graph as json_graph
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import MergeProposal, MergeResult, MergeStrategy
from lightwell.domain.ids import MergeId
from lightwell.entrypoints.cli.console import clean, count_of, dim, new_table
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import SourceName, TargetName, graph
from lightwell.entrypoints.cli.groups import command
from lightwell.entrypoints.cli.options import As, Rows
from lightwell.entrypoints.cli.store import open_as


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
) -> Report:
    """Merge several entities into one; their names become aliases.

    The merge also holds for documents that are ingested later. `graph unmerge` undoes it completely.
    """
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        done = await kb.graph.merge(reader, sources, into, strategy=strategy)
    return report_with_costs(meter, json_graph.merge_result(done), _merged(done))


@command(graph, "unmerge", 'lightwell graph unmerge "ACME Inc" --as team:us')
async def unmerge_entity(
    name: Annotated[
        str, typer.Argument(metavar="ENTITY", help="The merged entity, or the id of the merge.")
    ],
    *,
    who: As = None,
) -> Report:
    """Undo a merge completely."""
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        apart = await kb.graph.unmerge(reader, name)
    names = ", ".join(each.name for each in apart)
    return report_with_costs(
        meter,
        {"entities": [json_graph.entity(each) for each in apart]},
        Text(clean(f"Separate entities again: {names}.")),
    )


@command(
    graph,
    "merges",
    "lightwell graph merges --as team:us",
    "lightwell graph merges --as team:us --limit 20 --json",
)
async def list_merges(
    *,
    who: As = None,
    limit: Rows = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="MERGE", help="Only merges older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active merges of which you see both sides, the latest first."""
    behind = _merge_id(after) if after else None
    async with open_as(who) as (kb, reader):
        held = await kb.graph.merges(reader, after=behind, limit=limit + 1)
    page = held[:limit]
    following = str(page[-1].merge_id) if len(held) > limit else None
    table = new_table("merged", "into", "strategy", "when", "merge")
    for each in page:
        when = f"{each.merged_at:%Y-%m-%d %H:%M}"
        names = clean(", ".join(each.sources))
        table.add_row(names, clean(each.target), each.strategy.value, when, str(each.merge_id))
    more = [dim(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no merges that you may see.")
    return Report(
        document={
            "merges": [json_graph.active_merge(each) for each in page],
            "nextAfter": following,
        },
        text=text,
    )


@command(
    graph,
    "proposals",
    "lightwell graph proposals --as team:us",
    'lightwell graph proposals --about "Acme Corp" --as team:us',
)
async def list_merge_proposals(
    *,
    who: As = None,
    about: Annotated[
        str,
        typer.Option("--about", metavar="ENTITY", help="Only possible duplicates of this entity."),
    ] = "",
    limit: Rows = 20,
) -> Report:
    """List possible duplicates with the evidence; nothing is merged.

    Compares the 500 entities that were mentioned last, or only the one given by --about.
    """
    async with open_as(who) as (kb, reader):
        found = await kb.graph.proposals(reader, about=about, limit=limit)
    table = new_table("confidence", "entity", "possibly the same as", "evidence")
    for each in found:
        table.add_row(
            f"{each.confidence:.2f}",
            clean(each.one.name),
            clean(each.other.name),
            _evidence_text(each),
        )
    nothing = Text("There are no possible duplicates that you may see.")
    return Report(
        document={"proposals": [json_graph.proposal(each) for each in found]},
        text=table if found else nothing,
    )


@command(graph, "reject", 'lightwell graph reject "Jane Smith" "Jane Smith Jr" --as team:us')
async def reject_merge(
    one: SourceName,
    other: TargetName,
    *,
    who: As = None,
) -> Report:
    """Reject a proposed merge; it is not proposed again."""
    async with open_as(who) as (kb, reader):
        pair = await kb.graph.reject(reader, one, other)
    text = f"{pair[0].name} and {pair[1].name} stay separate; this merge is not proposed again."
    return Report(
        document={"rejected": [json_graph.entity(each) for each in pair]}, text=Text(clean(text))
    )


def _merge_id(text: str) -> MergeId:
    try:
        return MergeId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a merge id; `lightwell graph merges` lists the ids"
        ) from error


def _merged(result: MergeResult) -> RenderableType:
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
        Text(clean(f"Merged {merged} into {result.target_entity.name}. {related}")),
        dim(f"`lightwell graph unmerge {result.merge_id}` undoes it."),
    )


def _evidence_text(proposal: MergeProposal) -> str:
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

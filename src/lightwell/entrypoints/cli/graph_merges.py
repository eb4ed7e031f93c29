"""`graph merge`, `unmerge`, `merges`, `proposals`, `reject`, `split`, `unsplit` and `splits`: which mentions mean one entity."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.operations.corrections as operations
from lightwell.domain.graph import MergeStrategy
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, count_of, dim, minute, new_table, page_text
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import EntityName, SourceName, TargetName, graph
from lightwell.entrypoints.cli.options import PageSize
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.operations.corrections import Merge, Proposal


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
    asker: Asker,
) -> Report:
    """Merge several entities into one; their names become aliases.

    The merge also holds for documents that are ingested later. `graph unmerge` undoes it completely.
    """
    merge = await asker(operations.merge_entities, sources, into, strategy)
    return Report(document=merge, text=_merge_text(merge))


@command(graph, "unmerge", 'lightwell graph unmerge "ACME Inc" --as team:us')
async def unmerge_entity(
    name: Annotated[
        str, typer.Argument(metavar="ENTITY", help="The merged entity, or the id of the merge.")
    ],
    *,
    asker: Asker,
) -> Report:
    """Undo a merge completely."""
    apart = await asker(operations.undo_merge, name)
    names = ", ".join(entity.entity_name for entity in apart.entities)
    return Report(document=apart, text=Text(clean(f"Separate entities again: {names}.")))


@command(
    graph,
    "merges",
    "lightwell graph merges --as team:us",
    "lightwell graph merges --as team:us --limit 20 --json",
)
async def list_merges(
    *,
    asker: Asker,
    limit: PageSize = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="MERGE", help="Only merges older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active merges of which you see both sides, the latest first."""
    page = await asker(operations.list_merges, limit, after)
    table = new_table("merged", "into", "strategy", "when", "merge")
    for merge in page.merges:
        table.add_row(
            clean(", ".join(merge.sources)),
            clean(merge.target),
            merge.strategy.value,
            minute(merge.merged_at),
            str(merge.merge_id),
        )
    text = page_text(table, page.next_after, nothing="There are no merges that you may see.")
    return Report(document=page, text=text)


@command(
    graph,
    "proposals",
    "lightwell graph proposals --as team:us",
    'lightwell graph proposals --about "Acme Corp" --as team:us',
)
async def list_merge_proposals(
    *,
    asker: Asker,
    about: Annotated[
        str,
        typer.Option("--about", metavar="ENTITY", help="Only possible duplicates of this entity."),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many, at most.")] = 20,
) -> Report:
    """List possible duplicates with the evidence; nothing is merged.

    Compares the 500 entities that were mentioned last, or only the one given by --about.
    """
    listed = await asker(operations.list_merge_proposals, about, limit)
    table = new_table("confidence", "entity", "possibly the same as", "evidence")
    for proposal in listed.proposals:
        names = (clean(entity.entity_name) for entity in proposal.entities)
        table.add_row(f"{proposal.confidence:.2f}", *names, _evidence_text(proposal))
    nothing = "There are no possible duplicates that you may see."
    return Report(document=listed, text=page_text(table, None, nothing=nothing))


@command(graph, "reject", 'lightwell graph reject "Jane Smith" "Jane Smith Jr" --as team:us')
async def reject_merge(source: SourceName, target: TargetName, *, asker: Asker) -> Report:
    """Reject a proposed merge; it is not proposed again."""
    pair = (await asker(operations.reject_merge_proposal, source, target)).entities
    names = " and ".join(entity.entity_name for entity in pair)
    text = Text(clean(f"{names} stay separate; this merge is not proposed again."))
    return Report(document={"rejected": [entity.to_document() for entity in pair]}, text=text)


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
    asker: Asker,
) -> Report:
    """Split an entity whose name means two things: move its mentions in some documents or passages to the other one.

    Ingesting the documents again keeps the split. `graph unsplit` undoes it.
    """
    split = await asker(
        operations.split_entity, name, into, tuple(document or ()), tuple(passage or ())
    )
    moved, part = count_of(split.passages, "passage"), split.part
    text = Group(
        Text(clean(f"{moved} moved to {part.entity_name} ({part.entity_ref}).")),
        dim(f"`lightwell graph unsplit {split.split_id}` undoes it."),
    )
    return Report(document=split, text=text)


@command(graph, "unsplit", 'lightwell graph unsplit "Anna Schmidt (Kiel)" --as team:us')
async def unsplit_entity(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ENTITY", help="The entity that a split made, or the id of the split."
        ),
    ],
    *,
    asker: Asker,
) -> Report:
    """Undo a split in the documents that you may see."""
    whole = await asker(operations.undo_split, name)
    names = ", ".join(entity.entity_name for entity in whole.entities)
    again = f" These entities have the mentions again: {names}." if names else ""
    return Report(document=whole, text=Text(clean(f"The split is undone.{again}")))


@command(
    graph,
    "splits",
    "lightwell graph splits --as team:us",
    "lightwell graph splits --as team:us --limit 20 --json",
)
async def list_splits(
    *,
    asker: Asker,
    limit: PageSize = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", metavar="SPLIT", help="Only splits older than this one, by its id."
        ),
    ] = "",
) -> Report:
    """List active splits in documents that you may see, the latest first."""
    page = await asker(operations.list_splits, limit, after)
    table = new_table("name", "split off as", "documents", "when", "split")
    for split in page.splits:
        table.add_row(
            clean(", ".join(split.names)),
            clean(split.part),
            clean("\n".join(split.documents)),
            minute(split.made_at),
            str(split.split_id),
        )
    text = page_text(table, page.next_after, nothing="There are no splits that you may see.")
    return Report(document=page, text=text)


def _merge_text(merge: Merge) -> RenderableType:
    redirected = count_of(merge.relations_redirected, "relation")
    joined = f", {merge.relations_deduped} of them joined with an existing one"
    related = (
        f"{redirected} redirected{joined if merge.relations_deduped else ''}."
        if merge.relations_redirected or not merge.note
        else merge.note
    )
    count = merge.source_entities_deleted
    merged = "1 entity" if count == 1 else f"{count} entities"
    return Group(
        Text(clean(f"Merged {merged} into {merge.target_entity.entity_name}. {related}")),
        dim(f"`lightwell graph unmerge {merge.merge_id}` undoes it."),
    )


def _evidence_text(proposal: Proposal) -> str:
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

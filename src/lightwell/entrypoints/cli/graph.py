"""`graph`: lists and shows entities and relations; its other commands are in `graph_merges`, `graph_splits` and `graph_edits`."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.json_graph as json_graph
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.graph import Entity, EntityDetails, Relation, parse_relation_key
from lightwell.entrypoints.cli.console import clean, dim, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import Work, command, new_group
from lightwell.entrypoints.cli.options import As, Rows
from lightwell.entrypoints.cli.store import open_as

graph = new_group(
    "List, show, merge and correct entities and their relations.",
    "lightwell graph list --as team:us",
    'lightwell graph show "Acme Corp" --as team:us',
    'lightwell graph merge "ACME Inc" --into "Acme Corp" --as team:us',
)


_ENTITY = "The name, reference or id of an entity, as `graph list` shows."


EntityName = Annotated[str, typer.Argument(metavar="ENTITY", help=_ENTITY)]


SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help=_ENTITY)]


TargetName = Annotated[str, typer.Argument(metavar="TARGET", help=_ENTITY)]


Passages = Annotated[
    list[str] | None,
    typer.Option(
        "--passage",
        metavar="PASSAGE",
        help="Only relations that this passage states, by its reference or id. Repeat it for several.",
    ),
]


@command(
    graph,
    "list",
    "lightwell graph list --as team:us",
    "lightwell graph list --as user:ada --limit 20 --after kg:organization:acme-corp",
)
async def list_entities(
    *,
    who: As = None,
    limit: Rows = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="REFERENCE", help="Only entities after this one.")
    ] = "",
) -> Report:
    """List the entities that documents you may see mention."""
    async with open_as(who) as (kb, reader):
        held = [each async for each in kb.graph.entities(reader, after=after, limit=limit + 1)]
    page = held[:limit]
    following = page[-1].ref if len(held) > limit else None
    table = new_table("entity", "kind", "passages", "reference")
    for each in page:
        table.add_row(clean(each.name), clean(each.kind), str(each.chunk_count), clean(each.ref))
    more = [dim(f"There are more: --after {clean(following)}")] if following else []
    text = Group(table, *more) if page else Text("There are no entities that you may see.")
    return Report(
        document={"entities": [json_graph.entity(each) for each in page], "nextAfter": following},
        text=text,
    )


@command(graph, "show", 'lightwell graph show "Acme Corp" --as team:us')
async def show_entity(
    name: EntityName,
    *,
    who: As = None,
) -> Report:
    """Show one entity with its other names, its relations and its sources."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.entity(reader, name)
    return Report(document=json_graph.entity_details(found), text=_entity_details(found))


@command(
    graph,
    "relations",
    "lightwell graph relations --as team:us",
    "lightwell graph relations --as team:us --limit 20 --json",
    "lightwell graph relations --as team:us --passage file:document:42#0",
)
def list_relations(
    *,
    who: As = None,
    passage: Passages = None,
    limit: Rows = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="RELATION", help="Only relations after this one.")
    ] = "",
) -> Work:
    """List the relations that documents you may see state, by the references of their entities."""
    if passage:
        return _list_relations_of(passage, who)
    return _list_relations(who, after=after, limit=limit)


@command(graph, "entities-of", "lightwell graph entities-of file:document:42#0 --as team:us")
async def list_entities_of(
    passages: Annotated[
        list[str], typer.Argument(metavar="PASSAGE...", help="References or ids of passages.")
    ],
    *,
    who: As = None,
) -> Report:
    """List the entities that passages mention; `documents passages` lists the passages of a document."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.entities_of(reader, passages)
    table = new_table("entity", "kind", "passages", "reference")
    for each in found:
        table.add_row(clean(each.name), clean(each.kind), str(each.chunk_count), clean(each.ref))
    return Report(document={"entities": [json_graph.entity(each) for each in found]}, text=table)


async def _list_relations(who: Sequence[str] | None, *, after: str, limit: int) -> Report:
    """Report a page of the reader's relations."""
    behind = parse_relation_key(after) if after else None
    async with open_as(who) as (kb, reader):
        held = [each async for each in kb.graph.relations(reader, after=behind, limit=limit + 1)]
    page = held[:limit]
    following = str(page[-1].key) if len(held) > limit else None
    table = new_table("relation", "weight", "passages", "description")
    for each in page:
        said = clean(each.description or ", ".join(each.keywords))
        table.add_row(clean(str(each.key)), f"{each.weight:g}", str(each.chunk_count), said)
    more = [dim(f"There are more: --after '{clean(following)}'")] if following else []
    text = Group(table, *more) if page else Text("There are no relations that you may see.")
    document: json_output.Json = {
        "relations": [json_graph.listed_relation(each) for each in page],
        "nextAfter": following,
    }
    return Report(document=document, text=text)


async def _list_relations_of(passages: Sequence[str], who: Sequence[str] | None) -> Report:
    """Report the relations that passages state."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.relations_of(reader, passages)
    return Report(
        document={
            "relations": [json_graph.relation(each) for each in found],
            "nextAfter": None,
        },
        text=relations_table(found),
    )


def _entity_details(details: EntityDetails) -> RenderableType:
    also = [("also called", ", ".join(details.aliases))]
    related = [Text(), relations_table(details.relations)] if details.relations else []
    return Group(entity_fields(details.entity, also), *related)


def entity_fields(entity: Entity, more: Sequence[tuple[str, str]] = ()) -> RenderableType:
    return fields(
        [
            ("name", entity.name),
            *more,
            ("kind", entity.kind),
            ("reference", entity.ref),
            ("id", str(entity.id)),
            ("description", entity.description),
            ("passages", str(entity.chunk_count)),
            ("documents", "\n".join(entity.paths)),
        ]
    )


def relations_table(relations: Sequence[Relation]) -> RenderableType:
    table = new_table("from", "relation", "to", "weight", "description")
    for each in relations:
        table.add_row(
            clean(each.source),
            each.predicate.value,
            clean(each.target),
            f"{each.weight:g}",
            clean(_relation_text(each)),
        )
    return table


def _relation_text(relation: Relation) -> str:
    parts = (
        relation.description or relation.keywords,
        f"compared: {relation.comparison}" if relation.comparison else "",
        f"use: {relation.use_case}" if relation.use_case else "",
    )
    return "; ".join(part for part in parts if part)

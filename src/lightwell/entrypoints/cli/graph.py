"""`graph`: lists and shows entities and relations; its other commands are in `graph_merges` and `graph_edits`."""

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.operations.graph as operations
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, dim, fields, minute, new_table, page_text
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import PageSize
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.store import settings_of_store
from lightwell.entrypoints.operations.graph import (
    Entity,
    EntityQuery,
    ListedRelation,
    Relation,
)

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
_ALL = 1000
"""Entities that are listed of passages: as many as a page has at most."""


@command(
    graph,
    "list",
    "lightwell graph list --as team:us",
    "lightwell graph list --as user:ada --limit 20 --after kg:organization:acme-corp",
    "lightwell graph list --server http://127.0.0.1:8000",
)
async def list_entities(
    *,
    asker: Asker,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="REFERENCE", help="Only entities after this one.")
    ] = "",
) -> Report:
    """List the entities that documents you may see mention."""
    page = await asker(operations.list_entities, EntityQuery(limit=limit, after=after))
    nothing = "There are no entities that you may see."
    text = page_text(_entities_table(page.entities), page.next_after, nothing=nothing)
    return Report(document=page, text=text)


@command(
    graph,
    "show",
    'lightwell graph show "Acme Corp" --as team:us',
    'lightwell graph show "Acme Corp" --server http://127.0.0.1:8000',
)
async def show_entity(name: EntityName, *, asker: Asker) -> Report:
    """Show one entity with its other names, its relations and the passages that mention it."""
    details = await asker(operations.get_entity, name)
    related = [Text(), relations_table(details.relations)] if details.relations else []
    return Report(document=details, text=Group(entity_fields(details), *related))


@command(
    graph,
    "neighbourhood",
    'lightwell graph neighbourhood "Acme Corp" --depth 2 --as team:us',
    'lightwell graph neighbourhood "Acme Corp" --server http://127.0.0.1:8000',
)
async def explore_neighbourhood(
    name: EntityName,
    *,
    asker: Asker,
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", help="How many relations away.")
    ] = 1,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="How many entities, itself included.")
    ] = 100,
) -> Report:
    """List the entities that relations lead to from one entity, the nearest first, and the relations between them."""
    around = await asker(operations.explore_neighbourhood, name, depth=depth, limit=limit)
    table = new_table("depth", "entity", "kind", "reference")
    for neighbour in around.entities:
        names = (neighbour.entity_name, neighbour.entity_type, neighbour.entity_ref)
        table.add_row(str(neighbour.depth), *map(clean, names))
    more = [dim("There are more: --limit")] if around.is_cut else []
    text = Group(table, *more, Text(), relations_table(around.relations))
    return Report(document=around, text=text)


@command(
    graph,
    "relations",
    "lightwell graph relations --as team:us",
    "lightwell graph relations --as team:us --limit 20 --json",
    "lightwell graph relations --as team:us --passage file:document:42#0",
    "lightwell graph relations --server http://127.0.0.1:8000",
)
async def list_relations(
    *,
    asker: Asker,
    passage: Passages = None,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="RELATION", help="Only relations after this one.")
    ] = "",
) -> Report:
    """List the relations that documents you may see state, by the references of their entities."""
    page = await asker(
        operations.list_relations, passage=tuple(passage or ()), limit=limit, after=after
    )
    table = relations_table(page.relations) if passage else _keys_table(page.relations)
    text = page_text(
        table,
        page.next_after and shlex.quote(page.next_after),
        nothing="There are no relations that you may see.",
    )
    return Report(document=page, text=text)


@command(graph, "entities-of", "lightwell graph entities-of file:document:42#0 --as team:us")
async def list_entities_of(
    passages: Annotated[
        list[str], typer.Argument(metavar="PASSAGE...", help="References or ids of passages.")
    ],
    *,
    asker: Asker,
) -> Report:
    """List the entities that passages mention; `documents passages` lists the passages of a document."""
    query = EntityQuery(passage=tuple(passages), limit=_ALL)
    mentioned = (await asker(operations.list_entities, query)).entities
    document = {"entities": [entity.to_document() for entity in mentioned]}
    return Report(document=document, text=_entities_table(mentioned))


@command(graph, "rebuild", "lightwell graph rebuild")
async def rebuild_graph_copy() -> Report:
    """Write the copy of the graph in LIGHTWELL_GRAPH_STORE anew, from mentions; no model is called.

    Questions find nothing in the graph, and say so, until it is complete.
    """
    from lightwell.wiring.graph_stores import rebuild_graph

    chunks = await rebuild_graph(settings_of_store())
    return Report(document={"chunks": chunks}, text=Text(f"The copy holds {chunks} chunks."))


def _entities_table(entities: Sequence[Entity]) -> Table:
    table = new_table("entity", "kind", "passages", "reference")
    for entity in entities:
        names = clean(entity.entity_name), clean(entity.entity_type)
        table.add_row(*names, str(entity.chunk_count), clean(entity.entity_ref))
    return table


def _keys_table(relations: Sequence[Relation]) -> Table:
    table = new_table("relation", "weight", "passages", "description")
    for relation in relations:
        key = relation.relation if isinstance(relation, ListedRelation) else ""
        description = clean(relation.description or relation.keywords)
        table.add_row(clean(key), f"{relation.weight:g}", str(relation.chunk_count), description)
    return table


def entity_fields(entity: Entity) -> RenderableType:
    """Return what is known of an entity, field by field."""
    return fields(
        [
            ("name", entity.entity_name),
            ("also called", ", ".join(entity.aliases)),
            ("kind", entity.entity_type),
            ("reference", entity.entity_ref),
            ("id", str(entity.entity_id)),
            ("description", entity.description),
            ("category", entity.category),
            ("difficulty", entity.difficulty),
            ("tags", ", ".join(entity.tags)),
            ("first stated", minute(entity.created_at)[:10]),
            ("last stated", minute(entity.updated_at)[:10]),
            ("passages", str(entity.chunk_count)),
            ("documents", "\n".join(entity.source_file_paths)),
        ]
    )


def relations_table(relations: Sequence[Relation]) -> Table:
    """Return relations with what is said of each."""
    table = new_table("from", "relation", "to", "weight", "description")
    for relation in relations:
        texts = (
            relation.description or relation.keywords,
            f"compared: {relation.comparison}" if relation.comparison else "",
            f"use: {relation.use_case}" if relation.use_case else "",
        )
        table.add_row(
            clean(relation.source),
            relation.predicate,
            clean(relation.target),
            f"{relation.weight:g}",
            clean("; ".join(filter(None, texts))),
        )
    return table

"""`graph`: lists and shows entities and relations; its other commands are in `graph_merges`, `graph_splits` and `graph_edits`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.relation_keys import parse_relation_key
from lightwell.entrypoints.cli.console import clean, dim, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.graph import (
        EntityDetailsSchema,
        EntityPage,
        EntitySchema,
        RelationPage,
        RelationQuery,
        RelationSchema,
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


@command(
    graph,
    "list",
    "lightwell graph list --as team:us",
    "lightwell graph list --as user:ada --limit 20 --after kg:organization:acme-corp",
    "lightwell graph list --server http://127.0.0.1:8000",
)
async def list_entities(
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="REFERENCE", help="Only entities after this one.")
    ] = "",
) -> Report:
    """List the entities that documents you may see mention."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import EntityQuery, entity_page

    if login := choose_server(server, who):
        query = EntityQuery(limit=limit, after=after)
        page = await send(graph_calls.list_entities(query), login)
    else:
        async with open_as(who) as (kb, reader):
            held = [each async for each in kb.graph.entities(reader, after=after, limit=limit + 1)]
        page = entity_page(held[:limit], held[limit - 1].ref if len(held) > limit else None)
    return Report(document=dump(page), text=_entity_page(page))


@command(
    graph,
    "show",
    'lightwell graph show "Acme Corp" --as team:us',
    'lightwell graph show "Acme Corp" --server http://127.0.0.1:8000',
)
async def show_entity(name: EntityName, *, who: As = None, server: Server = None) -> Report:
    """Show one entity with its other names, its relations and the passages that mention it."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import entity_details

    if login := choose_server(server, who):
        found = await send(graph_calls.get_entity(name), login)
    else:
        async with open_as(who) as (kb, reader):
            details = await kb.graph.entity(reader, name)
            found = entity_details(details, await kb.graph.sources(reader, details))
    return Report(document=dump(found), text=_entity_details(found))


@command(
    graph,
    "neighbourhood",
    'lightwell graph neighbourhood "Acme Corp" --depth 2 --as team:us',
    'lightwell graph neighbourhood "Acme Corp" --server http://127.0.0.1:8000',
)
async def explore_neighbourhood(
    name: EntityName,
    *,
    who: As = None,
    server: Server = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", help="How many relations away.")
    ] = 1,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="How many entities, itself included.")
    ] = 100,
) -> Report:
    """List the entities that relations lead to from one entity, the nearest first, and the relations between them."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import neighbourhood_response

    if login := choose_server(server, who):
        call = graph_calls.explore_neighbourhood(name, depth=depth, limit=limit)
        found = await send(call, login)
    else:
        async with open_as(who) as (kb, reader):
            near = await kb.graph.neighbourhood(reader, name, depth=depth, limit=limit)
        found = neighbourhood_response(near)
    table = new_table("depth", "entity", "kind", "reference")
    for each in found.entities:
        names = (clean(each.entity_name), clean(each.entity_type), clean(each.entity_ref))
        table.add_row(str(each.depth), *names)
    more = [dim("There are more: --limit")] if found.is_cut else []
    text = Group(table, *more, Text(), relations_table(found.relations))
    return Report(document=dump(found), text=text)


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
    who: As = None,
    server: Server = None,
    passage: Passages = None,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="RELATION", help="Only relations after this one.")
    ] = "",
) -> Report:
    """List the relations that documents you may see state, by the references of their entities."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import RelationQuery

    query = RelationQuery(passage=tuple(passage or ()), limit=limit, after=after)
    if login := choose_server(server, who):
        page = await send(graph_calls.list_relations(query), login)
    else:
        page = await _relations_here(query, who)
    text = relations_table(page.relations) if passage else _relation_page(page)
    return Report(document=dump(page), text=text)


@command(graph, "entities-of", "lightwell graph entities-of file:document:42#0 --as team:us")
async def list_entities_of(
    passages: Annotated[
        list[str], typer.Argument(metavar="PASSAGE...", help="References or ids of passages.")
    ],
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """List the entities that passages mention; `documents passages` lists the passages of a document."""
    from lightwell.entrypoints.client import graph_calls
    from lightwell.entrypoints.schemas.graph import EntityQuery, entity_schema

    if login := choose_server(server, who):
        call = graph_calls.list_entities(EntityQuery(passage=tuple(passages)))
        found = (await send(call, login)).entities
    else:
        async with open_as(who) as (kb, reader):
            held = await kb.graph.entities_of(reader, passages)
        found = [entity_schema(each) for each in held]
    return Report(document={"entities": [dump(each) for each in found]}, text=entities_table(found))


async def _relations_here(query: "RelationQuery", who: Sequence[str] | None) -> "RelationPage":
    """Return a page of the relations of the store here, or those of passages."""
    from lightwell.entrypoints.schemas.graph import RelationPage, relation_page, relation_schema

    behind, limit = parse_relation_key(query.after) if query.after else None, query.limit
    async with open_as(who) as (kb, reader):
        if query.passage:
            found = await kb.graph.relations_of(reader, query.passage)
            return RelationPage(
                relations=[relation_schema(each) for each in found], next_after=None
            )
        held = [each async for each in kb.graph.relations(reader, after=behind, limit=limit + 1)]
    return relation_page(held[:limit], str(held[limit - 1].key) if len(held) > limit else None)


def _entity_page(page: "EntityPage") -> RenderableType:
    if not page.entities:
        return Text("There are no entities that you may see.")
    more = [dim(f"There are more: --after {clean(page.next_after)}")] if page.next_after else []
    return Group(entities_table(page.entities), *more)


def entities_table(entities: "Sequence[EntitySchema]") -> RenderableType:
    table = new_table("entity", "kind", "passages", "reference")
    for each in entities:
        names = clean(each.entity_name), clean(each.entity_type)
        table.add_row(*names, str(each.chunk_count), clean(each.entity_ref))
    return table


def _relation_page(page: "RelationPage") -> RenderableType:
    from lightwell.entrypoints.schemas.graph import ListedRelationSchema

    if not page.relations:
        return Text("There are no relations that you may see.")
    table = new_table("relation", "weight", "passages", "description")
    for each in page.relations:
        key = each.relation if isinstance(each, ListedRelationSchema) else ""
        said = clean(each.description or each.keywords)
        table.add_row(clean(key), f"{each.weight:g}", str(each.chunk_count), said)
    more = [dim(f"There are more: --after '{clean(page.next_after)}'")] if page.next_after else []
    return Group(table, *more)


def _entity_details(details: "EntityDetailsSchema") -> RenderableType:
    related = [Text(), relations_table(details.relations)] if details.relations else []
    return Group(entity_fields(details), *related)


def entity_fields(entity: "EntitySchema") -> RenderableType:
    return fields(
        [
            ("name", entity.entity_name),
            ("also called", ", ".join(entity.aliases)),
            ("kind", entity.entity_type),
            ("reference", entity.entity_ref),
            ("id", entity.entity_id),
            ("description", entity.description),
            ("category", entity.category),
            ("difficulty", entity.difficulty),
            ("tags", ", ".join(entity.tags)),
            ("first stated", (entity.created_at or "")[:10]),
            ("last stated", (entity.updated_at or "")[:10]),
            ("passages", str(entity.chunk_count)),
            ("documents", "\n".join(entity.source_file_paths)),
        ]
    )


def relations_table(relations: "Sequence[RelationSchema]") -> RenderableType:
    table = new_table("from", "relation", "to", "weight", "description")
    for each in relations:
        table.add_row(
            clean(each.source),
            each.predicate,
            clean(each.target),
            f"{each.weight:g}",
            clean(_relation_text(each)),
        )
    return table


def _relation_text(relation: "RelationSchema") -> str:
    parts = (
        relation.description or relation.keywords,
        f"compared: {relation.comparison}" if relation.comparison else "",
        f"use: {relation.use_case}" if relation.use_case else "",
    )
    return "; ".join(part for part in parts if part)

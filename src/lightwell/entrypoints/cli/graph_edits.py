"""`graph create`, `rename`, `describe`, `relate` and `hide`: edits that people make to entities and relations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.concepts import Concept
from lightwell.domain.graph import ManualEdit, Predicate, RelationMention
from lightwell.domain.relation_keys import parse_relation_key
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.costs import budgeted_meter, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import (
    EntityName,
    SourceName,
    TargetName,
    entity_fields,
    graph,
    relations_table,
)
from lightwell.entrypoints.cli.graph_edit_options import (
    Aliases,
    Category,
    Description,
    Difficulty,
    For,
    Kind,
    Related,
    Sources,
    Words,
)
from lightwell.entrypoints.cli.options import As, Server, Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as, parse_document_tags

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.corrections import EntityList, RelationList
    from lightwell.entrypoints.schemas.graph import EntitySchema

# Who asks the store here (`--as`), and the server to ask instead (`--server`).
_Asked = tuple[Sequence[str] | None, str | None]


Keys = Annotated[
    list[str],
    typer.Argument(
        metavar="RELATION...", help="Each as `graph relations` lists it: 'SOURCE PREDICATE TARGET'."
    ),
]


def _concept(
    aliases: Sequence[str] | None, category: str, difficulty: str, tags: Sequence[str] | None
) -> Concept:
    return Concept(
        aliases=tuple(aliases or ()),
        category=category,
        difficulty=difficulty,
        tags=tuple(tags or ()),
    )


@command(graph, "create", 'lightwell graph create "Osprey Plant" --kind site --as team:us')
async def create_entity(  # noqa: PLR0913 - the options of a command are its arguments
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    *,
    kind: Kind = "",
    description: Description = "",
    alias: Aliases = None,
    category: Category = "",
    difficulty: Difficulty = "",
    tag: Words = None,
    who: As = None,
    server: Server = None,
    acl: For = None,
) -> Report:
    """Create an entity; mentions of its name in documents are linked to it."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.graph import entity_schema

    concept = _concept(alias, category, difficulty, tag)
    manual_edit = ManualEdit(name=name, kind=kind, description=description, concept=concept)
    tags = parse_document_tags(acl)
    if login := choose_server(server, who):
        there = await send(edit_calls.create_entity(manual_edit, tags=tags), login)
        return Report(document=dump(there), text=entity_fields(there))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        here = entity_schema(await kb.graph.create(reader, manual_edit, tags=tags))
    return report_with_costs(meter, dump(here), entity_fields(here))


@command(graph, "rename", 'lightwell graph rename "Acme Corp" "Acme International" --as team:us')
def rename_entity(
    name: EntityName,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    *,
    who: As = None,
    server: Server = None,
    acl: For = None,
) -> Work:
    """Rename an entity; names that documents use stay as aliases."""
    return _edit(name, ManualEdit(name=new_name), (who, server), acl)


@command(
    graph,
    "describe",
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --as team:us',
    'lightwell graph describe "Acme Corp" --kind organization --as team:us',
    'lightwell graph describe "Acme Corp" --alias ACME --alias "Acme Inc" --tag supplier --as team:us',
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --source REF --as team:us',
)
def describe_entity(  # noqa: PLR0913 - the options of a command are its arguments
    name: EntityName,
    *,
    kind: Kind = "",
    description: Description = "",
    alias: Aliases = None,
    category: Category = "",
    difficulty: Difficulty = "",
    tag: Words = None,
    source: Sources = None,
    who: As = None,
    server: Server = None,
    acl: For = None,
) -> Work:
    """Set an entity's kind, description, aliases, category, difficulty or tags; it overrides what documents say, also after they are ingested again."""
    manual_edit = ManualEdit(
        kind=kind,
        description=description,
        sources=tuple(source or ()),
        concept=_concept(alias, category, difficulty, tag),
    )
    return _edit(name, manual_edit, (who, server), acl)


@command(graph, "hide", 'lightwell graph hide "Lorem Ipsum" --as team:us --yes')
def hide_entity(
    name: EntityName,
    *,
    who: As = None,
    server: Server = None,
    yes: Yes = False,
) -> Work:
    """Hide an entity, now and in future, in documents of which you have all access tags, and delete what people wrote of it; documents are unchanged."""
    confirm(f"Hide the entity {name}?", yes=yes)
    return _hide(name, (who, server))


@command(graph, "unhide", 'lightwell graph unhide "Lorem Ipsum" --as team:us')
async def unhide_entity(
    name: EntityName,
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Show a hidden entity again, as documents describe it."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.graph import entity_schema

    if login := choose_server(server, who):
        there = await send(edit_calls.restore_entity(name), login)
        return Report(document=dump(there), text=entity_fields(there))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        here = entity_schema(await kb.graph.restore(reader, name))
    return report_with_costs(meter, dump(here), entity_fields(here))


@command(
    graph,
    "relate",
    'lightwell graph relate "Pump 7" "Osprey Plant" --predicate PART_OF --as team:us',
)
async def relate_entities(  # noqa: PLR0913 - the options of a command are its arguments
    source: SourceName,
    target: TargetName,
    *,
    predicate: Related = Predicate.RELATED_TO,
    description: Description = "",
    weight: Annotated[
        float, typer.Option("--weight", help="The weight, which is added to that of the documents.")
    ] = 1.0,
    comparison: Annotated[
        str, typer.Option("--comparison", help="How the two compare; only with COMPARED_TO.")
    ] = "",
    use_case: Annotated[
        str,
        typer.Option("--use-case", help="The use case of the comparison; only with COMPARED_TO."),
    ] = "",
    who: As = None,
    server: Server = None,
    acl: For = None,
) -> Report:
    """Add or update a relation between two entities."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.graph import relation_schema

    relation_mention = RelationMention(
        subject=source,
        object=target,
        predicate=predicate,
        description=description,
        weight=weight,
        comparison=comparison,
        use_case=use_case,
    )
    tags = parse_document_tags(acl)
    if login := choose_server(server, who):
        there = await send(edit_calls.relate_entities(relation_mention, tags=tags), login)
        return Report(document=dump(there), text=relations_table([there]))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        here = relation_schema(await kb.graph.relate(reader, relation_mention, tags=tags))
    return report_with_costs(meter, dump(here), relations_table([here]))


@command(
    graph,
    "unrelate",
    'lightwell graph unrelate "Pump 7" "Osprey Plant" --predicate PART_OF --as team:us',
)
async def unrelate_entities(
    source: SourceName,
    target: TargetName,
    *,
    predicate: Related = Predicate.RELATED_TO,
    who: As = None,
    server: Server = None,
) -> Report:
    """Hide a relation, now and in future, in documents of which you have all access tags."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.corrections import RelationList
    from lightwell.entrypoints.schemas.graph import relation_schema

    if login := choose_server(server, who):
        key = f"{source} {predicate.value} {target}"
        were = await send(edit_calls.delete_relations([key]), login)
        return Report(document={"hidden": dump(were.relations[0])}, text=_hidden_relations(were))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        was = relation_schema(await kb.graph.unrelate(reader, source, target, predicate))
    text = _hidden_relations(RelationList(relations=[was]))
    return report_with_costs(meter, {"hidden": dump(was)}, text)


@command(
    graph,
    "hide-relations",
    "lightwell graph hide-relations 'Pump 7 PART_OF Osprey Plant' --as team:us --yes",
)
def hide_relations(
    keys: Keys,
    *,
    who: As = None,
    server: Server = None,
    yes: Yes = False,
) -> Work:
    """Hide several relations at once; if one of them does not exist, none is hidden."""
    confirm(f"Hide {len(keys)} relations?", yes=yes)
    return _hide_relations(keys, (who, server))


@command(graph, "hide-entities", 'lightwell graph hide-entities "Lorem" "Ipsum" --as team:us --yes')
def hide_entities(
    names: Annotated[
        list[str], typer.Argument(metavar="ENTITY...", help="Names, references or ids.")
    ],
    *,
    who: As = None,
    server: Server = None,
    yes: Yes = False,
) -> Work:
    """Hide several entities at once; if one of them does not exist, none is hidden."""
    confirm(f"Hide {len(names)} entities?", yes=yes)
    return _hide_entities(names, (who, server))


async def _edit(
    name: str,
    manual_edit: ManualEdit,
    asked: _Asked,
    acl: Sequence[str] | None,
) -> Report:
    """Store an edit of an entity, and report the entity as it is now."""
    from lightwell.entrypoints.client import edit_calls, graph_calls
    from lightwell.entrypoints.schemas.graph import entity_schema

    who, server = asked
    tags = parse_document_tags(acl)
    if login := choose_server(server, who):
        was = (await send(graph_calls.get_entity(name), login)).entity_ref
        there = await send(edit_calls.edit_entity(name, manual_edit, tags=tags), login)
        document = {**dump(there), "previousEntityRef": was}
        return Report(document=document, text=_edited(there, was))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        old = (await kb.graph.entity(reader, name)).entity.ref
        here = entity_schema(await kb.graph.edit(reader, name, manual_edit, tags=tags))
    return report_with_costs(meter, {**dump(here), "previousEntityRef": old}, _edited(here, old))


async def _hide(name: str, asked: _Asked) -> Report:
    """Hide an entity, and report what it was."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.graph import entity_schema

    who, server = asked
    if login := choose_server(server, who):
        (there,) = (await send(edit_calls.delete_entities([name]), login)).entities
        return Report(document={"hidden": dump(there)}, text=_hidden_entity(there))
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        here = entity_schema(await kb.graph.delete(reader, name))
    return report_with_costs(meter, {"hidden": dump(here)}, _hidden_entity(here))


async def _hide_relations(keys: Sequence[str], asked: _Asked) -> Report:
    """Hide relations, and report what they were."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.corrections import RelationList
    from lightwell.entrypoints.schemas.graph import relation_schema

    who, server = asked
    wanted = [parse_relation_key(key) for key in keys]
    if login := choose_server(server, who):
        were = await send(edit_calls.delete_relations(keys), login)
    else:
        async with open_as(who) as (kb, reader):
            found = await kb.graph.delete_relations(reader, wanted)
        were = RelationList(relations=[relation_schema(each) for each in found])
    document = {"hidden": [dump(each) for each in were.relations]}
    return Report(document=document, text=_hidden_relations(were))


async def _hide_entities(names: Sequence[str], asked: _Asked) -> Report:
    """Hide entities, and report what they were."""
    from lightwell.entrypoints.client import edit_calls
    from lightwell.entrypoints.schemas.corrections import EntityList
    from lightwell.entrypoints.schemas.graph import entity_schema

    who, server = asked
    if login := choose_server(server, who):
        were = await send(edit_calls.delete_entities(names), login)
    else:
        async with open_as(who) as (kb, reader):
            found = await kb.graph.delete_entities(reader, names)
        were = EntityList(entities=[entity_schema(each) for each in found])
    document = {"hidden": [dump(each) for each in were.entities]}
    return Report(document=document, text=_hidden_entities(were))


def _edited(now: "EntitySchema", old: str) -> RenderableType:
    if old == now.entity_ref:
        return entity_fields(now)
    moved = f"The reference is now {now.entity_ref}; {old} still names the same entity."
    return Group(entity_fields(now), Text(clean(moved)))


def _hidden_entity(was: "EntitySchema") -> Text:
    again = "`lightwell graph unhide` shows it again, as documents describe it."
    return Text(clean(f"{was.entity_name} ({was.entity_ref}) is hidden now; {again}"))


def _hidden_entities(were: "EntityList") -> Text:
    lines = [f"{each.entity_name} ({each.entity_ref}) is hidden now." for each in were.entities]
    return Text(clean("\n".join(lines)))


def _hidden_relations(were: "RelationList") -> Text:
    lines = [
        f"Hidden now: {each.source} {each.predicate} {each.target}." for each in were.relations
    ]
    return Text(clean("\n".join(lines)))

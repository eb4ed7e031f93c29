"""`graph create`, `rename`, `describe`, `relate` and `delete`: edits that people make to entities and relations."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.json_graph as json_graph
from lightwell.domain.graph import ManualEdit, Predicate, RelationMention, parse_relation_key
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
from lightwell.entrypoints.cli.groups import Work, command, confirm
from lightwell.entrypoints.cli.options import As, Yes
from lightwell.entrypoints.cli.store import open_as, parse_document_tags

For = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="TAG",
        help="Who may see your change: team:sales. Several by commas, or by repeating the option. "
        "By default those of your groups whose documents mention the entity.",
    ),
]


Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="One word: person, organization, term.")
]


Description = Annotated[str, typer.Option("--description", metavar="TEXT", help="The description.")]


Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="PASSAGE",
        help="A passage that supports it, by reference or id (`lightwell documents passages`). Repeat it for several.",
    ),
]


Related = Annotated[
    Predicate,
    typer.Option(
        "--predicate", help="How the first is related to the second.", case_sensitive=False
    ),
]


Keys = Annotated[
    list[str],
    typer.Argument(
        metavar="RELATION...", help="Each as `graph relations` lists it: 'SOURCE PREDICATE TARGET'."
    ),
]


@command(graph, "create", 'lightwell graph create "Osprey Plant" --kind site --as team:us')
async def create_entity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    *,
    kind: Kind = "",
    description: Description = "",
    who: As = None,
    acl: For = None,
) -> Report:
    """Create an entity; mentions of its name in documents are linked to it."""
    from lightwell.entrypoints.schemas.graph import entity_schema

    manual_edit = ManualEdit(name=name, kind=kind, description=description)
    tags = parse_document_tags(acl)
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        made = await kb.graph.create(reader, manual_edit, tags=tags)
    return report_with_costs(meter, json_graph.entity(made), entity_fields(entity_schema(made)))


@command(graph, "rename", 'lightwell graph rename "Acme Corp" "Acme International" --as team:us')
def rename_entity(
    name: EntityName,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    *,
    who: As = None,
    acl: For = None,
) -> Work:
    """Rename an entity; names that documents use stay as aliases."""
    return _edit(name, ManualEdit(name=new_name), who, acl)


@command(
    graph,
    "describe",
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --as team:us',
    'lightwell graph describe "Acme Corp" --kind organization --as team:us',
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --source REF --as team:us',
)
def describe_entity(
    name: EntityName,
    *,
    kind: Kind = "",
    description: Description = "",
    source: Sources = None,
    who: As = None,
    acl: For = None,
) -> Work:
    """Set an entity's kind or description; it overrides what documents say, also after they are ingested again."""
    manual_edit = ManualEdit(kind=kind, description=description, sources=tuple(source or ()))
    return _edit(name, manual_edit, who, acl)


@command(graph, "delete", 'lightwell graph delete "Lorem Ipsum" --as team:us --yes')
def delete_entity(
    name: EntityName,
    *,
    who: As = None,
    yes: Yes = False,
) -> Work:
    """Hide an entity, now and in future, from all readers who share a tag with you; documents are unchanged."""
    confirm(f"Delete the entity {name}?", yes=yes)
    return _delete(name, who)


@command(graph, "restore", 'lightwell graph restore "Lorem Ipsum" --as team:us')
async def restore_entity(
    name: EntityName,
    *,
    who: As = None,
) -> Report:
    """Show a deleted entity again, as documents describe it."""
    from lightwell.entrypoints.schemas.graph import entity_schema

    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        shown = await kb.graph.restore(reader, name)
    return report_with_costs(meter, json_graph.entity(shown), entity_fields(entity_schema(shown)))


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
    acl: For = None,
) -> Report:
    """Add or update a relation between two entities."""
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
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        made = await kb.graph.relate(reader, relation_mention, tags=tags)
    return report_with_costs(
        meter, json_graph.relation(made), relations_table([relation_schema(made)])
    )


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
) -> Report:
    """Hide a relation, now and in future, from all readers who share a tag with you."""
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        was = await kb.graph.unrelate(reader, source, target, predicate)
    text = f"Deleted: {was.source} {was.predicate.value} {was.target}."
    return report_with_costs(meter, {"deleted": json_graph.relation(was)}, Text(clean(text)))


@command(
    graph,
    "delete-relations",
    "lightwell graph delete-relations 'Pump 7 PART_OF Osprey Plant' --as team:us --yes",
)
def delete_relations(
    keys: Keys,
    *,
    who: As = None,
    yes: Yes = False,
) -> Work:
    """Hide several relations at once; if one of them does not exist, none is hidden."""
    confirm(f"Delete {len(keys)} relations?", yes=yes)
    return _delete_relations(keys, who)


@command(
    graph, "delete-entities", 'lightwell graph delete-entities "Lorem" "Ipsum" --as team:us --yes'
)
def delete_entities(
    names: Annotated[
        list[str], typer.Argument(metavar="ENTITY...", help="Names, references or ids.")
    ],
    *,
    who: As = None,
    yes: Yes = False,
) -> Work:
    """Hide several entities at once; if one of them does not exist, none is hidden."""
    confirm(f"Delete {len(names)} entities?", yes=yes)
    return _delete_entities(names, who)


async def _edit(
    name: str, manual_edit: ManualEdit, who: Sequence[str] | None, acl: Sequence[str] | None
) -> Report:
    """Store an edit of an entity, and report the entity as it is now."""
    from lightwell.entrypoints.schemas.graph import entity_schema

    tags = parse_document_tags(acl)
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        old = (await kb.graph.entity(reader, name)).entity.ref
        now = await kb.graph.edit(reader, name, manual_edit, tags=tags)
    document = {**json_graph.entity(now), "previousEntityRef": old}
    if old == now.ref:
        return report_with_costs(meter, document, entity_fields(entity_schema(now)))
    told = f"The reference is now {now.ref}; {old} still names the same entity."
    return report_with_costs(
        meter, document, Group(entity_fields(entity_schema(now)), Text(clean(told)))
    )


async def _delete(name: str, who: Sequence[str] | None) -> Report:
    """Hide an entity, and report what it was."""
    meter = budgeted_meter()
    async with open_as(who, meter) as (kb, reader):
        was = await kb.graph.delete(reader, name)
    text = f"Deleted {was.name} ({was.ref}); `lightwell graph restore` shows it again, as documents describe it."
    return report_with_costs(meter, {"deleted": json_graph.entity(was)}, Text(clean(text)))


async def _delete_relations(keys: Sequence[str], who: Sequence[str] | None) -> Report:
    """Hide relations, and report what they were."""
    wanted = [parse_relation_key(key) for key in keys]
    async with open_as(who) as (kb, reader):
        were = await kb.graph.delete_relations(reader, wanted)
    lines = [f"Deleted: {each.source} {each.predicate.value} {each.target}." for each in were]
    return Report(
        document={"deleted": [json_graph.relation(each) for each in were]},
        text=Text(clean("\n".join(lines))),
    )


async def _delete_entities(names: Sequence[str], who: Sequence[str] | None) -> Report:
    """Hide entities, and report what they were."""
    async with open_as(who) as (kb, reader):
        were = await kb.graph.delete_entities(reader, names)
    lines = [f"Deleted {each.name} ({each.ref})." for each in were]
    return Report(
        document={"deleted": [json_graph.entity(each) for each in were]},
        text=Text(clean("\n".join(lines))),
    )

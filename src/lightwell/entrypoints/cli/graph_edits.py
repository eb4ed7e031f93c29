"""`graph create`, `rename`, `describe`, `relate` and `hide`: edits that people make to entities and relations."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.operations.corrections as operations
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Predicate, parse_predicate
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import (
    EntityName,
    SourceName,
    TargetName,
    entity_fields,
    graph,
    relations_table,
)
from lightwell.entrypoints.cli.options import Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm
from lightwell.entrypoints.cli.store import parse_document_tags
from lightwell.entrypoints.operations.corrections import EntityEdit, NewEntity, StatedRelation
from lightwell.entrypoints.operations.graph import Relation, get_entity


def _predicate(word: str) -> Predicate:
    try:
        return parse_predicate(word)
    except Invalid as error:
        raise typer.BadParameter(str(error)) from error


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
Aliases = Annotated[
    list[str] | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="Another name that finds it. Repeat it for several; they replace those that documents state.",
    ),
]
Category = Annotated[
    str, typer.Option("--category", metavar="TEXT", help="Its category: algorithm, theorem.")
]
Difficulty = Annotated[
    str, typer.Option("--difficulty", metavar="TEXT", help="Its difficulty: beginner, advanced.")
]
Words = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="WORD",
        help="A word for what it is about, not an access tag. Repeat it for several; they replace those that documents state.",
    ),
]
Related = Annotated[
    Predicate,
    typer.Option(
        "--predicate",
        metavar="PREDICATE",
        help=f"How the first is related to the second: {', '.join(Predicate)}.",
        parser=_predicate,
    ),
]
Keys = Annotated[
    list[str],
    typer.Argument(
        metavar="RELATION...", help="Each as `graph relations` lists it: 'SOURCE PREDICATE TARGET'."
    ),
]


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
    acl: For = None,
    asker: Asker,
) -> Report:
    """Create an entity; mentions of its name in documents are linked to it."""
    new_entity = NewEntity(
        name=name,
        kind=kind,
        description=description,
        aliases=tuple(alias or ()),
        category=category,
        difficulty=difficulty,
        tags=tuple(tag or ()),
        acl_tags=tuple(parse_document_tags(acl)),
    )
    entity = await asker(operations.create_entity, new_entity)
    return Report(document=entity, text=entity_fields(entity))


@command(graph, "rename", 'lightwell graph rename "Acme Corp" "Acme International" --as team:us')
async def rename_entity(
    name: EntityName,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    *,
    acl: For = None,
    asker: Asker,
) -> Report:
    """Rename an entity; names that documents use stay as aliases."""
    edit = EntityEdit(name=new_name, acl_tags=tuple(parse_document_tags(acl)))
    return await _edit(asker, name, edit)


@command(
    graph,
    "describe",
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --as team:us',
    'lightwell graph describe "Acme Corp" --kind organization --as team:us',
    'lightwell graph describe "Acme Corp" --alias ACME --alias "Acme Inc" --tag supplier --as team:us',
    'lightwell graph describe "Acme Corp" --description "Makes pumps." --source REF --as team:us',
)
async def describe_entity(  # noqa: PLR0913 - the options of a command are its arguments
    name: EntityName,
    *,
    kind: Kind = "",
    description: Description = "",
    alias: Aliases = None,
    category: Category = "",
    difficulty: Difficulty = "",
    tag: Words = None,
    source: Sources = None,
    acl: For = None,
    asker: Asker,
) -> Report:
    """Set an entity's kind, description, aliases, category, difficulty or tags; it overrides what documents say, also after they are ingested again."""
    edit = EntityEdit(
        kind=kind,
        description=description,
        sources=tuple(source or ()),
        aliases=tuple(alias or ()),
        category=category,
        difficulty=difficulty,
        tags=tuple(tag or ()),
        acl_tags=tuple(parse_document_tags(acl)),
    )
    return await _edit(asker, name, edit)


@command(graph, "hide", 'lightwell graph hide "Lorem Ipsum" --as team:us --yes')
def hide_entity(name: EntityName, *, yes: Yes = False, asker: Asker) -> Work:
    """Hide an entity, now and in future, in documents of which you have all access tags, and delete what people wrote of it; documents are unchanged."""
    confirm(f"Hide the entity {name}?", yes=yes)
    return _hide(asker, name)


@command(graph, "unhide", 'lightwell graph unhide "Lorem Ipsum" --as team:us')
async def unhide_entity(name: EntityName, *, asker: Asker) -> Report:
    """Show a hidden entity again, as documents describe it."""
    entity = await asker(operations.restore_entity, name)
    return Report(document=entity, text=entity_fields(entity))


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
    acl: For = None,
    asker: Asker,
) -> Report:
    """Add or update a relation between two entities."""
    stated = StatedRelation(
        source=source,
        target=target,
        predicate=predicate,
        description=description,
        weight=weight,
        comparison=comparison,
        use_case=use_case,
        acl_tags=tuple(parse_document_tags(acl)),
    )
    relation = await asker(operations.relate_entities, stated)
    return Report(document=relation, text=relations_table([relation]))


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
    asker: Asker,
) -> Report:
    """Hide a relation, now and in future, in documents of which you have all access tags."""
    hidden = await asker(operations.delete_relations, [f"{source} {predicate.value} {target}"])
    (relation,) = hidden.relations
    return Report(document={"hidden": relation.to_document()}, text=_hidden_relations([relation]))


@command(
    graph,
    "hide-relations",
    "lightwell graph hide-relations 'Pump 7 PART_OF Osprey Plant' --as team:us --yes",
)
def hide_relations(keys: Keys, *, yes: Yes = False, asker: Asker) -> Work:
    """Hide several relations at once; if one of them does not exist, none is hidden."""
    confirm(f"Hide {len(keys)} relations?", yes=yes)
    return _hide_relations(asker, keys)


@command(graph, "hide-entities", 'lightwell graph hide-entities "Lorem" "Ipsum" --as team:us --yes')
def hide_entities(
    names: Annotated[
        list[str], typer.Argument(metavar="ENTITY...", help="Names, references or ids.")
    ],
    *,
    yes: Yes = False,
    asker: Asker,
) -> Work:
    """Hide several entities at once; if one of them does not exist, none is hidden."""
    confirm(f"Hide {len(names)} entities?", yes=yes)
    return _hide_entities(asker, names)


async def _edit(asker: Asker, name: str, edit: EntityEdit) -> Report:
    """Store an edit of an entity, and report the entity as it is now."""
    before = (await asker(get_entity, name)).entity_ref
    now = await asker(operations.edit_entity, name, edit)
    document = {**now.to_document(), "previousEntityRef": before}
    if before == now.entity_ref:
        return Report(document=document, text=entity_fields(now))
    moved = f"The reference is now {now.entity_ref}; {before} still names the same entity."
    return Report(document=document, text=Group(entity_fields(now), Text(clean(moved))))


async def _hide(asker: Asker, name: str) -> Report:
    """Hide an entity, and report what it was."""
    entity = await asker(operations.delete_entity, name)
    again = "`lightwell graph unhide` shows it again, as documents describe it."
    text = f"{entity.entity_name} ({entity.entity_ref}) is hidden now; {again}"
    return Report(document={"hidden": entity.to_document()}, text=Text(clean(text)))


async def _hide_relations(asker: Asker, keys: list[str]) -> Report:
    """Hide relations, and report what they were."""
    relations = (await asker(operations.delete_relations, keys)).relations
    document = {"hidden": [relation.to_document() for relation in relations]}
    return Report(document=document, text=_hidden_relations(relations))


async def _hide_entities(asker: Asker, names: list[str]) -> Report:
    """Hide entities, and report what they were."""
    entities = (await asker(operations.delete_entities, names)).entities
    lines = [f"{entity.entity_name} ({entity.entity_ref}) is hidden now." for entity in entities]
    document = {"hidden": [entity.to_document() for entity in entities]}
    return Report(document=document, text=Text(clean("\n".join(lines))))


def _hidden_relations(relations: Sequence[Relation]) -> Text:
    lines = [
        f"Hidden now: {relation.source} {relation.predicate} {relation.target}."
        for relation in relations
    ]
    return Text(clean("\n".join(lines)))

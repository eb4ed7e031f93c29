"""What can be said about entities and relations on the command line; what it does stands in `curating`."""

import sys
from typing import Annotated

import typer

from lightwell.domain.graph import MergeStrategy, Predicate
from lightwell.entrypoints.cli.commands import As, Json, Verbose

graph = typer.Typer(
    help="List, show, merge and correct what documents speak of: entities and their relations.",
    epilog="\b\nExamples:\n  lightwell graph list --as team:us\n"
    '  lightwell graph show "Acme Corp" --as team:us\n'
    '  lightwell graph merge "ACME Inc" --into "Acme Corp" --as team:us',
    no_args_is_help=True,
    rich_markup_mode=None,
)

_ENTITY = "Its name, its reference or its id, as `graph list` shows."
Entity = Annotated[str, typer.Argument(metavar="ENTITY", help=_ENTITY)]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=_ENTITY)]
Target = Annotated[str, typer.Argument(metavar="TARGET", help=_ENTITY)]
For = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="TAG",
        help="Who may see your change: team:sales. Several by commas, or by repeating it. "
        "By default, of those who share a tag with you, whoever knows what you speak of.",
    ),
]
Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="A small word: person, organization, term.")
]
Description = Annotated[str, typer.Option("--description", metavar="TEXT", help="The description.")]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="PASSAGE",
        help="A passage that says so, by reference or id (`lightwell documents passages`); repeat it for several.",
    ),
]
Related = Annotated[
    Predicate,
    typer.Option(
        "--predicate", help="How the first is related to the second.", case_sensitive=False
    ),
]


@graph.command(
    "list",
    epilog="\b\nExamples:\n  lightwell graph list --as team:us\n"
    "  lightwell graph list --as user:ada --limit 20 --after kg:organization:acme-corp",
)
def list_entities(
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="REFERENCE", help="Only those after this one.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the entities that the documents you may see speak of."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    command = curating.entities(who or [], after=after, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@graph.command("show", epilog='\b\nExamples:\n  lightwell graph show "Acme Corp" --as team:us')
def show_entity(
    name: Entity, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show one entity with its other names, its relations and its sources."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    run(curating.entity(name, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "merge",
    epilog='\b\nExamples:\n  lightwell graph merge "ACME Inc" --into "Acme Corp" --as team:us\n'
    '  lightwell graph merge "A. Corp" "ACME" --into "Acme Corp" --strategy KEEP_LONGEST --as team:us',
)
def merge_entities(
    sources: Annotated[
        list[str], typer.Argument(metavar="ENTITY...", help="The entities to merge; see `show`.")
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
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Merge several entities into one; their names become aliases.

    Documents that come later are read so too. `graph unmerge` takes it back without a trace.
    """
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    command = curating.merge(sources, into, who or [], strategy=strategy)
    run(command, as_json=as_json, verbose=verbose)


@graph.command("unmerge", epilog='\b\nExamples:\n  lightwell graph unmerge "ACME Inc" --as team:us')
def unmerge_entity(
    name: Annotated[
        str, typer.Argument(metavar="ENTITY", help="What was merged, or the id of the merge.")
    ],
    *,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Undo a merge completely."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    run(curating.unmerge(name, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "merges",
    epilog="\b\nExamples:\n  lightwell graph merges --as team:us\n"
    "  lightwell graph merges --as team:us --limit 20 --json",
)
def list_merges(
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="MERGE", help="Only those before this one, by its id.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List active merges of which you see both sides, the latest first."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    command = curating.merges(who or [], after=after, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@graph.command(
    "proposals",
    epilog="\b\nExamples:\n  lightwell graph proposals --as team:us\n"
    '  lightwell graph proposals --about "Acme Corp" --as team:us',
)
def list_merge_proposals(
    *,
    who: As = None,
    about: Annotated[
        str,
        typer.Option("--about", metavar="ENTITY", help="Only possible duplicates of this entity."),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 20,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List possible duplicates with the evidence; nothing is merged.

    Looks at the 500 entities that documents spoke of last, or at the one named.
    """
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    command = curating.proposals(who or [], about=about, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@graph.command(
    "reject",
    epilog='\b\nExamples:\n  lightwell graph reject "Jane Smith" "Jane Smith Jr" --as team:us',
)
def reject_merge(
    one: Source, other: Target, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Reject a proposed merge, so that it is never proposed again."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    run(curating.reject(one, other, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "create",
    epilog='\b\nExamples:\n  lightwell graph create "Osprey Plant" --kind site --as team:us',
)
def create_entity(  # noqa: PLR0913 - each is an option
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    *,
    kind: Kind = "",
    description: Description = "",
    who: As = None,
    acl: For = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Create an entity; mentions of its name in documents are linked to it."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.domain.graph import ManualEdit
    from lightwell.entrypoints.cli.edge import run

    word = ManualEdit(name=name, kind=kind, description=description)
    run(curating.create(word, who or [], acl or []), as_json=as_json, verbose=verbose)


@graph.command(
    "rename",
    epilog='\b\nExamples:\n  lightwell graph rename "Acme Corp" "Acme International" --as team:us',
)
def rename_entity(
    name: Entity,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called now.")],
    *,
    who: As = None,
    acl: For = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Rename an entity; names that documents use stay as aliases."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.domain.graph import ManualEdit
    from lightwell.entrypoints.cli.edge import run

    command = curating.edit(name, ManualEdit(name=new_name), who or [], acl or [])
    run(command, as_json=as_json, verbose=verbose)


@graph.command(
    "describe",
    epilog='\b\nExamples:\n  lightwell graph describe "Acme Corp" --description "Makes pumps." --as team:us\n'
    '  lightwell graph describe "Acme Corp" --kind organization --as team:us\n'
    '  lightwell graph describe "Acme Corp" --description "Makes pumps." --source REF --as team:us',
)
def describe_entity(  # noqa: PLR0913 - each is an option
    name: Entity,
    *,
    kind: Kind = "",
    description: Description = "",
    source: Sources = None,
    who: As = None,
    acl: For = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Set an entity's kind or description; it overrides what documents say, also when they are read again."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.domain.graph import ManualEdit
    from lightwell.entrypoints.cli.edge import run

    word = ManualEdit(kind=kind, description=description, sources=tuple(source or ()))
    run(curating.edit(name, word, who or [], acl or []), as_json=as_json, verbose=verbose)


@graph.command(
    "delete", epilog='\b\nExamples:\n  lightwell graph delete "Lorem Ipsum" --as team:us --yes'
)
def delete_entity(
    name: Entity,
    *,
    who: As = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Hide an entity, now and in future, from all readers who share a tag with you; documents are unchanged."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    if not yes:
        typer.confirm(f"Delete the entity {name}?", abort=True, err=True)
    run(curating.delete(name, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "restore", epilog='\b\nExamples:\n  lightwell graph restore "Lorem Ipsum" --as team:us'
)
def restore_entity(
    name: Entity, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show a deleted entity again, as documents describe it."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    run(curating.restore(name, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "relate",
    epilog='\b\nExamples:\n  lightwell graph relate "Pump 7" "Osprey Plant" --predicate PART_OF --as team:us',
)
def relate_entities(  # noqa: PLR0913 - each is an option
    source: Source,
    target: Target,
    *,
    predicate: Related = Predicate.RELATED_TO,
    description: Description = "",
    weight: Annotated[
        float, typer.Option("--weight", help="How much it counts beside what documents state.")
    ] = 1.0,
    comparison: Annotated[
        str, typer.Option("--comparison", help="How they compare; with COMPARED_TO only.")
    ] = "",
    use_case: Annotated[
        str, typer.Option("--use-case", help="What for; with COMPARED_TO only.")
    ] = "",
    who: As = None,
    acl: For = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Add or update a relation between two entities."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.domain.graph import RelationMention
    from lightwell.entrypoints.cli.edge import run

    statement = RelationMention(
        subject=source,
        object=target,
        predicate=predicate,
        description=description,
        weight=weight,
        comparison=comparison,
        use_case=use_case,
    )
    run(curating.relate(statement, who or [], acl or []), as_json=as_json, verbose=verbose)


@graph.command(
    "unrelate",
    epilog='\b\nExamples:\n  lightwell graph unrelate "Pump 7" "Osprey Plant" --predicate PART_OF --as team:us',
)
def unrelate_entities(
    source: Source,
    target: Target,
    *,
    predicate: Related = Predicate.RELATED_TO,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Hide a relation, now and in future, from all readers who share a tag with you."""
    import lightwell.entrypoints.cli.curating as curating
    from lightwell.entrypoints.cli.edge import run

    command = curating.unrelate(source, target, who or [], predicate=predicate)
    run(command, as_json=as_json, verbose=verbose)

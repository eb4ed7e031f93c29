"""What can be said about relations and about the passages that entities come from; what it does stands in `sourcing`."""

import sys
from typing import Annotated

import typer

from lightwell.entrypoints.cli.commands import As, Json, Verbose
from lightwell.entrypoints.cli.graph import graph

Passages = Annotated[
    list[str] | None,
    typer.Option(
        "--passage",
        metavar="PASSAGE",
        help="Only what comes from this passage, by its reference or id; may be repeated.",
    ),
]
Keys = Annotated[
    list[str],
    typer.Argument(
        metavar="RELATION...", help="Each as `graph relations` lists it: 'SOURCE PREDICATE TARGET'."
    ),
]


@graph.command(
    "relations",
    epilog="\b\nExamples:\n  lightwell graph relations --as team:us\n"
    "  lightwell graph relations --as team:us --limit 20 --json\n"
    "  lightwell graph relations --as team:us --passage file:document:42#0",
)
def list_relations(
    *,
    who: As = None,
    passage: Passages = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="RELATION", help="Only those after this one.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the relations that the documents you may see state, by the references of their ends."""
    import lightwell.entrypoints.cli.sourcing as sourcing
    from lightwell.entrypoints.cli.edge import run

    asks = who or []
    command = (
        sourcing.relations_of(passage, asks)
        if passage
        else sourcing.relations(asks, after=after, limit=limit)
    )
    run(command, as_json=as_json, verbose=verbose)


@graph.command(
    "entities-of",
    epilog="\b\nExamples:\n  lightwell graph entities-of file:document:42#0 --as team:us",
)
def list_entities_of(
    passages: Annotated[
        list[str], typer.Argument(metavar="PASSAGE...", help="References or ids of passages.")
    ],
    *,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the entities that passages speak of; `documents passages` lists the passages of a document."""
    import lightwell.entrypoints.cli.sourcing as sourcing
    from lightwell.entrypoints.cli.edge import run

    run(sourcing.entities_of(passages, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "delete-relations",
    epilog="\b\nExamples:\n  lightwell graph delete-relations 'Pump 7 PART_OF Osprey Plant' --as team:us --yes",
)
def delete_relations(
    keys: Keys,
    *,
    who: As = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Hide several relations at once, or none where one of them is not there."""
    import lightwell.entrypoints.cli.sourcing as sourcing
    from lightwell.entrypoints.cli.edge import run

    _confirm(f"Delete {len(keys)} relations?", yes=yes)
    run(sourcing.delete_relations(keys, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "delete-entities",
    epilog='\b\nExamples:\n  lightwell graph delete-entities "Lorem" "Ipsum" --as team:us --yes',
)
def delete_entities(
    names: Annotated[
        list[str], typer.Argument(metavar="ENTITY...", help="Names, references or ids.")
    ],
    *,
    who: As = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Hide several entities at once, or none where one of them is not there."""
    import lightwell.entrypoints.cli.sourcing as sourcing
    from lightwell.entrypoints.cli.edge import run

    _confirm(f"Delete {len(names)} entities?", yes=yes)
    run(sourcing.delete_entities(names, who or []), as_json=as_json, verbose=verbose)


def _confirm(question: str, *, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    if not yes:
        typer.confirm(question, abort=True, err=True)

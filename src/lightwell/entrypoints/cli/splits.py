"""What can be said about splitting entities on the command line; what it does stands in `splitting`."""

from typing import Annotated

import typer

from lightwell.entrypoints.cli.commands import As, Json, Verbose
from lightwell.entrypoints.cli.graph import Entity
from lightwell.entrypoints.cli.relations import graph


@graph.command(
    "split",
    epilog='\b\nExamples:\n  lightwell graph split "Anna Schmidt" --into "Anna Schmidt (Kiel)"'
    " --document file:///notes/kiel.md --as team:us\n"
    '  lightwell graph split "Nordwind" --into "Nordwind Oslo" --passage file:document:42#0 --as team:us',
)
def split_entity(  # noqa: PLR0913 - the options of a command are its arguments
    name: Entity,
    *,
    into: Annotated[
        str,
        typer.Option(
            "--into", metavar="NAME", help="What the other one is called, known already or not."
        ),
    ],
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            metavar="DOCUMENT",
            help="A document that speaks of the other one, by URL, reference or id; may be repeated.",
        ),
    ] = None,
    passage: Annotated[
        list[str] | None,
        typer.Option(
            "--passage",
            metavar="PASSAGE",
            help="A passage that does, by reference or id (`lightwell documents passages`); may be repeated.",
        ),
    ] = None,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Say that one name means two things: what these documents or passages say is of the other one.

    Reading the documents again keeps it. `graph unsplit` undoes it.
    """
    import lightwell.entrypoints.cli.splitting as splitting
    from lightwell.entrypoints.cli.edge import run

    command = splitting.split(
        name, into, who or [], documents=document or [], passages=passage or []
    )
    run(command, as_json=as_json, verbose=verbose)


@graph.command(
    "unsplit",
    epilog='\b\nExamples:\n  lightwell graph unsplit "Anna Schmidt (Kiel)" --as team:us',
)
def unsplit_entity(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ENTITY", help="The entity that a split made, or the id of the split."
        ),
    ],
    *,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Undo a split in the documents that you may see."""
    import lightwell.entrypoints.cli.splitting as splitting
    from lightwell.entrypoints.cli.edge import run

    run(splitting.unsplit(name, who or []), as_json=as_json, verbose=verbose)


@graph.command(
    "splits",
    epilog="\b\nExamples:\n  lightwell graph splits --as team:us\n"
    "  lightwell graph splits --as team:us --limit 20 --json",
)
def list_splits(
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="SPLIT", help="Only those before this one, by its id.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the splits that hold in documents that you may see, the latest first."""
    import lightwell.entrypoints.cli.splitting as splitting
    from lightwell.entrypoints.cli.edge import run

    command = splitting.splits(who or [], after=after, limit=limit)
    run(command, as_json=as_json, verbose=verbose)

"""What can be said about documents on the command line; what it does stands in `reading`, `rereading` and `deleting`."""

import sys
from typing import Annotated

import typer

from lightwell.entrypoints.cli.commands import As, Budget, Estimate, Json, NoWait, Verbose

documents = typer.Typer(
    help="List, show, read again and delete documents.",
    epilog="\b\nExamples:\n  lightwell documents list --as team:us\n"
    "  lightwell documents show handbook/leave.md --as team:us",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[
    str,
    typer.Argument(metavar="DOCUMENT", help="The path of its file, or its URL, reference or id."),
]

Names = Annotated[
    list[str],
    typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
]


@documents.command(
    "list",
    epilog="\b\nExamples:\n  lightwell documents list --as team:us\n"
    "  lightwell documents list --as user:ada --limit 20 --after file:///papers/m.md",
)
def list_documents(
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="URL", help="Only those after this URL.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the documents that the asking person may see, by URL."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    command = reading.documents(who or [], after=after, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@documents.command(
    "show",
    epilog="\b\nExamples:\n  lightwell documents show handbook/leave.md --as team:us\n"
    "  lightwell documents show handbook/leave.md --as team:us --text",
)
def show_document(
    name: Name,
    *,
    who: As = None,
    with_text: Annotated[bool, typer.Option("--text", help="Also show its text.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show what is known of one document."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    command = reading.document_text if with_text else reading.document
    run(command(name, who or []), as_json=as_json, verbose=verbose)


@documents.command(
    "passages",
    epilog="\b\nExamples:\n  lightwell documents passages handbook/leave.md --as team:us\n"
    "  lightwell documents passages handbook/leave.md --as team:us --json",
)
def list_passages(
    name: Name,
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Skip this many.")] = 0,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the passages of one document, with the kept replies of a model that each was read from."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    command = reading.passages(name, who or [], after=after, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@documents.command(
    "reread",
    epilog="\b\nExamples:\n  lightwell documents reread --all --as team:us --estimate\n"
    "  lightwell documents reread --all --as team:us --budget 1000000\n"
    "  lightwell documents reread handbook/leave.md --as team:us",
)
def reread_documents(  # noqa: PLR0913 - the options of a command are its arguments
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
    ] = None,
    *,
    who: As = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All documents that you may see.")
    ] = False,
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Extract entities and relations from stored passages again, with the current settings; no file is read.

    What a model has replied before is not asked again. Until a document is read, what it said stands.
    """
    import lightwell.entrypoints.cli.rereading as rereading
    from lightwell.entrypoints.cli.edge import run

    if bool(names) == everything:
        raise typer.BadParameter("name documents, or all of them by --all, and not both")
    given, asks = (None if everything else names), who or []
    if estimate:
        command = rereading.estimate(given, asks)
    elif no_wait:
        command = rereading.enqueue(given, asks)
    else:
        command = rereading.reread(given, asks, budget=budget)
    run(command, as_json=as_json, verbose=verbose)


@documents.command(
    "delete",
    epilog="\b\nExamples:\n  lightwell documents delete handbook/leave.md --as team:us\n"
    "  lightwell documents delete handbook/leave.md --as team:us --yes",
)
def delete_document(
    names: Names,
    *,
    who: As = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Leave no tombstone: not even the document's name.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Delete documents and all that was read from them; the files themselves stay.

    While a file is there, the next `ingest` of its folder brings it back.
    """
    import lightwell.entrypoints.cli.deleting as deleting
    from lightwell.entrypoints.cli.edge import run

    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    if not yes:
        typer.confirm(
            f"Delete {', '.join(names)}, and all that was read from it?", abort=True, err=True
        )
    work = deleting.erase if hard else deleting.delete
    run(work(names, who or []), as_json=as_json, verbose=verbose)

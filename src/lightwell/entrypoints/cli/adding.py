"""What can be said to `documents add` and `documents replace`; what they do stands in `requests`."""

from pathlib import Path
from typing import Annotated

import typer

from lightwell.domain.documents import Format
from lightwell.entrypoints.cli.commands import As, Json, NoWait, Verbose
from lightwell.entrypoints.cli.documents import Name, documents

__all__ = ["documents"]


@documents.command(
    "add",
    epilog="\b\nExamples:\n  lightwell documents add notes.dat --format text --acl team:us\n"
    '  lightwell documents add offer.pdf --acl team:sales --title "Offer 7" --metadata customer=Nordwind',
)
def add_document(  # noqa: PLR0913 - the options of a command are its arguments
    path: Annotated[Path, typer.Argument(metavar="PATH", exists=True, help="The file.")],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option("--acl", metavar="TAG", help="Access tags, if the file names none."),
    ] = None,
    title: Annotated[
        str, typer.Option("--title", help="The title; overrides the document's own.")
    ] = "",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="The format; overrides the file name.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", metavar="KEY=VALUE", help="Additional metadata."),
    ] = None,
    topic: Annotated[
        str, typer.Option("--topic", metavar="TOPIC", help="The topic tag of the document.")
    ] = "",
    no_wait: NoWait = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ingest one file with a title, a format and metadata that you give, and report its job."""
    import lightwell.entrypoints.cli.requests as requests
    from lightwell.entrypoints.cli.edge import run

    typed = requests.RequestOptions(
        path=path,
        acl=acl or [],
        title=title,
        format=file_format,
        metadata=metadata or [],
        topic=topic,
    )
    command = requests.enqueue(typed) if no_wait else requests.add(typed)
    run(command, as_json=as_json, verbose=verbose)


@documents.command(
    "replace",
    epilog="\b\nExamples:\n  lightwell documents replace handbook/leave.md chunks.json --as team:us",
)
def replace_chunks(
    name: Name,
    chunks: Annotated[
        Path,
        typer.Argument(
            metavar="JSON",
            exists=True,
            dir_okay=False,
            help='A file with a list of {"content": …, "embedding": […], "sectionPath": […]}.',
        ),
    ],
    *,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Replace what a document says by hand-made chunks of 100 to 2000 tokens each.

    An embedding is optional and has the dimensions of the project's embedding model. The chunks stand until the
    document's source is followed again.
    """
    import lightwell.entrypoints.cli.requests as requests
    from lightwell.entrypoints.cli.edge import run

    run(requests.replace_chunks(name, chunks, who or []), as_json=as_json, verbose=verbose)

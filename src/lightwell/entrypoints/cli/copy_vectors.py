"""`copy-vectors`: a project's vectors into another store."""

from typing import Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import settings_of_store

copy_vectors = single_command()


@command(
    copy_vectors,
    "copy-vectors",
    "lightwell copy-vectors milvus",
    "lightwell copy-vectors postgres --project handbook",
)
async def copy_to(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="Where to copy them: milvus or postgres.")
    ],
) -> Report:
    """Copy the project's vectors into another store, without a model; then set LIGHTWELL_VECTOR_STORE and restart.

    Nothing is removed where they are now, except collections in Milvus of an earlier version, once they are written anew. It can be
    repeated. The exit code is 1 if some passages had no vector.
    """
    from lightwell.wiring.vector_copies import copy_vectors_to

    console = errors_console()
    with console.status("Copying vectors") as shown:
        copied = await copy_vectors_to(
            settings_of_store(),
            store,
            lambda count: shown.update(f"Copying vectors: {count:,}"),
        )
    text = f"{store} has the vectors of {copied.chunks:,} passages and of {copied.profiles:,} texts about entities and relations."
    if copied.missing:
        text += f" {copied.missing:,} passages have none where they were read from."
    if copied.missing_profiles:
        text += f" {copied.missing_profiles:,} texts had none; the next ingestion or worker embeds them."
    return Report(
        document={
            "store": store,
            "copied": copied.chunks,
            "missing": copied.missing,
            "copiedProfiles": copied.profiles,
            "missingProfiles": copied.missing_profiles,
        },
        text=Text(text),
        code=Exit.INCOMPLETE if copied.missing else Exit.FINE,
    )

"""`documents delete`: deletes documents and everything extracted from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.costs import report_with_costs
from lightwell.entrypoints.cli.documents import document_name, documents, server_name
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, Server, Yes
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import Work, command, confirm
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.documents import DeletionSchema

Names = Annotated[
    list[str],
    typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
]


@command(
    documents,
    "delete",
    "lightwell documents delete handbook/leave.md --as team:us",
    "lightwell documents delete handbook/leave.md --as team:us --yes",
    "lightwell documents delete upload:document:42 --server http://127.0.0.1:8000",
)
def delete_document(
    names: Names,
    *,
    who: As = None,
    server: Server = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Leave no tombstone: delete the document's name, too.")
    ] = False,
    yes: Yes = False,
) -> Work:
    """Delete documents and everything extracted from them; the files stay.

    While a file exists, the next `ingest` of its folder adds the document again.
    """
    confirm(f"Delete {', '.join(names)} and everything extracted from it?", yes=yes)
    if login := choose_server(server, who):
        return _delete_there(names, login, hard=hard)
    return _delete(names, who, hard=hard)


async def _delete_there(names: Sequence[str], login: Login, *, hard: bool) -> Report:
    """Delete documents of a server, and report what was deleted."""
    from lightwell.entrypoints.client import document_calls

    known = [server_name(name) for name in names]
    gone = await send(document_calls.delete_documents(known, hard=hard), login)
    code = Exit.INCOMPLETE if gone.errors else Exit.FINE
    return Report(document=dump(gone), text=_deletion_text(gone), code=code)


async def _delete(names: Sequence[str], who: Sequence[str] | None, *, hard: bool) -> Report:
    """Delete documents, with their tombstones if `hard`, and report what was deleted."""
    from lightwell.entrypoints.schemas.documents import deletion_schema

    meter, urls = question_meter(), [document_name(name) for name in names]
    async with open_as(who, meter) as (kb, reader):
        gone = await (
            kb.documents.erase(reader, urls) if hard else kb.documents.delete(reader, urls)
        )
    shown = deletion_schema(gone)
    code = Exit.INCOMPLETE if shown.errors else Exit.FINE
    return report_with_costs(meter, dump(shown), _deletion_text(shown), code)


def _deletion_text(gone: "DeletionSchema") -> Text:
    removed = gone.removed
    lines = [
        f"{len(gone.document_ids)} deleted: {removed.chunks} passages, {removed.vectors} vectors, {removed.mentions} mentions",
        f"entities: {len(gone.entities_deleted)} deleted, {len(gone.entities_rebuilt)} rebuilt;"
        f" relations: {gone.relations_deleted} deleted, {gone.relations_rebuilt} rebuilt",
        *(f"not finished: {error}" for error in gone.errors),
    ]
    return Text(clean("\n".join(lines)))

"""`documents delete`: deletes documents and everything extracted from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

import lightwell.entrypoints.document_output as document_output
from lightwell.domain.deletions import Deletion
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.costs import report_with_costs
from lightwell.entrypoints.cli.documents import document_name, documents
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import Work, command, confirm
from lightwell.entrypoints.cli.options import As, Yes
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.models.meter import Meter

Names = Annotated[
    list[str],
    typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
]


@command(
    documents,
    "delete",
    "lightwell documents delete handbook/leave.md --as team:us",
    "lightwell documents delete handbook/leave.md --as team:us --yes",
)
def delete_document(
    names: Names,
    *,
    who: As = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Leave no tombstone: delete the document's name, too.")
    ] = False,
    yes: Yes = False,
) -> Work:
    """Delete documents and everything extracted from them; the files stay.

    While a file exists, the next `ingest` of its folder adds the document again.
    """
    confirm(f"Delete {', '.join(names)} and everything extracted from it?", yes=yes)
    return _delete(names, who, hard=hard)


async def _delete(names: Sequence[str], who: Sequence[str] | None, *, hard: bool) -> Report:
    """Delete documents, with their tombstones if `hard`, and report what was deleted."""
    meter, urls = question_meter(), [document_name(name) for name in names]
    async with open_as(who, meter) as (kb, reader):
        gone = await (kb.erase(reader, urls) if hard else kb.delete(reader, urls))
    return _deletion_report(gone, meter)


def _deletion_report(deletion: Deletion, meter: "Meter") -> Report:
    lines = [
        f"{len(deletion.documents)} deleted: {deletion.chunks} passages, {deletion.vectors} vectors, {deletion.mentions} mentions",
        f"entities: {len(deletion.entities_deleted)} deleted, {len(deletion.entities_rebuilt)} rebuilt;"
        f" relations: {deletion.relations_deleted} deleted, {deletion.relations_rebuilt} rebuilt",
        *(f"not finished: {error}" for error in deletion.errors),
    ]
    return report_with_costs(
        meter,
        document_output.deletion(deletion),
        Text(clean("\n".join(lines))),
        Exit.INCOMPLETE if deletion.errors else Exit.FINE,
    )

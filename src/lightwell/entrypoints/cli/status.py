"""`status`: counts what the reader may see, and the waiting documents."""

from lightwell.entrypoints.cli.console import fields
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import open_as

status = single_command()


@command(status, "status", "lightwell status --as team:us")
async def count_visible(*, who: As = None) -> Report:
    """Count the documents, passages, entities and relations that the reader may see, and the waiting documents."""
    async with open_as(who) as (kb, reader):
        status = await kb.documents.status(reader)
    documents = {state.value: count for state, count in status.documents.items()}
    unread = f", of which {status.waiting_chunks} are still to be read for their meaning"
    counts = {
        "chunks": status.chunks,
        "waitingChunks": status.waiting_chunks,
        "entities": status.entities,
        "relations": status.relations,
    }
    waiting = f"{status.open_jobs} for a worker (`lightwell worker`)"
    rows = [
        (
            "documents",
            ", ".join(f"{count} {state}" for state, count in documents.items()) or "none",
        ),
        ("passages", f"{status.chunks}{unread if status.waiting_chunks else ''}"),
        ("entities", str(status.entities)),
        ("relations", str(status.relations)),
        ("waiting", waiting if status.open_jobs else "nothing"),
    ]
    return Report(
        document={"documents": documents, **counts, "openJobs": status.open_jobs},
        text=fields(rows),
    )

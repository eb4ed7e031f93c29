"""`status`: counts what the reader may see, and the waiting documents."""

from lightwell.entrypoints.cli.console import fields
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import open_as

status = single_command()


@command(status, "status", "lightwell status --as team:us")
async def count_visible(
    *,
    who: As = None,
) -> Report:
    """Count the documents, passages, entities and relations that the reader may see, and the waiting documents."""
    async with open_as(who) as (kb, reader):
        held = await kb.documents.status(reader)
    documents = {state.value: count for state, count in held.documents.items()}
    by_state = ", ".join(f"{count} {state}" for state, count in documents.items())
    rows = [
        ("documents", by_state or "none"),
        ("passages", str(held.chunks)),
        ("entities", str(held.entities)),
        ("relations", str(held.relations)),
        ("waiting", _open_jobs_note(held.open_jobs)),
    ]
    counts = {"chunks": held.chunks, "entities": held.entities, "relations": held.relations}
    return Report(
        document={"documents": documents, **counts, "openJobs": held.open_jobs},
        text=fields(rows),
    )


def _open_jobs_note(open_jobs: int) -> str:
    return f"{open_jobs} for a worker (`lightwell worker`)" if open_jobs else "nothing"

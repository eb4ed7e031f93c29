"""`jobs` and `runs`: ingestion jobs, and runs over a source."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.ids import JobId, RunId
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.runs import Run
from lightwell.entrypoints.cli.console import clean, fields, new_table
from lightwell.entrypoints.cli.documents import document_name
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import command, new_group
from lightwell.entrypoints.cli.options import As, Before, PageSize
from lightwell.entrypoints.cli.store import open_as

jobs = new_group(
    "List, show, retry and cancel ingestion jobs.",
    "lightwell jobs list --as team:us",
    "lightwell jobs list --as team:us --state failed",
)
runs = new_group(
    "List and show ingestion runs, and the cursor of each source.",
    "lightwell runs list --as team:us",
    "lightwell runs cursors --as team:us",
)


JobName = Annotated[UUID, typer.Argument(metavar="JOB", help="The id of a job.")]


RunName = Annotated[UUID, typer.Argument(metavar="RUN", help="The id of a run.")]


@command(
    jobs,
    "list",
    "lightwell jobs list --as team:us",
    "lightwell jobs list --as team:us --document handbook/leave.md --state failed",
)
async def list_jobs(
    *,
    who: As = None,
    state: Annotated[
        JobState | None, typer.Option("--state", help="Only jobs in this state.")
    ] = None,
    document: Annotated[
        str,
        typer.Option(
            "--document",
            metavar="DOCUMENT",
            help="Only the jobs of this document: a path, URL, reference or id.",
        ),
    ] = "",
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List the jobs of documents that the reader may see, the latest first."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.list(
            reader,
            state=state,
            document=document_name(document) if document else "",
            before=JobId(before) if before else None,
            limit=limit,
        )
    table = new_table("job", "state", "step", "progress", "document")
    for each in found:
        last = clean(f"{each.url}: {each.error}" if each.error else each.url)
        table.add_row(str(each.id), each.state.value, each.step, f"{each.progress}%", last)
    nothing = Text("There are no such jobs that you may see.")
    return Report(
        document={"jobs": [json_output.job(each) for each in found]},
        text=table if found else nothing,
    )


@command(jobs, "show", "lightwell jobs show 019f0000-0000-7000-8000-000000000000 --as team:us")
async def show_job(
    job: JobName,
    *,
    who: As = None,
) -> Report:
    """Show a job: its state, step, progress and error."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.show(reader, JobId(job))
    return _job(found)


@command(jobs, "retry", "lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --as team:us")
async def retry_job(
    job: JobName,
    *,
    who: As = None,
) -> Report:
    """Enqueue a failed or cancelled job again; a worker or the next ingest continues it where it stopped."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.retry(reader, JobId(job))
    return _job(found)


@command(jobs, "cancel", "lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --as team:us")
async def cancel_job(
    job: JobName,
    *,
    who: As = None,
) -> Report:
    """Cancel a queued or running job. The previous version of the document stays."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.cancel(reader, JobId(job))
    return _job(found)


@command(runs, "list", "lightwell runs list --as team:us --limit 10")
async def list_runs(
    *,
    who: As = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List the ingestion runs that changed documents which the reader may see, the latest first."""
    async with open_as(who) as (kb, reader):
        older = RunId(before) if before else None
        found = await kb.jobs.runs(reader, before=older, limit=limit)
    table = new_table("run", "began", "state", "new", "changed", "deleted", "failed", "source")
    for each in found:
        counts = map(str, (each.inserted, each.updated, each.deleted, each.failed))
        source = clean(f"{each.system} {each.scope}")
        table.add_row(str(each.id), _moment(each.started_at), each.state.value, *counts, source)
    nothing = Text("There are no runs that changed what you may see.")
    return Report(
        document={"runs": [_run(each) for each in found]}, text=table if found else nothing
    )


@command(runs, "show", "lightwell runs show 019f0000-0000-7000-8000-000000000000 --as team:us")
async def show_run(
    run_id: RunName,
    *,
    who: As = None,
) -> Report:
    """Show an ingestion run: its source, how it ended, and how many documents it changed."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.run(reader, RunId(run_id))
    rows = [
        ("run", str(found.id)),
        ("source", f"{found.system} {found.scope}"),
        ("state", f"{found.state.value}: {found.error}" if found.error else found.state.value),
        ("began", _moment(found.started_at)),
        ("ended", _moment(found.finished_at)),
        ("new", str(found.inserted)),
        ("changed", str(found.updated)),
        ("deleted", str(found.deleted)),
        ("failed", str(found.failed)),
    ]
    return Report(document=_run(found), text=fields(rows))


@command(runs, "cursors", "lightwell runs cursors --as team:us")
async def list_cursors(
    *,
    who: As = None,
) -> Report:
    """List the cursor of each source: the position that its last complete sync reached."""
    async with open_as(who) as (kb, reader):
        found = await kb.jobs.cursors(reader)
    table = new_table("source", "part", "cursor", "moved")
    for each in found:
        words = (each.system, each.key, each.value)
        table.add_row(*(clean(word) for word in words), _moment(each.updated_at))
    document = [
        {
            "sourceSystem": each.system,
            "cursorKey": each.key,
            "cursorValue": each.value,
            "updatedAt": each.updated_at.isoformat(),
        }
        for each in found
    ]
    nothing = Text("No source has a complete sync yet.")
    return Report(document={"cursors": document}, text=table if found else nothing)


def _job(job: Job) -> Report:
    rows = [
        ("job", str(job.id)),
        ("document", job.url),
        ("state", f"{job.state.value}: {job.error}" if job.error else job.state.value),
        ("step", job.step),
        ("progress", f"{job.progress}%"),
        (
            "passages",
            f"{job.processed_chunks} of {job.total_chunks}" if job.total_chunks else "",
        ),
        ("attempts", str(job.attempts)),
        ("queued", _moment(job.created_at)),
        ("began", _moment(job.started_at)),
        ("ended", _moment(job.completed_at)),
    ]
    return Report(document=json_output.job(job), text=fields(rows))


def _run(run: Run) -> json_output.Json:
    return {
        "runId": str(run.id),
        "sourceSystem": run.system,
        "scope": run.scope,
        "status": run.state.value,
        "startedAt": run.started_at.isoformat(),
        "finishedAt": run.finished_at.isoformat() if run.finished_at else None,
        "counts": {
            "inserted": run.inserted,
            "updated": run.updated,
            "deleted": run.deleted,
            "failed": run.failed,
        },
        "errorSummary": run.error,
    }


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""

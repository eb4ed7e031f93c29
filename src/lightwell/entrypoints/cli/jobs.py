"""`jobs` and `runs`: ingestion jobs, and runs over a source."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

import lightwell.entrypoints.operations.jobs as operations
from lightwell.domain.ids import RunId
from lightwell.domain.jobs import JobState, Run
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, fields, new_table, page_text
from lightwell.entrypoints.cli.documents import document_name, server_name
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, Before, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.remote import open_client, require_server
from lightwell.entrypoints.cli.store import open_as
from lightwell.entrypoints.operations.jobs import Job

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
    "lightwell jobs list --state failed --server http://127.0.0.1:8000",
)
async def list_jobs(
    *,
    asker: Asker,
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
    name_of = server_name if asker.login else document_name
    listed = await asker(
        operations.list_jobs,
        state=state,
        document=name_of(document) if document else "",
        limit=limit,
        after=str(before or ""),
    )
    table = new_table("job", "state", "step", "progress", "document")
    for job in listed.jobs:
        failure = _failure(job)
        table.add_row(
            str(job.job_id),
            job.job_state.value,
            job.current_step,
            f"{job.progress}%",
            clean(f"{job.document_url}: {failure}" if failure else job.document_url),
        )
    return Report(
        document={"jobs": [job.to_document() for job in listed.jobs]},
        text=page_text(table, None, nothing="There are no such jobs that you may see."),
    )


@command(
    jobs,
    "show",
    "lightwell jobs show 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs show 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def show_job(job: JobName, *, asker: Asker) -> Report:
    """Show a job: its state, step, progress and error."""
    return _job(await asker(operations.get_job, job))


@command(
    jobs,
    "retry",
    "lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def retry_job(job: JobName, *, asker: Asker) -> Report:
    """Enqueue a failed or cancelled job again; a worker or the next ingest continues it where it stopped."""
    return _job(await asker(operations.retry_job, job))


@command(
    jobs,
    "cancel",
    "lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def cancel_job(job: JobName, *, asker: Asker) -> Report:
    """Cancel a queued or running job. The previous version of the document stays."""
    return _job(await asker(operations.cancel_job, job))


@command(
    jobs,
    "wait",
    "lightwell jobs wait 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def wait_for_job(job: JobName, *, server: Server = None) -> Report:
    """Wait until a job of a server has ended, and show its steps on stderr; exit code 1 if it failed."""
    ended = await follow_to_end(job, require_server(server))
    code = Exit.FINE if ended.job_state is JobState.COMPLETE else Exit.INCOMPLETE
    return replace(_job(ended), code=code)


async def follow_to_end(job_id: UUID, login: Login) -> Job:
    """Return a job when it has ended; its steps are printed on stderr."""
    from lightwell.entrypoints.cli.progress import describe_pace

    async with open_client(login) as client:
        job = await client.get_job(job_id)
        async for job in client.follow_job(job_id):
            left = describe_pace(job.passages_per_minute, job.seconds_left)
            line = f"{job.progress:3}% {job.current_step}{f' ({left})' if left else ''}"
            typer.echo(clean(line), err=True)
    return job


@command(runs, "list", "lightwell runs list --as team:us --limit 10")
async def list_runs(*, who: As = None, limit: PageSize = 100, before: Before = None) -> Report:
    """List the ingestion runs that changed documents which the reader may see, the latest first."""
    async with open_as(who) as (kb, reader):
        older = RunId(before) if before else None
        listed = await kb.jobs.runs(reader, before=older, limit=limit)
    table = new_table("run", "began", "state", "new", "changed", "deleted", "failed", "source")
    for run in listed:
        counts = map(str, (run.inserted, run.updated, run.deleted, run.failed))
        source = clean(f"{run.system} {run.scope}")
        table.add_row(str(run.id), _second(run.started_at), run.state.value, *counts, source)
    nothing = "There are no runs that changed what you may see."
    return Report(
        document={"runs": [_run(run) for run in listed]},
        text=page_text(table, None, nothing=nothing),
    )


@command(runs, "show", "lightwell runs show 019f0000-0000-7000-8000-000000000000 --as team:us")
async def show_run(run_id: RunName, *, who: As = None) -> Report:
    """Show an ingestion run: its source, how it ended, and how many documents it changed."""
    async with open_as(who) as (kb, reader):
        run = await kb.jobs.run(reader, RunId(run_id))
    rows = [
        ("run", str(run.id)),
        ("source", f"{run.system} {run.scope}"),
        ("state", f"{run.state.value}: {run.error}" if run.error else run.state.value),
        ("began", _second(run.started_at)),
        ("ended", _second(run.finished_at)),
        ("new", str(run.inserted)),
        ("changed", str(run.updated)),
        ("deleted", str(run.deleted)),
        ("failed", str(run.failed)),
    ]
    return Report(document=_run(run), text=fields(rows))


@command(runs, "cursors", "lightwell runs cursors --as team:us")
async def list_cursors(*, who: As = None) -> Report:
    """List the cursor of each source: a folder's last complete sync, or the last change in a business system that you see."""
    async with open_as(who) as (kb, reader):
        cursors = await kb.jobs.cursors(reader)
    table = new_table("source", "part", "cursor", "moved")
    for cursor in cursors:
        words = (cursor.system, cursor.key, cursor.value)
        table.add_row(*map(clean, words), _second(cursor.updated_at))
    document = [
        {
            "sourceSystem": cursor.system,
            "cursorKey": cursor.key,
            "cursorValue": cursor.value,
            "updatedAt": cursor.updated_at.isoformat(),
        }
        for cursor in cursors
    ]
    nothing = "No source has a complete sync yet."
    return Report(document={"cursors": document}, text=page_text(table, None, nothing=nothing))


def _job(job: Job) -> Report:
    state, failure, usage = job.job_state.value, _failure(job), job.usage
    tokens = f"{usage.total_input_tokens:,} tokens in, {usage.total_output_tokens:,} out"
    rows = [
        ("job", str(job.job_id)),
        ("document", job.document_url),
        ("state", f"{state}: {failure}" if failure else state),
        ("step", job.current_step),
        ("progress", f"{job.progress}%"),
        (
            "passages",
            f"{job.processed_chunks} of {job.total_chunks}" if job.total_chunks else "",
        ),
        ("model calls", f"{usage.calls:,} ({tokens})" if usage.calls else ""),
        ("unknown predicates", str(job.unknown_predicates or "")),
        ("attempts", str(job.attempts)),
        ("queued", _second(job.created_at)),
        ("began", _second(job.started_at)),
        ("ended", _second(job.completed_at)),
    ]
    return Report(document=job, text=fields(rows))


def _failure(job: Job) -> str:
    return "" if job.job_state is JobState.CANCELLED else job.error_message


def _run(run: Run) -> Mapping[str, object]:
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


def _second(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""

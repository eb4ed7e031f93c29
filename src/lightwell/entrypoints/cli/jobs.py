"""`jobs` and `runs`: ingestion jobs, and runs over a source."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.text import Text

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.ids import JobId, RunId
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.runs import Run
from lightwell.entrypoints.cli.console import clean, fields, new_table
from lightwell.entrypoints.cli.documents import document_name, server_name
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, Before, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.remote import choose_server, dump, require_server, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.jobs import JobSchema

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
    who: As = None,
    server: Server = None,
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
    from lightwell.entrypoints.client import job_calls
    from lightwell.entrypoints.schemas.jobs import JobQuery, job_schema

    if login := choose_server(server, who):
        known = server_name(document) if document else ""
        query = JobQuery(
            state=state, document=known, limit=limit, after=str(before) if before else ""
        )
        found = (await send(job_calls.list_jobs(query), login)).jobs
    else:
        async with open_as(who) as (kb, reader):
            listed = await kb.jobs.list(
                reader,
                state=state,
                document=document_name(document) if document else "",
                before=JobId(before) if before else None,
                limit=limit,
            )
        found = [job_schema(each) for each in listed]
    table = new_table("job", "state", "step", "progress", "document")
    for each in found:
        failed = _failure(each)
        last = clean(f"{each.document_url}: {failed}" if failed else each.document_url)
        progress = f"{each.progress}%"
        table.add_row(each.job_id, each.job_state.value, each.current_step, progress, last)
    nothing = Text("There are no such jobs that you may see.")
    return Report(
        document={"jobs": [dump(each) for each in found]},
        text=table if found else nothing,
    )


@command(
    jobs,
    "show",
    "lightwell jobs show 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs show 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def show_job(
    job: JobName,
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Show a job: its state, step, progress and error."""
    from lightwell.entrypoints.client import job_calls

    if login := choose_server(server, who):
        return _job(await send(job_calls.get_job(job), login))
    async with open_as(who) as (kb, reader):
        return _local_job(await kb.jobs.get(reader, JobId(job)))


@command(
    jobs,
    "retry",
    "lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def retry_job(
    job: JobName,
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Enqueue a failed or cancelled job again; a worker or the next ingest continues it where it stopped."""
    from lightwell.entrypoints.client import job_calls

    if login := choose_server(server, who):
        return _job(await send(job_calls.retry_job(job), login))
    async with open_as(who) as (kb, reader):
        return _local_job(await kb.jobs.retry(reader, JobId(job)))


@command(
    jobs,
    "cancel",
    "lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --as team:us",
    "lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --server http://127.0.0.1:8000",
)
async def cancel_job(
    job: JobName,
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """Cancel a queued or running job. The previous version of the document stays."""
    from lightwell.entrypoints.client import job_calls

    if login := choose_server(server, who):
        return _job(await send(job_calls.cancel_job(job), login))
    async with open_as(who) as (kb, reader):
        return _local_job(await kb.jobs.cancel(reader, JobId(job)))


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


async def follow_to_end(job: UUID, login: Login) -> "JobSchema":
    """Return a job when it has ended; its steps are printed on stderr."""
    from lightwell.entrypoints.client import AsyncClient

    async with AsyncClient(login.url, api_key=login.api_key.get_secret_value()) as client:
        found = await client.get_job(job)
        async for found in client.follow_job(job):
            typer.echo(clean(f"{found.progress:3}% {found.current_step}"), err=True)
    return found


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
    """List the cursor of each source: a folder's last complete sync, or the last change in a business system that you see."""
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


def _local_job(job: Job) -> Report:
    from lightwell.entrypoints.schemas.jobs import job_schema

    return _job(job_schema(job))


def _job(job: "JobSchema") -> Report:
    state = job.job_state.value
    failed = _failure(job)
    rows = [
        ("job", job.job_id),
        ("document", job.document_url),
        ("state", f"{state}: {failed}" if failed else state),
        ("step", job.current_step),
        ("progress", f"{job.progress}%"),
        (
            "passages",
            f"{job.processed_chunks} of {job.total_chunks}" if job.total_chunks else "",
        ),
        ("model calls", _calls(job)),
        ("unknown predicates", str(job.unknown_predicates or "")),
        ("attempts", str(job.attempts)),
        ("queued", _second(job.created_at)),
        ("began", _second(job.started_at)),
        ("ended", _second(job.completed_at)),
    ]
    return Report(document=dump(job), text=fields(rows))


def _calls(job: "JobSchema") -> str:
    spent = job.usage
    if not spent.calls:
        return ""
    return f"{spent.calls:,} ({spent.total_input_tokens:,} tokens in, {spent.total_output_tokens:,} out)"


def _failure(job: "JobSchema") -> str:
    return "" if job.job_state is JobState.CANCELLED else job.error_message


def _second(moment: str | None) -> str:
    return _moment(datetime.fromisoformat(moment) if moment else None)


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

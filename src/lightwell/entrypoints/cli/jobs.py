"""What can be said about jobs and ingestion runs on the command line; what it does stands in `job_reports`."""

from typing import Annotated
from uuid import UUID

import typer

from lightwell.domain.jobs import JobState
from lightwell.entrypoints.cli.commands import As, Json, Verbose

jobs = typer.Typer(
    help="List, show, retry and cancel ingestion jobs.",
    epilog="\b\nExamples:\n  lightwell jobs list --as team:us\n"
    "  lightwell jobs list --as team:us --state failed",
    no_args_is_help=True,
    rich_markup_mode=None,
)
runs = typer.Typer(
    help="List and show ingestion runs, and where each source left off.",
    epilog="\b\nExamples:\n  lightwell runs list --as team:us\n  lightwell runs cursors --as team:us",
    no_args_is_help=True,
    rich_markup_mode=None,
)
JobName = Annotated[UUID, typer.Argument(metavar="JOB", help="The id of a job.")]
RunName = Annotated[UUID, typer.Argument(metavar="RUN", help="The id of a run.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many, at most.")]
Before = Annotated[
    UUID | None, typer.Option("--before", metavar="ID", help="Only those older than this one.")
]


@jobs.command(
    "list",
    epilog="\b\nExamples:\n  lightwell jobs list --as team:us\n"
    "  lightwell jobs list --as team:us --document handbook/leave.md --state failed",
)
def list_jobs(  # noqa: PLR0913 - the options of a command are its arguments
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
    limit: Limit = 100,
    before: Before = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the jobs of documents that the asking person may see, the latest first."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    wanted = reports.JobFilter(state=state, document=document, before=before, limit=limit)
    run(reports.jobs(wanted, who or []), as_json=as_json, verbose=verbose)


@jobs.command(
    "show",
    epilog="\b\nExamples:\n  lightwell jobs show 019f0000-0000-7000-8000-000000000000 --as team:us",
)
def show_job(
    job: JobName, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show a job: its state, step, progress and error."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.job(job, who or []), as_json=as_json, verbose=verbose)


@jobs.command(
    "retry",
    epilog="\b\nExamples:\n  lightwell jobs retry 019f0000-0000-7000-8000-000000000000 --as team:us",
)
def retry_job(
    job: JobName, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Queue a failed or cancelled job again; a worker or the next ingest continues it where it stopped."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.retry(job, who or []), as_json=as_json, verbose=verbose)


@jobs.command(
    "cancel",
    epilog="\b\nExamples:\n  lightwell jobs cancel 019f0000-0000-7000-8000-000000000000 --as team:us",
)
def cancel_job(
    job: JobName, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Cancel a queued or running job. The previous version of the document stays."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.cancel(job, who or []), as_json=as_json, verbose=verbose)


@runs.command("list", epilog="\b\nExamples:\n  lightwell runs list --as team:us --limit 10")
def list_runs(
    *,
    who: As = None,
    limit: Limit = 100,
    before: Before = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the ingestion runs that changed documents which the asking person may see, the latest first."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    command = reports.runs(who or [], before=before, limit=limit)
    run(command, as_json=as_json, verbose=verbose)


@runs.command(
    "show",
    epilog="\b\nExamples:\n  lightwell runs show 019f0000-0000-7000-8000-000000000000 --as team:us",
)
def show_run(
    run_id: RunName, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show an ingestion run: its source, how it ended, and how many documents it changed."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.run(run_id, who or []), as_json=as_json, verbose=verbose)


@runs.command("cursors", epilog="\b\nExamples:\n  lightwell runs cursors --as team:us")
def list_cursors(*, who: As = None, as_json: Json = False, verbose: Verbose = False) -> None:
    """List where the last complete sync of each source left off."""
    import lightwell.entrypoints.cli.job_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.cursors(who or []), as_json=as_json, verbose=verbose)

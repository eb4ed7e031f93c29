"""What `jobs` and `runs` do."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.access import Reader
from lightwell.domain.ids import JobId, RunId
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.runs import Run
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.reading import document_name
from lightwell.knowledge_base import KnowledgeBase
from lightwell.wiring import open_knowledge_base

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list."""

    state: JobState | None
    document: str
    before: UUID | None
    limit: int


async def jobs(job_filter: JobFilter, who: Sequence[str]) -> Report:
    """Report jobs, the latest first."""
    async with _open(who) as (kb, reader):
        found = await kb.jobs.list(
            reader,
            state=job_filter.state,
            document=document_name(job_filter.document) if job_filter.document else "",
            before=JobId(job_filter.before) if job_filter.before else None,
            limit=job_filter.limit,
        )
    table = _table("job", "state", "step", "progress", "document")
    for each in found:
        last = show.clean(f"{each.url}: {each.error}" if each.error else each.url)
        table.add_row(str(each.id), each.state.value, each.step, f"{each.progress}%", last)
    nothing = Text("There are no such jobs that you may see.")
    return Report(
        document={"jobs": [shapes.job(each) for each in found]}, text=table if found else nothing
    )


async def job(job_id: UUID, who: Sequence[str]) -> Report:
    """Report one job."""
    async with _open(who) as (kb, reader):
        found = await kb.jobs.show(reader, JobId(job_id))
    return _job(found)


async def retry(job_id: UUID, who: Sequence[str]) -> Report:
    """Queue a job again and report it."""
    async with _open(who) as (kb, reader):
        found = await kb.jobs.retry(reader, JobId(job_id))
    return _job(found)


async def cancel(job_id: UUID, who: Sequence[str]) -> Report:
    """End a job and report it."""
    async with _open(who) as (kb, reader):
        found = await kb.jobs.cancel(reader, JobId(job_id))
    return _job(found)


async def runs(who: Sequence[str], *, before: UUID | None, limit: int) -> Report:
    """Report ingestion runs, the latest first."""
    async with _open(who) as (kb, reader):
        older = RunId(before) if before else None
        found = await kb.jobs.runs(reader, before=older, limit=limit)
    table = _table("run", "began", "state", "new", "changed", "deleted", "failed", "source")
    for each in found:
        counts = map(str, (each.inserted, each.updated, each.deleted, each.failed))
        source = show.clean(f"{each.system} {each.scope}")
        table.add_row(str(each.id), _moment(each.started_at), each.state.value, *counts, source)
    nothing = Text("There are no runs that changed what you may see.")
    return Report(
        document={"runs": [_run(each) for each in found]}, text=table if found else nothing
    )


async def run(run_id: UUID, who: Sequence[str]) -> Report:
    """Report one ingestion run."""
    async with _open(who) as (kb, reader):
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
    return Report(document=_run(found), text=show.fields(rows))


async def cursors(who: Sequence[str]) -> Report:
    """Report where each source left off."""
    async with _open(who) as (kb, reader):
        found = await kb.jobs.cursors(reader)
    table = _table("source", "part", "cursor", "moved")
    for each in found:
        words = (each.system, each.key, each.value)
        table.add_row(*(show.clean(word) for word in words), _moment(each.updated_at))
    document = [
        {
            "sourceSystem": each.system,
            "cursorKey": each.key,
            "cursorValue": each.value,
            "updatedAt": each.updated_at.isoformat(),
        }
        for each in found
    ]
    nothing = Text("No source has been followed to its end yet.")
    return Report(document={"cursors": document}, text=table if found else nothing)


@asynccontextmanager
async def _open(who: Sequence[str]) -> AsyncGenerator[tuple[KnowledgeBase, Reader], None]:
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        yield kb, await people.reader(kb, tags)


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
    return Report(document=shapes.job(job), text=show.fields(rows))


def _run(run: Run) -> Json:
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


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table

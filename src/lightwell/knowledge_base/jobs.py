"""Methods for jobs and runs: list, show, retry and cancel."""

from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.domain.ids import JobId, RunId
from lightwell.domain.jobs import Cursor, Job, JobState, Run
from lightwell.records.database import Database
from lightwell.records.documents import documents
from lightwell.records.jobs import control, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """One project's jobs and ingestion runs, as far as they concern documents that the reader sees."""

    database: Database

    async def list(
        self,
        reader: Reader,
        *,
        state: JobState | None = None,
        document: str = "",
        before: JobId | None = None,
        limit: int = 100,
    ) -> tuple[Job, ...]:
        """Return up to `limit` jobs, the latest first, those older than `before`; raise `NotFound` for the document."""
        shown = await documents.get(self.database, reader, document) if document else None
        jobs = await control.list_page(
            self.database,
            reader,
            state=state,
            document=shown and shown.id,
            before=before,
            limit=limit,
        )
        return tuple(jobs)

    async def get(self, reader: Reader, job: JobId) -> Job:
        """Return a job; raise `NotFound`."""
        return await control.get(self.database, reader, job)

    async def retry(self, reader: Reader, job: JobId) -> Job:
        """Enqueue a failed or cancelled job again, at the step where it stopped; raise `NotFound` or `Invalid`."""
        return await control.retry(self.database, reader, job)

    async def cancel(self, reader: Reader, job: JobId) -> Job:
        """Cancel a queued or running job; the previous version of its document stays. Raises `NotFound` or `Invalid`."""
        return await control.cancel(self.database, reader, job)

    async def runs(
        self, reader: Reader, *, before: RunId | None = None, limit: int = 100
    ) -> tuple[Run, ...]:
        """Return up to `limit` syncs that changed documents which the reader sees, the latest first."""
        return tuple(await runs.list_page(self.database, reader, before=before, limit=limit))

    async def run(self, reader: Reader, run: RunId) -> Run:
        """Return a sync that changed documents which the reader sees; raise `NotFound`."""
        return await runs.get(self.database, reader, run)

    async def cursors(self, reader: Reader) -> tuple[Cursor, ...]:
        """Return the cursors of the sources of which the reader sees a document."""
        return tuple(await runs.list_cursors(self.database, reader))

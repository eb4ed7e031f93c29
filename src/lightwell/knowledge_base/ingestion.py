"""Methods that ingest and delete documents."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader
from lightwell.domain.deletions import Deletion
from lightwell.domain.documents import omission_warning
from lightwell.domain.errors import NotFound, Unreadable
from lightwell.domain.ids import DocumentId
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestResponse
from lightwell.domain.usage import NO_USAGE, OperationType, TokenSummary
from lightwell.ingest import deletion, supplied_chunks, sync, worker
from lightwell.ingest import estimate as estimating
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import apply_pending_changes, finish_derived_for
from lightwell.ingest.estimate import Estimate
from lightwell.ingest.pipeline import REEXTRACT
from lightwell.ingest.progress import DocumentOutcome, Progress
from lightwell.ingest.sync import DocumentProblem, SyncResult
from lightwell.metering import record_usage
from lightwell.ports import Connector
from lightwell.records.documents import documents, known
from lightwell.records.graph import source_limits
from lightwell.records.jobs import queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """The result of one ingestion: the changes of the source, the end of each document's job, and the cost of calls to endpoints."""

    found: SyncResult
    done: tuple[DocumentOutcome, ...]
    usage: TokenSummary = NO_USAGE

    @property
    def problems(self) -> tuple[DocumentProblem, ...]:
        """Every document that was not ingested, with a message that says what to do."""
        failed = (DocumentProblem(url=one.url, message=one.error) for one in self.done if one.error)
        return (*self.found.problems, *failed)

    @property
    def warnings(self) -> tuple[DocumentProblem, ...]:
        """Every document that was ingested only in part, with a message that says what to do."""
        cut = (
            DocumentProblem(url=one.url, message=omission_warning(one.chunks, one.omitted))
            for one in self.done
            if one.omitted
        )
        return (*self.found.warnings, *cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWriter:
    """One project's ingestion, re-reading and deletion; `KnowledgeBase` documents each method."""

    context: IngestContext

    async def enqueue(self, connector: Connector, system: str) -> SyncResult:
        await self._keep_sources()
        found = await sync.sync(
            self.context.database,
            self.context.project_id,
            connector,
            system,
            self.context.parser.limits.max_chunks,
        )
        await apply_pending_changes(self.context)
        return found

    async def ingest(
        self,
        connector: Connector,
        system: str,
        on_start: Callable[[SyncResult, int], None],
        on_outcome: Callable[[DocumentOutcome], None],
        progress: Callable[[Progress], None],
    ) -> Ingestion:
        with record_usage(OperationType.INGESTION) as log:
            found = await self.enqueue(connector, system)
            database, scope = self.context.database, connector.scope
            own = await known.list_up_to_date(database, self.context.project_id, system, scope)
            open_urls = await queue.list_open_urls(database, self.context.project_id)
            on_start(found, len(own.keys() & open_urls))

            def tell_own(outcome: DocumentOutcome) -> None:
                if outcome.url in own:
                    on_outcome(outcome)

            def progress_of_own(step: Progress) -> None:
                if step.url in own:
                    progress(step)

            context = replace(self.context, progress=progress_of_own)
            done = await _drain(context, tell_own)
        of_source = tuple(one for one in done if one.url in own)
        return Ingestion(found=found, done=of_source, usage=log.summary)

    async def enqueue_document(self, connector: Connector) -> IngestResponse:
        found = await self.enqueue(connector, "file")
        if found.problems:
            raise Unreadable("unreadable", "; ".join(each.message for each in found.problems))
        if not found.jobs:
            raise NotFound("Document not found")
        job = found.jobs[0]
        return IngestResponse(
            job_id=job.id,
            document_id=job.document_id,
            status=JobState.QUEUED,
            estimated_chunks=job.estimated_chunks,
        )

    async def enqueue_chunks(
        self, reader: Reader, name: str, chunks: Sequence[EmbeddedChunk]
    ) -> IngestResponse:
        try:
            document = await documents.get(self.context.database, reader, name)
        except NotFound as error:
            raise NotFound("Document not found") from error
        return await supplied_chunks.enqueue_document(self.context, document, chunks)

    async def finish_jobs(
        self, only: Sequence[DocumentId] | None, on_outcome: Callable[[DocumentOutcome], None]
    ) -> tuple[DocumentOutcome, ...]:
        context = self.context if only is None else replace(self.context, only=tuple(only))
        return await _drain(context, on_outcome)

    async def estimate(self, connector: Connector, system: str) -> Estimate:
        return await estimating.estimate(self.context, connector, system)

    async def estimate_again(self, reader: Reader, names: Sequence[str] | None) -> Estimate:
        again = await self._resolve_documents(reader, names)
        return await estimating.estimate_reextraction(self.context, reader, again)

    async def enqueue_again(self, reader: Reader, names: Sequence[str] | None) -> int:
        again = await self._resolve_documents(reader, names)
        return await queue.enqueue_reextraction(
            self.context.database, reader, again, step=REEXTRACT
        )

    async def reread(
        self,
        reader: Reader,
        names: Sequence[str] | None,
        on_start: Callable[[int], None],
        on_outcome: Callable[[DocumentOutcome], None],
    ) -> tuple[DocumentOutcome, ...]:
        again = await self._resolve_documents(reader, names)
        await queue.enqueue_reextraction(self.context.database, reader, again, step=REEXTRACT)
        own = replace(self.context, only=tuple(again))
        on_start(await queue.count_open(self.context.database, self.context.project_id, again))
        return await _drain(own, on_outcome)

    async def work(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        await self._keep_sources()
        await worker.run_worker(self.context, on_outcome, stop)

    async def work_until_idle(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        await self._keep_sources()
        await worker.run_until_idle(self.context, on_outcome, stop)

    async def delete(self, reader: Reader, names: Sequence[str]) -> Deletion:
        found = await self._resolve_documents(reader, names)
        return await self._rebuild(reader, await deletion.delete(self.context, reader, found))

    async def erase(self, reader: Reader, names: Sequence[str]) -> Deletion:
        found = await self._resolve_documents(reader, names)
        return await self._rebuild(reader, await deletion.erase(self.context, reader, found))

    async def _rebuild(self, reader: Reader, report: Deletion) -> Deletion:
        """Finish derived data, and return the report with what the reader's part of it cost."""
        with record_usage() as own:
            await finish_derived_for(self.context, reader)
        return replace(report, usage=own.summary)

    async def _resolve_documents(
        self, reader: Reader, names: Sequence[str] | None
    ) -> list[DocumentId]:
        """Return the reader's documents of these names, None for all that are read; raise `NotFound`."""
        if names is None:
            return await documents.list_published(self.context.database, reader)
        found = [(await documents.get(self.context.database, reader, name)).id for name in names]
        return list(dict.fromkeys(found))

    async def _keep_sources(self) -> None:
        """Store the settings for source ids in the project."""
        await source_limits.store(
            self.context.database, self.context.project_id, self.context.sources
        )


async def _drain(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None]
) -> tuple[DocumentOutcome, ...]:
    done: list[DocumentOutcome] = []

    def remember(outcome: DocumentOutcome) -> None:
        done.append(outcome)
        on_outcome(outcome)

    await source_limits.store(context.database, context.project_id, context.sources)
    await worker.run_until_done(context, remember)
    return tuple(done)

"""Methods that ingest documents: from sources, again from their chunks, and as a worker."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader
from lightwell.domain.documents import omission_warning
from lightwell.domain.errors import NotFound, Unreadable
from lightwell.domain.ids import DocumentId
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestResponse
from lightwell.domain.usage import NO_USAGE, OperationType, TokenSummary
from lightwell.ingest import estimate as estimating
from lightwell.ingest import supplied_chunks, sync, worker
from lightwell.ingest.containers import WithParts
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import apply_pending_changes
from lightwell.ingest.estimate import Estimate
from lightwell.ingest.pipeline import REEXTRACT
from lightwell.ingest.progress import DocumentOutcome, Progress, Step
from lightwell.ingest.sync import DocumentProblem, SyncResult
from lightwell.knowledge_base.documents import resolve_names
from lightwell.knowledge_base.source_schedule import SourceSchedule, run_in_background
from lightwell.knowledge_base.sources import Sources
from lightwell.metering import record_usage
from lightwell.ports import Connector
from lightwell.records.documents import documents, registered
from lightwell.records.graph import source_limits
from lightwell.records.jobs import queue


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionResult:
    """The result of one ingestion: the changes of the source, the end of each document's job, and the cost of calls to endpoints."""

    found: SyncResult
    done: tuple[DocumentOutcome, ...]
    usage: TokenSummary = NO_USAGE

    @property
    def problems(self) -> tuple[DocumentProblem, ...]:
        """Every document that was not ingested, with a message that says what to do."""
        failed = (
            DocumentProblem(url=outcome.url, message=outcome.error)
            for outcome in self.done
            if outcome.error
        )
        return (*self.found.problems, *failed)

    @property
    def warnings(self) -> tuple[DocumentProblem, ...]:
        """Every document that was ingested only in part, with a message that says what to do."""
        cut = (
            DocumentProblem(
                url=outcome.url, message=omission_warning(outcome.chunks, outcome.omitted)
            )
            for outcome in self.done
            if outcome.omitted
        )
        return (*self.found.warnings, *cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """The ingestion of one project's documents, here or by workers."""

    context: IngestContext

    async def enqueue(self, connector: Connector, system: str = "file") -> SyncResult:
        """Sync a source: enqueue what changed there and leave the jobs to workers."""
        context = self.context
        await _store_source_limits(context)
        result = await sync.sync(
            context.database,
            context.project_id,
            WithParts(connector, context.parser),
            system,
            context.parser.limits.max_chunks,
        )
        await apply_pending_changes(context)
        return result

    async def ingest(
        self,
        connector: Connector,
        system: str = "file",
        *,
        on_start: Callable[[SyncResult, int], None] | None = None,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IngestionResult:
        """Sync a source and finish all open jobs of the project.

        `on_start` gets what was found and the number of open jobs, `on_outcome` the end of each job, `progress` the
        progress of each step within a document; all three only of this source, except that the network reads what others
        have left, too, and tell of it. Raises `ModelFailed` when a model fails;
        finished jobs stay finished, and the next ingestion or a worker continues with the rest.
        """
        with record_usage(OperationType.INGESTION) as log:
            result = await self.enqueue(connector, system)
            database, project_id = self.context.database, self.context.project_id
            of_source = await registered.list_up_to_date(
                database, project_id, system, connector.scope
            )
            open_urls = await queue.list_open_urls(database, project_id)
            if on_start:
                on_start(result, len(of_source.keys() & open_urls))

            def tell_outcome(outcome: DocumentOutcome) -> None:
                if on_outcome and outcome.url in of_source:
                    on_outcome(outcome)

            def tell_progress(step: Progress) -> None:
                if progress and (step.step is Step.VECTORS or step.url in of_source):
                    progress(step)

            done = await _drain(replace(self.context, progress=tell_progress), tell_outcome)
        ended = tuple(outcome for outcome in done if outcome.url in of_source)
        return IngestionResult(found=result, done=ended, usage=log.summary)

    async def enqueue_document(self, connector: Connector) -> IngestResponse:
        """Enqueue the one document of a source such as `lightwell.requested` returns; raise `Unreadable` where it cannot be."""
        result = await self.enqueue(connector, "file")
        if result.problems:
            raise Unreadable(
                "unreadable", "; ".join(problem.message for problem in result.problems)
            )
        if not result.jobs:
            raise NotFound("Document not found")
        job = result.jobs[-1]  # that of the document itself comes after those of its parts
        return IngestResponse(
            job_id=job.id,
            document_id=job.document_id,
            status=JobState.QUEUED,
            estimated_chunks=job.estimated_chunks,
        )

    async def enqueue_chunks(
        self, reader: Reader, name: str, chunks: Sequence[EmbeddedChunk]
    ) -> IngestResponse:
        """Enqueue supplied chunks, in order, as the whole content of one of the reader's documents from now on.

        Citations say so, until the document's source delivers it again. Raises `NotFound`, or `Invalid` for a chunk that is
        empty, has not 100 to 2000 tokens, or whose embedding has not the dimensions of the project's space.
        """
        try:
            document = await documents.get(self.context.database, reader, name)
        except NotFound as error:
            raise NotFound("Document not found") from error
        return await supplied_chunks.enqueue_document(self.context, document, chunks)

    async def finish_jobs(
        self,
        only: Sequence[DocumentId] | None = None,
        *,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
    ) -> tuple[DocumentOutcome, ...]:
        """Finish the jobs of these documents, None for all open jobs."""
        context = self.context if only is None else replace(self.context, only=tuple(only))
        return await _drain(context, on_outcome)

    async def estimate(self, *connectors: Connector, system: str = "file") -> Estimate:
        """Return what ingesting these sources is estimated to take; call no endpoint and store nothing.

        Raises `ModelFailed` where a bundled model, which a few passages are measured with, cannot be run.
        """
        return await estimating.estimate(self.context, connectors, system)

    async def estimate_again(self, reader: Reader, names: Sequence[str] | None) -> Estimate:
        """Return what `reread` is estimated to take."""
        document_ids = await self._documents_to_reread(reader, names)
        return await estimating.estimate_reextraction(self.context, reader, document_ids)

    async def enqueue_again(self, reader: Reader, names: Sequence[str] | None) -> int:
        """Enqueue the documents that `reread` would extract again, for workers, and return their number."""
        document_ids = await self._documents_to_reread(reader, names)
        return await queue.enqueue_reextraction(
            self.context.database, reader, document_ids, step=REEXTRACT
        )

    async def reread(
        self,
        reader: Reader,
        names: Sequence[str] | None,
        *,
        on_start: Callable[[int], None] | None = None,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> tuple[DocumentOutcome, ...]:
        """Extract entities and relations again from the chunks of these of the reader's documents, None for all.

        Cached replies of a model are not asked for again, and nothing is embedded. Until a document is finished, its old
        mentions remain. Other documents' jobs are left alone. Raises `NotFound` and `ModelFailed`.
        """
        database, project_id = self.context.database, self.context.project_id
        document_ids = await self._documents_to_reread(reader, names)
        await queue.enqueue_reextraction(database, reader, document_ids, step=REEXTRACT)
        if on_start:
            on_start(await queue.count_open(database, project_id, document_ids))
        context = replace(
            self.context,
            only=tuple(document_ids),
            progress=progress or self.context.progress,
        )
        return await _drain(context, on_outcome)

    async def work(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        """Run as a worker until `stop` is set, and sync sources when they are due."""
        schedule = SourceSchedule(list_due=Sources(context=self.context).list_due)
        async with run_in_background(schedule, stop):
            await _store_source_limits(self.context)
            await worker.run_worker(self.context, on_outcome, stop)

    async def work_until_idle(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        """Run as a worker until no job can be claimed or `stop` is set; raise `ModelFailed`, `ParserFailed`, `StoreFailed`."""
        await _store_source_limits(self.context)
        await worker.run_until_idle(self.context, on_outcome, stop)

    async def _documents_to_reread(
        self, reader: Reader, names: Sequence[str] | None
    ) -> list[DocumentId]:
        """Return the reader's documents of these names, None for all that are read; raise `NotFound`."""
        if names is None:
            return await documents.list_published(self.context.database, reader)
        return await resolve_names(self.context.database, reader, names)


async def _store_source_limits(context: IngestContext) -> None:
    """Store in the project how many source ids an entity or relation keeps."""
    await source_limits.store(context.database, context.project_id, context.sources)


async def _drain(
    context: IngestContext, on_outcome: Callable[[DocumentOutcome], None] | None
) -> tuple[DocumentOutcome, ...]:
    done: list[DocumentOutcome] = []

    def remember(outcome: DocumentOutcome) -> None:
        done.append(outcome)
        if on_outcome:
            on_outcome(outcome)

    await _store_source_limits(context)
    await worker.run_until_done(context, remember)
    return tuple(done)

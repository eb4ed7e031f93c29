"""The verbs that bring documents in and take them out again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader
from lightwell.domain.deletions import Deletion
from lightwell.domain.errors import NotFound, Unreadable
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestResponse
from lightwell.domain.usage import NO_USAGE, OperationType, TokenSummary
from lightwell.ingest import deletion, handmade, work
from lightwell.ingest import estimate as estimating
from lightwell.ingest import sync as following
from lightwell.ingest.estimate import Estimate
from lightwell.ingest.pipeline import READ_AGAIN
from lightwell.ingest.sync import Sync, Trouble
from lightwell.ingest.way import Outcome, Progress, Way, follow_up, round_off
from lightwell.metering import record_usage
from lightwell.ports import Connector
from lightwell.records import documents, jobs, retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What one ingestion did: what the source had, how each document's job ended, and what calls to endpoints cost."""

    found: Sync
    done: tuple[Outcome, ...]
    usage: TokenSummary = NO_USAGE

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Every document that did not make it, with what to do about it."""
        failed = (Trouble(url=one.url, message=one.error) for one in self.done if one.error)
        return (*self.found.troubles, *failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWriter:
    """One project's ingestion, re-reading and deletion; `KnowledgeBase` documents each verb."""

    project_id: ProjectId
    way: Way

    async def enqueue(self, connector: Connector, system: str) -> Sync:
        await self._keep_sources()
        found = await following.sync(self.way.database, self.project_id, connector, system)
        await follow_up(self.way, self.project_id)
        return found

    async def ingest(
        self,
        connector: Connector,
        system: str,
        begun: Callable[[Sync, int], None],
        tell: Callable[[Outcome], None],
        progress: Callable[[Progress], None],
    ) -> Ingestion:
        with record_usage(OperationType.INGESTION) as log:
            found = await self.enqueue(connector, system)
            database, scope = self.way.database, connector.scope
            own = await documents.known(database, self.project_id, system, scope)
            opened = await jobs.open_urls(database, self.project_id)
            begun(found, len(own.keys() & opened))

            def tell_own(outcome: Outcome) -> None:
                if outcome.url in own:
                    tell(outcome)

            def progress_of_own(step: Progress) -> None:
                if step.url in own:
                    progress(step)

            way = replace(self.way, progress=progress_of_own)
            done = await _drain(way, self.project_id, tell_own)
        of_source = tuple(one for one in done if one.url in own)
        return Ingestion(found=found, done=of_source, usage=log.summary)

    async def enqueue_document(self, connector: Connector) -> IngestResponse:
        found = await self.enqueue(connector, "file")
        if found.troubles:
            raise Unreadable("unreadable", "; ".join(each.message for each in found.troubles))
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
            document = await documents.shown(self.way.database, reader, name)
        except NotFound as error:
            raise NotFound("Document not found") from error
        return await handmade.enqueue(self.way, self.project_id, document, chunks)

    async def finish_jobs(
        self, only: Sequence[DocumentId] | None, tell: Callable[[Outcome], None]
    ) -> tuple[Outcome, ...]:
        way = self.way if only is None else replace(self.way, only=tuple(only))
        return await _drain(way, self.project_id, tell)

    async def estimate(self, connector: Connector, system: str) -> Estimate:
        return await estimating.estimate(self.way, self.project_id, connector, system)

    async def estimate_again(self, reader: Reader, names: Sequence[str] | None) -> Estimate:
        again = await self._named(reader, names)
        return await estimating.estimate_again(self.way, reader, again)

    async def enqueue_again(self, reader: Reader, names: Sequence[str] | None) -> int:
        again = await self._named(reader, names)
        return await jobs.enqueue_again(self.way.database, reader, again, step=READ_AGAIN)

    async def reread(
        self,
        reader: Reader,
        names: Sequence[str] | None,
        begun: Callable[[int], None],
        tell: Callable[[Outcome], None],
    ) -> tuple[Outcome, ...]:
        again = await self._named(reader, names)
        await jobs.enqueue_again(self.way.database, reader, again, step=READ_AGAIN)
        own = replace(self.way, only=tuple(again))
        begun(await jobs.open_jobs(self.way.database, self.project_id, again))
        return await _drain(own, self.project_id, tell)

    async def work(self, stop: asyncio.Event, tell: Callable[[Outcome], None]) -> None:
        await self._keep_sources()
        await work.serve(self.way, self.project_id, tell, stop)

    async def delete(self, reader: Reader, names: Sequence[str]) -> Deletion:
        report = await deletion.delete(self.way, reader, await self._named(reader, names))
        await round_off(self.way, self.project_id)
        return report

    async def erase(self, reader: Reader, names: Sequence[str]) -> Deletion:
        report = await deletion.erase(self.way, reader, await self._named(reader, names))
        await round_off(self.way, self.project_id)
        return report

    async def _named(self, reader: Reader, names: Sequence[str] | None) -> list[DocumentId]:
        """Return the reader's documents of these names, None for all that are read; raise `NotFound`."""
        if names is None:
            return await documents.published(self.way.database, reader)
        found = [(await documents.shown(self.way.database, reader, name)).id for name in names]
        return list(dict.fromkeys(found))

    async def _keep_sources(self) -> None:
        """Let the project list sources as the settings say."""
        await retention.write(self.way.database, self.project_id, self.way.sources)


async def _drain(
    way: Way, project_id: ProjectId, tell: Callable[[Outcome], None]
) -> tuple[Outcome, ...]:
    done: list[Outcome] = []

    def remember(outcome: Outcome) -> None:
        done.append(outcome)
        tell(outcome)

    await retention.write(way.database, project_id, way.sources)
    await work.drain(way, project_id, remember)
    return tuple(done)

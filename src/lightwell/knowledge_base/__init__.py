"""The library's methods: ingest, search, ask, and read documents.

Every method that reads takes the reader by position: there is no default reader.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.curate.context import CurationContext
from lightwell.curate.graph import Graph
from lightwell.domain.access import Reader, parse_tags
from lightwell.domain.answers import Answer, StreamChunk
from lightwell.domain.briefs import Brief
from lightwell.domain.candidates import Candidates
from lightwell.domain.chat import ChatMessage, ChatTurn, Conversation, ConversationId
from lightwell.domain.deletions import Deletion
from lightwell.domain.documents import Chunk, Document
from lightwell.domain.evidence import Retrieval
from lightwell.domain.exports import ExportConfig, Exported, ExportProgress
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.jobs import Job
from lightwell.domain.keywords import Keywords
from lightwell.domain.questions import Channel, Mode, QueryRequest, make_question
from lightwell.domain.requests import EmbeddedChunk, IngestResponse
from lightwell.domain.status import Status
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.derived_data import apply_pending_changes, finish_derived_for
from lightwell.ingest.estimate import Estimate
from lightwell.ingest.progress import DocumentOutcome, Progress
from lightwell.ingest.summaries import Summarizer
from lightwell.ingest.sync import SyncResult
from lightwell.knowledge_base.analytics import Analytics
from lightwell.knowledge_base.catalog import Catalog
from lightwell.knowledge_base.embeddings import Embeddings
from lightwell.knowledge_base.ingestion import DocumentWriter, Ingestion
from lightwell.knowledge_base.jobs import Jobs
from lightwell.knowledge_base.questions import QuestionAnswerer
from lightwell.knowledge_base.source_schedule import SourceSchedule, run_in_background
from lightwell.knowledge_base.sources import Sources
from lightwell.ports import Connector
from lightwell.records import access_classes, conversations
from lightwell.records.documents import counts, documents
from lightwell.records.jobs import control, queue
from lightwell.retrieve.pipeline import Retriever

__all__ = ["Ingestion", "KnowledgeBase", "Status"]


class KnowledgeBase:
    """One project's documents, open for reading and writing; `lightwell.open_knowledge_base` makes one.

    `summarizer` is used by merges with the strategy LLM_SUMMARIZE, also where rules extract. `sources`: business systems that are
    synced into the project; `embeddings`: its embedding models. Both are for administrators.
    """

    def __init__(
        self,
        context: IngestContext,
        retriever: Retriever,
        answers: AnswerGenerator,
        *,
        summarizer: Summarizer | None = None,
    ) -> None:
        database = self._database = context.database
        self.project_id = context.project_id
        self._context = context
        self._writer = DocumentWriter(context=context)
        self._questions = QuestionAnswerer(
            database=database, retriever=retriever, generator=answers
        )
        self._catalog = Catalog(context=context)
        self._jobs = Jobs(database=database)
        self._analytics = Analytics(database=database)
        self.sources = Sources(context=context)
        self.embeddings = Embeddings(context=context)
        self._graph = Graph(
            context=CurationContext(
                database=database,
                graph=retriever.stores.graph,
                summarize=summarizer.summarize if summarizer else None,
                finish_derived=lambda reader, since: finish_derived_for(context, reader, since),
                separator=answers.separator,
            )
        )

    @property
    def _answerer(self) -> QuestionAnswerer:
        """The methods for one question that begins now; they limit its time with models."""
        return self._questions.limited()

    @property
    def graph(self) -> Graph:
        """The graph: entities and relations to look up and to correct."""
        return self._graph

    @property
    def catalog(self) -> Catalog:
        """Documents: list with filters, hand in, change access tags."""
        return self._catalog

    @property
    def jobs(self) -> Jobs:
        """Jobs and ingestion runs: list, show, retry, cancel."""
        return self._jobs

    @property
    def analytics(self) -> Analytics:
        """A user's own sessions, questions and feedback."""
        return self._analytics

    async def reader(self, tags: Iterable[str], *, user: str = "") -> Reader:
        """Return the reader with these access tags; raise `Invalid` for a malformed tag.

        `user` owns sessions and conversations; without it, the one that a single `user:` tag names owns sessions.
        """
        return await access_classes.resolve_reader(
            self._database, self.project_id, parse_tags(tags), user
        )

    # ── ingestion ────────────────────────────────────────────────────────────────────────────────────────────

    async def enqueue(self, connector: Connector, system: str = "file") -> SyncResult:
        """Sync a source: enqueue what changed there and leave the jobs to workers."""
        return await self._writer.enqueue(connector, system)

    async def ingest(
        self,
        connector: Connector,
        system: str = "file",
        *,
        on_start: Callable[[SyncResult, int], None] | None = None,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Ingestion:
        """Sync a source and finish all open jobs of the project.

        `on_start` gets what was found and the number of open jobs, `on_outcome` the end of each job, `progress` the
        progress of each step within a document. Raises `ModelFailed` when a model fails; finished jobs stay finished, and
        the next ingestion or a worker continues with the rest.
        """
        return await self._writer.ingest(
            connector, system, on_start or _ignore, on_outcome or _ignore, progress or _ignore
        )

    async def enqueue_document(self, connector: Connector) -> IngestResponse:
        """Enqueue the one document of a source such as `lightwell.requested` returns; raise `Unreadable` where it cannot be."""
        return await self._writer.enqueue_document(connector)

    async def enqueue_chunks(
        self, reader: Reader, name: str, chunks: Sequence[EmbeddedChunk]
    ) -> IngestResponse:
        """Enqueue supplied chunks, in order, as the whole content of one of the reader's documents from now on.

        Citations say so, until the document's source delivers it again. Raises `NotFound`, or `Invalid` for a chunk that is
        empty, has not 100 to 2000 tokens, or whose embedding has not the dimensions of the project's space.
        """
        return await self._writer.enqueue_chunks(reader, name, chunks)

    async def finish_jobs(
        self,
        only: Sequence[DocumentId] | None = None,
        *,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
    ) -> tuple[DocumentOutcome, ...]:
        """Finish the jobs of these documents, None for all open jobs."""
        return await self._writer.finish_jobs(only, on_outcome or _ignore)

    async def estimate(self, connector: Connector, system: str = "file") -> Estimate:
        """Return the estimated model calls of ingesting a source; call no model and store nothing."""
        return await self._writer.estimate(connector, system)

    async def estimate_again(self, reader: Reader, names: Sequence[str] | None) -> Estimate:
        """Return the estimated model calls of `reread`."""
        return await self._writer.estimate_again(reader, names)

    async def enqueue_again(self, reader: Reader, names: Sequence[str] | None) -> int:
        """Enqueue the documents that `reread` would extract again, for workers, and return their number."""
        return await self._writer.enqueue_again(reader, names)

    async def reread(
        self,
        reader: Reader,
        names: Sequence[str] | None,
        *,
        on_start: Callable[[int], None] | None = None,
        on_outcome: Callable[[DocumentOutcome], None] | None = None,
    ) -> tuple[DocumentOutcome, ...]:
        """Extract entities and relations again from the chunks of these of the reader's documents, None for all.

        Cached replies of a model are not asked for again, and nothing is embedded. Until a document is finished, its old
        mentions remain. Other documents' jobs are left alone. Raises `NotFound` and `ModelFailed`.
        """
        return await self._writer.reread(reader, names, on_start or _ignore, on_outcome or _ignore)

    async def work(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        """Run as a worker until `stop` is set, and sync sources when they are due."""
        async with run_in_background(SourceSchedule(list_due=self.sources.list_due), stop):
            await self._writer.work(stop, on_outcome)

    async def work_until_idle(
        self, stop: asyncio.Event, on_outcome: Callable[[DocumentOutcome], None]
    ) -> None:
        """Run as a worker until no job can be claimed or `stop` is set; raise `ModelFailed`, `ParserFailed`, `StoreFailed`."""
        await self._writer.work_until_idle(stop, on_outcome)

    async def delete(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Turn some of the reader's documents into tombstones and update what is derived from them, once for all.

        No read finds them once this returns. Raises `NotFound`, and deletes none, when one of them does not exist.
        """
        return await self._writer.delete(reader, names)

    async def erase(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Delete as `delete` does, without tombstones: not even the documents' names are left."""
        return await self._writer.erase(reader, names)

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────────
    async def search(
        self,
        text: str,
        reader: Reader,
        *,
        topic: str = "",
        limit: int = 5,
        mode: Mode = Mode.MIX,
        without: frozenset[Channel] = frozenset(),
    ) -> Retrieval:
        """Return the evidence that the reader may see, best first; raise `Invalid` for a malformed question, or `bypass`.

        `without` excludes channels, to measure the effect of each.
        """
        asked = make_question(text, topic=topic, limit=limit, mode=mode, excluded_channels=without)
        return await self._answerer.search(asked, reader)

    async def keywords(self, text: str, reader: Reader) -> Keywords:
        """Return a question's keywords: themes find relations, names and terms find entities; raise `Invalid`.

        The chat model extracts them if it is configured to, otherwise they are words of the question. Documents have no effect; replies are kept for this reader alone.
        """
        return await self._answerer.keywords(make_question(text), reader)

    async def ask(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 5, mode: Mode = Mode.MIX
    ) -> Answer:
        """Return an answer of cited sentences, or insufficient evidence.

        Mode `bypass` is the one answer without citations, and says so. Raises `Invalid` where that has no model.
        """
        asked = make_question(text, topic=topic, limit=limit, mode=mode)
        return await self._answerer.ask(asked, reader)

    async def stream(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 5, mode: Mode = Mode.MIX
    ) -> AsyncGenerator[StreamChunk, None]:
        """Yield the answer that `ask` returns as events, each sentence when it is checked.

        `done` carries the whole answer and comes last; a model that fails is an `error` event instead. Raises `Invalid`
        before the first event.
        """
        asked = make_question(text, topic=topic, limit=limit, mode=mode)
        async with aclosing(self._answerer.stream(asked, reader)) as events:
            async for event in events:
                yield event

    async def query(self, request: QueryRequest, reader: Reader) -> Answer:
        """Return the answer to a `QueryRequest` of the specification; raise `Invalid`, or `NotFound` for a session that is not the user's own."""
        return await self._answerer.ask(request.to_question(), reader, request.session_id)

    async def query_stream(
        self, request: QueryRequest, reader: Reader
    ) -> AsyncGenerator[StreamChunk, None]:
        """Yield the answer that `query` returns as events, as `stream` does."""
        asked = request.to_question()
        async with aclosing(self._answerer.stream(asked, reader, request.session_id)) as events:
            async for event in events:
                yield event

    async def rewrite_followup(self, message: str, history: Sequence[ChatMessage]) -> str:
        """Return a message so that it stands alone, without the conversation before it, whose oldest message is first."""
        return await self._answerer.rewrite_followup(message, history)

    async def statements(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 20, mode: Mode = Mode.MIX
    ) -> Answer:
        """Return an answer whose sentences are what the documents state about the question, the newest first."""
        asked = make_question(text, topic=topic, limit=limit, mode=mode)
        return await self._answerer.statements(asked, reader)

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        """Return a brief on the entity of this name, `NAME <ADDRESS>`, reference or id, or what fits; raise `NotFound`."""
        return await self._answerer.brief(name, reader)

    async def candidates(self, name: str, reader: Reader) -> Candidates:
        """Return the reader's entities that a name may mean, none, one or several; raise `Invalid`."""
        return await self._answerer.candidates(name, reader)

    async def chat(
        self,
        message: str,
        reader: Reader,
        *,
        conversation: ConversationId | None = None,
        topic: str = "",
        mode: Mode = Mode.MIX,
    ) -> ChatTurn:
        """Return the response to a message of the reader's own conversation, a new one for None.

        Messages that cite documents which the reader no longer sees are not used. Raises `NotFound`, `Invalid`.
        """
        return await self._answerer.chat(message, reader, conversation, topic, mode)

    async def conversations(
        self, reader: Reader, *, after: str = "", limit: int = 100
    ) -> list[Conversation]:
        """Return the reader's own conversations, the latest first, those after the `Conversation.cursor` `after`."""
        return await conversations.list_own(self._database, reader, after=after, limit=limit)

    async def conversation(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        """Return the latest messages of the reader's own conversation that may be read back; raise `NotFound`."""
        return await self._answerer.history(reader, conversation)

    async def forget(self, reader: Reader, conversation: ConversationId) -> None:
        """Delete one of the reader's own conversations; raise `NotFound`."""
        await conversations.delete(self._database, reader, conversation)

    async def documents(
        self, reader: Reader, *, after: str = "", limit: int = 100
    ) -> AsyncIterator[Document]:
        """Yield up to `limit` of the reader's documents by URL, those after the URL `after`."""
        async for document in self._catalog.iterate(reader, after=after, limit=limit):
            yield document

    async def document(self, reader: Reader, name: str) -> Document:
        """Return the reader's document with this id, reference or URL; raise `NotFound`."""
        return await documents.get(self._database, reader, name)

    async def text(self, reader: Reader, name: str) -> str:
        """Return the published text of the reader's document; raise `NotFound`."""
        document = await documents.get(self._database, reader, name)
        return await documents.get_text(self._database, reader, document.id)

    async def chunks(
        self, reader: Reader, name: str, *, after: int = 0, limit: int = 100
    ) -> list[Chunk]:
        """Return up to `limit` passages of the reader's document by index, without the first `after`; raise `NotFound`."""
        return list(await self._catalog.chunks(reader, name, after=after, limit=limit))

    async def job(self, reader: Reader, job_id: JobId) -> Job:
        """Return the job of one of the reader's documents; raise `NotFound`."""
        return await control.get(self._database, reader, job_id)

    async def status(self, reader: Reader) -> Status:
        """Return counts of what the reader may see."""
        held = await counts.count_visible(self._database, reader)
        return Status(
            documents=await counts.count_by_state(self._database, reader),
            chunks=held.chunks,
            entities=held.entities,
            relations=held.relations,
            open_jobs=await queue.count_open_for(self._database, reader),
        )

    async def export(
        self,
        reader: Reader,
        config: ExportConfig,
        *,
        on_progress: Callable[[ExportProgress], None] | None = None,
    ) -> Exported:
        """Write what the reader sees at this moment to files, and return which; raise `Invalid` where that is impossible.

        `on_progress` is called after each batch. An existing file is kept unless the config says otherwise.
        """
        from lightwell.curate import (
            exporting,
        )  # its workbooks are a tenth of what a question would import

        context = await follow_space(self._context)
        # An exported profile must not repeat what is hidden or deleted since it was made.
        await apply_pending_changes(context)
        if config.separator is None:
            config = replace(config, separator=self._questions.generator.separator)
        return await exporting.export(
            self._database, context.vectors, context.space, reader, config, on_progress or _ignore
        )


def _ignore(*_: object) -> None:
    """Ignore events for which the caller gave no function."""

"""The library in a few verbs: ingest, search, ask, and what is known of documents.

Every verb that reads takes the reader by position: there is no default one.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import brief as briefing
from lightwell.answer import chat as chatting
from lightwell.answer import graph as telling
from lightwell.answer import statements as stating
from lightwell.answer.compose import Answers
from lightwell.curate import exporting
from lightwell.curate.desk import Desk
from lightwell.curate.graph import Graph
from lightwell.domain.access import Reader, tags_of
from lightwell.domain.briefs import Brief, Candidates
from lightwell.domain.chat import ChatMessage, ChatTurn, Conversation, ConversationId, user_message
from lightwell.domain.deletions import Deletion
from lightwell.domain.documents import Document, DocumentState
from lightwell.domain.evidence import Answer, Retrieval
from lightwell.domain.exports import ExportConfig, Exported, ExportProgress
from lightwell.domain.ids import DocumentId, JobId, ProjectId
from lightwell.domain.jobs import Job
from lightwell.domain.questions import Channel, Mode, Question, question, sought
from lightwell.domain.statements import Statements
from lightwell.domain.streams import StreamChunk
from lightwell.ingest import deletion, work
from lightwell.ingest import estimate as estimating
from lightwell.ingest import sync as following
from lightwell.ingest.estimate import Estimate
from lightwell.ingest.pipeline import READ_AGAIN
from lightwell.ingest.summaries import Summarizer
from lightwell.ingest.sync import Sync, Trouble
from lightwell.ingest.way import Outcome, Way, follow_up, round_off
from lightwell.ports import Connector, Message
from lightwell.records import access, conversations, documents, jobs, queries
from lightwell.records.database import Database
from lightwell.retrieve import followups
from lightwell.retrieve.pipeline import Retriever

__all__ = ["Ingestion", "KnowledgeBase", "Status"]

LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What one ingestion did: what the source had, and how each document's job ended."""

    found: Sync
    done: tuple[Outcome, ...]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Every document that did not make it, with what to do about it."""
        failed = (Trouble(url=one.url, message=one.error) for one in self.done if one.error)
        return (*self.found.troubles, *failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the reader's part of the store holds; also `open_jobs` counts the reader's documents only."""

    documents: dict[DocumentState, int]
    chunks: int
    entities: int
    relations: int
    open_jobs: int


class KnowledgeBase:
    """One project's documents, open for reading and writing; `lightwell.open` makes one.

    `summarizer` is whom merges by LLM_SUMMARIZE ask, also where documents are read by rules.
    """

    def __init__(
        self,
        database: Database,
        project_id: ProjectId,
        way: Way,
        retriever: Retriever,
        answers: Answers,
        *,
        summarizer: Summarizer | None = None,
    ) -> None:
        self.project_id = project_id
        self._database = database
        self._way = way
        self._retriever = retriever
        self._answers = answers
        self._graph = Graph(
            desk=Desk(
                database=database,
                summarize=summarizer.summary if summarizer else None,
                round_off=lambda since: round_off(way, project_id, since),
            )
        )

    @property
    def graph(self) -> Graph:
        """What people see and correct of entities and relations."""
        return self._graph

    async def reader(self, tags: Iterable[str]) -> Reader:
        """Return who these access tags make of the asking person; raise `Invalid` for a malformed tag."""
        return await access.reader(self._database, self.project_id, tags_of(tags))

    # ── in ────────────────────────────────────────────────────────────────────────────────────────────

    async def enqueue(self, connector: Connector, system: str = "file") -> Sync:
        """Follow a source: write down what changed there and leave the work to workers."""
        found = await following.sync(self._database, self.project_id, connector, system)
        await follow_up(self._way, self.project_id)
        return found

    async def ingest(
        self,
        connector: Connector,
        system: str = "file",
        *,
        begun: Callable[[Sync, int], None] = lambda found, open_jobs: None,
        tell: Callable[[Outcome], None] = lambda outcome: None,
    ) -> Ingestion:
        """Follow a source and bring all that is enqueued to its end.

        `begun` is told what was found and how many jobs are open, `tell` each job's end. Raises `ModelFailed` when
        a model does; what is done stays done, and the next ingestion or a worker goes on with the rest.
        """
        found = await self.enqueue(connector, system)
        begun(found, await jobs.open_jobs(self._database, self.project_id))
        return Ingestion(found=found, done=await self._drained(tell))

    async def estimate(self, connector: Connector, system: str = "file") -> Estimate:
        """Return what following a source would ask of the model; nothing is asked or written down."""
        return await estimating.estimate(self._way, self.project_id, connector, system)

    async def estimate_again(self, reader: Reader, names: Sequence[str] | None) -> Estimate:
        """Return what `reread` would ask of the model."""
        again = await self._named(reader, names)
        return await estimating.estimate_again(self._way, self.project_id, again)

    async def enqueue_again(self, reader: Reader, names: Sequence[str] | None) -> int:
        """Enqueue what `reread` reads, leave the work to workers, and return how many documents that are."""
        again = await self._named(reader, names)
        return await jobs.enqueue_again(self._database, reader, again, step=READ_AGAIN)

    async def reread(
        self,
        reader: Reader,
        names: Sequence[str] | None,
        *,
        begun: Callable[[int], None] = lambda open_jobs: None,
        tell: Callable[[Outcome], None] = lambda outcome: None,
    ) -> tuple[Outcome, ...]:
        """Read anew what these of the reader's documents say of entities and relations, None for all, from their chunks.

        What a model has replied before is not asked again, and nothing is embedded. Until a document is read, what it
        said stands. Brings all that is enqueued to its end, as `ingest` does; raises `NotFound` and `ModelFailed`.
        """
        await self.enqueue_again(reader, names)
        begun(await jobs.open_jobs(self._database, self.project_id))
        return await self._drained(tell)

    async def work(self, stop: asyncio.Event, tell: Callable[[Outcome], None]) -> None:
        """Be a worker until told to stop."""
        await work.serve(self._way, self.project_id, tell, stop)

    async def delete(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Turn some of the reader's documents into tombstones and rebuild what they fed, once for all of them.

        No read finds them once this returns. Raises `NotFound`, and deletes none, when one of them is not there.
        """
        report = await deletion.delete(self._way, reader, await self._named(reader, names))
        await round_off(self._way, self.project_id)
        return report

    async def erase(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Delete as `delete` does, and leave no tombstone: not even the documents' names."""
        report = await deletion.erase(self._way, reader, await self._named(reader, names))
        await round_off(self._way, self.project_id)
        return report

    async def _for_answer(self, asked: Question, reader: Reader) -> Retrieval:
        """Return the evidence for an answer; raise `Invalid` where the question's mode needs a model that is not there."""
        self._answers.check(asked.mode)
        return await self._retriever.retrieve(asked, reader)

    async def _named(self, reader: Reader, names: Sequence[str] | None) -> list[DocumentId]:
        """Return the reader's documents of these names, None for all that are read; raise `NotFound`."""
        if names is None:
            return await documents.published(self._database, reader)
        found = [(await documents.shown(self._database, reader, name)).id for name in names]
        return list(dict.fromkeys(found))

    async def _drained(self, tell: Callable[[Outcome], None]) -> tuple[Outcome, ...]:
        done: list[Outcome] = []

        def remember(outcome: Outcome) -> None:
            done.append(outcome)
            tell(outcome)

        await work.drain(self._way, self.project_id, remember)
        return tuple(done)

    # ── out ───────────────────────────────────────────────────────────────────────────────────────────

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

        `without` leaves channels out, to measure what each brings.
        """
        asked = sought(question(text, topic=topic, limit=limit, mode=mode, without=without))
        return await self._retriever.retrieve(asked, reader)

    async def ask(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 5, mode: Mode = Mode.MIX
    ) -> Answer:
        """Return an answer whose every sentence is cited, or insufficient evidence.

        Mode `bypass` is the one answer without citations, and says so. Raises `Invalid` where that has no model.
        """
        began = time.perf_counter()
        asked = question(text, topic=topic, limit=limit, mode=mode)
        retrieval = await self._for_answer(asked, reader)
        answer = await self._answers.compose(retrieval)
        await queries.record(self._database, reader, mode.strategy, answer, began=began)
        return answer

    async def stream(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 5, mode: Mode = Mode.MIX
    ) -> AsyncGenerator[StreamChunk, None]:
        """Yield the answer that `ask` returns as events, each sentence when it is checked.

        `done` carries the whole answer and comes last; a model that fails is an `error` event instead. Raises `Invalid`
        before the first event.
        """
        began = time.perf_counter()
        asked = question(text, topic=topic, limit=limit, mode=mode)
        retrieval = await self._for_answer(asked, reader)
        async with aclosing(self._answers.stream(retrieval)) as events:
            async for event in events:
                if event.answer is not None:
                    await queries.record(
                        self._database, reader, mode.strategy, event.answer, began=began
                    )
                yield event

    async def statements(
        self, text: str, reader: Reader, *, topic: str = "", limit: int = 20, mode: Mode = Mode.MIX
    ) -> Statements:
        """Return what the documents state about the question, each with its citations and dates, the newest first."""
        began = time.perf_counter()
        retrieval = await self.search(text, reader, topic=topic, limit=limit, mode=mode)
        other = stating.in_other_words(text)
        if other and mode in (Mode.MIX, Mode.NAIVE):
            few = min(limit, stating.READ_IN_OTHER_WORDS)
            more = await self.search(other, reader, topic=topic, limit=few, mode=Mode.NAIVE)
            retrieval = stating.with_more(retrieval, more)
        listed = await self._answers.statements(retrieval)
        await queries.record(self._database, reader, mode.strategy, listed, began=began)
        return listed

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        """Return a brief on the entity of this name, `NAME <ADDRESS>`, reference or id, or what fits; raise `NotFound`."""

        async def search(words: str) -> Retrieval:
            return await self.search(words, reader, limit=briefing.READ, mode=Mode.NAIVE)

        library = briefing.Library(
            database=self._database,
            reader=reader,
            search=search,
            model=self._answers.model,
            most_tokens=self._answers.budget.most_tokens,
        )
        return await briefing.brief(library, name)

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

        What the conversation cites of documents the reader no longer sees plays no part. Raises `NotFound`, `Invalid`.
        """
        began = time.perf_counter()
        self._answers.check(mode)
        said = user_message(message)
        history = await self.conversation(reader, conversation) if conversation else ()
        model = chatting.Counted(self._answers.model) if self._answers.model else None
        turns = [Message(role=each.role, content=each.content) for each in history]
        alone = await followups.standalone(said.content, turns, model)
        retrieval = await self._for_answer(question(alone.text, topic=topic, mode=mode), reader)
        answer = await replace(self._answers, model=model).compose(retrieval)
        took = round((time.perf_counter() - began) * 1000)
        graph = telling.lines(answer, retrieval, self._answers.budget)
        response = chatting.response(
            answer, retrieval, (*history, said), milliseconds=took, counted=model, graph=graph
        )
        own = await conversations.remember(
            self._database,
            reader,
            conversation,
            response.messages[-2:],
            chatting.cited(response),
            told=[] if answer.citations else [each for line in graph for each in line.sayings],
        )
        await queries.record(
            self._database, reader, mode.strategy, answer, began=began, conversation=own
        )
        notes = (alone.note, *answer.notes) if alone.note else answer.notes
        return ChatTurn(conversation_id=own, response=response, notes=notes)

    async def conversations(self, reader: Reader, *, limit: int = 100) -> list[Conversation]:
        """Return the conversations of exactly this reader's tags, the latest first."""
        return await conversations.listed(self._database, reader, limit=limit)

    async def conversation(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        """Return the latest messages of the reader's own conversation that may be read back; raise `NotFound`."""
        held = await conversations.messages(self._database, reader, conversation)
        return chatting.recent(held)

    async def forget(self, reader: Reader, conversation: ConversationId) -> None:
        """Delete one of the reader's own conversations; raise `NotFound`."""
        await conversations.forget(self._database, reader, conversation)

    async def documents(
        self, reader: Reader, *, after: str = "", limit: int = 100
    ) -> AsyncIterator[Document]:
        """Yield up to `limit` of the reader's documents by URL, those after the URL `after`."""
        while limit > 0:
            page = await documents.listed(
                self._database, reader, after=after, limit=min(limit, LARGEST_PAGE)
            )
            for document in page:
                yield document
            if len(page) < min(limit, LARGEST_PAGE):
                return
            after, limit = page[-1].url, limit - len(page)

    async def document(self, reader: Reader, name: str) -> Document:
        """Return the reader's document with this id, reference or URL; raise `NotFound`."""
        return await documents.shown(self._database, reader, name)

    async def text(self, reader: Reader, name: str) -> str:
        """Return the published text of the reader's document; raise `NotFound`."""
        document = await documents.shown(self._database, reader, name)
        return await documents.text(self._database, reader, document.id)

    async def job(self, reader: Reader, job_id: JobId) -> Job:
        """Return the job of one of the reader's documents; raise `NotFound`."""
        return await jobs.job(self._database, reader, job_id)

    async def status(self, reader: Reader) -> Status:
        """Return what the reader's part of the store holds."""
        held = await documents.held(self._database, reader)
        return Status(
            documents=await documents.counts(self._database, reader),
            chunks=held.chunks,
            entities=held.entities,
            relations=held.relations,
            open_jobs=await jobs.open_for(self._database, reader),
        )

    async def export(
        self,
        reader: Reader,
        config: ExportConfig,
        *,
        tell: Callable[[ExportProgress], None] = lambda progress: None,
    ) -> Exported:
        """Write what the reader sees at this moment to files, and return which; raise `Invalid` where it cannot be.

        `tell` is told after each batch. A file that is there is kept unless the config says otherwise.
        """
        way = self._way
        await follow_up(way, self.project_id)  # no profile speaks of what is hidden or gone
        return await exporting.export(self._database, way.vectors, way.space, reader, config, tell)

"""The methods that answer: search, ask, stream, statements, brief and chat."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import chat as chatting
from lightwell.answer import graph_answer as telling
from lightwell.answer import statements as stating
from lightwell.answer.ambiguity import ambiguous_names
from lightwell.answer.brief import brief as briefing
from lightwell.answer.courtesies import courteous_reply, is_courtesy
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief, RelatedEntity
from lightwell.domain.candidates import Candidates
from lightwell.domain.chat import (
    ChatMessage,
    ChatResponse,
    ChatTurn,
    ConversationId,
    user_message,
)
from lightwell.domain.descriptions import replace_separator, with_separator
from lightwell.domain.evidence import NO_METRICS, Answer, Retrieval
from lightwell.domain.ids import SessionId, new_query_id
from lightwell.domain.keywords import Keywords
from lightwell.domain.questions import (
    Mode,
    Question,
    make_question,
    require_retrieval_mode,
)
from lightwell.domain.statements import Statements
from lightwell.domain.streams import StreamChunk
from lightwell.domain.usage import OperationType
from lightwell.metering import record_stream, record_usage
from lightwell.ports import Message
from lightwell.records import analytics, conversations, query_log
from lightwell.records.database import Database
from lightwell.records.query_log import QueryLog, QuestionContext
from lightwell.retrieve import query_rewriting
from lightwell.retrieve.pipeline import Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """One project's questions and answers; `KnowledgeBase` documents each method."""

    database: Database
    retriever: Retriever
    generator: AnswerGenerator
    deadline: float | None = None
    """The event loop's time from which on no model is waited for, None for no limit."""

    def limited(self) -> "QuestionAnswerer":
        """Return the same for one question that begins now: it waits for models as long as `generator` allows."""
        until = asyncio.get_running_loop().time() + self.generator.seconds
        return replace(self, generator=self.generator.limited(until), deadline=until)

    async def search(self, question: Question, reader: Reader) -> Retrieval:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            found = await self._search(question, reader)
        log = QueryLog(
            id=found.query_id,
            question=question.text,
            strategy=question.strategy,
            metrics=found.metrics,
            documents=frozenset(each.chunk.document_ref for each in found.evidence),
        )
        await self._log(asking, log)
        return replace(
            found,
            entities=tuple(
                with_separator(each, self.generator.separator) for each in found.entities
            ),
            relations=tuple(
                with_separator(each, self.generator.separator) for each in found.relations
            ),
            usage=usage.summary,
            ambiguous_names=await self._ambiguous(found, reader),
        )

    async def keywords(self, question: Question) -> Keywords:
        return await self.retriever.keywords(require_retrieval_mode(question), until=self.deadline)

    async def ask(
        self, question: Question, reader: Reader, session: SessionId | None = None
    ) -> Answer:
        asking = await self._question_context(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._evidence(question, reader)
            answer = await self.generator.answer(retrieval)
        await self._log(asking, query_log.make_query_log(question.strategy, answer))
        several = await self._ambiguous(retrieval, reader)
        return replace(answer, usage=usage.summary, ambiguous_names=several)

    async def stream(
        self, question: Question, reader: Reader, session: SessionId | None = None
    ) -> AsyncGenerator[StreamChunk, None]:
        asking = await self._question_context(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._evidence(question, reader)
        several = await self._ambiguous(retrieval, reader)
        events = self.generator.stream(retrieval)
        async with aclosing(events):
            async for event in record_stream(events, usage, OperationType.QUERY):
                if event.answer is None:
                    yield event
                    continue
                await self._log(asking, query_log.make_query_log(question.strategy, event.answer))
                answer = replace(event.answer, usage=usage.summary, ambiguous_names=several)
                yield replace(event, answer=answer)

    async def statements(self, question: Question, reader: Reader) -> Statements:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._search(question, reader)
            other = stating.paraphrase_question(retrieval.analysis)
            if other and question.mode in (Mode.MIX, Mode.NAIVE):
                few = min(question.limit, stating.READ_IN_OTHER_WORDS)
                again = make_question(other, topic=question.topic, limit=few, mode=Mode.NAIVE)
                retrieval = stating.merge_retrievals(retrieval, await self._search(again, reader))
            listed = await self.generator.statements(retrieval)
        await self._log(asking, query_log.make_query_log(question.strategy, listed))
        several = await self._ambiguous(retrieval, reader)
        return replace(listed, usage=usage.summary, ambiguous_names=several)

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        found: list[Retrieval] = []

        async def search(words: str) -> Retrieval:
            asked = make_question(words, limit=briefing.READ, mode=Mode.NAIVE)
            found.append(await self._search(asked, reader))
            return found[-1]

        library = briefing.Library(
            database=self.database,
            reader=reader,
            search=search,
            model=self.generator.model,
            max_tokens=self.generator.budget.max_tokens,
        )
        with record_usage(OperationType.QUERY) as usage:
            made = await briefing.brief(library, name)
        cited = made.citations if isinstance(made, Brief) else ()
        log = QueryLog(
            id=made.query_id,
            question=name,
            strategy=Mode.NAIVE.strategy,
            metrics=found[-1].metrics if found else NO_METRICS,
            citations=len(cited),
            documents=frozenset(each.document_ref for each in cited),
        )
        await self._log(asking, log)
        return replace(_with_separator(made, self.generator.separator), usage=usage.summary)

    async def chat(
        self,
        message: str,
        reader: Reader,
        conversation: ConversationId | None,
        topic: str,
        mode: Mode,
    ) -> ChatTurn:
        began = time.perf_counter()
        self.generator.require_model_for(mode)
        said = user_message(message)
        history = await self.history(reader, conversation) if conversation else ()
        reply = None if mode is Mode.BYPASS else courteous_reply(said.content)
        if reply is not None:
            asking = QuestionContext(reader=reader, started_at=began, conversation=conversation)
            courtesy = chatting.courteous_response(reply, (*history, said))
            return await self._courtesy(asking, courtesy, mode)
        model = chatting.TokenCountingModel(self.generator.model) if self.generator.model else None
        with record_usage(OperationType.QUERY) as usage:
            alone = await query_rewriting.rewrite_followup(said.content, _questions(history), model)
            asked = make_question(alone.text, topic=topic, mode=mode)
            retrieval = await self._evidence(asked, reader)
            answer = await replace(self.generator, model=model).answer(retrieval)
        took = round((time.perf_counter() - began) * 1000)
        graph = telling.graph_facts(answer, retrieval, self.generator.budget)
        response = chatting.build_response(
            answer, retrieval, (*history, said), milliseconds=took, counted=model, graph=graph
        )
        claims = [] if answer.citations else [each for line in graph for each in line.sayings]
        own = await conversations.append_exchange(
            self.database,
            reader,
            conversation,
            response.messages[-2:],
            chatting.cited_documents(response),
            graph_claims=claims,
        )
        asking = QuestionContext(reader=reader, started_at=began, conversation=own)
        await self._log(asking, query_log.make_query_log(mode.strategy, answer))
        notes = (alone.note, *answer.notes) if alone.note else answer.notes
        return ChatTurn(
            conversation_id=own,
            response=response,
            query_id=answer.query_id,
            citations=chatting.citations(answer),
            nearest=() if response.sources else answer.nearest,
            notes=notes,
            usage=usage.summary,
            ambiguous_names=await self._ambiguous(retrieval, reader),
        )

    async def _courtesy(
        self, context: QuestionContext, response: ChatResponse, mode: Mode
    ) -> ChatTurn:
        """Store and log a reply that needed no search."""
        exchange = response.messages[-2:]
        own = await conversations.append_exchange(
            self.database, context.reader, context.conversation, exchange, []
        )
        log = QueryLog(
            id=new_query_id(),
            question=exchange[0].content,
            strategy=mode.strategy,
            metrics=NO_METRICS,
        )
        await self._log(replace(context, conversation=own), log)
        return ChatTurn(conversation_id=own, response=response, query_id=log.id)

    async def history(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        held = await conversations.list_messages(self.database, reader, conversation)
        return chatting.recent_messages(held)

    async def _search(self, question: Question, reader: Reader) -> Retrieval:
        return await self.retriever.retrieve(
            require_retrieval_mode(question), reader, until=self.deadline
        )

    async def _ambiguous(self, retrieval: Retrieval, reader: Reader) -> tuple[Candidates, ...]:
        """Return the pick lists of the question's ambiguous names; none where no document is looked at."""
        if retrieval.question.mode is Mode.BYPASS:
            return ()
        found = await ambiguous_names(self.database, reader, retrieval.analysis)
        return tuple(_with_separator_in(each, self.generator.separator) for each in found)

    async def _question_context(self, reader: Reader, session: SessionId | None) -> QuestionContext:
        """Return who asks from now on; raise `NotFound` where the session is not an open one of theirs."""
        began = time.perf_counter()
        if session is not None:
            await analytics.require_open_session(self.database, reader, session)
        return QuestionContext(reader=reader, started_at=began, session=session)

    async def _log(self, context: QuestionContext, log: QueryLog) -> None:
        await query_log.record(self.database, context, log)

    async def _evidence(self, question: Question, reader: Reader) -> Retrieval:
        """Return the evidence for an answer; raise `Invalid` where the question's mode needs a model that is not there."""
        self.generator.require_model_for(question.mode)
        return await self.retriever.retrieve(question, reader, until=self.deadline)


def _questions(history: Iterable[ChatMessage]) -> list[Message]:
    """Return the turns of a conversation that a follow-up may refer to."""
    return [
        Message(role=each.role, content=each.content)
        for each in history
        if not is_courtesy(each.content)
    ]


def _with_separator(made: Brief | Candidates, separator: str) -> Brief | Candidates:
    """Return the brief or the candidates with this separator in descriptions."""
    if isinstance(made, Candidates):
        return _with_separator_in(made, separator)
    return replace(
        made,
        entity=with_separator(made.entity, separator),
        people=tuple(_related_with_separator(each, separator) for each in made.people),
        links=tuple(_related_with_separator(each, separator) for each in made.links),
    )


def _with_separator_in(several: Candidates, separator: str) -> Candidates:
    """Return the candidates with this separator in their descriptions."""
    found = [
        replace(each, entity=with_separator(each.entity, separator)) for each in several.candidates
    ]
    return replace(several, candidates=tuple(found))


def _related_with_separator(related: RelatedEntity, separator: str) -> RelatedEntity:
    return replace(related, description=replace_separator(related.description, separator))

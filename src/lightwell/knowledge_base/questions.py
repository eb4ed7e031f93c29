"""The verbs that answer: search, ask, stream, statements, brief and chat."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import brief as briefing
from lightwell.answer import chat as chatting
from lightwell.answer import graph as telling
from lightwell.answer import statements as stating
from lightwell.answer.ambiguity import ambiguous_names
from lightwell.answer.compose import Answers
from lightwell.answer.courtesies import courteous_reply, is_courtesy
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief, Tie
from lightwell.domain.candidates import Candidates
from lightwell.domain.chat import (
    ChatMessage,
    ChatResponse,
    ChatTurn,
    ConversationId,
    user_message,
)
from lightwell.domain.descriptions import separated, with_separator
from lightwell.domain.evidence import NO_METRICS, Answer, Retrieval
from lightwell.domain.ids import SessionId, new_query_id
from lightwell.domain.questions import Keywords, Mode, Question, question, sought
from lightwell.domain.statements import Statements
from lightwell.domain.streams import StreamChunk
from lightwell.domain.usage import OperationType
from lightwell.metering import record_stream, record_usage
from lightwell.ports import Message
from lightwell.records import analytics, conversations, queries
from lightwell.records.database import Database
from lightwell.records.queries import Asking, QueryLog
from lightwell.retrieve import followups
from lightwell.retrieve.pipeline import Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """One project's questions and answers; `KnowledgeBase` documents each verb."""

    database: Database
    retriever: Retriever
    answers: Answers
    until: float | None = None
    """The moment of the event loop at which models are no longer waited for, None for as long as they take."""

    def limited(self) -> "QuestionAnswerer":
        """Return the same for one question that begins now: it waits for models as long as `answers` allows."""
        until = asyncio.get_running_loop().time() + self.answers.seconds
        return replace(self, answers=self.answers.limited(until), until=until)

    async def search(self, asked: Question, reader: Reader) -> Retrieval:
        asking = Asking(reader=reader, began=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            found = await self._search(asked, reader)
        log = QueryLog(
            id=found.query_id,
            question=asked.text,
            strategy=asked.strategy,
            metrics=found.metrics,
            documents=frozenset(each.chunk.document_ref for each in found.evidence),
        )
        await self._log(asking, log)
        return replace(
            found,
            entities=tuple(with_separator(each, self.answers.separator) for each in found.entities),
            relations=tuple(
                with_separator(each, self.answers.separator) for each in found.relations
            ),
            usage=usage.summary,
            ambiguous_names=await self._ambiguous(asked, reader),
        )

    async def keywords(self, asked: Question) -> Keywords:
        return await self.retriever.keywords(sought(asked), until=self.until)

    async def ask(
        self, asked: Question, reader: Reader, session: SessionId | None = None
    ) -> Answer:
        asking = await self._asking(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._evidence(asked, reader)
            answer = await self.answers.compose(retrieval)
        await self._log(asking, queries.log_of(asked.strategy, answer))
        several = await self._ambiguous(asked, reader)
        return replace(answer, usage=usage.summary, ambiguous_names=several)

    async def stream(
        self, asked: Question, reader: Reader, session: SessionId | None = None
    ) -> AsyncGenerator[StreamChunk, None]:
        asking = await self._asking(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._evidence(asked, reader)
        several = await self._ambiguous(asked, reader)
        told = self.answers.stream(retrieval)
        async with aclosing(told):
            async for event in record_stream(told, usage, OperationType.QUERY):
                if event.answer is None:
                    yield event
                    continue
                await self._log(asking, queries.log_of(asked.strategy, event.answer))
                answer = replace(event.answer, usage=usage.summary, ambiguous_names=several)
                yield replace(event, answer=answer)

    async def statements(self, asked: Question, reader: Reader) -> Statements:
        asking = Asking(reader=reader, began=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._search(asked, reader)
            other = stating.in_other_words(asked.text)
            if other and asked.mode in (Mode.MIX, Mode.NAIVE):
                few = min(asked.limit, stating.READ_IN_OTHER_WORDS)
                again = question(other, topic=asked.topic, limit=few, mode=Mode.NAIVE)
                retrieval = stating.with_more(retrieval, await self._search(again, reader))
            listed = await self.answers.statements(retrieval)
        await self._log(asking, queries.log_of(asked.strategy, listed))
        several = await self._ambiguous(asked, reader)
        return replace(listed, usage=usage.summary, ambiguous_names=several)

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        asking = Asking(reader=reader, began=time.perf_counter())
        found: list[Retrieval] = []

        async def search(words: str) -> Retrieval:
            asked = question(words, limit=briefing.READ, mode=Mode.NAIVE)
            found.append(await self._search(asked, reader))
            return found[-1]

        library = briefing.Library(
            database=self.database,
            reader=reader,
            search=search,
            model=self.answers.model,
            most_tokens=self.answers.budget.most_tokens,
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
        return replace(_readable(made, self.answers.separator), usage=usage.summary)

    async def chat(
        self,
        message: str,
        reader: Reader,
        conversation: ConversationId | None,
        topic: str,
        mode: Mode,
    ) -> ChatTurn:
        began = time.perf_counter()
        self.answers.check(mode)
        said = user_message(message)
        history = await self.history(reader, conversation) if conversation else ()
        reply = None if mode is Mode.BYPASS else courteous_reply(said.content)
        if reply is not None:
            asking = Asking(reader=reader, began=began, conversation=conversation)
            courtesy = chatting.courteous_response(reply, (*history, said))
            return await self._courtesy(asking, courtesy, mode)
        model = chatting.Counted(self.answers.model) if self.answers.model else None
        with record_usage(OperationType.QUERY) as usage:
            alone = await followups.standalone(said.content, _questions(history), model)
            asked = question(alone.text, topic=topic, mode=mode)
            retrieval = await self._evidence(asked, reader)
            answer = await replace(self.answers, model=model).compose(retrieval)
        took = round((time.perf_counter() - began) * 1000)
        graph = telling.lines(answer, retrieval, self.answers.budget)
        response = chatting.response(
            answer, retrieval, (*history, said), milliseconds=took, counted=model, graph=graph
        )
        own = await conversations.remember(
            self.database,
            reader,
            conversation,
            response.messages[-2:],
            chatting.cited(response),
            told=[] if answer.citations else [each for line in graph for each in line.sayings],
        )
        asking = Asking(reader=reader, began=began, conversation=own)
        await self._log(asking, queries.log_of(mode.strategy, answer))
        notes = (alone.note, *answer.notes) if alone.note else answer.notes
        return ChatTurn(
            conversation_id=own,
            response=response,
            query_id=answer.query_id,
            citations=chatting.citations(answer),
            nearest=() if response.sources else answer.nearest,
            notes=notes,
            usage=usage.summary,
            ambiguous_names=await self._ambiguous(asked, reader),
        )

    async def _courtesy(self, asking: Asking, response: ChatResponse, mode: Mode) -> ChatTurn:
        """Remember a reply that needed no search, and write down that it was given."""
        exchange = response.messages[-2:]
        own = await conversations.remember(
            self.database, asking.reader, asking.conversation, exchange, []
        )
        log = QueryLog(
            id=new_query_id(),
            question=exchange[0].content,
            strategy=mode.strategy,
            metrics=NO_METRICS,
        )
        await self._log(replace(asking, conversation=own), log)
        return ChatTurn(conversation_id=own, response=response, query_id=log.id)

    async def history(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        held = await conversations.messages(self.database, reader, conversation)
        return chatting.recent(held)

    async def _search(self, asked: Question, reader: Reader) -> Retrieval:
        return await self.retriever.retrieve(sought(asked), reader, until=self.until)

    async def _ambiguous(self, asked: Question, reader: Reader) -> tuple[Candidates, ...]:
        """Return the pick lists of the question's ambiguous names; none where no document is looked at."""
        if asked.mode is Mode.BYPASS:
            return ()
        found = await ambiguous_names(self.database, reader, asked.text)
        return tuple(_with_separator_in(each, self.answers.separator) for each in found)

    async def _asking(self, reader: Reader, session: SessionId | None) -> Asking:
        """Return who asks from now on; raise `NotFound` where the session is not an open one of theirs."""
        began = time.perf_counter()
        if session is not None:
            await analytics.check_session(self.database, reader, session)
        return Asking(reader=reader, began=began, session=session)

    async def _log(self, asking: Asking, log: QueryLog) -> None:
        await queries.record(self.database, asking, log)

    async def _evidence(self, asked: Question, reader: Reader) -> Retrieval:
        """Return the evidence for an answer; raise `Invalid` where the question's mode needs a model that is not there."""
        self.answers.check(asked.mode)
        return await self.retriever.retrieve(asked, reader, until=self.until)


def _questions(history: Iterable[ChatMessage]) -> list[Message]:
    """Return the turns of a conversation that a follow-up may refer to."""
    return [
        Message(role=each.role, content=each.content)
        for each in history
        if not is_courtesy(each.content)
    ]


def _readable(made: Brief | Candidates, separator: str) -> Brief | Candidates:
    """Return the brief or the candidates with this separator in descriptions."""
    if isinstance(made, Candidates):
        return _with_separator_in(made, separator)
    return replace(
        made,
        entity=with_separator(made.entity, separator),
        people=tuple(_readable_tie(each, separator) for each in made.people),
        links=tuple(_readable_tie(each, separator) for each in made.links),
    )


def _with_separator_in(several: Candidates, separator: str) -> Candidates:
    """Return the candidates with this separator in their descriptions."""
    found = [
        replace(each, entity=with_separator(each.entity, separator)) for each in several.candidates
    ]
    return replace(several, candidates=tuple(found))


def _readable_tie(tie: Tie, separator: str) -> Tie:
    return replace(tie, description=separated(tie.description, separator))

"""The verbs that answer: search, ask, stream, statements, brief and chat."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import brief as briefing
from lightwell.answer import chat as chatting
from lightwell.answer import graph as telling
from lightwell.answer import statements as stating
from lightwell.answer.compose import Answers
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief, Candidates
from lightwell.domain.chat import ChatMessage, ChatTurn, ConversationId, user_message
from lightwell.domain.evidence import Answer, Retrieval
from lightwell.domain.questions import Mode, Question, question, sought
from lightwell.domain.statements import Statements
from lightwell.domain.streams import StreamChunk
from lightwell.domain.usage import OperationType
from lightwell.metering import record_stream, record_usage
from lightwell.ports import Message
from lightwell.records import conversations, queries
from lightwell.records.database import Database
from lightwell.retrieve import followups
from lightwell.retrieve.pipeline import Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """One project's questions and answers; `KnowledgeBase` documents each verb."""

    database: Database
    retriever: Retriever
    answers: Answers

    async def search(self, asked: Question, reader: Reader) -> Retrieval:
        with record_usage(OperationType.QUERY) as log:
            found = await self.retriever.retrieve(sought(asked), reader)
        return replace(found, usage=log.summary)

    async def ask(self, asked: Question, reader: Reader) -> Answer:
        began = time.perf_counter()
        with record_usage(OperationType.QUERY) as log:
            retrieval = await self._evidence(asked, reader)
            answer = await self.answers.compose(retrieval)
        answer = replace(answer, usage=log.summary)
        await queries.record(self.database, reader, asked.mode.strategy, answer, began=began)
        return answer

    async def stream(self, asked: Question, reader: Reader) -> AsyncGenerator[StreamChunk, None]:
        began = time.perf_counter()
        with record_usage(OperationType.QUERY) as log:
            retrieval = await self._evidence(asked, reader)
        told = self.answers.stream(retrieval)
        async with aclosing(told):
            async for event in record_stream(told, log, OperationType.QUERY):
                if event.answer is None:
                    yield event
                    continue
                answer = replace(event.answer, usage=log.summary)
                await queries.record(
                    self.database, reader, asked.mode.strategy, answer, began=began
                )
                yield replace(event, answer=answer)

    async def statements(self, asked: Question, reader: Reader) -> Statements:
        began = time.perf_counter()
        with record_usage(OperationType.QUERY) as log:
            retrieval = await self.search(asked, reader)
            other = stating.in_other_words(asked.text)
            if other and asked.mode in (Mode.MIX, Mode.NAIVE):
                few = min(asked.limit, stating.READ_IN_OTHER_WORDS)
                again = question(other, topic=asked.topic, limit=few, mode=Mode.NAIVE)
                retrieval = stating.with_more(retrieval, await self.search(again, reader))
            listed = await self.answers.statements(retrieval)
        listed = replace(listed, usage=log.summary)
        await queries.record(self.database, reader, asked.mode.strategy, listed, began=began)
        return listed

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        async def search(words: str) -> Retrieval:
            return await self.search(question(words, limit=briefing.READ, mode=Mode.NAIVE), reader)

        library = briefing.Library(
            database=self.database,
            reader=reader,
            search=search,
            model=self.answers.model,
            most_tokens=self.answers.budget.most_tokens,
        )
        with record_usage(OperationType.QUERY) as log:
            found = await briefing.brief(library, name)
        return replace(found, usage=log.summary)

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
        model = chatting.Counted(self.answers.model) if self.answers.model else None
        turns = [Message(role=each.role, content=each.content) for each in history]
        with record_usage(OperationType.QUERY) as log:
            alone = await followups.standalone(said.content, turns, model)
            retrieval = await self._evidence(question(alone.text, topic=topic, mode=mode), reader)
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
        await queries.record(
            self.database, reader, mode.strategy, answer, began=began, conversation=own
        )
        notes = (alone.note, *answer.notes) if alone.note else answer.notes
        return ChatTurn(conversation_id=own, response=response, notes=notes, usage=log.summary)

    async def history(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        held = await conversations.messages(self.database, reader, conversation)
        return chatting.recent(held)

    async def _evidence(self, asked: Question, reader: Reader) -> Retrieval:
        """Return the evidence for an answer; raise `Invalid` where the question's mode needs a model that is not there."""
        self.answers.check(asked.mode)
        return await self.retriever.retrieve(asked, reader)

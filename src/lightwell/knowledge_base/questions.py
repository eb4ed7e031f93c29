"""The methods that answer: search, ask, stream, statements, brief and chat."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import forms, graph_answer, statements
from lightwell.answer.brief import brief as briefing
from lightwell.answer.brief.subjects import ambiguous_names
from lightwell.answer.chat import courteous_reply, is_courtesy, recent_messages
from lightwell.answer.model_calls import TokenCountingModel
from lightwell.answer.open_points import MAX_PASSAGES
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer, StreamChunk
from lightwell.domain.briefs import Brief, RelatedEntity
from lightwell.domain.candidates import Candidates
from lightwell.domain.chat import (
    ChatMessage,
    ChatResponse,
    ChatTurn,
    ConversationId,
    GraphClaim,
    user_message,
)
from lightwell.domain.descriptions import replace_separator, with_separator
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import NO_METRICS, Retrieval
from lightwell.domain.ids import SessionId, new_query_id
from lightwell.domain.keywords import Keywords
from lightwell.domain.questions import (
    DEFAULT_LIMIT,
    Mode,
    Question,
    make_question,
    require_retrieval_mode,
)
from lightwell.domain.usage import OperationType
from lightwell.metering import record_stream, record_usage
from lightwell.ports import Message
from lightwell.records import analytics, conversations, query_log
from lightwell.records.database import Database
from lightwell.records.query_log import QueryLog, QuestionContext
from lightwell.retrieve import query_rewriting
from lightwell.retrieve.pipeline import Retriever
from lightwell.text.answer_types import asks_what_is_open
from lightwell.tracing import span


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """One project's questions and answers; `KnowledgeBase` documents each method."""

    database: Database
    retriever: Retriever
    generator: AnswerGenerator
    deadline: float | None = None
    """The event loop's time from which on no model is waited for, None for no limit."""

    def limited(self) -> "QuestionAnswerer":
        """Return a copy for one question that begins now; `generator` limits its time with models."""
        until = asyncio.get_running_loop().time() + self.generator.seconds
        return replace(self, generator=self.generator.limited(until), deadline=until)

    async def search(self, question: Question, reader: Reader) -> Retrieval:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            found = await self._retrieve(require_retrieval_mode(question), reader)
        found = _limit_passages(found)
        log = QueryLog(
            id=found.query_id,
            question=question.text,
            strategy=question.strategy,
            metrics=found.metrics,
            documents=frozenset(each.chunk.document_ref for each in found.evidence),
        )
        await self._log(asking, log)
        separator = self.generator.separator
        return replace(
            found,
            entities=tuple(with_separator(each, separator) for each in found.entities),
            relations=tuple(with_separator(each, separator) for each in found.relations),
            usage=usage.summary,
        )

    async def keywords(self, question: Question, reader: Reader) -> Keywords:
        asked = require_retrieval_mode(question)
        return await self.retriever.keywords(asked, reader, until=self.deadline)

    async def ask(
        self, question: Question, reader: Reader, session: SessionId | None = None
    ) -> Answer:
        asking = await self._question_context(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._retrieve(_widen(question), reader)
            with span("answer"):
                answer = await self.generator.answer(retrieval)
        await self._log(asking, query_log.make_query_log(question.strategy, answer))
        return replace(answer, usage=usage.summary)

    async def stream(
        self, question: Question, reader: Reader, session: SessionId | None = None
    ) -> AsyncGenerator[StreamChunk, None]:
        asking = await self._question_context(reader, session)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._retrieve(_widen(question), reader)
        events = self.generator.stream(retrieval)
        async with aclosing(events):
            async for event in record_stream(events, usage, OperationType.QUERY):
                if event.answer is not None:
                    log = query_log.make_query_log(question.strategy, event.answer)
                    await self._log(asking, log)
                    answer = replace(event.answer, usage=usage.summary)
                    event = replace(event, answer=answer)
                yield event

    async def statements(self, question: Question, reader: Reader) -> Answer:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await self._retrieve(require_retrieval_mode(question), reader)
            retrieval = _limit_passages(retrieval)
            paraphrase = statements.paraphrase_question(retrieval.analysis)
            if paraphrase and question.mode in (Mode.MIX, Mode.NAIVE):
                limit = min(question.limit, statements.MAX_PARAPHRASED)
                other = make_question(
                    paraphrase, topic=question.topic, limit=limit, mode=Mode.NAIVE
                )
                more = await self._evidence(other, reader)
                retrieval = statements.merge_retrievals(retrieval, more)
            answer = await self.generator.statements(retrieval)
        await self._log(asking, query_log.make_query_log(question.strategy, answer))
        return replace(answer, usage=usage.summary)

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        asking = QuestionContext(reader=reader, started_at=time.perf_counter())
        found: list[Retrieval] = []

        async def search(words: str) -> Retrieval:
            asked = make_question(words, limit=briefing.READ, mode=Mode.NAIVE)
            found.append(await self._evidence(asked, reader))
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
            context_tokens=query_log.count_quoted_tokens(cited),
            citations=len(cited),
            documents=frozenset(each.document_ref for each in cited),
        )
        await self._log(asking, log)
        return replace(_with_separator(made, self.generator.separator), usage=usage.summary)

    async def candidates(self, name: str, reader: Reader) -> Candidates:
        found = await briefing.candidates(self.database, reader, name)
        return _with_separator_in(found, self.generator.separator)

    async def rewrite_followup(self, message: str, history: Sequence[ChatMessage]) -> str:
        with record_usage(OperationType.QUERY):
            rewritten = await query_rewriting.rewrite_followup(
                message, _questions(recent_messages(history)), self.generator.model
            )
        return rewritten.text

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
        asked = user_message(message)
        history = await self.history(reader, conversation) if conversation else ()
        courtesy = None if mode is Mode.BYPASS else courteous_reply(asked.content)
        if courtesy is not None:
            asking = QuestionContext(reader=reader, started_at=began, conversation=conversation)
            response = forms.courteous_response(courtesy, (*history, asked))
            return await self._courtesy(asking, response, mode)
        model = TokenCountingModel(self.generator.model) if self.generator.model else None
        with record_usage(OperationType.QUERY) as usage:
            alone = await query_rewriting.rewrite_followup(
                asked.content, _questions(history), model
            )
            question = make_question(alone.text, topic=topic, mode=mode)
            retrieval = await self._retrieve(_widen(question), reader)
            answer = await replace(self.generator, model=model).answer(retrieval)
        milliseconds = round((time.perf_counter() - began) * 1000)
        facts = graph_answer.graph_facts(answer, retrieval, self.generator.budget)
        messages = (*history, asked)
        response = forms.chat_response(
            answer, retrieval, messages, milliseconds=milliseconds, counted=model, graph=facts
        )
        claims = [] if answer.citations else [each for fact in facts for each in fact.claims]
        log = query_log.make_query_log(mode.strategy, answer)
        asking = QuestionContext(reader=reader, started_at=began, conversation=conversation)
        own = await self._remember(asking, response, log, claims)
        return ChatTurn(
            conversation_id=own,
            response=response,
            query_id=answer.query_id,
            citations=forms.chat_citations(answer),
            nearest=() if response.sources else answer.nearest,
            notes=(alone.note, *answer.notes) if alone.note else answer.notes,
            usage=usage.summary,
            ambiguous_names=answer.ambiguous_names,
        )

    async def _courtesy(
        self, context: QuestionContext, response: ChatResponse, mode: Mode
    ) -> ChatTurn:
        """Store and log a reply without a search."""
        log = QueryLog(
            id=new_query_id(),
            question=response.messages[-2].content,
            strategy=mode.strategy,
            metrics=NO_METRICS,
        )
        own = await self._remember(context, response, log)
        return ChatTurn(conversation_id=own, response=response, query_id=log.id)

    async def _remember(
        self,
        context: QuestionContext,
        response: ChatResponse,
        log: QueryLog,
        claims: Sequence[GraphClaim] = (),
    ) -> ConversationId:
        """Store and log the last exchange of a response; return its conversation, a new one if the context has none."""
        own = await conversations.append_exchange(
            self.database,
            context.reader,
            context.conversation,
            response.messages[-2:],
            forms.cited_documents(response),
            graph_claims=list(claims),
        )
        await self._log(replace(context, conversation=own), log)
        return own

    async def history(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        held = await conversations.list_messages(self.database, reader, conversation)
        return recent_messages(held)

    async def _retrieve(self, question: Question, reader: Reader) -> Retrieval:
        """Return the evidence with the candidates of the question's ambiguous names; no evidence if the mode does not search.

        Raises `Invalid` where the question's mode needs a model that is not there.
        """
        if not isinstance(reader, Reader):  # pyright: ignore[reportUnnecessaryIsInstance] - not every program is checked
            raise Invalid(
                "Ask as a reader: `await kb.reader(['team:sales'])`, not as a list of tags"
            )
        self.generator.require_model_for(question.mode)
        found = await self._evidence(question, reader)
        if question.mode is Mode.BYPASS:
            return found
        several = await ambiguous_names(self.database, reader, found.analysis)
        names = tuple(_with_separator_in(each, self.generator.separator) for each in several)
        return replace(found, ambiguous_names=names)

    async def _evidence(self, question: Question, reader: Reader) -> Retrieval:
        return await self.retriever.retrieve(question, reader, until=self.deadline)

    async def _question_context(self, reader: Reader, session: SessionId | None) -> QuestionContext:
        """Return who asks from now on; raise `NotFound` where the session is not an open one of theirs."""
        began = time.perf_counter()
        if session is not None:
            await analytics.require_open_session(self.database, reader, session)
        return QuestionContext(reader=reader, started_at=began, session=session)

    async def _log(self, context: QuestionContext, log: QueryLog) -> None:
        await query_log.record(self.database, context, log)


def _widen(question: Question) -> Question:
    """Return the question with as many passages as it takes to list what is open, where it asks for that and names no number."""
    if question.limit != DEFAULT_LIMIT or not asks_what_is_open(question.text):
        return question
    return replace(question, limit=MAX_PASSAGES)


def _limit_passages(found: Retrieval) -> Retrieval:
    """Return no more passages than the question's limit: one that asks several things has as many for each part."""
    return replace(found, evidence=found.evidence[: found.question.limit])


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

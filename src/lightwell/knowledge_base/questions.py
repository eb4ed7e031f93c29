"""The methods that answer: search, ask, stream, statements, brief and chat."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer import client_tasks, forms, graph_answer, statements
from lightwell.answer.brief import brief as briefing
from lightwell.answer.chat import courteous_answer, recent_messages
from lightwell.answer.client_tasks import ClientTask
from lightwell.answer.model_calls import TokenCountingModel
from lightwell.answer.open_points import MAX_PASSAGES
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer, Step, StepKind, StreamChunk, StreamType
from lightwell.domain.briefs import Brief, RelatedEntity
from lightwell.domain.chat import (
    ChatMessage,
    ChatTurn,
    Thread,
    user_message,
)
from lightwell.domain.descriptions import replace_separator, with_separator
from lightwell.domain.evidence import NO_METRICS, Retrieval
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import ConversationId, SessionId
from lightwell.domain.keywords import Keywords
from lightwell.domain.questions import (
    DEFAULT_LIMIT,
    NO_FILTERS,
    Channel,
    Filters,
    Mode,
    Question,
    require_retrieval_mode,
)
from lightwell.domain.usage import OperationType
from lightwell.knowledge_base.asking import Asking, candidates_with_separator
from lightwell.knowledge_base.dialogue import begin_dialogue, turns_of
from lightwell.knowledge_base.suggestions import Suggestion, suggest
from lightwell.metering import record_stream, record_usage
from lightwell.records import analytics, query_log
from lightwell.records.database import Database
from lightwell.records.query_log import QueryLog, QueryRecorder
from lightwell.retrieve import query_rewriting
from lightwell.retrieve.pipeline import Retriever
from lightwell.retrieve.query_rewriting import RewrittenQuestion
from lightwell.text.answer_types import asks_what_is_open
from lightwell.tracing import span


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """One project's questions and answers. `generator` says how long each may wait for models."""

    database: Database
    retriever: Retriever
    generator: AnswerGenerator
    recorder: QueryRecorder

    async def search(
        self,
        text: str,
        reader: Reader,
        *,
        filters: Filters = NO_FILTERS,
        limit: int = DEFAULT_LIMIT,
        mode: Mode = Mode.MIX,
        without: frozenset[Channel] = frozenset(),
    ) -> Retrieval:
        """Return the evidence that the reader may see, best first; raise `Invalid` for a malformed question, or `bypass`.

        `without` excludes channels, to measure the effect of each.
        """
        question = Question(
            text=text, filters=filters, limit=limit, mode=mode, excluded_channels=without
        )
        asking = self._begin(reader)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await asking.retrieve(require_retrieval_mode(question))
        retrieval = _limit_passages(retrieval)
        log = QueryLog(
            id=retrieval.query_id,
            question=question.text,
            strategy=question.strategy,
            metrics=retrieval.metrics,
            relevance=retrieval.best_relevance,
            documents=frozenset(passage.chunk.document_id for passage in retrieval.evidence),
        )
        await asking.log(log)
        separator = self.generator.separator
        return replace(
            retrieval,
            entities=tuple(with_separator(entity, separator) for entity in retrieval.entities),
            relations=tuple(
                with_separator(relation, separator) for relation in retrieval.relations
            ),
            usage=usage.summary,
            metrics=replace(retrieval.metrics, total_ms=asking.milliseconds),
        )

    async def keywords(self, text: str, reader: Reader) -> Keywords:
        """Return a question's keywords: themes find relations, names and terms find entities; raise `Invalid`.

        The chat model extracts them if it is configured to, otherwise they are words of the question. Documents have no effect; replies are kept for this reader alone.
        """
        question = Question(text=text)
        return await self.retriever.keywords(question, reader, until=self._deadline())

    async def ask(
        self,
        question: str | Question,
        reader: Reader,
        *,
        filters: Filters = NO_FILTERS,
        limit: int = DEFAULT_LIMIT,
        mode: Mode = Mode.MIX,
    ) -> Answer:
        """Return an answer of cited sentences, or insufficient evidence.

        The options go with a text; a `Question` has its own, and may let a chat model look twice. Mode `bypass` is the one answer without
        citations, and says so. Raises `Invalid`, also where one of these two has no model, and `NotFound` for a session that is not the user's own.
        """
        question = _with_options(question, filters, limit, mode)
        asking = await self._begin_in_session(reader, question.session_id)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await asking.retrieve(_widen(question))
            with span("answer"):
                answer = await asking.generator.answer(retrieval)
        await asking.log(query_log.make_query_log(question.strategy, answer))
        return replace(answer, usage=usage.summary, latency_ms=asking.milliseconds)

    async def stream(
        self,
        question: str | Question,
        reader: Reader,
        *,
        filters: Filters = NO_FILTERS,
        limit: int = DEFAULT_LIMIT,
        mode: Mode = Mode.MIX,
    ) -> AsyncGenerator[StreamChunk, None]:
        """Yield the answer that `ask` returns as events, each sentence when it is checked.

        `done` carries the whole answer and comes last; a model that fails is an `error` event instead. Raises as `ask`
        before the first event.
        """
        question = _with_options(question, filters, limit, mode)
        async with aclosing(self.show(question, reader)) as events:
            async for event in events:
                yield event

    async def show(
        self,
        question: Question,
        reader: Reader,
        *,
        thread: Thread | None = None,
        with_steps: bool = False,
    ) -> AsyncGenerator[StreamChunk, None]:
        """Yield the events of `stream` for somebody who watches: with what is done meanwhile, and as an exchange of a conversation.

        With a thread, the question may refer to what was said before, and `done` says where the exchange is stored. With
        `with_steps`, which looking twice implies, errors of models are `error` events from the first step on. Raises as `stream`, and `NotFound` for a
        conversation that is not the reader's own.
        """
        asking = await self._begin_in_session(reader, question.session_id)
        asking.generator.require_model_for(question.mode, look_twice=question.look_twice)
        with_steps = with_steps or question.look_twice
        dialogue = await begin_dialogue(asking, thread)
        courtesy = None if question.mode is Mode.BYPASS else dialogue.courtesy(question.text)
        if courtesy is not None:
            async for event in dialogue.greet(courtesy):
                yield event
            return
        if with_steps:
            yield StreamChunk(type=StreamType.STEP, step=Step(kind=StepKind.SEARCHING))
        with record_usage(OperationType.QUERY) as usage:
            alone = await dialogue.stand_alone(question.text, asking.generator.model)
        retrievals: list[Retrieval] = []
        looking = asking.find(_widen(dialogue.follow(question, alone)))
        async with aclosing(looking) as parts:
            async for part in record_stream(parts, usage, OperationType.QUERY):
                if isinstance(part, Retrieval):
                    retrievals.append(part)
                elif with_steps:
                    yield StreamChunk(type=StreamType.STEP, step=part)
        retrieval = retrievals[-1]
        async with aclosing(asking.generator.stream(retrieval)) as events:
            async for event in record_stream(events, usage, OperationType.QUERY):
                if event.answer is None:
                    yield event
                    continue
                remarks = alone.remarks(event.answer.remarks)
                answer = replace(event.answer, usage=usage.summary, remarks=remarks)
                stored = await dialogue.keep(answer, retrieval, question)
                yield replace(event, answer=answer, stored=stored)

    async def statements(
        self,
        text: str,
        reader: Reader,
        *,
        filters: Filters = NO_FILTERS,
        limit: int = 20,
        mode: Mode = Mode.MIX,
    ) -> Answer:
        """Return an answer whose sentences are what the documents state about the question, the newest first."""
        question = Question(text=text, filters=filters, limit=limit, mode=mode)
        asking = self._begin(reader)
        with record_usage(OperationType.QUERY) as usage:
            retrieval = await asking.retrieve(require_retrieval_mode(question))
            retrieval = _limit_passages(retrieval)
            paraphrase = statements.paraphrase_question(retrieval.analysis)
            if paraphrase and question.mode in (Mode.MIX, Mode.NAIVE):
                limit = min(question.limit, statements.MAX_PARAPHRASED)
                other = Question(
                    text=paraphrase,
                    filters=retrieval.question.filters,
                    limit=limit,
                    mode=Mode.NAIVE,
                )
                retrieval = statements.merge_retrievals(retrieval, await asking.evidence(other))
            answer = await asking.generator.statements(retrieval)
        await asking.log(query_log.make_query_log(question.strategy, answer))
        return replace(answer, usage=usage.summary, latency_ms=asking.milliseconds)

    async def brief(self, name: str, reader: Reader) -> Brief | Candidates:
        """Return a brief on the entity of this name, `NAME <ADDRESS>`, reference or id, or what fits; raise `NotFound`."""
        asking = self._begin(reader)
        retrievals: list[Retrieval] = []

        async def search(words: str) -> Retrieval:
            question = Question(text=words, limit=briefing.READ, mode=Mode.NAIVE)
            retrievals.append(await asking.evidence(question))
            return retrievals[-1]

        library = briefing.Library(
            database=self.database,
            reader=reader,
            search=search,
            model=asking.generator.model,
            max_tokens=self.generator.budget.max_tokens,
        )
        with record_usage(OperationType.QUERY) as usage:
            brief = await briefing.brief(library, name)
        cited = brief.citations if isinstance(brief, Brief) else ()
        log = QueryLog(
            id=brief.query_id,
            question=name,
            strategy=Mode.NAIVE.strategy,
            metrics=retrievals[-1].metrics if retrievals else NO_METRICS,
            relevance=retrievals[-1].best_relevance if retrievals else 0.0,
            context_tokens=query_log.count_quoted_tokens(cited),
            citations=len(cited),
            documents=query_log.cited_documents(cited),
        )
        await asking.log(log)
        return replace(_with_separator(brief, self.generator.separator), usage=usage.summary)

    async def candidates(self, name: str, reader: Reader) -> Candidates:
        """Return the reader's entities that a name may mean, none, one or several; raise `Invalid`."""
        candidates = await briefing.candidates(self.database, reader, name)
        return candidates_with_separator(candidates, self.generator.separator)

    async def suggestions(self, reader: Reader, language: str = "") -> tuple[Suggestion, ...]:
        """Return up to three questions that documents of the reader answer, first those in this language, such as `en`."""
        return await suggest(self.database, reader, language)

    async def perform(self, task: ClientTask) -> str:
        """Return the JSON that a chat client asks for beside its questions; nothing is searched or logged as a question, and a model may be called."""
        with record_usage(OperationType.QUERY):
            return await client_tasks.perform(task, self.generator.limited(self._deadline()).model)

    async def rewrite_followup(
        self, message: str, history: Sequence[ChatMessage]
    ) -> RewrittenQuestion:
        """Return a message so that it stands alone, without the conversation before it, whose oldest message is first."""
        model = self.generator.limited(self._deadline()).model
        with record_usage(OperationType.QUERY):
            return await query_rewriting.rewrite_followup(
                message, turns_of(recent_messages(history)), model
            )

    async def chat(
        self,
        message: str,
        reader: Reader,
        *,
        conversation: ConversationId | None = None,
        filters: Filters = NO_FILTERS,
        mode: Mode = Mode.MIX,
        look_twice: bool = False,
    ) -> ChatTurn:
        """Return the response to a message of the reader's own conversation, a new one for None.

        Messages that cite documents which the reader no longer sees are not used. Raises `NotFound`, `Invalid`.
        """
        asking = self._begin(reader)
        self.generator.require_model_for(mode, look_twice=look_twice)
        latest = user_message(message)
        dialogue = await begin_dialogue(asking, Thread(conversation=conversation))
        messages = (*dialogue.history, latest)
        courtesy = None if mode is Mode.BYPASS else courteous_answer(latest.content)
        if courtesy is not None:
            response = forms.courteous_response(courtesy.text, messages)
            return await dialogue.respond(courtesy, response, mode.strategy)
        generator = asking.generator
        model = TokenCountingModel(generator.model) if generator.model else None
        with record_usage(OperationType.QUERY) as usage:
            alone = await dialogue.stand_alone(latest.content, model)
            question = Question(
                text=latest.content, filters=filters, mode=mode, look_twice=look_twice
            )
            question = dialogue.follow(question, alone)
            generator = replace(generator, model=model)
            retrieval = await replace(asking, generator=generator).retrieve(_widen(question))
            answer = await generator.answer(retrieval)
        answer = replace(answer, remarks=alone.remarks(answer.remarks), usage=usage.summary)
        facts = graph_answer.graph_facts(answer, retrieval, generator.budget)
        response = forms.chat_response(
            answer,
            retrieval,
            messages,
            milliseconds=asking.milliseconds,
            counted=model,
            graph=facts,
        )
        return await dialogue.respond(answer, response, mode.strategy, facts)

    def _deadline(self) -> float:
        """Return until when models may take for a question that begins now."""
        return asyncio.get_running_loop().time() + self.generator.seconds

    def _begin(self, reader: Reader) -> Asking:
        deadline = self._deadline()
        return Asking(
            database=self.database,
            retriever=self.retriever,
            generator=self.generator.limited(deadline),
            recorder=self.recorder,
            deadline=deadline,
            reader=reader,
            started_at=time.perf_counter(),
        )

    async def _begin_in_session(self, reader: Reader, session: SessionId | None) -> Asking:
        """Begin a question of a session; raise `NotFound` where it is not an open one of the reader's."""
        asking = self._begin(reader)
        if session is not None:
            await analytics.require_open_session(self.database, reader, session)
        return replace(asking, session=session)


def _with_options(question: str | Question, filters: Filters, limit: int, mode: Mode) -> Question:
    """Return the question; the options are those of a text."""
    if isinstance(question, Question):
        return question
    return Question(text=question, filters=filters, limit=limit, mode=mode)


def _widen(question: Question) -> Question:
    """Return the question with as many passages as it takes to list what is open, where it asks for that and names no number."""
    if question.limit != DEFAULT_LIMIT or not asks_what_is_open(question.text):
        return question
    return replace(question, limit=MAX_PASSAGES)


def _limit_passages(retrieval: Retrieval) -> Retrieval:
    """Return no more passages than the question's limit: one that asks several things has as many for each part."""
    return replace(retrieval, evidence=retrieval.evidence[: retrieval.question.limit])


def _with_separator(made: Brief | Candidates, separator: str) -> Brief | Candidates:
    """Return the brief or the candidates with this separator in descriptions."""
    if isinstance(made, Candidates):
        return candidates_with_separator(made, separator)
    return replace(
        made,
        entity=with_separator(made.entity, separator),
        people=tuple(_related_with_separator(person, separator) for person in made.people),
        links=tuple(_related_with_separator(link, separator) for link in made.links),
    )


def _related_with_separator(related: RelatedEntity, separator: str) -> RelatedEntity:
    return replace(related, description=replace_separator(related.description, separator))

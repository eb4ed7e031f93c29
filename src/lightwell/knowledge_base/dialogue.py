"""The conversation around one question: what was said before it, and where the exchange is stored."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, replace

from lightwell.answer import forms
from lightwell.answer.chat import courteous_answer, is_courtesy, recent_messages
from lightwell.answer.graph_answer import GraphFact
from lightwell.domain.answers import Answer, StoredExchange, StreamChunk, StreamType
from lightwell.domain.chat import (
    ChatMessage,
    ChatResponse,
    ChatTurn,
    Exchange,
    Thread,
    user_message,
)
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import CitedPlace, Question, Strategy
from lightwell.knowledge_base.asking import Asking
from lightwell.ports import ChatModel, Message
from lightwell.records import conversations, query_log
from lightwell.retrieve import query_rewriting
from lightwell.retrieve.query_rewriting import RewrittenQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One question as part of a conversation, or of none: then `thread` is None.

    `history` is what was said before, the oldest message first, and `cited` what the last answer of it cites.
    """

    asking: Asking
    thread: Thread | None = None
    history: tuple[ChatMessage, ...] = ()
    cited: tuple[CitedPlace, ...] = ()

    def courtesy(self, message: str) -> Answer | None:
        """Return the reply to a greeting or to thanks; None for a question, and outside a conversation."""
        return courteous_answer(message) if self.thread else None

    async def stand_alone(self, message: str, model: ChatModel | None) -> RewrittenQuestion:
        """Return the message so that it can be understood without what was said before it."""
        return await query_rewriting.rewrite_followup(message, turns_of(self.history), model)

    def follow(self, question: Question, alone: RewrittenQuestion) -> Question:
        """Return the question as it is asked after what was said before it, as it is outside a conversation; a model may answer from passages elsewhere, too."""
        if self.thread is None:
            return question
        return replace(
            question,
            text=alone.text,
            subject=alone.subject,
            near=self.cited,
            stays_near=self.asking.generator.model is None,
        )

    async def greet(self, courtesy: Answer) -> AsyncGenerator[StreamChunk, None]:
        """Yield the events of a reply to a greeting, which is stored."""
        yield StreamChunk(type=StreamType.TOKEN, content=courtesy.text)
        yield StreamChunk(type=StreamType.METADATA, metadata=courtesy.metadata)
        messages = (*self.history, user_message(courtesy.question))
        response = forms.courteous_response(courtesy.text, messages)
        stored = await self._store(courtesy, response, Strategy.HYBRID)
        yield StreamChunk(type=StreamType.DONE, answer=courtesy, stored=stored)

    async def keep(
        self, answer: Answer, retrieval: Retrieval, question: Question
    ) -> StoredExchange | None:
        """Log an answer that was streamed, and store it in the conversation; return where, None outside one."""
        if self.thread is None:
            await self.asking.log(query_log.make_query_log(question.strategy, answer))
            return None
        response = forms.chat_response(
            answer,
            retrieval,
            (*self.history, user_message(question.text)),
            milliseconds=answer.latency_ms,
            counted=None,
        )
        return await self._store(answer, response, question.strategy)

    async def respond(
        self,
        answer: Answer,
        response: ChatResponse,
        strategy: Strategy,
        facts: Sequence[GraphFact] = (),
    ) -> ChatTurn:
        """Store the response to a message; return it with what is behind it."""
        numbered = forms.number_by_source(answer)
        stored = await self._store(numbered, response, strategy, facts)
        judgement = forms.judge(answer, facts)
        return ChatTurn(
            conversation_id=stored.conversation,
            response=response,
            query_id=answer.query_id,
            state=judgement.state,
            confidence=judgement.confidence,
            relevance=judgement.relevance,
            sentences=numbered.placed_sentences,
            context=numbered.context,
            citations=forms.chat_citations(numbered),
            nearest=() if response.sources else answer.nearest,
            notes=answer.notes,
            usage=answer.usage,
            ambiguous_names=answer.ambiguous_names,
            filters=answer.filters,
        )

    async def _store(
        self,
        answer: Answer,
        response: ChatResponse,
        strategy: Strategy,
        facts: Sequence[GraphFact] = (),
    ) -> StoredExchange:
        claims = () if answer.citations else [claim for fact in facts for claim in fact.claims]
        exchange = Exchange(
            messages=response.messages[-2:],
            documents=forms.cited_documents(response),
            claims=tuple(claims),
            answer=forms.shown_answer(answer, facts),
        )
        log = query_log.make_query_log(strategy, answer)
        return await self.asking.remember(self.thread or Thread(), exchange, log)


def turns_of(history: Iterable[ChatMessage]) -> list[Message]:
    """Return the turns of a conversation that a follow-up may refer to."""
    return [
        Message(role=message.role, content=message.content)
        for message in history
        if not is_courtesy(message.content)
    ]


async def begin_dialogue(asking: Asking, thread: Thread | None) -> Dialogue:
    """Return the question with what was said before it; raise `NotFound` for a conversation that is not the reader's own."""
    if thread is None or thread.conversation is None:
        return Dialogue(asking=asking, thread=thread)
    recalled = await conversations.recall(
        asking.database, asking.reader, thread.conversation, before=thread.replaces
    )
    return Dialogue(
        asking=asking,
        thread=thread,
        history=recent_messages(recalled.messages),
        cited=recalled.cited,
    )

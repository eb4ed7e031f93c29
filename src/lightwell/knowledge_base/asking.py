"""One question that a reader asks: its evidence, its log, and the conversation that it belongs to."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from lightwell.answer.brief.subjects import ambiguous_names
from lightwell.answer.looking.library import Library
from lightwell.answer.looking.looking import look, titles
from lightwell.answer.model_calls import TimeLimitedModel
from lightwell.answer.open_items import find_open_items
from lightwell.answer.open_points import MAX_PASSAGES
from lightwell.answer.owed import find_owed
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.answer.tables.computing import find_computation
from lightwell.domain.access import Reader
from lightwell.domain.answers import Step, StepKind, StoredExchange
from lightwell.domain.chat import Exchange, Thread
from lightwell.domain.descriptions import with_separator
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import ConversationId, SessionId
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Mode, Question
from lightwell.knowledge_base.understanding import understand
from lightwell.ports import ChatModel
from lightwell.records import conversations
from lightwell.records.database import Database
from lightwell.records.query_log import QueryLog, QueryRecorder, QuestionContext
from lightwell.retrieve.pipeline import Retriever
from lightwell.text.answer_types.owed import read_owed


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One question that a reader asks: since when, in which session or conversation, and how long models may take.

    `deadline` is the event loop's time from which on no model is waited for; the calls of `generator` fail then.
    """

    database: Database
    retriever: Retriever
    generator: AnswerGenerator
    recorder: QueryRecorder
    deadline: float
    reader: Reader
    started_at: float
    session: SessionId | None = None
    conversation: ConversationId | None = None

    @property
    def milliseconds(self) -> int:
        """How long ago the question came."""
        return round((time.perf_counter() - self.started_at) * 1000)

    async def retrieve(self, question: Question) -> Retrieval:
        """Return what `find` returns at its end; raise the same."""
        async with aclosing(self.find(question)) as parts:
            retrievals = [part async for part in parts if isinstance(part, Retrieval)]
        return retrievals[-1]

    async def find(self, question: Question) -> AsyncGenerator[Step | Retrieval, None]:
        """Yield what is done, and at the end the evidence with the candidates of the question's ambiguous names.

        There is no evidence if the mode does not search. Raises `Invalid` where what the question asks for needs a model that is not there.
        """
        if not isinstance(self.reader, Reader):  # pyright: ignore[reportUnnecessaryIsInstance] - not every program is checked
            raise Invalid(
                "Ask as a reader: `await kb.reader(['team:sales'])`, not as a list of tags"
            )
        self.generator.require_model_for(question.mode, look_twice=question.look_twice)
        retrieval = await self._understood(question)
        if question.mode is Mode.BYPASS:
            yield retrieval
            return
        find = find_open_items if retrieval.analysis.asks_what_is_open else find_owed
        retrieval = await find(self.database, self.reader, retrieval)
        computation = await find_computation(self.database, self.reader, question)
        if computation is not None:
            yield replace(retrieval, computation=computation)
            return
        if retrieval.evidence:
            yield Step(kind=StepKind.READING, titles=titles(retrieval.evidence))
        model = self._looking_model
        if question.look_twice and model is not None:
            max_tokens = self.generator.budget.max_tokens
            async with aclosing(
                look(model, self._library(retrieval.question), retrieval, max_tokens=max_tokens)
            ) as parts:
                async for part in parts:
                    if isinstance(part, Retrieval):
                        retrieval = part
                    else:
                        yield part
        if retrieval.evidence:
            yield Step(kind=StepKind.CHECKING, count=len(retrieval.evidence))
        several = await ambiguous_names(self.database, self.reader, retrieval.analysis)
        separator = self.generator.separator
        yield replace(
            retrieval,
            ambiguous_names=tuple(candidates_with_separator(names, separator) for names in several),
        )

    def _library(self, question: Question) -> Library:
        alone = replace(question, subject="", near=())
        return Library(
            database=self.database, reader=self.reader, question=alone, search=self.evidence
        )

    @property
    def _looking_model(self) -> ChatModel | None:
        """The model with half of the time that is left: the answer needs the other half."""
        if self.generator.model is None:
            return None
        left = max(0.0, self.deadline - asyncio.get_running_loop().time()) / 2
        return TimeLimitedModel(
            inner=self.generator.model, deadline=self.deadline - left, seconds=round(left)
        )

    async def _understood(self, question: Question) -> Retrieval:
        """Return the evidence in the documents that the question's words name, else, where that answers nothing, in all."""
        understood = await understand(self.database, self.reader, question)
        if not understood.filters:
            return await self.evidence(question)
        only = understood.question
        if understood.asks_for_documents:
            only = replace(only, limit=max(only.limit, MAX_PASSAGES))
        narrowed = await self.evidence(only)
        analysis = narrowed.analysis
        is_owed = read_owed(question.text) is not None
        is_list = understood.asks_for_documents or analysis.asks_what_is_open or is_owed
        if not ((is_list and narrowed.evidence) or await self._answers(narrowed)):
            everywhere = await self.evidence(understood.everywhere)
            if not narrowed.evidence or await self._answers(everywhere):
                notes = (*everywhere.notes, understood.note)
                return replace(everywhere, question=question, notes=notes, is_elsewhere=True)
        return replace(
            narrowed,
            question=replace(only, text=question.text, limit=question.limit),
            understood=understood.filters,
            asks_for_documents=understood.asks_for_documents,
        )

    async def _answers(self, retrieval: Retrieval) -> bool:
        """Return whether the evidence answers: by the pieces that would be quoted, or by its passages where a model is to read them."""
        if self.generator.model is not None or not retrieval.evidence:
            return retrieval.is_sufficient
        extracts = await self.generator.chooser.extract(retrieval)
        return extracts.relevance >= SUFFICIENT_RELEVANCE

    async def evidence(self, question: Question) -> Retrieval:
        """Return the evidence alone."""
        return await self.retriever.retrieve(question, self.reader, until=self.deadline)

    async def log(self, log: QueryLog) -> None:
        """Store the question's metrics."""
        context = QuestionContext(
            reader=self.reader,
            started_at=self.started_at,
            session=self.session,
            conversation=self.conversation,
        )
        await self.recorder.record(context, log)

    async def remember(self, thread: Thread, exchange: Exchange, log: QueryLog) -> StoredExchange:
        """Store and log an exchange; return where it is stored."""
        stored = await conversations.append_exchange(self.database, self.reader, thread, exchange)
        await replace(self, conversation=stored.conversation).log(log)
        return stored


def candidates_with_separator(several: Candidates, separator: str) -> Candidates:
    """Return the candidates with this separator in their descriptions."""
    renamed = [
        replace(candidate, entity=with_separator(candidate.entity, separator))
        for candidate in several.candidates
    ]
    return replace(several, candidates=tuple(renamed))

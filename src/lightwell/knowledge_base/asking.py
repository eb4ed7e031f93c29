"""One question that a reader asks: its evidence, its log, and the conversation that it belongs to."""

import time
from dataclasses import dataclass, replace

from lightwell.answer.brief.subjects import ambiguous_names
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader
from lightwell.domain.answers import StoredExchange
from lightwell.domain.chat import Exchange, Thread
from lightwell.domain.descriptions import with_separator
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import ConversationId, SessionId
from lightwell.domain.questions import Mode, Question
from lightwell.records import conversations
from lightwell.records.database import Database
from lightwell.records.query_log import QueryLog, QueryRecorder, QuestionContext
from lightwell.retrieve.pipeline import Retriever


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
        """Return the evidence with the candidates of the question's ambiguous names; no evidence if the mode does not search.

        Raises `Invalid` where the question's mode needs a model that is not there.
        """
        if not isinstance(self.reader, Reader):  # pyright: ignore[reportUnnecessaryIsInstance] - not every program is checked
            raise Invalid(
                "Ask as a reader: `await kb.reader(['team:sales'])`, not as a list of tags"
            )
        self.generator.require_model_for(question.mode)
        retrieval = await self.evidence(question)
        if question.mode is Mode.BYPASS:
            return retrieval
        several = await ambiguous_names(self.database, self.reader, retrieval.analysis)
        separator = self.generator.separator
        return replace(
            retrieval,
            ambiguous_names=tuple(candidates_with_separator(names, separator) for names in several),
        )

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

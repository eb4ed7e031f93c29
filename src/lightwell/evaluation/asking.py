"""Asks a collection's questions through `Questions.ask`, as a user does, and measures each."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer
from lightwell.domain.chat import Thread
from lightwell.domain.ids import ConversationId
from lightwell.domain.questions import Mode, Question
from lightwell.evaluation.answers import AnswerTrial, AskTime, Exchange, judge
from lightwell.evaluation.caching_embedder import CachingEmbedder
from lightwell.evaluation.collection import CollectionQuestion
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import ChatModel, Embedder, Message, Reply


@dataclass(slots=True)
class RecordingModel:
    """A chat model that records the messages and the reply of each call in `exchanges`."""

    inner: ChatModel
    exchanges: list[Exchange]

    @property
    def model(self) -> str:
        return self.inner.model

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the model's reply; raise `ModelFailed`."""
        reply = await self.inner.reply(messages, max_tokens=max_tokens, schema=schema)
        self.exchanges.append(Exchange(sent=tuple(messages), reply=reply.text))
        return reply

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the model's reply; raise `ModelFailed`."""
        pieces: list[str] = []
        async for piece in self.inner.stream(messages, max_tokens=max_tokens, schema=schema):
            pieces.append(piece)
            yield piece
        self.exchanges.append(Exchange(sent=tuple(messages), reply="".join(pieces)))


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Wraps the models while questions are asked; pass its methods to `open_knowledge_base`.

    Vectors are kept within one question only, so that each question costs what it costs a user.
    """

    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    embedder: CachingEmbedder | None = None

    def wrap_embedder(self, inner: Embedder) -> CachingEmbedder:
        """Return the embedder, wrapped so that it remembers the vectors of one question."""
        self.embedder = CachingEmbedder(inner)
        return self.embedder

    def wrap_model(self, inner: ChatModel) -> RecordingModel:
        """Return the chat model, wrapped so that its exchanges are recorded."""
        return RecordingModel(inner, self.exchanges)

    def forget(self) -> None:
        """Forget the vectors and exchanges of the previous question."""
        self.exchanges.clear()
        if self.embedder is not None:
            self.embedder.forget()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvaluator:
    """Asks as `reader`, who sees all documents of the collection; with `look_twice` the model may search again. `conversations` are those of the dialogues that have begun."""

    kb: KnowledgeBase
    reader: Reader
    mode: Mode
    recorder: Recorder
    look_twice: bool = False
    conversations: dict[str, ConversationId] = field(default_factory=dict[str, ConversationId])

    async def trial(self, question: CollectionQuestion) -> AnswerTrial:
        """Ask once and measure it; then repeat the retrieval, with remembered vectors, to see what the answer was based on."""
        self.recorder.forget()
        wall, cpu = time.perf_counter(), time.process_time()
        if question.dialogue:
            answer = await self._ask_in_dialogue(question)
        else:
            answer = await self.kb.questions.ask(self._asked(question), self.reader)
        took = AskTime(
            wall=1000 * (time.perf_counter() - wall), cpu=1000 * (time.process_time() - cpu)
        )
        exchanges = tuple(self.recorder.exchanges)
        retrieval = await self.kb.questions.search(answer.question, self.reader, mode=self.mode)
        return judge(question, answer, retrieval, exchanges, took)

    async def _ask_in_dialogue(self, question: CollectionQuestion) -> Answer:
        """Ask it as the next message of its dialogue's conversation, which the first one begins."""
        thread = Thread(conversation=self.conversations.get(question.dialogue))
        message = self._asked(question)
        answers: list[Answer] = []
        async for event in self.kb.questions.show(message, self.reader, thread=thread):
            if event.answer is not None and event.stored is not None:
                answers.append(event.answer)
                self.conversations[question.dialogue] = event.stored.conversation
        return answers[-1]

    def _asked(self, question: CollectionQuestion) -> Question:
        return Question(text=question.text, mode=self.mode, look_twice=self.look_twice)

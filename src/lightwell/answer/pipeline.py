"""From evidence to an answer: what do we say, and on whose word?

asked without evidence (bypass)? ─ yes ─► the model's own words, and a sentence that says so
  └ no: enough? ─ no ─► insufficient evidence, with what came nearest
      └ yes ─► written by the model and checked, or extracted (also where nothing written stands) ─► statements with quotes ─► citations ─► answer
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from lightwell.answer import bypass, extractive, generation, statements, stream_events
from lightwell.answer.answer_builder import AnswerBuilder
from lightwell.answer.context import Budget, select_context
from lightwell.answer.generation import Prompt
from lightwell.answer.stream_events import Part
from lightwell.answer.time_limit import TimeLimitedModel
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.evidence import Answer, Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.questions import Mode
from lightwell.domain.statements import Statements
from lightwell.domain.streams import StreamChunk
from lightwell.logs import logger
from lightwell.ports import ChatModel, Message

EXTRACTS = "extracts"
"""The model's name in answers that no model wrote."""

QUOTED_INSTEAD = (
    "The documents do not support what the model answered. Their own sentences are quoted instead."
)

_INSTEAD_OF_MODEL = "The documents' own sentences are quoted instead."

MAX_REPLY_TOKENS = 800
MAX_LISTING_TOKENS = 1600

_Asking = Callable[[ChatModel, Sequence[Message]], AsyncGenerator[str, None]]

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGenerator:
    """How answers are made: by `model`, which is shown what `budget` allows, or without one by extracts.

    `separator` stands between the parts of descriptions that are handed out. One question may spend `seconds` with models. Where the model fails or takes longer, the answer is made of extracts, with
    a note that says why; only `bypass`, which has nothing to quote, raises `ModelFailed`.
    """

    model: ChatModel | None
    budget: Budget = field(default_factory=Budget)
    seconds: float = 60.0
    separator: str = DESCRIPTION_SEPARATOR

    def limited(self, until: float) -> "AnswerGenerator":
        """Return the same with a model whose calls fail at the moment `until` of the event loop."""
        if self.model is None:
            return self
        return replace(
            self, model=TimeLimitedModel(inner=self.model, deadline=until, seconds=self.seconds)
        )

    def require_model_for(self, mode: Mode) -> None:
        """Raise `Invalid` when this mode asks a model alone and there is none."""
        if mode is Mode.BYPASS and self.model is None:
            raise Invalid(
                "Mode bypass asks the chat model alone, and there is none: name one in LIGHTWELL_CHAT_URL and"
                " LIGHTWELL_CHAT_MODEL"
            )

    async def answer(self, retrieval: Retrieval) -> Answer:
        """Return an answer whose every sentence is carried by its citations, or insufficient evidence.

        Raises `Invalid` when a model is asked for and there is none, and `ModelFailed` in mode `bypass`.
        """
        self.require_model_for(retrieval.question.mode)
        async with aclosing(self._parts(retrieval, _complete_reply)) as parts:
            answers = [part async for part in parts if isinstance(part, Answer)]
        return answers[-1]

    def stream(self, retrieval: Retrieval) -> AsyncGenerator[StreamChunk, None]:
        """Yield the same answer as events, each sentence when it is checked; `done` carries the whole.

        In mode `bypass` a model that fails is an `error` event. Raises `Invalid` before the first event.
        """
        self.require_model_for(retrieval.question.mode)
        return stream_events.stream_answer(
            self._parts(retrieval, _streamed_reply), retrieval.metrics
        )

    async def statements(self, retrieval: Retrieval) -> Statements:
        """Return what the documents state about the question as a list, or insufficient evidence."""
        candidates = statements.statement_quotes(retrieval)
        if self.model is None or not (candidates or retrieval.is_sufficient):
            return statements.build_statements(retrieval, candidates, self._name)
        shown = select_context(retrieval, self.budget)
        sent = generation.build_messages(retrieval.question.text, shown, Prompt.STATEMENTS)
        try:
            reply = await self.model.reply(sent, max_tokens=MAX_LISTING_TOKENS)
        except ModelFailed as error:
            listed = statements.build_statements(retrieval, candidates, EXTRACTS)
            return replace(listed, notes=(*listed.notes, note_of_fallback(error)))
        checker = generation.reply_verifier(shown.passages, retrieval.analysis)
        said = [*checker.feed(reply.text), *checker.flush()]
        listed = statements.build_statements(retrieval, said, self.model.model)
        if checker.failed and candidates:
            listed = statements.build_statements(retrieval, candidates, EXTRACTS)
            listed = replace(listed, notes=(*listed.notes, QUOTED_INSTEAD))
        return replace(listed, context_tokens=shown.tokens)

    @property
    def _name(self) -> str:
        return EXTRACTS if self.model is None else self.model.model

    async def _parts(self, retrieval: Retrieval, ask: _Asking) -> AsyncGenerator[Part, None]:
        model = self.model
        if model is not None and retrieval.question.mode is Mode.BYPASS:
            parts = bypass.stream_unverified(
                retrieval, model.model, ask(model, bypass.messages(retrieval))
            )
        elif model is not None and retrieval.is_sufficient:
            parts = self._generated(model, retrieval, ask)
        else:
            parts = self._extracted(retrieval)
        async with aclosing(parts):
            async for part in parts:
                yield part

    async def _generated(
        self, model: ChatModel, retrieval: Retrieval, ask: _Asking
    ) -> AsyncGenerator[Part, None]:
        shown = select_context(retrieval, self.budget)
        checker = generation.reply_verifier(shown.passages, retrieval.analysis)
        made = AnswerBuilder(retrieval=retrieval, model=model.model, context_tokens=shown.tokens)
        failure: ModelFailed | None = None
        try:
            async with aclosing(
                ask(model, generation.build_messages(retrieval.question.text, shown))
            ) as reply:
                async for piece in reply:
                    for part in made.add(checker.feed(piece)):
                        yield part
            for part in made.add(checker.flush()):
                yield part
        except ModelFailed as error:
            _log.info("the model did not finish an answer", error=str(error))
            failure = error
        _log.info("answer checked", kept=made.count, dropped=checker.removed_count)
        instead, notes = _extractive_fallback(retrieval, checker, failure, is_begun=made.count > 0)
        made.model = EXTRACTS if instead else made.model
        for part in made.add(instead):
            yield part
        for part in made.finish((*checker.notes, *notes)):
            yield part

    async def _extracted(self, retrieval: Retrieval) -> AsyncGenerator[Part, None]:
        made = AnswerBuilder(retrieval=retrieval, model=self._name)
        if retrieval.is_sufficient and self.model is None:
            for part in made.add(extractive.extract_statements(retrieval)):
                yield part
        for part in made.finish():
            yield part


def _extractive_fallback(
    retrieval: Retrieval,
    checker: generation.ReplyVerifier,
    failure: ModelFailed | None,
    *,
    is_begun: bool,
) -> tuple[Sequence[generation.VerifiedSentence], tuple[str, ...]]:
    """Return what is quoted where a model said nothing that stands, and the notes that say why."""
    if failure is not None and is_begun:
        return (), (note_of_interruption(failure),)
    if failure is None and not checker.failed:
        return (), ()
    quoted = extractive.extract_statements(retrieval)
    if failure is not None:
        return quoted, (note_of_fallback(failure) if quoted else str(failure),)
    return quoted, (QUOTED_INSTEAD,) if quoted else ()


def note_of_fallback(failure: ModelFailed) -> str:
    """Return the note of an answer that the model was to write, and did not."""
    return f"{str(failure).rstrip('.')}. {_INSTEAD_OF_MODEL}"


def note_of_interruption(failure: ModelFailed) -> str:
    """Return the note of an answer whose model failed after its first sentences."""
    return f"The answer breaks off here: {failure}"


async def _complete_reply(model: ChatModel, sent: Sequence[Message]) -> AsyncGenerator[str, None]:
    yield (await model.reply(sent, max_tokens=MAX_REPLY_TOKENS)).text


async def _streamed_reply(model: ChatModel, sent: Sequence[Message]) -> AsyncGenerator[str, None]:
    pieces = model.stream(sent, max_tokens=MAX_REPLY_TOKENS)
    try:
        async for piece in pieces:
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()

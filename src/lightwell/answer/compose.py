"""From evidence to an answer: what do we say, and on whose word?

asked without evidence (bypass)? ─ yes ─► the model's own words, and a sentence that says so
  └ no: enough? ─ no ─► insufficient evidence, with what came nearest
      └ yes ─► written by the model and checked, or extracted (also where nothing written stands) ─► statements with quotes ─► citations ─► answer
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from lightwell.answer import bypass, extracts, statements, streaming, writing
from lightwell.answer.composition import Composition
from lightwell.answer.context import Budget, context
from lightwell.answer.streaming import Part
from lightwell.answer.time_limit import TimeLimited
from lightwell.answer.writing import Prompt
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

MOST_REPLY_TOKENS = 800
MOST_LISTING_TOKENS = 1600

_Asking = Callable[[ChatModel, Sequence[Message]], AsyncGenerator[str, None]]

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How answers are made: by `model`, which is shown what `budget` allows, or without one by extracts.

    `separator` stands between the parts of descriptions that are handed out. One question may spend `seconds` with models. Where the model fails or takes longer, the answer is made of extracts, with
    a note that says why; only `bypass`, which has nothing to quote, raises `ModelFailed`.
    """

    model: ChatModel | None
    budget: Budget = field(default_factory=Budget)
    seconds: float = 60.0
    separator: str = DESCRIPTION_SEPARATOR

    def limited(self, until: float) -> "Answers":
        """Return the same with a model whose calls fail at the moment `until` of the event loop."""
        if self.model is None:
            return self
        return replace(self, model=TimeLimited(inner=self.model, until=until, seconds=self.seconds))

    def check(self, mode: Mode) -> None:
        """Raise `Invalid` when this mode asks a model alone and there is none."""
        if mode is Mode.BYPASS and self.model is None:
            raise Invalid(
                "Mode bypass asks the chat model alone, and there is none: name one in LIGHTWELL_CHAT_URL and"
                " LIGHTWELL_CHAT_MODEL"
            )

    async def compose(self, retrieval: Retrieval) -> Answer:
        """Return an answer whose every sentence is carried by its citations, or insufficient evidence.

        Raises `Invalid` when a model is asked for and there is none, and `ModelFailed` in mode `bypass`.
        """
        self.check(retrieval.question.mode)
        async with aclosing(self._parts(retrieval, _at_once)) as parts:
            answers = [part async for part in parts if isinstance(part, Answer)]
        return answers[-1]

    def stream(self, retrieval: Retrieval) -> AsyncGenerator[StreamChunk, None]:
        """Yield the same answer as events, each sentence when it is checked; `done` carries the whole.

        In mode `bypass` a model that fails is an `error` event. Raises `Invalid` before the first event.
        """
        self.check(retrieval.question.mode)
        return streaming.streamed(self._parts(retrieval, _as_it_comes), retrieval.metrics)

    async def statements(self, retrieval: Retrieval) -> Statements:
        """Return what the documents state about the question as a list, or insufficient evidence."""
        candidates = statements.stating(retrieval)
        if self.model is None or not (candidates or retrieval.is_enough):
            return statements.listed(retrieval, candidates, self._name)
        shown = context(retrieval, self.budget)
        sent = writing.messages(retrieval.question.text, shown, Prompt.STATEMENTS)
        try:
            reply = await self.model.reply(sent, most_tokens=MOST_LISTING_TOKENS)
        except ModelFailed as error:
            listed = statements.listed(retrieval, candidates, EXTRACTS)
            return replace(listed, notes=(*listed.notes, quoted_instead_of(error)))
        checker = writing.checker(shown.passages, retrieval.question.text)
        said = [*checker.take(reply.text), *checker.end()]
        listed = statements.listed(retrieval, said, self.model.model)
        if checker.failed and candidates:
            listed = statements.listed(retrieval, candidates, EXTRACTS)
            listed = replace(listed, notes=(*listed.notes, QUOTED_INSTEAD))
        return replace(listed, context_tokens=shown.tokens)

    @property
    def _name(self) -> str:
        return EXTRACTS if self.model is None else self.model.model

    async def _parts(self, retrieval: Retrieval, ask: _Asking) -> AsyncGenerator[Part, None]:
        model = self.model
        if model is not None and retrieval.question.mode is Mode.BYPASS:
            parts = bypass.told(retrieval, model.model, ask(model, bypass.messages(retrieval)))
        elif model is not None and retrieval.is_enough:
            parts = self._written(model, retrieval, ask)
        else:
            parts = self._extracted(retrieval)
        async with aclosing(parts):
            async for part in parts:
                yield part

    async def _written(
        self, model: ChatModel, retrieval: Retrieval, ask: _Asking
    ) -> AsyncGenerator[Part, None]:
        shown = context(retrieval, self.budget)
        checker = writing.checker(shown.passages, retrieval.question.text)
        made = Composition(retrieval=retrieval, model=model.model, context_tokens=shown.tokens)
        failure: ModelFailed | None = None
        try:
            async with aclosing(
                ask(model, writing.messages(retrieval.question.text, shown))
            ) as reply:
                async for piece in reply:
                    for part in made.add(checker.take(piece)):
                        yield part
            for part in made.add(checker.end()):
                yield part
        except ModelFailed as error:
            _log.info("the model did not finish an answer", error=str(error))
            failure = error
        _log.info("answer checked", kept=made.count, dropped=checker.dropped)
        instead, notes = _instead(retrieval, checker, failure, is_begun=made.count > 0)
        made.model = EXTRACTS if instead else made.model
        for part in made.add(instead):
            yield part
        for part in made.end((*checker.notes, *notes)):
            yield part

    async def _extracted(self, retrieval: Retrieval) -> AsyncGenerator[Part, None]:
        made = Composition(retrieval=retrieval, model=self._name)
        if retrieval.is_enough and self.model is None:
            for part in made.add(extracts.extracted(retrieval)):
                yield part
        for part in made.end():
            yield part


def _instead(
    retrieval: Retrieval, checker: writing.Checker, failure: ModelFailed | None, *, is_begun: bool
) -> tuple[Sequence[writing.Statement], tuple[str, ...]]:
    """Return what is quoted where a model said nothing that stands, and the notes that say why."""
    if failure is not None and is_begun:
        return (), (broken_off(failure),)
    if failure is None and not checker.failed:
        return (), ()
    quoted = extracts.extracted(retrieval)
    if failure is not None:
        return quoted, (quoted_instead_of(failure) if quoted else str(failure),)
    return quoted, (QUOTED_INSTEAD,) if quoted else ()


def quoted_instead_of(failure: ModelFailed) -> str:
    """Return the note of an answer that the model was to write, and did not."""
    return f"{str(failure).rstrip('.')}. {_INSTEAD_OF_MODEL}"


def broken_off(failure: ModelFailed) -> str:
    """Return the note of an answer whose model failed after its first sentences."""
    return f"The answer breaks off here: {failure}"


async def _at_once(model: ChatModel, sent: Sequence[Message]) -> AsyncGenerator[str, None]:
    yield (await model.reply(sent, most_tokens=MOST_REPLY_TOKENS)).text


async def _as_it_comes(model: ChatModel, sent: Sequence[Message]) -> AsyncGenerator[str, None]:
    pieces = model.stream(sent, most_tokens=MOST_REPLY_TOKENS)
    try:
        async for piece in pieces:
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()

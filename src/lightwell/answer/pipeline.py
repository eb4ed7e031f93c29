"""From evidence to an answer.

computed over rows of tables? ─ yes ─► the figure with its rows, or why there is none; no model takes part
mode bypass? ─ yes ─► the model's own words, marked as such
  └ no: a model?
      ├ no ─► a list that is asked for, or pieces, where their relevance reaches 0.6 ────────────┐
      └ yes: a passage above the floor?                                                          │
          ├ no ─► a refusal; the model is not asked ─────────────────────────────────────────────┼─► AnswerBuilder ─► Answer
          └ yes ─► the model judges; its sentences, each when it is verified ────────────────────┤
                     └ it failed, or nothing is supported ─► a list, or pieces, as above ────────┘
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from lightwell.answer import statements
from lightwell.answer.answer_builder import AnswerBuilder
from lightwell.answer.forms import Part, stream_events
from lightwell.answer.key_sentences import key_sentences
from lightwell.answer.listing import LISTED, listed_documents
from lightwell.answer.model_calls import TimeLimitedModel
from lightwell.answer.open_points import PLAIN, open_points
from lightwell.answer.owed import owed_sentences, with_owed, without_owed
from lightwell.answer.piece_comparison import PieceChooser
from lightwell.answer.prompt import Budget, Prompt, answer_messages, passage_text, select_context
from lightwell.answer.quotes import SupportedSentence
from lightwell.answer.reply import (
    REPLY_SCHEMA,
    ReplyVerifier,
    SentenceBuffer,
    reply_verifier,
    strip_citation_marks,
)
from lightwell.answer.tables.computing import computed_answer
from lightwell.answer.verification.second_judge import VerifyBy, is_supported
from lightwell.domain.answers import (
    DOUBT_LINE,
    NOT_FROM_DOCUMENTS,
    Answer,
    Confidence,
    FromModelAlone,
    StreamChunk,
    agreeing_relevance,
    confidence,
    judged_relevance,
)
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Mode
from lightwell.logs import logger
from lightwell.ports import ChatModel, Message
from lightwell.text.markup import strip_active_markup

QUOTED_INSTEAD = (
    "The documents do not support what the model answered. Their own sentences are quoted instead."
)

_INSTEAD_OF_MODEL = "The documents' own sentences are quoted instead."

MAX_REPLY_TOKENS = 800
MAX_LISTING_TOKENS = 1600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    messages: Sequence[Message]
    max_tokens: int = MAX_REPLY_TOKENS
    schema: Mapping[str, object] | None = None


_Call = Callable[[ChatModel, _Request], AsyncGenerator[str, None]]
"""Sends a request to a model and yields its reply, at once or in parts."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGenerator:
    """How answers are made: by `model`, which is shown what `budget` allows and judges it, or from extracts without one.

    `chooser` chooses and judges what extracts are. `separator` stands between the parts of descriptions that are returned. One question may spend `seconds` with models. Where the
    model fails or takes longer, the answer is made of extracts, with a note that says why; only `bypass`, which has nothing to
    quote, raises `ModelFailed`.
    """

    model: ChatModel | None
    chooser: PieceChooser = field(default_factory=PieceChooser)
    budget: Budget = field(default_factory=Budget)
    verify_by: VerifyBy = VerifyBy.RULES
    seconds: float = 60.0
    separator: str = DESCRIPTION_SEPARATOR

    def limited(self, deadline: float) -> "AnswerGenerator":
        """Return the same with a model whose calls fail at `deadline`, a time of the event loop."""
        if self.model is None:
            return self
        model = TimeLimitedModel(inner=self.model, deadline=deadline, seconds=self.seconds)
        return replace(self, model=model)

    def require_model_for(self, mode: Mode, *, look_twice: bool = False) -> None:
        """Raise `Invalid` when this mode asks a model alone, or a model is to look twice, and there is none."""
        if self.model is not None:
            return
        what = "Mode bypass asks the chat model alone" if mode is Mode.BYPASS else ""
        what = what or ("Looking twice is what a chat model does" if look_twice else "")
        if what:
            raise Invalid(
                f"{what}, and there is none: `lightwell setup` finds one, or name it in LIGHTWELL_CHAT_URL and LIGHTWELL_CHAT_MODEL"
            )

    async def answer(self, retrieval: Retrieval) -> Answer:
        """Return an answer whose citations support every sentence, or insufficient evidence.

        Raises `Invalid` when a model is asked for and there is none, and `ModelFailed` in mode `bypass`.
        """
        self.require_model_for(retrieval.question.mode)
        async with aclosing(self._parts(retrieval, _complete_reply)) as parts:
            answers = [part async for part in parts if isinstance(part, Answer)]
        return answers[-1]

    def stream(self, retrieval: Retrieval) -> AsyncGenerator[StreamChunk, None]:
        """Yield the same answer as events, each sentence when it is verified; `done` has the whole.

        In mode `bypass` a model that fails is an `error` event. Raises `Invalid` before the first event.
        """
        self.require_model_for(retrieval.question.mode)
        return stream_events(self._parts(retrieval, _streamed_reply), retrieval.metrics)

    async def statements(self, retrieval: Retrieval) -> Answer:
        """Return an answer whose sentences are what the documents state about the question, newest first."""
        extracted, relevance = _listed(retrieval)
        if not (extracted and retrieval.analysis.asks_what_is_open):
            quoted = statements.statement_quotes(retrieval)
            extracted = [*extracted, *without_owed(retrieval, quoted)]
        model = self.model
        if model is None or not (extracted or self.budget.allows(retrieval)):
            listed = statements.list_statements(retrieval, extracted)
            return listed.finish(None, relevance=relevance)
        retrieval = with_owed(retrieval)
        shown = select_context(retrieval, self.budget)
        verifier = reply_verifier(shown.passages, retrieval.analysis)
        messages = answer_messages(retrieval.question.as_read, shown, Prompt.STATEMENTS)
        request = _Request(messages=messages, max_tokens=MAX_LISTING_TOKENS, schema=REPLY_SCHEMA)
        reply = _complete_reply(model, request)
        try:
            async with aclosing(self._verified(model, verifier, reply)) as verified:
                sentences = [sentence async for sentence in verified]
        except ModelFailed as error:
            listed = statements.list_statements(retrieval, extracted)
            return listed.finish(None, relevance=relevance, remarks=(note_of_fallback(error),))
        if verifier.is_unsupported and extracted:
            listed = statements.list_statements(retrieval, extracted, context_tokens=shown.tokens)
            return listed.finish(None, relevance=relevance, remarks=(QUOTED_INSTEAD,))
        listed = statements.list_statements(retrieval, sentences, context_tokens=shown.tokens)
        return listed.finish(model.model, relevance=_judged(retrieval, verifier))

    async def _parts(self, retrieval: Retrieval, call: _Call) -> AsyncGenerator[Part, None]:
        model = self.model
        if retrieval.computation is not None:
            for part in _parts_of(computed_answer(retrieval, retrieval.computation)):
                yield part
            return
        if model is not None:
            retrieval = with_owed(retrieval)
        if model is not None and retrieval.question.mode is Mode.BYPASS:
            parts = _model_alone(retrieval, model, call)
        elif model is not None and self.budget.allows(retrieval):
            parts = self._generated(model, retrieval, call)
        else:
            parts = self._extracted(retrieval)
        async with aclosing(parts):
            async for part in parts:
                yield part

    async def _generated(
        self, model: ChatModel, retrieval: Retrieval, call: _Call
    ) -> AsyncGenerator[Part, None]:
        shown = select_context(retrieval, self.budget)
        verifier = reply_verifier(shown.passages, retrieval.analysis)
        builder = AnswerBuilder(retrieval=retrieval, context_tokens=shown.tokens)
        messages = answer_messages(retrieval.question.as_read, shown)
        reply = call(model, _Request(messages=messages, schema=REPLY_SCHEMA))
        failure: ModelFailed | None = None
        try:
            async with aclosing(self._verified(model, verifier, reply)) as sentences:
                async for supported in sentences:
                    if builder.is_empty and _is_doubtful(retrieval):
                        yield DOUBT_LINE
                    for sentence in builder.add([supported]):
                        yield sentence
        except ModelFailed as error:
            _log.info("the model did not finish an answer", error=str(error))
            failure = error
        _log.info("answer verified", kept=verifier.kept_count, removed=verifier.removed_count)
        if not builder.is_empty:
            interruption = (note_of_interruption(failure),) if failure else ()
            answer = builder.finish(
                model.model,
                relevance=_judged(retrieval, verifier),
                remarks=(*verifier.notes, *interruption),
            )
            yield _with_unsupported(answer, retrieval, verifier)
            return
        instead, relevance, remarks = await self._extractive_fallback(retrieval, verifier, failure)
        builder.add(instead)
        if failure is None and not instead:
            relevance = _judged(retrieval, verifier)
        author = None if instead or failure else model.model
        answer = builder.finish(author, relevance=relevance, remarks=(*verifier.notes, *remarks))
        for part in _parts_of(_with_unsupported(answer, retrieval, verifier)):
            yield part

    async def _verified(
        self, model: ChatModel, verifier: ReplyVerifier, reply: AsyncGenerator[str, None]
    ) -> AsyncGenerator[SupportedSentence, None]:
        """Yield the sentences of a reply that are supported, as they arrive; raise `ModelFailed`."""
        async with aclosing(reply) as pieces:
            async for piece in pieces:
                async for sentence in self._confirmed(model, verifier, verifier.feed(piece)):
                    yield sentence
        async for sentence in self._confirmed(model, verifier, verifier.flush()):
            yield sentence

    async def _confirmed(
        self, model: ChatModel, verifier: ReplyVerifier, sentences: Sequence[SupportedSentence]
    ) -> AsyncGenerator[SupportedSentence, None]:
        """Yield the sentences that the second judge confirms too, where there is one; raise `ModelFailed`."""
        for sentence in sentences:
            passages = [passage_text(quote.evidence) for quote in sentence.quotes]
            if self.verify_by is VerifyBy.RULES or await is_supported(
                model, Prompt.VERIFY.text, sentence.text, passages
            ):
                yield sentence
            else:
                verifier.withdraw(sentence)

    async def _extracted(self, retrieval: Retrieval) -> AsyncGenerator[Part, None]:
        builder = AnswerBuilder(retrieval=retrieval)
        relevance: float | None = None
        if self.model is None:
            pieces, relevance = await self._extracts(retrieval)
            builder.add(pieces)
        for part in _parts_of(builder.finish(None, relevance=relevance)):
            yield part

    async def _extracts(
        self, retrieval: Retrieval
    ) -> tuple[Sequence[SupportedSentence], float | None]:
        """Return what answers without a model: documents, or what is owed or open, where the question asks for a list, else the pieces that were chosen, none where they are not relevant enough; and how relevant these are.

        Open points are relevant by themselves: `open_points` takes only documents that name what the question names.
        """
        if retrieval.asks_for_documents:
            return listed_documents(retrieval), LISTED
        listed, relevance = _listed(retrieval)
        if listed:
            return listed, relevance
        extracts = await self.chooser.extract(retrieval)
        is_answer = extracts.relevance >= SUFFICIENT_RELEVANCE
        pieces = without_owed(retrieval, extracts.pieces) if is_answer else ()
        return [key_sentences(piece, retrieval) for piece in pieces], extracts.relevance

    async def _extractive_fallback(
        self, retrieval: Retrieval, verifier: ReplyVerifier, failure: ModelFailed | None
    ) -> tuple[Sequence[SupportedSentence], float | None, tuple[str, ...]]:
        """Return what is quoted where no sentence of a model is supported, how relevant it is, and the notes that say why; nothing where the model declined.

        Below the threshold only open points are quoted, because no judgement of a model stands.
        """
        if failure is None and not verifier.is_unsupported:
            return (), None, ()
        pieces, relevance = await self._extracts(retrieval.at_first or retrieval)
        if failure is not None:
            note = note_of_fallback(failure) if pieces else str(failure)
            return pieces, relevance, (note,)
        return pieces, relevance, (QUOTED_INSTEAD,) if pieces else ()


def _listed(retrieval: Retrieval) -> tuple[list[SupportedSentence], float | None]:
    """Return what is owed or open, where the question asks for a list of it, and how relevant it is; None where that is in the retrieval."""
    points = open_points(retrieval) if retrieval.analysis.asks_what_is_open else []
    relevance = max(PLAIN, retrieval.best_relevance) if points and not retrieval.owed else None
    return [*owed_sentences(retrieval), *points], relevance


def _parts_of(answer: Answer) -> Iterator[Part]:
    """Yield an answer as it is told: what it says first, each sentence, then the whole."""
    if answer.lines_before:
        yield answer.lines_before
    yield from answer.sentences
    yield answer


def _is_doubtful(retrieval: Retrieval) -> bool:
    """Return whether sentences of a model, which judged the evidence to answer, only possibly answer."""
    judged = judged_relevance(retrieval.best_relevance, is_answerable=True)
    shown = agreeing_relevance(judged, is_answered=True)
    return retrieval.is_elsewhere or confidence(shown) is Confidence.LOW


def _with_unsupported(answer: Answer, retrieval: Retrieval, verifier: ReplyVerifier) -> Answer:
    """Return the answer with the sentences of the reply that were removed, where the question asks for them."""
    if not retrieval.question.with_unsupported:
        return answer
    return replace(answer, unsupported=tuple(filter(None, verifier.removed)))


def _judged(retrieval: Retrieval, verifier: ReplyVerifier) -> float | None:
    """Return the relevance by the model's judgement, None where it gave none that holds."""
    if verifier.kept_count:
        return judged_relevance(retrieval.best_relevance, is_answerable=True)
    if verifier.is_declined:
        return judged_relevance(retrieval.best_relevance, is_answerable=False)
    return None


def note_of_fallback(failure: ModelFailed) -> str:
    """Return the note of an answer that a model should have written, and did not."""
    return f"{str(failure).rstrip('.')}. {_INSTEAD_OF_MODEL}"


def note_of_interruption(failure: ModelFailed) -> str:
    """Return the note of an answer whose model failed after its first sentences."""
    return f"The answer breaks off here: {failure}"


async def _model_alone(
    retrieval: Retrieval, model: ChatModel, call: _Call
) -> AsyncGenerator[Part, None]:
    """Yield what the model says without documents, as it comes and without what looks like citations; then the answer."""
    messages = [
        Message(role="system", content=Prompt.BYPASS.text),
        Message(role="user", content=retrieval.question.as_read),
    ]
    buffer = SentenceBuffer()
    text = sent = ""
    async with aclosing(call(model, _Request(messages=messages))) as reply:
        async for piece in reply:
            for part in buffer.feed(piece):
                text += strip_active_markup(strip_citation_marks(part))
                ready = f"{NOT_FROM_DOCUMENTS}\n\n{text.strip()}"
                if ready != sent:
                    yield ready[len(sent) :]
                sent = ready
    text += strip_active_markup(strip_citation_marks(buffer.flush()))
    yield Answer(
        query_id=retrieval.query_id,
        question=retrieval.question.as_read,
        outcome=FromModelAlone(text=text.strip()),
        relevance=0.0,
        author=model.model,
        metrics=retrieval.metrics,
        remarks=retrieval.notes,
    )


async def _complete_reply(model: ChatModel, request: _Request) -> AsyncGenerator[str, None]:
    reply = await model.reply(
        request.messages, max_tokens=request.max_tokens, schema=request.schema
    )
    yield reply.text


async def _streamed_reply(model: ChatModel, request: _Request) -> AsyncGenerator[str, None]:
    pieces = model.stream(request.messages, max_tokens=request.max_tokens, schema=request.schema)
    try:
        async for piece in pieces:
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()

"""The chat model of one question: its calls end together, and its tokens are counted."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.errors import ModelFailed
from lightwell.ports import ChatModel, Message, Reply
from lightwell.text.tokens import token_count


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimitedModel:
    """A chat model whose calls fail at `deadline`, a time of the running event loop; `seconds` is for the message."""

    inner: ChatModel
    deadline: float
    seconds: float

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
        """Return the reply; raise `ModelFailed`, also when the time is over."""
        try:
            async with asyncio.timeout_at(self.deadline):
                return await self.inner.reply(messages, max_tokens=max_tokens, schema=schema)
        except TimeoutError as error:
            raise self._too_slow(error) from None

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the reply's text as it comes; raise `ModelFailed`, also when the time is over.

        The consumer's own time between two pieces counts too, but it is not interrupted.
        """
        pieces = self.inner.stream(messages, max_tokens=max_tokens, schema=schema)
        try:
            while (piece := await self._next(pieces)) is not None:
                yield piece
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()

    async def _next(self, pieces: AsyncIterator[str]) -> str | None:
        try:
            async with asyncio.timeout_at(self.deadline):
                return await anext(pieces, None)
        except TimeoutError as error:
            raise self._too_slow(error) from None

    def _too_slow(self, error: TimeoutError) -> ModelFailed:
        failure = _last_failure(error)
        why = "" if failure is None else f"; its last attempt failed: {failure}"
        return ModelFailed(
            f"{self.model} did not finish within {self.seconds:g} seconds{why};"
            " LIGHTWELL_ANSWER_TIMEOUT_SECONDS allows more"
        )


def _last_failure(error: BaseException) -> ModelFailed | None:
    """Return the failed attempt that the cancelled call named as its cause; None for a call that failed in no attempt."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModelFailed):
        cause = cause.__cause__ or cause.__context__
    return cause


class TokenCountingModel:
    """A chat model that counts in `input_tokens` and `output_tokens` what one request sends and receives."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.input_tokens = 0
        self.output_tokens = 0

    @property
    def model(self) -> str:
        return self._inner.model

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the reply; raise `ModelFailed`."""
        reply = await self._inner.reply(messages, max_tokens=max_tokens, schema=schema)
        self.input_tokens += reply.usage.input_tokens
        self.output_tokens += reply.usage.output_tokens
        return reply

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the reply's text as it comes, counted here since a stream does not say; raise `ModelFailed`."""
        self.input_tokens += sum(token_count(message.content) for message in messages)
        parts: list[str] = []
        try:
            pieces = self._inner.stream(messages, max_tokens=max_tokens, schema=schema)
            async for piece in pieces:
                parts.append(piece)
                yield piece
        finally:
            self.output_tokens += token_count("".join(parts))

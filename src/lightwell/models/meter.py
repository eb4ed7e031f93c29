"""Token usage of one command, and a budget that stops it in time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from lightwell.domain.errors import BudgetSpent, ModelRefused
from lightwell.domain.operations import ModelCalls
from lightwell.domain.usage import OperationType, TokenSummary, TokenUsage, summarize_usage
from lightwell.metering import current_operation, note_usage
from lightwell.ports import ChatModel, Message, Reply
from lightwell.text.tokens import token_count
from lightwell.tracing import span

_OF_QUESTIONS = frozenset(
    {OperationType.QUERY, OperationType.KEYWORD_EXTRACTION, OperationType.RERANK}
)


class Meter:
    """Collects the usage of one command's calls; belongs to one event loop. A `budget` of 0 means no budget.

    `totals` counts every call; `usages` lists the first `max_listed`, because a server never ends. For each call, `waiting` is entered from the request to the first part of the reply.
    """

    def __init__(
        self,
        budget: int = 0,
        *,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        max_listed: int = 1_000_000,
    ) -> None:
        self.usages: list[TokenUsage] = []
        self.totals: dict[OperationType, ModelCalls] = {}
        self._max_listed = max_listed
        self.waiting = waiting
        self._budget = budget
        self._reserved = 0
        self._spent = 0
        self._changed = asyncio.Condition()

    @property
    def summary(self) -> TokenSummary:
        return summarize_usage(self.usages)

    @property
    def budget(self) -> int:
        """The most tokens that may be spent, 0 for no limit."""
        return self._budget

    @property
    def spent_tokens(self) -> int:
        """Tokens, input and output together, without embeddings."""
        return self._spent

    def record(
        self, operation: OperationType, model: str, input_tokens: int, output_tokens: int
    ) -> None:
        """Add one call, also to the usage logs open around it."""
        self._spent += input_tokens + output_tokens
        self._write(operation, model, input_tokens, output_tokens)

    def record_embeddings(self, model: str, tokens: int) -> None:
        """Add one request for embeddings. The budget is for chat models and does not count it."""
        self._write(current_operation(), model, tokens, 0)

    def include(self, usages: Iterable[TokenUsage], spent: int) -> None:
        """Add the calls of another process; `spent` of their tokens count for the budget."""
        self._spent += spent
        for usage in usages:
            self._add(usage)

    def _write(
        self, operation: OperationType, model: str, input_tokens: int, output_tokens: int
    ) -> None:
        usage = TokenUsage(
            operation_type=operation,
            model_name=model,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            timestamp=datetime.now(UTC),
        )
        self._add(usage)

    def _add(self, usage: TokenUsage) -> None:
        call = ModelCalls(
            calls=1, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )
        operation = usage.operation_type
        self.totals[operation] = self.totals.get(operation, ModelCalls()) + call
        if len(self.usages) < self._max_listed:
            self.usages.append(usage)
        note_usage(usage)

    @asynccontextmanager
    async def reserve(self, tokens: int) -> AsyncGenerator[None, None]:
        """Reserve tokens for one call, waiting for other calls' reservations; raise `BudgetSpent` if the budget
        is too small.
        """
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._fits_now(tokens) or self._exceeds_budget(tokens)
            )
            if self._exceeds_budget(tokens):
                raise BudgetSpent(self._spent_message(tokens))
            self._reserved += tokens
        try:
            yield
        finally:
            self._reserved -= tokens
            async with self._changed:
                self._changed.notify_all()

    def _fits_now(self, tokens: int) -> bool:
        return not self._budget or self.spent_tokens + self._reserved + tokens <= self._budget

    def _exceeds_budget(self, tokens: int) -> bool:
        return bool(self._budget) and self.spent_tokens + tokens > self._budget

    def _spent_message(self, tokens: int) -> str:
        return (
            f"The token budget of {self._budget:,} is used up: {self.spent_tokens:,} tokens are spent, and the next call may cost"
            f" {tokens:,}. Finished work is kept; the rest needs a larger budget"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredModel:
    """A chat model whose calls are recorded as `operation`; all but questions keep to the meter's budget."""

    inner: ChatModel
    meter: Meter
    operation: OperationType

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
        """Return the reply; raise `ModelFailed`, also when the budget does not allow the call."""
        if self.operation in _OF_QUESTIONS:
            return await self._record_call(messages, max_tokens, schema)
        input_tokens = sum(token_count(message.content) for message in messages)
        async with self.meter.reserve(input_tokens + max_tokens):
            return await self._record_call(messages, max_tokens, schema)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the parts of the reply as they arrive. Tokens are counted here, because a stream does not report usage."""
        parts: list[str] = []
        pieces = self.inner.stream(messages, max_tokens=max_tokens, schema=schema)
        try:
            with self.meter.waiting():
                part = await anext(pieces, None)
            while part is not None:
                parts.append(part)
                yield part
                part = await anext(pieces, None)
        finally:
            input_tokens = sum(token_count(message.content) for message in messages)
            self.meter.record(self.operation, self.model, input_tokens, token_count("".join(parts)))

    async def _record_call(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, object] | None
    ) -> Reply:
        try:
            with self.meter.waiting(), span(f"model.{self.operation.value.lower()}"):
                reply = await self.inner.reply(messages, max_tokens=max_tokens, schema=schema)
        except ModelRefused as refusal:
            self.meter.record(
                self.operation, self.model, refusal.input_tokens, refusal.output_tokens
            )
            raise
        usage = reply.usage
        self.meter.record(self.operation, usage.model, usage.input_tokens, usage.output_tokens)
        return reply

"""What one operation costs: every model call is noted to the logs that are open around it.

A log is open in the task that opened it and in the tasks which that one starts, so operations that run side by side
in one process do not count each other's calls.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from lightwell.domain.usage import OperationType, TokenSummary, TokenUsage, summary

T = TypeVar("T")


@dataclass(slots=True)
class UsageLog:
    """The calls noted so far, in order of their ends."""

    usages: list[TokenUsage] = field(default_factory=list[TokenUsage])

    @property
    def summary(self) -> TokenSummary:
        """Their sums; no token where no endpoint was asked."""
        return summary(self.usages)


# A context variable is how asyncio carries what belongs to one task; both hold immutable values, set and reset in pairs.
_LOGS: ContextVar[tuple[UsageLog, ...]] = ContextVar("lightwell_usage_logs", default=())
_OPERATION = ContextVar("lightwell_usage_operation", default=OperationType.INGESTION)


@contextmanager
def record_usage(
    operation: OperationType | None = None, *, log: UsageLog | None = None
) -> Generator[UsageLog, None, None]:
    """Yield a log of the calls made inside the block; logs may be nested, and each outer one counts too.

    `operation` says what embeddings inside are for, None leaves that as it is outside. With `log` an earlier one goes on.
    """
    own = log or UsageLog()
    logs = _LOGS.set((*_LOGS.get(), own))
    named = _OPERATION.set(operation or _OPERATION.get())
    try:
        yield own
    finally:
        _OPERATION.reset(named)
        _LOGS.reset(logs)


async def record_stream(
    events: AsyncGenerator[T, None], log: UsageLog, operation: OperationType
) -> AsyncGenerator[T, None]:
    """Yield the events, with the calls between them in the log; what the consumer does between them is not."""
    while True:
        with record_usage(operation, log=log):
            try:
                event = await anext(events)
            except StopAsyncIteration:
                return
        yield event


def note_usage(usage: TokenUsage) -> None:
    """Add a call to every open log."""
    for log in _LOGS.get():
        log.usages.append(usage)


def current_operation() -> OperationType:
    """Return what embeddings are made for here: INGESTION where nobody said otherwise."""
    return _OPERATION.get()

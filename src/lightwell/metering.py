"""Token usage per operation: every model call is added to the usage logs that are open around it.

A log is open in the task that opened it and in the tasks which that task starts. So operations that run
concurrently in one process do not count each other's calls.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from lightwell.domain.usage import OperationType, TokenSummary, TokenUsage, summarize_usage

T = TypeVar("T")


@dataclass(slots=True)
class UsageLog:
    """The calls so far, in order of their ends."""

    usages: list[TokenUsage] = field(default_factory=list[TokenUsage])

    @property
    def summary(self) -> TokenSummary:
        """The sums over the calls; zero where no endpoint was called."""
        return summarize_usage(self.usages)


# A context variable is how asyncio carries what belongs to one task; both hold immutable values, set and reset in pairs.
_LOGS: ContextVar[tuple[UsageLog, ...]] = ContextVar("lightwell_usage_logs", default=())
_OPERATION = ContextVar("lightwell_usage_operation", default=OperationType.INGESTION)


@contextmanager
def record_usage(
    operation: OperationType | None = None, *, log: UsageLog | None = None
) -> Generator[UsageLog, None, None]:
    """Yield a log of the calls made inside the block. Logs may be nested; each enclosing log counts the calls
    too.

    `operation` says what embeddings inside the block are for; None keeps the enclosing operation. With `log`,
    the calls are added to an existing log.
    """
    usage_log = log or UsageLog()
    logs = _LOGS.set((*_LOGS.get(), usage_log))
    named = _OPERATION.set(operation or _OPERATION.get())
    try:
        yield usage_log
    finally:
        _OPERATION.reset(named)
        _LOGS.reset(logs)


@contextmanager
def stop_recording() -> Generator[None, None, None]:
    """Add the calls made inside the block to no usage log outside it."""
    logs = _LOGS.set(())
    try:
        yield
    finally:
        _LOGS.reset(logs)


async def record_stream(
    events: AsyncGenerator[T, None], log: UsageLog, operation: OperationType
) -> AsyncGenerator[T, None]:
    """Yield the events, and add the calls made between them to the log, but not what the consumer does between them."""
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
    """Return what embeddings are made for here: INGESTION unless an enclosing `record_usage` says otherwise."""
    return _OPERATION.get()

"""Spans: what an operation did, and how long it took. They hold names of steps and figures, never a text.

A step opens a span with `span`. It is recorded by the tracer that is installed in this task, or in the task that started it;
without one it costs nothing. `entrypoints/http/spans.py` installs the one that sends spans to a collector.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

OpenSpan = Callable[[str], AbstractContextManager[object]]
"""Opens a span with this name, below the span that is open; it ends with the block."""

# A context variable is how asyncio carries what belongs to one task; it is set and reset in pairs.
_TRACER: ContextVar[OpenSpan | None] = ContextVar("lightwell_tracer", default=None)


def span(name: str) -> AbstractContextManager[object]:
    """Return a block that is one step of the operation. `name` is fixed in the code: it holds nothing that anybody wrote."""
    tracer = _TRACER.get()
    return nullcontext() if tracer is None else tracer(name)


@contextmanager
def record_spans(tracer: OpenSpan) -> Generator[None]:
    """Record the spans that are opened in the block, and in the tasks that it starts."""
    token = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(token)

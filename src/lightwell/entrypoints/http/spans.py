"""Makes each request one span, where the settings name a collector."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request

from lightwell.domain.errors import Invalid
from lightwell.tracing import record_spans

if TYPE_CHECKING:
    from lightwell.entrypoints.http.opentelemetry import SpanSender

_NEED_EXTRA = "LIGHTWELL_TRACES_URL needs packages that are not installed: in Lightwell's checkout, `uv tool install '.[otel]'`"


@contextmanager
def open_span_sender(url: str) -> "Generator[SpanSender | None]":
    """Yield what sends spans to the collector at `url`, None for ""; work that begins in the block is recorded, too.

    Raises `Invalid` without the extra.
    """
    if not url:
        yield None
        return
    try:
        from lightwell.entrypoints.http.opentelemetry import send_spans  # noqa: PLC0415 - an extra
    except ImportError:
        raise Invalid(_NEED_EXTRA) from None
    with send_spans(url) as sender, record_spans(sender.open):
        yield sender


@contextmanager
def open_span(request: Request) -> Generator[Callable[[int], None]]:
    """Open a span around a request; yield what describes it by the status of its response, 0 where none began."""
    sender: SpanSender | None = getattr(request.app.state, "span_sender", None)
    if sender is None:
        yield lambda _: None
        return
    with record_spans(sender.open), sender.open_request(request) as opened:
        yield partial(sender.describe_request, opened, request)

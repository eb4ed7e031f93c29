"""Makes each request one span, where the settings name a collector."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class RequestSpans:
    """Opens a span around each request, and describes it when it has ended."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender: SpanSender | None = (
            getattr(scope["app"].state, "span_sender", None) if scope["type"] == "http" else None
        )
        if sender is None:
            await self._app(scope, receive, send)
            return
        request, status = Request(scope), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with record_spans(sender.open), sender.open_request(request) as opened:
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                sender.describe_request(opened, request, status)

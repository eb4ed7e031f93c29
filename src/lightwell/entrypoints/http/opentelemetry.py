"""Sends spans to a collector by OpenTelemetry's protocol (OTLP over HTTP). Needs the extra `lightwell[otel]`.

A span has a method, the template of a route, a status, the id of the request and times: no path, no name, no query, no text.
"""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.requests import Request

_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSender:
    """Records spans; they are sent in the background, and dropped where the collector does not take them."""

    tracer: Tracer

    def open(self, name: str) -> AbstractContextManager[Span]:
        """Open the span of a step. It says only that there was an exception: a message may quote a document."""
        return self.tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        )

    def open_request(self, request: Request) -> AbstractContextManager[Span]:
        """Open the span of a request, below the caller's own if its headers name one."""
        headers = request.headers
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        return self.tracer.start_as_current_span(
            request.method,
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        )

    def describe_request(self, opened: Span, request: Request, status: int) -> None:
        """Write what the request was and how it ended; `status` is 0 where no response began."""
        route = getattr(request.scope.get("route"), "path", None)
        if route is not None:
            opened.update_name(f"{request.method} {route}")
            opened.set_attribute("http.route", route)
        opened.set_attribute("http.request.method", request.method)
        opened.set_attribute("lightwell.request_id", request.state.request_id)
        if status:
            opened.set_attribute("http.response.status_code", status)
        if not status or status >= _SERVER_ERROR:
            opened.set_status(StatusCode.ERROR)


@contextmanager
def send_spans(url: str) -> Generator[SpanSender]:
    """Yield what records spans for the collector at `url`, and send the rest at the end."""
    resource = Resource({"service.name": "lightwell", "service.version": version("lightwell")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    try:
        yield SpanSender(tracer=provider.get_tracer("lightwell"))
    finally:
        provider.shutdown()

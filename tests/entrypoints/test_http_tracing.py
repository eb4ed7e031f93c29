"""Spans of the server, as a real collector receives them over HTTP."""

import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import pytest_asyncio
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = "Jane Smith met Nordwind in Tarn Valley on Friday."
QUESTION = "Whom did Jane Smith meet in Tarn Valley?"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"


@dataclass
class Collector:
    port: int
    bodies: list[bytes] = field(default_factory=list[bytes])

    def spans(self) -> list[Span]:
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collect() -> Generator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["content-encoding"] is None
            collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(server.server_port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def collector(databases: Databases) -> AsyncIterator[Collector]:
    """What a collector has after a question, a request for a person who is not there, and an ingestion."""
    with collect() as collected, databases.lent() as url:
        async with open_site(
            url, {"server.traces_url": f"http://127.0.0.1:{collected.port}/v1/traces"}
        ) as site:
            await _use(site)
        yield collected


async def _use(site: Site) -> None:
    await site.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("a.md", TEXT, ["team:us"]),))
    )
    parent = {"traceparent": f"00-{CALLER}-00f067aa0ba902b7-01"}
    asked = await site.request(
        "POST", "/v1/query", "team:us", json={"query": QUESTION}, headers=parent
    )
    assert asked.status_code == 200, asked.text
    missing = await site.request("POST", "/v1/briefs/Zebulon", "team:us")
    assert missing.status_code in (404, 405)


async def test_a_question_is_one_trace_below_the_caller_s_own(collector: Collector) -> None:
    spans = {each.name: each for each in collector.spans() if each.trace_id.hex() == CALLER}
    asked = spans["POST /v1/query"]
    assert asked.parent_span_id.hex() == "00f067aa0ba902b7"
    assert {"retrieve.prepare", "retrieve.search", "retrieve.rerank", "answer"} <= spans.keys()
    assert all(spans[each].parent_span_id for each in spans)
    attributes = {each.key: each.value for each in asked.attributes}
    assert attributes["http.response.status_code"].int_value == 200
    assert attributes["http.route"].string_value == "/v1/query"


async def test_ingestion_has_spans_of_its_steps(collector: Collector) -> None:
    names = {each.name for each in collector.spans()}
    assert {"ingest.batch", "ingest.parse", "ingest.embed", "ingest.index_and_refresh"} <= names


async def test_no_span_holds_a_text_a_name_or_a_path(collector: Collector) -> None:
    told = b"".join(collector.bodies)
    for word in (b"Jane", b"Nordwind", b"Tarn", b"meet", b"Zebulon", b"a.md", b"team:us"):
        assert word not in told

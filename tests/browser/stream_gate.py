"""A door between a page and the stream of an answer: the test says when each event passes, and where the connection breaks."""

import http.client
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Page, Route

from tests.patience import PATIENCE

_PATH: Final = "/v1/query/stream"


class Gate:
    """Events pass as many as were let through; the connection breaks where `cut_after` many have passed in it, 0 for nowhere."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.cut_after = 0
        self.waits_for_all = False
        """Whether the server's whole answer is read before its first event passes."""
        self.refuses_resumption = False
        """Whether whoever comes back with the last event's id finds nobody."""
        self.resumed_from: list[str] = []
        self._allowed = threading.Semaphore(0)

    def let_through(self, count: int = 1) -> None:
        self._allowed.release(count)

    def wait(self) -> None:
        assert self._allowed.acquire(timeout=PATIENCE), "the test let no event through"


def _handler(gate: Gate) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            gate.resumed_from.append(self.headers.get("Last-Event-ID", ""))
            if gate.refuses_resumption and self.headers.get("Last-Event-ID"):
                self.close_connection = True
                return
            # The page asked its own server; the way around over this door is not its doing.
            sent = {
                name: value for name, value in self.headers.items() if not name.startswith("Sec-")
            }
            sent |= {"Host": gate.upstream, "Origin": f"http://{gate.upstream}"}
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server = http.client.HTTPConnection(gate.upstream, timeout=PATIENCE)
            server.request("POST", _PATH, body, sent)
            reply = server.getresponse()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers["Content-Type"])
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                self._pass(reply)
            server.close()
            self.close_connection = True

        def _pass(self, reply: http.client.HTTPResponse) -> None:
            whole = reply.read() if gate.waits_for_all else None
            lines = whole.splitlines(keepends=True) if whole is not None else reply
            passed = 0
            for line in lines:
                if line.startswith(b"event:"):
                    if gate.cut_after and passed == gate.cut_after:
                        gate.cut_after = 0
                        return
                    gate.wait()
                    passed += 1
                self.wfile.write(line)
                self.wfile.flush()

    return Handler


@contextmanager
def gate_before(page: Page, url: str) -> Generator[Gate]:
    """Put a gate between this page and the answers of the server at `url`."""
    gate = Gate(url)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(gate))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    aside = f"http://127.0.0.1:{server.server_address[1]}{_PATH}"

    def send_aside(route: Route) -> None:
        route.continue_(url=aside)

    page.route(f"**{_PATH}", send_aside)
    try:
        yield gate
    finally:
        gate.let_through(1000)
        page.unroute(f"**{_PATH}", send_aside)
        server.shutdown()
        server.server_close()

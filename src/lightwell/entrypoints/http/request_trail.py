"""What surrounds each request: its id, its span, its line of the audit log, and an answer where the server stops."""

import asyncio
import time
from http import HTTPStatus
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from lightwell.domain.rate_limits import Allowance
from lightwell.entrypoints.http.audit import audit_entry, is_of_session, rate_limit_headers
from lightwell.entrypoints.http.browsers import PROTECTIVE_HEADERS
from lightwell.entrypoints.http.problems import problem_response
from lightwell.entrypoints.http.spans import open_span
from lightwell.logs import logger, raise_location

HEADER = "X-Request-Id"

_AUDITED = ("/v1/", "/mcp")
_RETRY_SECONDS = "2"
_STOPPING = "The server stops before this request has ended: send it again"

_log = logger(__name__)


class RequestTrail:
    """Gives each request an id, which its response, its errors and its log lines name; says in headers what is left of a rate limit, and
    what a browser may do with the response.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.request_id = request_id = uuid4().hex

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[HEADER] = request_id
                for name, value in PROTECTIVE_HEADERS.items():
                    headers.setdefault(name, value)
                allowance: Allowance | None = getattr(request.state, "allowance", None)
                if allowance is not None:
                    headers.update(rate_limit_headers(allowance))
                if is_of_session(request):  # some proxies keep what has no `Authorization`
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._run(request, receive, send_with_headers)
            except Exception as error:  # noqa: BLE001 - uvicorn would log its message, which may quote a document
                name, location = type(error).__name__, raise_location(error)
                _log.warning("a request failed", error=name, at=location)

    async def _run(self, request: Request, receive: Receive, send: Send) -> None:
        """Run the application; describe the request when it has ended, also where the client left before.

        A request that is cancelled before its response began is answered with 503; uvicorn would answer 500, which no client repeats.
        """
        began, status = time.perf_counter(), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with open_span(request) as describe:
                try:
                    await self._app(request.scope, receive, send_and_note)
                finally:
                    describe(status)
                    if _is_audited(request):
                        milliseconds = round((time.perf_counter() - began) * 1000)
                        line = audit_entry(request, status or None, milliseconds)
                        request.app.state.audit.write(line)
        except asyncio.CancelledError:
            if not status:
                unavailable = HTTPStatus.SERVICE_UNAVAILABLE
                reply = problem_response(request, unavailable, "stopping", _STOPPING)
                reply.headers["Retry-After"] = _RETRY_SECONDS
                await reply(request.scope, receive, send)
            raise


def _is_audited(request: Request) -> bool:
    """Return whether the request is under a path that is audited, or has reached a route of another program's API."""
    return hasattr(request.state, "dialect") or request.scope["path"].startswith(_AUDITED)

"""The id of each request, which its response, its errors and its log lines name."""

from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from lightwell.logs import logger, raise_location

HEADER = "X-Request-Id"

_log = logger(__name__)


class RequestIds:
    """Gives each request an id; streams pass through as they come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        Request(scope).state.request_id = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_id)
            except Exception as error:  # noqa: BLE001 - uvicorn would log its message, which may quote a document
                name, location = type(error).__name__, raise_location(error)
                _log.warning("a request failed", error=name, at=location)

"""The answer to requests that a stopping server cannot finish."""

import asyncio
from http import HTTPStatus

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightwell.entrypoints.http.problems import problem_response

_RETRY_SECONDS = "2"
_MESSAGE = "The server stops before this request has ended: send it again"


class ShutdownAnswers:
    """Answers a request with 503 when it is cancelled before its response began; uvicorn would answer 500, which no client repeats."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noting_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        except asyncio.CancelledError:
            if scope["type"] == "http" and not has_begun:
                status = HTTPStatus.SERVICE_UNAVAILABLE
                reply = problem_response(Request(scope), status, "stopping", _MESSAGE)
                reply.headers["Retry-After"] = _RETRY_SECONDS
                await reply(scope, receive, send)
            raise

"""How much of a request's body is read: routes read it before they know who calls, so it must not fill memory."""

import asyncio
from http import HTTPStatus

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightwell.domain.errors import TooLarge
from lightwell.entrypoints.http.problems import problem_response

MAX_BODY_BYTES = 1_000_000
UPLOADS = ("POST", "/v1/documents")
"""This route authenticates first, and has limits of its own."""

BODY_SECONDS = 60.0
"""How long a body may take to arrive."""

_TOO_SLOW = f"The body of a request has at most {BODY_SECONDS:g} seconds to arrive"
_DETAIL = f"The body of a request has at most {MAX_BODY_BYTES:,} bytes"


class BodyLimit:
    """Refuses a longer body with 413: before it is read where its length is named, else as soon as it is too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"], scope["path"]) == UPLOADS:
            await self._app(scope, receive, send)
            return
        named = Headers(scope=scope).get("content-length", "0")
        if named.isascii() and named.isdigit() and int(named[:20]) > MAX_BODY_BYTES:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            reply = problem_response(Request(scope), status, TooLarge.code, _DETAIL)
            await reply(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)


def _limited(receive: Receive) -> Receive:
    left, is_complete = MAX_BODY_BYTES, False
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS

    async def read() -> Message:
        nonlocal left, is_complete
        if is_complete:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, _TOO_SLOW) from error
        is_complete = not message.get("more_body", False)
        left -= len(message.get("body", b""))
        if left < 0:
            # FastAPI makes 400 of every other exception while it reads a body.
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _DETAIL)
        return message

    return read

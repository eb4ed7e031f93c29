"""How much of a request's body is read: routes read it before they know who calls, so it must not fill memory."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightwell.domain.errors import TooLarge
from lightwell.entrypoints.http.problems import problem_response
from lightwell.text.regex import regex

MAX_BODY_BYTES = 1_000_000
_OWN_LIMITS = regex(
    r"POST (?:/v1/documents|/lightrag/documents/upload)|PUT /v1/sources/[^/]+/items(?:/file)?"
)
"""These routes authenticate first, and have limits of their own."""

BODY_SECONDS = 60.0
"""How long a body may take to arrive."""

_TOO_SLOW = f"The body of a request has at most {BODY_SECONDS:g} seconds to arrive"
_UTF_8 = ("utf-8", "utf-8-sig")
_NOT_UTF_8 = "The body of a request is JSON in UTF-8"
_DETAIL = f"The body of a request has at most {MAX_BODY_BYTES:,} bytes"


DRAIN_SECONDS, DRAIN_BYTES = 10.0, 256_000_000
"""How long, and how many bytes, a client may go on to send after it was refused. It then reads why; a connection that is closed
while bytes arrive is reset, and the reply is lost."""


class BodyLimit:
    """Refuses a longer body with 413: before it is read where its length is named, else as soon as it is too long.

    What is still sent of a request that is refused for any reason is read and thrown away, within limits, before the reply ends.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, body = Headers(scope=scope), _Body(receive)
        answer = send if "expect" in headers else _draining(send, body)
        if _OWN_LIMITS.fullmatch(f"{scope['method']} {scope['path']}"):
            await self._app(scope, body.receive, answer)
            return
        named = headers.get("content-length", "0")
        if named.isascii() and named.isdigit() and int(named[:20]) > MAX_BODY_BYTES:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            reply = problem_response(Request(scope), status, TooLarge.code, _DETAIL)
            await reply(scope, body.receive, answer)
            return
        await self._app(scope, _limited(body), answer)


@dataclass
class _Body:
    """A request's body as it arrives; `is_complete` once its end has, or the client has left."""

    source: Receive
    is_complete: bool = False

    async def receive(self) -> Message:
        message = await self.source()
        self.is_complete = self.is_complete or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Throw away what is still sent."""
        left = DRAIN_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_complete and left > 0:
                    left -= len((await self.receive()).get("body", b""))


def _draining(send: Send, body: _Body) -> Send:
    """Return what sends a response, and drains the body before the end of one that refuses."""
    is_refused = False

    async def answer(message: Message) -> None:
        nonlocal is_refused
        if message["type"] == "http.response.start":
            status = message["status"]
            is_refused = status >= HTTPStatus.BAD_REQUEST and status != HTTPStatus.REQUEST_TIMEOUT
        elif is_refused and not message.get("more_body", False):
            await body.drain()
        await send(message)

    return answer


def _limited(body: _Body) -> Receive:
    left = MAX_BODY_BYTES
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS

    async def read() -> Message:
        nonlocal left
        if body.is_complete:
            return await body.receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await body.receive()
        except TimeoutError as error:
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, _TOO_SLOW) from error
        part = message.get("body", b"")
        # FastAPI makes 400 of every other exception while it reads a body.
        if left == MAX_BODY_BYTES and json.detect_encoding(part) not in _UTF_8:
            raise HTTPException(HTTPStatus.BAD_REQUEST, _NOT_UTF_8)
        left -= len(part)
        if left < 0:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _DETAIL)
        return message

    return read

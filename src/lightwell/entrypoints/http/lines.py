"""Lines of a body, as they arrive: memory does not grow with the body, and no line is longer than a limit."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from http import HTTPStatus

from fastapi import HTTPException

IDLE_SECONDS = 60.0
"""How long the next part of a body may take to arrive."""


async def read_lines(
    body: AsyncIterator[bytes], max_bytes: int
) -> AsyncGenerator[tuple[int, bytes | None]]:
    """Yield each line with its number from 1, and None for one that is longer than `max_bytes`; blank lines count, and are left out."""
    number, buffer, is_too_long = 1, bytearray(), False
    async for part in _in_time(body):
        start = 0
        while (end := part.find(b"\n", start)) >= 0:
            buffer += part[start:end]
            if is_too_long or len(buffer) > max_bytes:
                yield number, None
            elif line := bytes(buffer).strip():
                yield number, line
            number, buffer, is_too_long, start = number + 1, bytearray(), False, end + 1
        buffer += part[start:]
        if len(buffer) > max_bytes:
            buffer, is_too_long = bytearray(), True
    if is_too_long:
        yield number, None
    elif line := bytes(buffer).strip():
        yield number, line


async def _in_time(body: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the parts of a body; raise 408 where one takes too long."""
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                part = await anext(body, None)
        except TimeoutError as error:
            message = f"The next part of a body has at most {IDLE_SECONDS:g} seconds to arrive"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message) from error
        if part is None:
            return
        yield part

"""Ends tasks of the event loop, also those that missed their cancellation."""

import asyncio
from collections.abc import Collection
from typing import Any

_AGAIN_SECONDS = 5.0
"""Long enough for what a task does at its end, such as rolling a transaction back."""


async def cancel_and_wait(*tasks: asyncio.Task[Any], again_seconds: float = _AGAIN_SECONDS) -> None:
    """Cancel the tasks and return when all have ended; their results and exceptions stay in them.

    `asyncio.wait_for`, with which psycopg's pool waits for a connection, forgets a cancellation that comes together
    with what it waits for (Python 3.11). A task that then goes on is cancelled again, every `again_seconds`.
    """
    running: Collection[asyncio.Task[Any]] = tasks
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=again_seconds)

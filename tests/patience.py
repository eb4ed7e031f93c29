"""The time that tests wait for an event: it prevents hanging, and asserts nothing about speed."""

import asyncio
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds; a machine that is busy with other work may be a hundred times slower than an idle one."""


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what has no event: what another program does, or a stand-in knows."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)

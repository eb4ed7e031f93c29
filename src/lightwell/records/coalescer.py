"""Calls that come while another is under way, carried out together by the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


class Coalescer(Generic[Given, Result]):
    """Hands what is given meanwhile to `carry_out` at once, which returns a result for each, in order.

    One round is under way at a time, so the more is asked, the more goes together, and nothing waits for company.
    A round that fails, fails for all in it. Belongs to one event loop.
    """

    def __init__(self, carry_out: Callable[[Sequence[Given]], Awaitable[Sequence[Result]]]) -> None:
        self._carry_out = carry_out
        self._waiting: list[Given] = []
        self._next: asyncio.Task[Sequence[Result]] | None = None
        self._current: asyncio.Task[Sequence[Result]] | None = None

    async def __call__(self, one: Given) -> Result:
        """Return what the next round gives for this one; a caller that is cancelled leaves the round as it is."""
        place = len(self._waiting)
        self._waiting.append(one)
        if self._next is None:
            self._next = asyncio.create_task(self._round(self._current))
        return (await asyncio.shield(self._next))[place]

    async def _round(self, before: asyncio.Task[Sequence[Result]] | None) -> Sequence[Result]:
        if before is not None:
            await asyncio.wait([before])
        together, self._waiting = self._waiting, []
        self._current, self._next = self._next, None
        return await self._carry_out(together)

"""Coalescing of concurrent calls: calls that arrive while a batch runs become the next batch."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Coalescer(Generic[Item, Result]):
    """Collects concurrent calls and passes them to `run_batch` together, which returns one result per item, in
    order.

    One batch runs at a time, so batches grow with load, and no call waits for others to arrive. An error of a
    batch is raised to all its callers. Belongs to one event loop.
    """

    def __init__(self, run_batch: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]) -> None:
        self._run_batch = run_batch
        self._waiting: list[Item] = []
        self._next: asyncio.Task[Sequence[Result]] | None = None
        self._current: asyncio.Task[Sequence[Result]] | None = None

    async def __call__(self, item: Item) -> Result:
        """Return the result for this item from the next batch. Cancelling a caller does not cancel the batch."""
        index = len(self._waiting)
        self._waiting.append(item)
        if self._next is None:
            self._next = asyncio.create_task(self._round(self._current))
        return (await asyncio.shield(self._next))[index]

    async def _round(self, before: asyncio.Task[Sequence[Result]] | None) -> Sequence[Result]:
        if before is not None:
            await asyncio.wait([before])
        batch, self._waiting = self._waiting, []
        self._current, self._next = self._next, None
        return await self._run_batch(batch)

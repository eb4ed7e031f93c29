"""The clock that waiting code uses; tests supply their own."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Return seconds since an arbitrary start; it never decreases."""
        ...

    def today(self) -> datetime:
        """Return the current date and time, with a time zone."""
        ...

    def later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` once after this many seconds, unless cancelled."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """The clock of the running event loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def today(self) -> datetime:
        return datetime.now(UTC)

    def later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

"""Time, as what waits needs it; a test brings its own."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds from some beginning, never going back."""
        ...

    def today(self) -> datetime:
        """The calendar's moment, with its time zone."""
        ...

    def later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back once, after so many seconds, unless cancelled."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """The running event loop's time."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def today(self) -> datetime:
        return datetime.now(UTC)

    def later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

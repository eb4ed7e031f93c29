"""Clocks that a test controls."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
_LOOP_ITERATIONS = 20


class ManualClock:
    """A clock that stands still until `advance`; it begins at 0, which is 2026-01-01 12:00 UTC."""

    def __init__(self) -> None:
        self._now = 0.0
        self._order = itertools.count()
        self._alarms: list[tuple[float, int, _Alarm]] = []

    def now(self) -> float:
        return self._now

    def today(self) -> datetime:
        return _START + timedelta(seconds=self._now)

    def later(self, seconds: float, callback: Callable[[], object]) -> "_Alarm":
        """Call back once, after so many seconds, unless cancelled."""
        alarm = _Alarm(callback)
        heapq.heappush(self._alarms, (self._now + seconds, next(self._order), alarm))
        return alarm

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self.later(seconds, lambda: woken.done() or woken.set_result(None))
        await woken

    async def advance(self, seconds: float) -> None:
        """Advance the time by `seconds`, waking sleepers in the order of their deadlines."""
        end = self._now + seconds
        await settle()
        while self._alarms and self._alarms[0][0] <= end:
            self._now, _, alarm = heapq.heappop(self._alarms)
            alarm.ring()
            await settle()
        self._now = end

    async def pass_until(self, *tasks: "asyncio.Task[None]") -> None:
        """Advance from timer to timer until the tasks are done; fail if no timer would wake them."""
        await settle()
        while not all(task.done() for task in tasks):
            assert self._alarms, "tasks wait for something that no alarm will bring"
            await self.advance(max(0.0, self._alarms[0][0] - self._now))


class InstantClock(ManualClock):
    """A clock on which every wait ends at once, for code that also waits for real sockets.

    `slept` lists the requested length of each wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def later(self, seconds: float, callback: Callable[[], object]) -> "_Alarm":
        self.waits.append(seconds)
        self._now += seconds
        alarm = _Alarm(callback)
        asyncio.get_running_loop().call_soon(alarm.ring)
        return alarm


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(_LOOP_ITERATIONS):
        await asyncio.sleep(0)


class _Alarm:
    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def ring(self) -> None:
        if self._callback is not None:
            self._callback()

"""Slack's pace: a message a second in a channel, and fifty edits a minute over all."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_PAUSE_SECONDS = 1.0
_EDITS_AT_ONCE, _SECONDS_OF_EDIT = 10, 1.5
"""Edits that need not wait, and how often another one may be made then: in no minute more than fifty."""


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0


@dataclass(slots=True)
class Pace:
    """Writes to a channel one thing after another, with a second between. Times in seconds of `clock`."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    _turns: dict[str, _Turn] = field(default_factory=dict[str, _Turn])
    _edits_until: float = 0.0

    @asynccontextmanager
    async def turn(self, channel: str, *, edits: bool = False) -> AsyncGenerator[None]:
        """Have the channel during the block. Who waits is served in the order of the calls."""
        turn = self._turns.setdefault(channel, _Turn())
        async with turn.lock:
            await self._wait(max(turn.not_before, self._next_edit() if edits else 0.0))
            try:
                yield
            finally:
                turn.not_before = self.clock() + _PAUSE_SECONDS
        self._forget_quiet_ones()

    async def _wait(self, moment: float) -> None:
        seconds = moment - self.clock()
        if seconds > 0:
            await self.sleep(seconds)

    def _next_edit(self) -> float:
        """Take the next place among all edits, and return when it is: each takes its seconds, of which some may be owed."""
        now = self.clock()
        self._edits_until = max(self._edits_until, now) + _SECONDS_OF_EDIT
        return self._edits_until - _EDITS_AT_ONCE * _SECONDS_OF_EDIT

    def _forget_quiet_ones(self) -> None:
        now = self.clock()
        for channel, turn in tuple(self._turns.items()):
            if turn.not_before < now and not turn.lock.locked():
                del self._turns[channel]

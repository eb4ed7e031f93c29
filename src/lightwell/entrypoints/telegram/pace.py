"""Telegram's pace: one message a second in a chat, twenty a minute in a group, thirty a second over all."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

_SECOND, _MINUTE = 1.0, 60.0
_A_SECOND_OVER_ALL, _A_MINUTE_IN_A_GROUP = 30, 20
_MOST_CHATS = 10_000
"""How many chats are remembered before those are forgotten that were quiet for a minute."""


@dataclass(slots=True)
class Pace:
    """When the next message may be sent; an edit counts as a message. Times in seconds of `clock`."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    _of_all: deque[float] = field(default_factory=lambda: deque[float](maxlen=_A_SECOND_OVER_ALL))
    _of_chat: dict[str, deque[float]] = field(default_factory=dict[str, deque[float]])
    _not_before: dict[str, float] = field(default_factory=dict[str, float])

    async def turn(self, chat: str) -> None:
        """Wait until a message may be sent to a chat, and count it."""
        while (seconds := self._seconds(chat)) > 0:
            await self.sleep(seconds)
        now = self.clock()
        if len(self._of_chat) > _MOST_CHATS:
            self._forget(now)
        self._of_all.append(now)
        self._of_chat.setdefault(chat, deque(maxlen=_A_MINUTE_IN_A_GROUP)).append(now)

    def hold(self, chat: str, seconds: float) -> None:
        """Send nothing to a chat for so long, because Telegram says so."""
        self._not_before[chat] = self.clock() + seconds

    def _seconds(self, chat: str) -> float:
        """Return how long to wait, 0 or less for not at all."""
        recent = self._of_chat.get(chat, ())
        times = [self._not_before.get(chat, 0.0)]
        if recent:
            times.append(recent[-1] + _SECOND)
        if _is_group(chat) and len(recent) == _A_MINUTE_IN_A_GROUP:
            times.append(recent[0] + _MINUTE)
        if len(self._of_all) == _A_SECOND_OVER_ALL:
            times.append(self._of_all[0] + _SECOND)
        return max(times) - self.clock()

    def _forget(self, now: float) -> None:
        for chat in [chat for chat, recent in self._of_chat.items() if recent[-1] < now - _MINUTE]:
            del self._of_chat[chat]
        for chat in [chat for chat, end in self._not_before.items() if end < now]:
            del self._not_before[chat]


def _is_group(chat: str) -> bool:
    return chat.startswith("-")

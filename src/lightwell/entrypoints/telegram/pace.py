"""Telegram's pace: one message a second in a chat, twenty a minute in a group, thirty a second over all."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

_IN_CHAT, _IN_GROUP = 1.0, 3.0
"""Seconds between two messages. Twenty in a minute might also come at once, but then an answer would wait for a minute to be finished."""

_A_SECOND_OVER_ALL = 30
_MOST_CHATS = 10_000
"""How many chats are remembered before those are forgotten to which a message may be sent."""


@dataclass(slots=True)
class Pace:
    """When the next message may be sent; an edit counts as a message. Times in seconds of `clock`."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    _of_all: deque[float] = field(default_factory=lambda: deque[float](maxlen=_A_SECOND_OVER_ALL))
    _not_before: dict[str, float] = field(default_factory=dict[str, float])

    async def turn(self, chat: str) -> None:
        """Wait until a message may be sent to a chat, and count it."""
        while (seconds := self._seconds(chat)) > 0:
            await self.sleep(seconds)
        now = self.clock()
        if len(self._not_before) > _MOST_CHATS:
            self._not_before = {chat: end for chat, end in self._not_before.items() if end > now}
        self._of_all.append(now)
        self._not_before[chat] = now + (_IN_GROUP if _is_group(chat) else _IN_CHAT)

    def hold(self, chat: str, seconds: float) -> None:
        """Send nothing to a chat for so long, because Telegram says so."""
        self._not_before[chat] = self.clock() + seconds

    def _seconds(self, chat: str) -> float:
        """Return how long to wait, 0 or less for not at all."""
        now = self.clock()
        of_all = self._of_all[0] + 1.0 if len(self._of_all) == _A_SECOND_OVER_ALL else now
        return max(self._not_before.get(chat, now), of_all) - now


def _is_group(chat: str) -> bool:
    return chat.startswith("-")

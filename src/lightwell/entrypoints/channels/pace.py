"""A message that grows, at the pace of its platform: what was not written before something newer came is left out."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from lightwell.domain.errors import ChannelFailed
from lightwell.entrypoints.channels.messages import Message
from lightwell.tasks import cancel_and_wait


@dataclass(slots=True, kw_only=True)
class GrowingMessage:
    """Writes the newest version by `write`, which waits for the platform; a version that the platform does not take is passed over."""

    write: Callable[[Message], Awaitable[None]]
    _latest: Message | None = None
    _is_ended: bool = False
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, message: Message) -> None:
        """Have this written instead of what waits."""
        self._latest = message
        self._came.set()

    def end(self) -> None:
        """Have nothing written any more; what is being written ends."""
        self._is_ended = True
        self._came.set()

    async def run(self) -> None:
        """Write until it has ended."""
        while True:
            await self._came.wait()
            self._came.clear()
            if self._is_ended:
                return
            if self._latest is not None:
                latest, self._latest = self._latest, None
                with suppress(ChannelFailed):
                    await self.write(latest)


@asynccontextmanager
async def growing(write: Callable[[Message], Awaitable[None]]) -> AsyncGenerator[GrowingMessage]:
    """Write a message as it grows during the block. At its end nothing is on its way any more that could overtake what is written next."""
    message = GrowingMessage(write=write)
    task = asyncio.create_task(message.run())
    try:
        yield message
        message.end()
        await task
    finally:
        await cancel_and_wait(task)

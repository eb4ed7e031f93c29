"""How many requests may hand in documents at once: each may hold a whole file in memory."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from lightwell.entrypoints.http.problems import Overloaded

_RETRY_SECONDS = 5


@dataclass(kw_only=True)
class IntakeSlots:
    """At most `most` uploads and fetches at once in this process, and half of them with one credential.

    Further ones wait, their bodies unread, for `wait_seconds`.
    """

    most: int = 8
    wait_seconds: float = 30.0
    _free: asyncio.Semaphore = field(init=False)
    _by_credential: WeakValueDictionary[str, asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary[str, asyncio.Semaphore]
    )

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.most)

    @asynccontextmanager
    async def take(self, credential: str) -> AsyncGenerator[None]:
        """Hold a slot; raise `Overloaded` where none becomes free in time."""
        of_credential = self._by_credential.setdefault(
            credential, asyncio.Semaphore(max(1, self.most // 2))
        )
        async with AsyncExitStack() as slots:
            try:
                async with asyncio.timeout(self.wait_seconds):
                    await slots.enter_async_context(of_credential)
                    await slots.enter_async_context(self._free)
            except TimeoutError as error:
                raise Overloaded(
                    "The server is busy with other uploads; send this one again later",
                    retry_seconds=_RETRY_SECONDS,
                ) from error
            yield

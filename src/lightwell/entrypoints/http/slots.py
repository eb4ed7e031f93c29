"""How much may be under way at once: event streams of one credential, and requests that hand in documents."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from lightwell.entrypoints.http.problems import Overloaded, TooManyRequests

_RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSlots:
    """At most `most` open streams of one credential in this process: each holds a connection, and some a call of a model."""

    most: int = 256
    _open: Counter[str] = field(default_factory=Counter[str])

    @property
    def is_any_open(self) -> bool:
        return bool(self._open)

    @contextmanager
    def hold(self, credential: str) -> Generator[None]:
        """Hold a slot as long as a stream is open; raise `TooManyRequests` where none is free."""
        if self._open[credential] >= self.most:
            raise TooManyRequests(
                f"This key has {self.most} streams open, which is the most: end one, or try again later",
                retry_seconds=_RETRY_SECONDS,
            )
        self._open[credential] += 1
        try:
            yield
        finally:
            self._open[credential] -= 1
            if not self._open[credential]:
                del self._open[credential]


@dataclass(kw_only=True)
class IntakeSlots:
    """At most `most` uploads and fetches at once in this process, and half of them with one credential: each may hold a whole file.

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

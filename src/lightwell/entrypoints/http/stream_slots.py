"""How many event streams one credential may have open at once: each holds a connection, and some a call of a model."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lightwell.entrypoints.http.problems import TooManyRequests

_RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSlots:
    """At most `most` open streams of one credential in this process."""

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

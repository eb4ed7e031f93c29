"""How far an embedding space is filled."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.records.embedding_spaces import Space, SpaceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceProgress:
    """A space, how many published chunks and described profiles the project has, and how many of them lack a vector in it.

    `is_queued` is false while it is still being found out what the space lacks. `tokens` counts what was embedded for the change,
    which began `seconds` ago.
    """

    space: Space
    chunks: int
    missing_chunks: int
    profiles: int
    missing_profiles: int
    is_queued: bool
    tokens: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float

    @property
    def percent(self) -> int:
        """How much of the space has its vectors, rounded down; 100 only where nothing is missing."""
        return 100 * self._done // self._all if self._all else 100

    @property
    def seconds_left(self) -> float | None:
        """How long the rest of the filling takes at its pace so far, None where it has no pace yet or is not under way."""
        if self.space.status is not SpaceStatus.BUILDING or not self._done:
            return None
        return self.seconds * (self._all - self._done) / self._done

    @property
    def _all(self) -> int:
        return self.chunks + self.profiles

    @property
    def _done(self) -> int:
        return max(0, self._all - self.missing_chunks - self.missing_profiles)

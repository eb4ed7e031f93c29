"""The fuse before an endpoint: after failures in a row nobody calls it for a while."""

from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerLimits:
    """How much an endpoint may fail. Seconds; each failed probe doubles the rest, up to the longest."""

    failures: int = 5
    rest: float = 10.0
    longest_rest: float = 120.0


class Breaker:
    """Closed: all may call. Open: nobody. Half-open: one may try, the others wait for what it finds.

    Times are seconds of the caller's clock.
    """

    def __init__(self, fuse: BreakerLimits) -> None:
        self._fuse = fuse
        self._failures = 0
        self._rest = fuse.rest
        self._open_until: float | None = None

    def state(self, now: float) -> State:
        if self._open_until is None:
            return "closed"
        return "open" if now < self._open_until else "half-open"

    def rest_left(self, now: float) -> float:
        """For how many more seconds nobody may call."""
        return max(0.0, (self._open_until or now) - now)

    @property
    def failures(self) -> int:
        """How many calls in a row failed."""
        return self._failures

    def record_success(self, now: float) -> None:
        """The endpoint is alive, whatever it said; what was under way when the fuse blew says nothing."""
        if self.state(now) == "open":
            return
        self._failures = 0
        self._rest = self._fuse.rest
        self._open_until = None

    def record_failure(self, now: float) -> None:
        """A call found it dead; what was under way when the fuse blew does not lengthen the rest."""
        state = self.state(now)
        if state == "open":
            return
        self._failures += 1
        if state == "half-open":
            self._rest = min(self._rest * 2, self._fuse.longest_rest)
        if state == "half-open" or self._failures >= self._fuse.failures:
            self._open_until = now + self._rest

    def rest_until(self, moment: float) -> None:
        """The endpoint itself named the moment before which it will not answer."""
        self._open_until = max(self._open_until or moment, moment)

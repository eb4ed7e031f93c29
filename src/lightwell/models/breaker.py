"""A circuit breaker: after several failures in a row, calls to an endpoint stop for a while."""

from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerLimits:
    """`failures` in a row open the breaker for `pause` seconds. Each failed probe doubles the pause, up to `max_pause`."""

    failures: int = 5
    pause: float = 10.0
    max_pause: float = 120.0


class Breaker:
    """Closed: all calls pass. Open: none. Half-open: one call probes the endpoint, the others wait for its
    result.

    Times are seconds of the caller's clock.
    """

    def __init__(self, limits: BreakerLimits) -> None:
        self._limits = limits
        self._failures = 0
        self._pause = limits.pause
        self._open_until: float | None = None

    def state(self, now: float) -> State:
        if self._open_until is None:
            return "closed"
        return "open" if now < self._open_until else "half-open"

    def remaining_pause(self, now: float) -> float:
        """Return for how many more seconds no call may pass."""
        return max(0.0, (self._open_until or now) - now)

    @property
    def failures(self) -> int:
        """The number of failures in a row."""
        return self._failures

    def record_success(self, now: float) -> None:
        """Close the breaker: the endpoint answered. While it is open, results of earlier calls are ignored."""
        if self.state(now) == "open":
            return
        self._failures = 0
        self._pause = self._limits.pause
        self._open_until = None

    def record_failure(self, now: float) -> None:
        """Count a failed call. While the breaker is open, results of earlier calls do not lengthen the pause."""
        state = self.state(now)
        if state == "open":
            return
        self._failures += 1
        if state == "half-open":
            self._pause = min(self._pause * 2, self._limits.max_pause)
        if state == "half-open" or self._failures >= self._limits.failures:
            self._open_until = now + self._pause

    def pause_until(self, moment: float) -> None:
        """Open the breaker until the time that the endpoint itself named."""
        self._open_until = max(self._open_until or moment, moment)

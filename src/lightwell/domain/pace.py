"""How fast work goes, and how long the rest of it takes: measured over the last minutes, and unknown before."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

_WINDOW_SECONDS = 120.0
"""How much of a step's own time its rate is measured over."""

_FEW = 3
"""Moves of a step after which its rate says something."""


@dataclass(slots=True)
class _Step:
    """The last moves of one step: how many units each brought, and in how many seconds."""

    moves: deque[tuple[int, float]] = field(default_factory=deque[tuple[int, float]])
    units: int = 0
    seconds: float = 0.0

    def add(self, units: int, seconds: float) -> None:
        self.moves.append((units, seconds))
        self.units += units
        self.seconds += seconds
        while len(self.moves) > _FEW and self.seconds - self.moves[0][1] >= _WINDOW_SECONDS:
            old_units, old_seconds = self.moves.popleft()
            self.units -= old_units
            self.seconds -= old_seconds

    def rate(self, pending: float) -> float | None:
        seconds = self.seconds + pending
        is_known = len(self.moves) >= _FEW and pending < _WINDOW_SECONDS and seconds > 0
        return self.units / seconds if is_known and self.units else None


class Pace:
    """Measures work in steps, such as those of an ingestion, by the seconds that passed before each move.

    Steps may take turns or overlap: each is measured by its share of the time, so what is left of all of them adds up. Time
    without a move counts against the step that moved last, and its rate is unknown after two minutes of it. `now` is seconds of
    any clock that does not go back; the first call of `begin` or `move` starts it.
    """

    def __init__(self) -> None:
        self._steps: dict[str, _Step] = {}
        self._last = ""
        self._moved_at: float | None = None

    def begin(self, now: float) -> None:
        """Start the clock, unless it runs: what comes before the first move counts for it."""
        if self._moved_at is None:
            self._moved_at = now

    def restart(self, now: float) -> None:
        """Let what has passed since the last move count for no step: something else was done."""
        self._moved_at = now

    def move(self, step: str, units: int, now: float) -> None:
        """Note that so many more units have passed this step."""
        seconds = 0.0 if self._moved_at is None else now - self._moved_at
        self._steps.setdefault(step, _Step()).add(units, seconds)
        self._moved_at, self._last = now, step

    def rate(self, step: str, now: float) -> float | None:
        """Return units per second of the time that went into this step, None as long as it is unknown."""
        pending = 0.0 if self._moved_at is None or step != self._last else now - self._moved_at
        measured = self._steps.get(step)
        return None if measured is None else measured.rate(pending)

    def seconds_left(self, rest: Mapping[str, float], now: float) -> float | None:
        """Return how long the rest of these steps takes, None while the rate of one that has a rest is unknown."""
        seconds = 0.0
        for step, units in rest.items():
            rate = self.rate(step, now)
            if units > 0:
                if rate is None:
                    return None
                seconds += units / rate
        return seconds

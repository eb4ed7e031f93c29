"""Measures how the time of a function grows with the length of its text, independently of the load of the machine."""

import gc
import math
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.pumps import SUFFIXES, Pump, text

SIZES = (2_000, 10_000, 50_000)
MIN_SECONDS = 0.002
"""Below this no growth can be measured; what is quadratic takes longer at 10 KB."""

NOTHING_SECONDS = 0.0002
"""What takes less for 2 KB takes no time worth speaking of for 50 KB, even if it grows with the square."""

CERTAIN_SECONDS = 0.06
"""Measurements that together take so long say enough: two of 30 ms, or three of 20 ms. One alone may have been disturbed."""

STEEP = 3.0
"""From which multiple of linear growth on it is taken for more; from 10 to 50 KB, quadratic growth is 5 times linear."""

LONGEST_SECONDS = 0.6


class TooSlowError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Timed:
    """A function that takes a text, with a name."""

    name: str
    run: Callable[[str], object]

    def seconds(
        self, pump: Pump, size: int, suffix: str, longest: float = LONGEST_SECONDS
    ) -> float:
        """Return the CPU time of this thread for a pump of this size; at most `longest`."""
        given = text(pump, size, suffix)
        collects = gc.isenabled()
        gc.disable()  # a collection costs what the whole process holds, not what is measured
        began = time.thread_time()
        try:
            with _limited(longest):
                self.run(given)
        except TooSlowError:
            return longest
        finally:
            if collects:
                gc.enable()
        return time.thread_time() - began

    def slow_at(self, pump: Pump) -> bool:
        """Return whether five times the pump takes much more than five times as long, with some ending.

        It uses the first size at which the time is long enough to measure.
        """
        return any(self._grows_steeply(pump, suffix) for suffix in SUFFIXES)

    def _grows_steeply(self, pump: Pump, suffix: str) -> bool:
        small, middle, large = SIZES
        before = self.seconds(pump, small, suffix)
        if before >= MIN_SECONDS:
            return self._confirmed(pump, suffix, small, middle)
        if before < NOTHING_SECONDS:
            return False
        after = self.seconds(pump, middle, suffix)
        seems_steep = after >= MIN_SECONDS and after > STEEP * before * middle / small
        return seems_steep and self._confirmed(pump, suffix, middle, large)

    def _confirmed(self, pump: Pump, suffix: str, small: int, large: int) -> bool:
        """Return whether the growth is steep each time, by the least of all measurements so far."""
        before, after = LONGEST_SECONDS, math.inf
        for count in (1, 2, 3, 4):
            before = min(before, *(self.seconds(pump, small, suffix) for _ in range(2)))
            if before >= LONGEST_SECONDS:
                return True
            steep = STEEP * before * large / small
            after = min(after, self.seconds(pump, large, suffix, max(steep, LONGEST_SECONDS)))
            if after < steep:
                return False
            if count > 1 and count * before >= CERTAIN_SECONDS:
                return True
        return True


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    """Raise `TooSlowError` after so much CPU time; `re` looks for signals while it matches."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

"""One gate before one endpoint: who may call it, and when.

Calls wait in one queue, questions before ingestion and first come first served within each. The head of the
queue goes when a slot is free, both per-minute allowances suffice, the endpoint has not asked for a pause
and the fuse is whole. Nobody overtakes the head, so a large call is not starved by small ones.
"""

import asyncio
import heapq
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum

from lightwell.domain.errors import ModelBusy
from lightwell.models.breaker import Breaker, BreakerLimits, State
from lightwell.models.clock import Clock, LoopClock, Timer

_MOMENT = 1e-6
_BURST_SECONDS = 5.0


class Priority(IntEnum):
    """Somebody is waiting for a question's answer; nobody sits before an ingestion."""

    QUESTION = 0
    INGESTION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one endpoint bears; None is no limit.

    A pause that the endpoint asks for is waited out up to `longest_pause` seconds (`longest_question_pause`
    while somebody waits); for a longer one every caller is told when to come back.
    """

    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    longest_pause: float = 90.0
    longest_question_pause: float = 15.0
    breaker: BreakerLimits = field(default_factory=BreakerLimits)


class Slot:
    """Leave to make one call. Say how it went; saying nothing (cancelled) counts for nothing.

    `place` given to the next `slot` keeps the caller's place in the queue when it tries again.
    """

    def __init__(self, limiter: "Limiter", turn: "_Turn", *, probe: bool) -> None:
        self._limiter = limiter
        self._turn = turn
        self.probe = probe
        self.place = turn.place

    def record_success(self, *, tokens: int | None = None) -> None:
        """The endpoint answered; `tokens` is what the call really cost."""
        self._limiter.record_answer(None if tokens is None else self._turn.tokens - tokens)

    def record_failure(self, reason: str) -> None:
        """The endpoint was dead or broken; `reason` goes into messages, so it holds no secret."""
        self._limiter.record_failure(reason, probe=self.probe)

    def paused(self, seconds: float) -> None:
        """The endpoint is alive and wants no calls for so long."""
        self._limiter.record_pause(seconds)


class Limiter:
    """The gate before the endpoint called `name`, a word for messages; belongs to one event loop."""

    def __init__(self, name: str, limits: Limits, *, clock: Clock | None = None) -> None:
        self._name = name
        self._limits = limits
        self._clock = clock or LoopClock()
        self._breaker = Breaker(limits.breaker)
        self._requests = _Allowance(limits.requests_per_minute)
        self._tokens = _Allowance(limits.tokens_per_minute)
        self._places = itertools.count()
        self._queue: list[_Turn] = []
        self._timer: Timer | None = None
        self._in_flight = 0
        self._probing = False
        self._paused_until = 0.0
        self._last_failure = "nothing was said"

    @property
    def state(self) -> State:
        return self._breaker.state(self._clock.now())

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @property
    def waiting(self) -> int:
        return sum(not turn.leave.done() for turn in self._queue)

    @asynccontextmanager
    async def slot(
        self, *, priority: Priority, tokens: int = 0, place: int | None = None
    ) -> AsyncGenerator[Slot]:
        """Wait for leave to make one call of about so many tokens.

        Raise `ModelBusy`, also while waiting, when the endpoint is known not to answer for longer than the
        caller would wait.
        """
        slot = await self._enter(priority, tokens, place)
        try:
            yield slot
        finally:
            self._leave(slot)

    async def _enter(self, priority: Priority, tokens: int, place: int | None) -> Slot:
        turn = _Turn(
            priority=priority,
            place=next(self._places) if place is None else place,
            tokens=tokens,
            leave=asyncio.get_running_loop().create_future(),
        )
        heapq.heappush(self._queue, turn)
        self._admit()
        try:
            slot = await turn.leave
        except asyncio.CancelledError:
            self._give_away(turn)
            raise
        if slot is None:
            raise ModelBusy(self._refusal())
        return slot

    def _give_away(self, turn: "_Turn") -> None:
        """Leave may have come in the same moment as the cancellation; then it must not be lost."""
        slot = turn.leave.result() if turn.leave.done() and not turn.leave.cancelled() else None
        if slot is None:
            self._admit()
        else:
            self._leave(slot)

    def _leave(self, slot: Slot) -> None:
        self._in_flight -= 1
        if slot.probe:
            self._probing = False
        self._admit()

    def _admit(self) -> None:
        """Let in whoever may go now; for who may go later, set the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.now()
        self._turn_away(now)
        while turn := self._head():
            wait = self._wait(turn, now)
            if wait > _MOMENT:
                self._timer = self._clock.later(wait, self._admit)
            if wait != 0:
                return
            self._let_in(heapq.heappop(self._queue), now)

    def _turn_away(self, now: float) -> None:
        for turn in self._queue:
            if not turn.leave.done() and self._would_time_out(turn.priority, now):
                turn.leave.set_result(None)

    def _would_time_out(self, priority: Priority, now: float) -> bool:
        if self._breaker.state(now) == "open":
            return True
        pause = self._paused_until - now
        return priority is Priority.QUESTION and pause > self._limits.longest_question_pause

    def _head(self) -> "_Turn | None":
        while self._queue and self._queue[0].leave.done():
            heapq.heappop(self._queue)
        return self._queue[0] if self._queue else None

    def _wait(self, turn: "_Turn", now: float) -> float:
        """Seconds until the turn may go; -1 when that hangs on a call under way."""
        if self._in_flight >= self._limits.concurrency:
            return -1
        if self._probing and self._breaker.state(now) == "half-open":
            return -1
        wait = max(
            self._paused_until - now,
            self._requests.wait(1, now),
            self._tokens.wait(turn.tokens, now),
        )
        return wait if wait > _MOMENT else 0

    def _let_in(self, turn: "_Turn", now: float) -> None:
        self._requests.take(1, now)
        self._tokens.take(turn.tokens, now)
        self._in_flight += 1
        probe = self._breaker.state(now) == "half-open"
        self._probing = self._probing or probe
        turn.leave.set_result(Slot(self, turn, probe=probe))

    def record_answer(self, unused_tokens: int | None) -> None:
        """A slot's word."""
        self._breaker.record_success(self._clock.now())
        if unused_tokens is not None:
            self._tokens.give_back(unused_tokens)

    def record_failure(self, reason: str, *, probe: bool) -> None:
        """A slot's word; while one call probes, an older one that fails says nothing new."""
        now = self._clock.now()
        if probe or self._breaker.state(now) == "closed":
            self._last_failure = reason
            self._breaker.record_failure(now)

    def record_pause(self, seconds: float) -> None:
        """A slot's word."""
        now = self._clock.now()
        self._breaker.record_success(now)
        self._paused_until = max(self._paused_until, now + seconds)
        if seconds > self._limits.longest_pause:
            self._breaker.rest_until(now + seconds)

    def _refusal(self) -> str:
        now = self._clock.now()
        left = max(self._breaker.rest_left(now), self._paused_until - now)
        until = self._clock.today() + timedelta(seconds=left)
        if self._breaker.failures:
            why = f"{self._breaker.failures} calls in a row failed, the last because {self._last_failure}"
        else:
            why = "it asked for a pause"
        return f"{self._name} is left alone until {until:%H:%M:%S %Z}: {why}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Turn:
    priority: Priority
    place: int
    tokens: int = field(compare=False)
    leave: asyncio.Future[Slot | None] = field(compare=False)


class _Allowance:
    """So much a minute, as a bucket that holds five seconds' worth.

    What costs more than the bucket holds goes when it is full and leaves a debt.
    """

    def __init__(self, per_minute: int | None) -> None:
        self._rate = (per_minute or 0) / 60
        self._size = max(1.0, self._rate * _BURST_SECONDS)
        self._level = self._size
        self._at: float | None = None

    def wait(self, cost: float, now: float) -> float:
        if not self._rate:
            return 0
        self._fill(now)
        return max(0.0, min(cost, self._size) - self._level) / self._rate

    def take(self, cost: float, now: float) -> None:
        self._fill(now)
        self._level -= cost

    def give_back(self, cost: float) -> None:
        self._level = min(self._size, self._level + cost)

    def _fill(self, now: float) -> None:
        since = now - (now if self._at is None else self._at)
        self._level = min(self._size, self._level + since * self._rate)
        self._at = now

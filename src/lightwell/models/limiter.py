"""The limiter in front of one endpoint: it decides which call may go, and when.

Calls wait in one queue: questions before ingestion, first come first served within each. The head of the queue
goes when a slot is free, both per-minute limits allow it, the endpoint has not asked for a pause and the
circuit breaker is closed. Nothing overtakes the head, so that small calls do not starve a large one.
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

_EPSILON_SECONDS = 1e-6
_BURST_SECONDS = 5.0


class Priority(IntEnum):
    """A person waits for the answer to a question; nobody waits for an ingestion."""

    QUESTION = 0
    INGESTION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one endpoint allows; None is no limit.

    Calls wait for a pause that the endpoint asks for, up to `max_pause` seconds (`max_question_pause` for
    questions); for a longer one they fail with the time of its end.
    """

    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_pause: float = 90.0
    max_question_pause: float = 15.0
    breaker: BreakerLimits = field(default_factory=BreakerLimits)


class Slot:
    """Permission to make one call. Report its result; a cancelled call reports nothing and counts for nothing.

    Pass `queue_position` to the next `slot` to keep the position in the queue for a retry.
    """

    def __init__(self, limiter: "Limiter", turn: "_Turn", *, probe: bool) -> None:
        self._limiter = limiter
        self._turn = turn
        self.probe = probe
        self.queue_position = turn.queue_position

    def record_success(self, *, tokens: int | None = None) -> None:
        """Report that the endpoint answered; `tokens` is what the call really cost."""
        self._limiter.record_answer(None if tokens is None else self._turn.tokens - tokens)

    def record_failure(self, reason: str) -> None:
        """Report that the endpoint did not work; `reason` appears in messages, so it must hold no secret."""
        self._limiter.record_failure(reason, probe=self.probe)

    def record_pause(self, seconds: float) -> None:
        """Report that the endpoint works and asks for no calls for this many seconds."""
        self._limiter.record_pause(seconds)


class Limiter:
    """The limiter of the endpoint called `name` in messages; belongs to one event loop."""

    def __init__(self, name: str, limits: Limits, *, clock: Clock | None = None) -> None:
        self._name = name
        self._limits = limits
        self._clock = clock or LoopClock()
        self._breaker = Breaker(limits.breaker)
        self._requests = _Allowance(limits.requests_per_minute)
        self._tokens = _Allowance(limits.tokens_per_minute)
        self._positions = itertools.count()
        self._queue: list[_Turn] = []
        self._timer: Timer | None = None
        self._in_flight = 0
        self._probing = False
        self._paused_until = 0.0
        self._last_failure = "the reason is unknown"

    @property
    def state(self) -> State:
        return self._breaker.state(self._clock.now())

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @property
    def waiting(self) -> int:
        return sum(not turn.admission.done() for turn in self._queue)

    @asynccontextmanager
    async def slot(
        self, *, priority: Priority, tokens: int = 0, queue_position: int | None = None
    ) -> AsyncGenerator[Slot]:
        """Wait for permission to make one call of about this many tokens.

        Raises `ModelBusy`, also while waiting, when the endpoint will not answer for longer than the caller
        would wait.
        """
        slot = await self._enter(priority, tokens, queue_position)
        try:
            yield slot
        finally:
            self._leave(slot)

    async def _enter(self, priority: Priority, tokens: int, queue_position: int | None) -> Slot:
        turn = _Turn(
            priority=priority,
            queue_position=next(self._positions) if queue_position is None else queue_position,
            tokens=tokens,
            admission=asyncio.get_running_loop().create_future(),
        )
        heapq.heappush(self._queue, turn)
        self._admit()
        try:
            slot = await turn.admission
        except asyncio.CancelledError:
            self._release_unused(turn)
            raise
        if slot is None:
            raise ModelBusy(self._refusal())
        return slot

    def _release_unused(self, turn: "_Turn") -> None:
        """Release a slot that was granted in the same moment as the cancellation."""
        slot = (
            turn.admission.result()
            if turn.admission.done() and not turn.admission.cancelled()
            else None
        )
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
        """Grant slots to the calls that may go now; set the timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.now()
        self._reject_hopeless(now)
        while turn := self._head():
            wait = self._wait(turn, now)
            if wait > _EPSILON_SECONDS:
                self._timer = self._clock.later(wait, self._admit)
            if wait != 0:
                return
            self._grant(heapq.heappop(self._queue), now)

    def _reject_hopeless(self, now: float) -> None:
        for turn in self._queue:
            if not turn.admission.done() and self._would_time_out(turn.priority, now):
                turn.admission.set_result(None)

    def _would_time_out(self, priority: Priority, now: float) -> bool:
        if self._breaker.state(now) == "open":
            return True
        pause = self._paused_until - now
        return priority is Priority.QUESTION and pause > self._limits.max_question_pause

    def _head(self) -> "_Turn | None":
        while self._queue and self._queue[0].admission.done():
            heapq.heappop(self._queue)
        return self._queue[0] if self._queue else None

    def _wait(self, turn: "_Turn", now: float) -> float:
        """Return the seconds until the call may go; -1 when that depends on a call in flight."""
        if self._in_flight >= self._limits.concurrency:
            return -1
        if self._probing and self._breaker.state(now) == "half-open":
            return -1
        wait = max(
            self._paused_until - now,
            self._requests.wait(1, now),
            self._tokens.wait(turn.tokens, now),
        )
        return wait if wait > _EPSILON_SECONDS else 0

    def _grant(self, turn: "_Turn", now: float) -> None:
        self._requests.take(1, now)
        self._tokens.take(turn.tokens, now)
        self._in_flight += 1
        probe = self._breaker.state(now) == "half-open"
        self._probing = self._probing or probe
        turn.admission.set_result(Slot(self, turn, probe=probe))

    def record_answer(self, unused_tokens: int | None) -> None:
        """Record that a slot's call was answered, and give unused tokens back."""
        self._breaker.record_success(self._clock.now())
        if unused_tokens is not None:
            self._tokens.give_back(unused_tokens)

    def record_failure(self, reason: str, *, probe: bool) -> None:
        """Record that a slot's call failed; while one call probes, failures of earlier ones are ignored."""
        now = self._clock.now()
        if probe or self._breaker.state(now) == "closed":
            self._last_failure = reason
            self._breaker.record_failure(now)

    def record_pause(self, seconds: float) -> None:
        """Record the pause that the endpoint asked for."""
        now = self._clock.now()
        self._breaker.record_success(now)
        self._paused_until = max(self._paused_until, now + seconds)
        if seconds > self._limits.max_pause:
            self._breaker.pause_until(now + seconds)

    def _refusal(self) -> str:
        now = self._clock.now()
        left = max(self._breaker.remaining_pause(now), self._paused_until - now)
        until = self._clock.today() + timedelta(seconds=left)
        if self._breaker.failures:
            why = f"{self._breaker.failures} calls in a row failed, the last because {self._last_failure}"
        else:
            why = "it asked for a pause"
        return f"{self._name} gets no calls until {until:%H:%M:%S %Z}: {why}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Turn:
    priority: Priority
    queue_position: int
    tokens: int = field(compare=False)
    admission: asyncio.Future[Slot | None] = field(compare=False)


class _Allowance:
    """A per-minute limit as a token bucket that holds five seconds' worth.

    A call that costs more than the bucket holds goes when it is full, and leaves a debt.
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

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.errors import ModelBusy
from lightwell.models.breaker import Breaker, BreakerLimits
from lightwell.models.limiter import Limiter, Limits, Priority, Slot
from tests.clocks import ManualClock, settle
from tests.generation import examples

QUESTION, INGESTION = Priority.QUESTION, Priority.INGESTION


class Desk:
    """Calls that hold their slot until told to finish; `entered` is who came in, in order."""

    def __init__(self, limits: Limits) -> None:
        self.clock = ManualClock()
        self.limiter = Limiter("http://model", limits, clock=self.clock)
        self.entered: list[str] = []
        self.at: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.verdicts: dict[str, asyncio.Future[Callable[[Slot], None]]] = {}

    async def call(self, name: str, priority: Priority = INGESTION, tokens: int = 0) -> None:
        self.verdicts[name] = asyncio.get_running_loop().create_future()
        self.tasks[name] = asyncio.create_task(self._hold(name, priority, tokens))
        await settle()

    async def finish(
        self, name: str, verdict: Callable[[Slot], None] = lambda slot: slot.record_success()
    ) -> None:
        self.verdicts[name].set_result(verdict)
        await settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settle()

    async def _hold(self, name: str, priority: Priority, tokens: int) -> None:
        try:
            async with self.limiter.slot(priority=priority, tokens=tokens) as slot:
                self.entered.append(name)
                self.at[name] = self.clock.now()
                (await self.verdicts[name])(slot)
        except ModelBusy as error:
            self.refused[name] = str(error)


def fails(slot: Slot) -> None:
    slot.record_failure("the connection was refused")


async def test_no_more_calls_than_slots_are_under_way() -> None:
    desk = Desk(Limits(concurrency=2))
    for name in "abc":
        await desk.call(name)
    assert desk.entered == ["a", "b"]
    assert (desk.limiter.in_flight, desk.limiter.waiting) == (2, 1)
    await desk.finish("a")
    assert desk.entered == ["a", "b", "c"]


async def test_questions_go_before_ingestion_and_each_in_its_order() -> None:
    desk = Desk(Limits(concurrency=1))
    await desk.call("first")
    for name in ("i1", "i2"):
        await desk.call(name)
    for name in ("q1", "q2"):
        await desk.call(name, QUESTION)
    for name in ("first", "q1", "q2", "i1", "i2"):
        await desk.finish(name)
    assert desk.entered == ["first", "q1", "q2", "i1", "i2"]


async def test_a_cancelled_waiter_gives_its_place_away() -> None:
    desk = Desk(Limits(concurrency=1))
    for name in "abc":
        await desk.call(name)
    await desk.cancel("b")
    await desk.finish("a")
    assert desk.entered == ["a", "c"]
    await desk.finish("c")
    assert (desk.limiter.in_flight, desk.limiter.waiting) == (0, 0)


async def test_leave_that_comes_with_the_cancellation_is_not_lost() -> None:
    desk = Desk(Limits(concurrency=1))
    for name in "abc":
        await desk.call(name)
    desk.verdicts["a"].set_result(lambda slot: slot.record_success())
    while desk.limiter.waiting == 2:  # noqa: ASYNC110 - the very turn of the loop matters here
        await asyncio.sleep(0)
    desk.tasks["b"].cancel()
    await settle()
    assert desk.entered == ["a", "c"]


async def test_a_cancelled_call_frees_its_slot() -> None:
    desk = Desk(Limits(concurrency=1))
    await desk.call("a")
    await desk.call("b")
    await desk.cancel("a")
    assert desk.entered == ["a", "b"]


async def test_requests_per_minute_are_held() -> None:
    desk = Desk(Limits(requests_per_minute=60))
    for number in range(12):
        await desk.call(f"{number}")
    assert len(desk.entered) == 5
    await desk.clock.advance(3)
    assert len(desk.entered) == 8


async def test_a_call_larger_than_the_bucket_goes_when_it_is_full_and_leaves_a_debt() -> None:
    desk = Desk(Limits(tokens_per_minute=600))
    await desk.call("large", tokens=250)
    await desk.call("small", tokens=10)
    await desk.clock.advance(60)
    assert desk.at == {"large": 0, "small": pytest.approx(21)}


async def test_tokens_that_were_not_used_are_given_back() -> None:
    desk = Desk(Limits(tokens_per_minute=600))
    await desk.call("a", tokens=250)
    await desk.call("b", tokens=10)
    await desk.finish("a", lambda slot: slot.record_success(tokens=40))
    assert desk.entered == ["a", "b"]


async def test_a_small_call_does_not_overtake_a_large_one() -> None:
    desk = Desk(Limits(tokens_per_minute=60))
    await desk.call("first", tokens=5)
    await desk.call("large", tokens=30)
    await desk.call("small", tokens=1)
    await desk.clock.advance(120)
    assert desk.entered == ["first", "large", "small"]


async def test_a_pause_that_the_endpoint_asks_for_holds_for_everyone() -> None:
    desk = Desk(Limits(concurrency=2))
    await desk.call("a")
    await desk.finish("a", lambda slot: slot.record_pause(7))
    await desk.call("b")
    await desk.clock.advance(6.9)
    assert desk.entered == ["a"]
    await desk.clock.advance(0.2)
    assert desk.entered == ["a", "b"]
    assert desk.limiter.state == "closed"


async def test_nobody_sits_through_a_pause_longer_than_a_person_would_wait() -> None:
    desk = Desk(Limits(concurrency=1, max_question_pause=15))
    await desk.call("a")
    await desk.call("waiting", QUESTION)
    await desk.call("ingestion")
    await desk.finish("a", lambda slot: slot.record_pause(40))
    await desk.call("asked now", QUESTION)
    assert set(desk.refused) == {"waiting", "asked now"}
    assert "12:00:40 UTC" in desk.refused["asked now"]
    assert "asked for a pause" in desk.refused["asked now"]
    await desk.clock.advance(40)
    assert desk.entered == ["a", "ingestion"]


async def test_a_pause_of_hours_turns_everyone_away_with_the_hour() -> None:
    desk = Desk(Limits())
    await desk.call("a")
    await desk.call("b")
    await desk.finish("a", lambda slot: slot.record_pause(7200))
    await desk.finish("b")
    await desk.call("c")
    assert desk.limiter.state == "open"
    assert "14:00:00 UTC" in desk.refused["c"]
    await desk.clock.advance(7200)
    await desk.call("d")
    await desk.finish("d")
    assert desk.limiter.state == "closed"


async def test_after_failures_in_a_row_nobody_calls_and_the_message_says_until_when() -> None:
    desk = Desk(Limits(concurrency=1, breaker=BreakerLimits(failures=3, pause=10)))
    for name in "abcd":
        await desk.call(name)
    for name in "abc":
        await desk.finish(name, fails)
    assert desk.limiter.state == "open"
    assert desk.refused == {
        "d": "http://model gets no calls until 12:00:10 UTC: 3 calls in a row failed,"
        " the last because the connection was refused"
    }


async def test_an_answer_between_failures_keeps_the_fuse_whole() -> None:
    desk = Desk(Limits(breaker=BreakerLimits(failures=2)))
    for name, verdict in {"a": fails, "b": Slot.record_success, "c": fails}.items():
        await desk.call(name)
        await desk.finish(name, verdict)
    assert desk.limiter.state == "closed"


async def test_after_the_rest_one_call_probes_and_the_others_wait_for_it() -> None:
    desk = Desk(Limits(breaker=BreakerLimits(failures=1, pause=10)))
    await desk.call("a")
    await desk.finish("a", fails)
    await desk.clock.advance(10)
    assert desk.limiter.state == "half-open"
    for name in ("probe", "b", "c"):
        await desk.call(name)
    assert desk.entered == ["a", "probe"]
    await desk.finish("probe")
    assert desk.entered == ["a", "probe", "b", "c"]


async def test_a_probe_that_fails_turns_the_others_away_and_doubles_the_rest() -> None:
    desk = Desk(Limits(breaker=BreakerLimits(failures=1, pause=10)))
    await desk.call("a")
    await desk.finish("a", fails)
    await desk.clock.advance(10)
    await desk.call("probe")
    await desk.call("b")
    await desk.finish("probe", fails)
    assert "12:00:30 UTC" in desk.refused["b"]


async def test_an_old_call_that_fails_while_another_probes_says_nothing_new() -> None:
    desk = Desk(Limits(breaker=BreakerLimits(failures=1, pause=10)))
    for name in ("a", "old"):
        await desk.call(name)
    await desk.finish("a", fails)
    await desk.clock.advance(10)
    await desk.call("probe")
    await desk.finish("old", fails)
    assert desk.limiter.state == "half-open"
    await desk.finish("probe")
    assert desk.limiter.state == "closed"


async def test_a_cancelled_probe_lets_another_probe() -> None:
    desk = Desk(Limits(breaker=BreakerLimits(failures=1, pause=10)))
    await desk.call("a")
    await desk.finish("a", fails)
    await desk.clock.advance(10)
    await desk.call("probe")
    await desk.call("b")
    await desk.cancel("probe")
    assert desk.entered == ["a", "probe", "b"]


async def test_who_tries_again_keeps_its_place() -> None:
    desk = Desk(Limits(concurrency=1))
    async with desk.limiter.slot(priority=INGESTION) as slot:
        await desk.call("later")
    await desk.call("last")
    again = asyncio.create_task(_again(desk, slot.queue_position))
    await settle()
    await desk.finish("later")
    await again
    await desk.finish("last")
    assert desk.entered == ["later", "again", "last"]


async def _again(desk: Desk, place: int) -> None:
    async with desk.limiter.slot(priority=INGESTION, queue_position=place):
        desk.entered.append("again")


def test_the_rest_grows_up_to_its_longest() -> None:
    breaker = Breaker(BreakerLimits(failures=1, pause=10, max_pause=25))
    now, rests = 0.0, list[float]()
    for _ in range(4):
        breaker.record_failure(now)
        rests.append(breaker.remaining_pause(now))
        now += rests[-1]
    assert rests == [10, 20, 25, 25]


CALLS = st.lists(
    st.tuples(
        st.sampled_from(Priority),
        st.integers(min_value=0, max_value=400),
        st.floats(min_value=0, max_value=20),
        st.none() | st.floats(min_value=0, max_value=30),
    ),
    min_size=1,
    max_size=25,
)


@examples(60)
@given(CALLS, st.integers(1, 4), st.integers(6, 120), st.integers(60, 6000))
async def test_whatever_comes_and_goes_the_limits_hold_and_everyone_is_served(
    calls: list[tuple[Priority, int, float, float | None]],
    concurrency: int,
    requests: int,
    tokens: int,
) -> None:
    """Each call takes some seconds; some are cancelled after a while, waiting or under way."""
    clock = ManualClock()
    limits = Limits(concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens)
    limiter = Limiter("http://model", limits, clock=clock)
    starts: list[tuple[float, int]] = []

    async def one(priority: Priority, cost: int, seconds: float) -> None:
        async with limiter.slot(priority=priority, tokens=cost) as slot:
            starts.append((clock.now(), cost))
            assert limiter.in_flight <= concurrency
            await clock.sleep(seconds)
            slot.record_success(tokens=cost)

    tasks: list[asyncio.Task[None]] = []
    for priority, cost, seconds, patience in calls:
        task = asyncio.create_task(one(priority, cost, seconds))
        tasks.append(task)
        if patience is not None:
            clock.later(patience, task.cancel)
    await clock.pass_until(*tasks)

    assert all(task.cancelled() or task.exception() is None for task in tasks)
    assert sum(not task.cancelled() for task in tasks) <= len(starts)
    assert (limiter.in_flight, limiter.waiting) == (0, 0)
    for begin, _ in starts:
        minute = [cost for at, cost in starts if begin <= at < begin + 60]
        assert len(minute) <= requests * 65 / 60 + 1.01
        assert sum(minute) <= tokens * 65 / 60 + 400


def test_the_clock_of_a_test_shows_the_calendar_too() -> None:
    assert ManualClock().today().utcoffset() == timedelta(0)

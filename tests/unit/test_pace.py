"""How long work still takes is said only when it has been measured, and never less than what is known to be left."""

import pytest

from lightwell.domain.pace import Pace


def test_nothing_is_said_before_a_few_moves() -> None:
    pace = Pace()
    pace.begin(0)
    for now in (10, 20):
        pace.move("embed", 5, now)
        assert pace.rate("embed", now) is None
        assert pace.seconds_left({"embed": 100}, now) is None
    pace.move("embed", 5, 30)
    assert pace.rate("embed", 30) == 0.5
    assert pace.seconds_left({"embed": 100}, 30) == 200


def test_each_step_is_measured_by_its_own_time() -> None:
    pace = Pace()
    pace.begin(0)
    for turn in range(3):
        pace.move("extract", 10, 12 * turn + 2)
        pace.move("embed", 10, 12 * turn + 12)
    assert (pace.rate("extract", 36), pace.rate("embed", 36)) == (5, 1)
    assert pace.seconds_left({"extract": 50, "embed": 60}, 36) == 70
    assert pace.seconds_left({"extract": 0, "embed": 60, "unknown": 0}, 36) == 60
    assert pace.seconds_left({"embed": 60, "unknown": 1}, 36) is None


def test_what_was_done_between_two_steps_counts_for_neither() -> None:
    pace = Pace()
    pace.begin(0)
    for now in (10, 20, 30):
        pace.move("extract", 10, now)
    pace.restart(500)
    for now in (510, 520, 530):
        pace.move("embed", 10, now)
    assert (pace.rate("extract", 530), pace.rate("embed", 530)) == (1, 1)


def test_a_rate_follows_the_last_minutes() -> None:
    pace = Pace()
    pace.begin(0)
    for now in range(10, 1010, 10):
        pace.move("embed", 100, now)
    for now in range(1010, 1210, 10):
        pace.move("embed", 1, now)
    assert pace.rate("embed", 1200) == pytest.approx(0.1)


def test_what_stands_still_takes_longer_and_then_nobody_knows() -> None:
    pace = Pace()
    pace.begin(0)
    for now in (10, 20, 30):
        pace.move("embed", 10, now)
    left = [pace.seconds_left({"embed": 10}, now) for now in (30, 60, 149, 150)]
    assert left[:2] == [10, 20]
    assert left[2] is not None
    assert left[2] > 40
    assert left[3] is None

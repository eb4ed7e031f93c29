"""Scores become probabilities that mean the same whichever reranker gave them."""

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from scipy import optimize

from lightwell.domain.calibration import MIN_SLOPE, Calibration, fit_calibration, sigmoid
from lightwell.domain.errors import Invalid


def scored(a: float, b: float, *, count: int = 4000, seed: int = 5) -> Iterator[tuple[float, bool]]:
    """Scores of a reranker whose true calibration is this one."""
    drawn = np.random.default_rng(seed)
    for score in drawn.uniform(0.02, 0.98, count):
        truth = Calibration(a=a, b=b).relevance(float(score))
        yield float(score), bool(drawn.random() < truth)


def test_a_calibration_that_would_turn_the_order_round_is_refused() -> None:
    with pytest.raises(Invalid, match="above 0"):
        Calibration(a=-1)


@pytest.mark.parametrize("score", [0.0, 1e-9, 1.0])
def test_a_score_at_the_edge_has_a_relevance_inside(score: float) -> None:
    assert 0 < Calibration().relevance(score) < 1


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.5, -1.0), (2.0, 1.5), (1.0, -3.0)])
def test_the_truth_behind_many_scores_is_found(a: float, b: float) -> None:
    found = fit_calibration(list(scored(a, b)))
    assert (found.a, found.b) == (pytest.approx(a, rel=0.15), pytest.approx(b, abs=0.15))


def test_after_fitting_six_of_ten_at_0_6_answer() -> None:
    scores = list(scored(2.0, -1.0, count=20_000))
    found = fit_calibration(scores)
    near = [answers for score, answers in scores if abs(found.relevance(score) - 0.6) < 0.05]
    assert len(near) > 100
    assert np.mean(near) == pytest.approx(0.6, abs=0.05)


def test_the_order_stands_even_when_the_scores_are_upside_down() -> None:
    upside_down = [(0.9, False), (0.8, False), (0.3, True), (0.1, True)] * 50
    found = fit_calibration(upside_down)
    assert found.a == MIN_SLOPE
    assert found.relevance(0.5) == pytest.approx(0.5, abs=0.03)
    assert found.relevance(0.9) > found.relevance(0.1)


def test_scores_that_part_perfectly_do_not_run_away() -> None:
    found = fit_calibration([(0.99, True), (0.01, False)] * 1000)
    assert math.isfinite(found.a)
    assert 0.99 < found.relevance(0.99) < 1


def test_equal_scores_give_the_share_that_answers() -> None:
    found = fit_calibration([(0.5, True)] * 300 + [(0.5, False)] * 100)
    assert found.relevance(0.5) == pytest.approx(0.75, abs=0.02)


def test_what_is_found_is_the_least_of_what_is_weighed() -> None:
    scores = list(scored(3.0, -2.0, count=30))
    yes = sum(answers for _, answers in scores)
    targets = {True: (yes + 1) / (yes + 2), False: 1 / (len(scores) - yes + 2)}

    def loss(weights: tuple[float, float]) -> float:
        total = ((weights[0] - 1) ** 2 + weights[1] ** 2) / 2
        for score, answers in scores:
            said = weights[0] * math.log(score / (1 - score)) + weights[1]
            total += math.log1p(math.exp(said)) - targets[answers] * said
        return total

    least = cast("list[float]", optimize.minimize(loss, (1.0, 0.0), tol=1e-9).x.tolist())
    found = fit_calibration(scores)
    assert [found.a, found.b] == pytest.approx(least, abs=1e-4)


def test_few_scores_change_little() -> None:
    few, many = (
        fit_calibration([(0.6, True), (0.4, False)]),
        fit_calibration([(0.9, False), (0.1, True)] * 200),
    )
    assert few.a == pytest.approx(1, abs=0.2)
    assert abs(few.b) < 0.1
    assert many.a < 0.5


def test_extreme_scores_are_borne() -> None:
    found = fit_calibration(
        [(1.0, True), (0.0, False), (1.0, False), (0.0, True), (1.0, True)] * 40
    )
    assert sigmoid(-14) < found.relevance(0.0) < found.relevance(1.0) < sigmoid(14)


@pytest.mark.parametrize("answers", [True, False])
def test_one_kind_alone_teaches_nothing(answers: bool) -> None:  # noqa: FBT001
    with pytest.raises(Invalid, match="that answer, and of passages that do not"):
        fit_calibration([(0.2, answers), (0.9, answers)])

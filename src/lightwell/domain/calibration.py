"""What a reranker's score is worth: a probability, so that 0.6 means the same for each reranker."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.errors import Invalid

MIN_SLOPE = 0.05
"""A calibration never turns the order round, and never levels it, whatever the scores say."""

_NEARLY_SURE = 1e-6
_BELIEF = 1.0
_MAX_STEPS, _STILL = 100, 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = sigmoid(a * logit(score) + b), with a > 0, so that the order stands."""

    a: float = 1.0
    b: float = 0.0

    def __post_init__(self) -> None:
        if self.a <= 0:
            raise Invalid(f"a calibration's slope must be above 0, not {self.a}")

    def relevance(self, score: float) -> float:
        """Return the relevance in (0, 1) of a score in [0, 1]."""
        return sigmoid(self.a * _logit(score) + self.b)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else 1 - 1 / (1 + math.exp(value))


def fit_calibration(scores: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the calibration that best says of these scores, each in [0, 1], whether their passages answer.

    A logistic regression with Platt's targets (1999), drawn to the scores as they are, so that few of them change
    little. Raises `Invalid` when all passages answer or none does.
    """
    yes = sum(answers for _, answers in scores)
    no = len(scores) - yes
    if not yes or not no:
        raise Invalid(
            "A calibration needs scores of passages that answer, and of passages that do not"
        )
    logits = np.array([_logit(score) for score, _ in scores])
    answers = np.array([answers for _, answers in scores])
    wanted = np.where(answers, (yes + 1) / (yes + 2), 1 / (no + 2))
    ones = np.ones_like(logits)
    a, b = _minimum(np.column_stack([logits, ones]), 0 * ones, wanted, np.array([1.0, 0.0]))
    if a < MIN_SLOPE:
        a = MIN_SLOPE
        (b,) = _minimum(ones[:, np.newaxis], a * logits, wanted, np.zeros(1))
    return Calibration(a=float(a), b=float(b))


def _logit(score: float) -> float:
    inner = min(max(score, _NEARLY_SURE), 1 - _NEARLY_SURE)
    return math.log(inner / (1 - inner))


def _minimum(rows: _Floats, fixed: _Floats, wanted: _Floats, prior: _Floats) -> _Floats:
    """Return the weights of a ridge logistic regression around `prior`, by Newton's method with halved steps."""

    def loss(weights: _Floats) -> float:
        logits = rows @ weights + fixed
        said = np.logaddexp(0, logits) - wanted * logits
        return float(said.sum() + _BELIEF / 2 * ((weights - prior) ** 2).sum())

    at = prior
    for _ in range(_MAX_STEPS):
        said = 1 / (1 + np.exp(-(rows @ at + fixed)))
        slope = rows.T @ (said - wanted) + _BELIEF * (at - prior)
        bend = (rows * (said * (1 - said))[:, np.newaxis]).T @ rows + _BELIEF * np.eye(len(at))
        step = np.linalg.solve(bend, slope)
        while loss(at - step) > loss(at) and np.abs(step).max() > _STILL:
            step = step / 2
        at = at - step
        if np.abs(step).max() <= _STILL:
            break
    return at

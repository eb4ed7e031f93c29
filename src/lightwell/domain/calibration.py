"""Calibration of rerankers: turns a raw score into a probability, so that 0.6 means the same for each of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.errors import Invalid

MIN_SLOPE = 0.05
"""The smallest gradient of a fitted calibration. A positive gradient keeps the order of the scores."""

_MIN_PROBABILITY = 1e-6
_RIDGE = 1.0
_MAX_STEPS, _TOLERANCE = 100, 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = sigmoid(a * logit(score) + b); a > 0, so a calibration keeps the order of scores."""

    a: float = 1.0
    b: float = 0.0

    def __post_init__(self) -> None:
        if self.a <= 0:
            raise Invalid(f"a calibration's slope must be above 0, not {self.a}")

    def relevance(self, score: float) -> float:
        """Return the relevance in (0, 1) of a score in [0, 1]."""
        return sigmoid(self.a * logit(score) + self.b)


def logit(probability: float, *, margin: float = _MIN_PROBABILITY) -> float:
    """Return the log odds of a probability, which counts as `margin` away from 0 and from 1 at least."""
    inner = min(max(probability, margin), 1 - margin)
    return math.log(inner / (1 - inner))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else 1 - 1 / (1 + math.exp(value))


def fit_calibration(scores: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the calibration that best predicts, from scores in [0, 1], whether their passages answer.

    Logistic regression with Platt's targets (1999) and a ridge penalty around the identity: few scores change
    little. Raises `Invalid` when all passages answer or none does.
    """
    yes = sum(answers for _, answers in scores)
    no = len(scores) - yes
    if not yes or not no:
        raise Invalid(
            "A calibration needs scores of passages that answer, and of passages that do not"
        )
    logits = np.array([logit(score) for score, _ in scores])
    answers = np.array([answers for _, answers in scores])
    targets = np.where(answers, (yes + 1) / (yes + 2), 1 / (no + 2))
    ones = np.ones_like(logits)
    a, b = _minimum(np.column_stack([logits, ones]), 0 * ones, targets, np.array([1.0, 0.0]))
    if a < MIN_SLOPE:
        a = MIN_SLOPE
        (b,) = _minimum(ones[:, np.newaxis], a * logits, targets, np.zeros(1))
    return Calibration(a=float(a), b=float(b))


def _minimum(rows: _Floats, fixed: _Floats, targets: _Floats, prior: _Floats) -> _Floats:
    """Return the weights of a ridge logistic regression around `prior`, by Newton's method with step halving."""

    def loss(weights: _Floats) -> float:
        logits = rows @ weights + fixed
        losses = np.logaddexp(0, logits) - targets * logits
        return float(losses.sum() + _RIDGE / 2 * ((weights - prior) ** 2).sum())

    parameters = prior
    for _ in range(_MAX_STEPS):
        probabilities = 1 / (1 + np.exp(-(rows @ parameters + fixed)))
        gradient = rows.T @ (probabilities - targets) + _RIDGE * (parameters - prior)
        hessian = (
            rows * (probabilities * (1 - probabilities))[:, np.newaxis]
        ).T @ rows + _RIDGE * np.eye(len(parameters))
        step = np.linalg.solve(hessian, gradient)
        while loss(parameters - step) > loss(parameters) and np.abs(step).max() > _TOLERANCE:
            step = step / 2
        parameters = parameters - step
        if np.abs(step).max() <= _TOLERANCE:
            break
    return parameters

"""Measures of retrieval: recall, ranks, relevance, and time."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from lightwell.domain.questions import SUFFICIENT_RELEVANCE

DEPTHS = (2, 5, 10)
"""Numbers of first documents at which recall is measured."""

ALL_WITHIN = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTime:
    """The time of one question in milliseconds: elapsed time, and processor time of this process.

    The `bare` ones leave out what the embedder took.
    """

    wall: float
    cpu: float
    bare_wall: float
    bare_cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The results of one question.

    `found` are documents, best first, each once; `gold` those that answer, none when nothing does. `best` is the best
    calibrated relevance, `best_without` the one among the documents without the gold ones, None when not asked.
    """

    kind: str
    split: str
    gold: frozenset[str]
    found: tuple[str, ...]
    best: float
    best_without: float | None
    took: QuestionTime


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantTrial:
    """The documents that a question finds in another mode or without a channel, best first."""

    gold: frozenset[str]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Means over questions; None if no question counts for a mean.

    `recall` by depth, `all_gold` and `reciprocal_rank` over the questions that have gold documents. `auroc` is the
    chance that an answerable question is found more relevant than an unanswerable one; `answered` is the share of
    answerable questions whose best evidence is enough, `refused` of unanswerable ones whose best is not.
    """

    questions: int
    recall: Mapping[int, float | None]
    all_gold: float | None
    reciprocal_rank: float | None
    auroc: float | None
    answered: float | None
    refused: float | None


def summary(trials: Iterable[Trial]) -> Summary:
    """Return the measures of these trials."""
    trials = list(trials)
    sought = [trial for trial in trials if trial.gold]
    answerable, unanswerable = relevances(trials)
    return Summary(
        questions=len(trials),
        recall={
            depth: mean(recall(trial.found, trial.gold, depth) for trial in sought)
            for depth in DEPTHS
        },
        all_gold=mean(trial.gold <= set(trial.found[:ALL_WITHIN]) for trial in sought),
        reciprocal_rank=mean(reciprocal_rank(trial.found, trial.gold) for trial in sought),
        auroc=auroc(answerable, unanswerable),
        answered=mean(best >= SUFFICIENT_RELEVANCE for best in answerable),
        refused=mean(best < SUFFICIENT_RELEVANCE for best in unanswerable),
    )


def relevances(trials: Iterable[Trial]) -> tuple[list[float], list[float]]:
    """Return the best relevance of each answerable question, and of each unanswerable one.

    A question whose gold documents were taken out is unanswerable, and so is one without any.
    """
    trials = list(trials)
    taken_out = [trial.best_without for trial in trials if trial.best_without is not None]
    return [trial.best for trial in trials if trial.gold], [
        *taken_out,
        *(trial.best for trial in trials if not trial.gold),
    ]


def recall(urls: Sequence[str], gold: frozenset[str], depth: int) -> float:
    """Return the share of the gold documents, at least one, that are among the first found."""
    return len(gold & set(urls[:depth])) / len(gold)


def reciprocal_rank(urls: Sequence[str], gold: frozenset[str]) -> float:
    """Return 1 / the rank, from 1, of the first gold document; 0.0 if none was found."""
    return next((1 / place for place, url in enumerate(urls, start=1) if url in gold), 0.0)


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return the probability that a value of `higher` exceeds one of `lower`; ties count half; None without pairs."""
    if not higher or not lower:
        return None
    places = _places([*higher, *lower])
    above = sum(places[value] for value in higher) - len(higher) * (len(higher) + 1) / 2
    return above / (len(higher) * len(lower))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the least value that at least this share of the values does not exceed; None without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, None without values."""
    numbers = list(values)
    return fmean(numbers) if numbers else None


def split_by(trials: Iterable[T], by: Callable[[T], str]) -> dict[str, list[T]]:
    """Return the trials grouped by `by`, in the order of the groups' names."""
    parts: dict[str, list[T]] = {}
    for trial in trials:
        parts.setdefault(by(trial), []).append(trial)
    return dict(sorted(parts.items()))


def _places(values: Sequence[float]) -> dict[float, float]:
    """Return each value's rank among all, from 1 for the least; equal values share the mean of their ranks."""
    places: dict[float, float] = {}
    before = 0
    counts: dict[float, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    for value in sorted(counts):
        places[value] = before + (counts[value] + 1) / 2
        before += counts[value]
    return places

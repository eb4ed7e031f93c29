"""How good retrieval is: what it finds, in which place, how sure it may be, and how long it takes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from lightwell.domain.evidence import SUFFICIENT_RELEVANCE

DEPTHS = (2, 5, 10)
"""How many of the first documents recall looks at."""

ALL_WITHIN = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTime:
    """What one question took, in milliseconds: by the clock and of this process's processor time.

    The `bare` ones leave out what the embedder took.
    """

    wall: float
    cpu: float
    bare_wall: float
    bare_cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One question as it was asked.

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
    """What a question found when it was asked in another way: documents, best first."""

    gold: frozenset[str]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Means over questions; None where there is no question to say it of.

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
    """Return how good these trials are."""
    asked = list(trials)
    sought = [each for each in asked if each.gold]
    answerable, unanswerable = relevances(asked)
    return Summary(
        questions=len(asked),
        recall={
            depth: mean(recall(each.found, each.gold, depth) for each in sought) for depth in DEPTHS
        },
        all_gold=mean(each.gold <= set(each.found[:ALL_WITHIN]) for each in sought),
        reciprocal_rank=mean(reciprocal_rank(each.found, each.gold) for each in sought),
        auroc=auroc(answerable, unanswerable),
        answered=mean(best >= SUFFICIENT_RELEVANCE for best in answerable),
        refused=mean(best < SUFFICIENT_RELEVANCE for best in unanswerable),
    )


def relevances(trials: Iterable[Trial]) -> tuple[list[float], list[float]]:
    """Return the best relevance of each answerable question, and of each unanswerable one.

    A question whose gold documents were taken out is unanswerable, and so is one without any.
    """
    asked = list(trials)
    taken_out = [each.best_without for each in asked if each.best_without is not None]
    return [each.best for each in asked if each.gold], [
        *taken_out,
        *(each.best for each in asked if not each.gold),
    ]


def recall(found: Sequence[str], gold: frozenset[str], depth: int) -> float:
    """Return which share of the gold documents, of which there is one at least, are among the first found."""
    return len(gold & set(found[:depth])) / len(gold)


def reciprocal_rank(found: Sequence[str], gold: frozenset[str]) -> float:
    """Return 1 / the place, from 1, of the first gold document; 0.0 when none was found."""
    return next((1 / place for place, each in enumerate(found, start=1) if each in gold), 0.0)


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return the chance that one of `higher` is above one of `lower`, equal ones counting half; None without pairs."""
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
    given = list(values)
    return fmean(given) if given else None


def split_by(trials: Iterable[T], by: Callable[[T], str]) -> dict[str, list[T]]:
    """Return the trials by what `by` says of each, in the order of these words."""
    parts: dict[str, list[T]] = {}
    for each in trials:
        parts.setdefault(by(each), []).append(each)
    return dict(sorted(parts.items()))


def _places(values: Sequence[float]) -> dict[float, float]:
    """Return each value's place among all, from 1 for the least; equal values share the mean of their places."""
    places: dict[float, float] = {}
    before = 0
    counts: dict[float, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    for value in sorted(counts):
        places[value] = before + (counts[value] + 1) / 2
        before += counts[value]
    return places

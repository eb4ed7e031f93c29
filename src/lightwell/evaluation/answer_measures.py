"""Measures of answers: shares over many questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.evaluation.answers import AnswerTrial, Reason, Stage, TrialOutcome
from lightwell.evaluation.measures import auroc, mean


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSummary:
    """Shares from 0 to 1 of questions; None if no question counts for a share.

    All but `right_of_answered`, `unanswerable_refused` and `auroc` are shares of the answerable questions; `right_of_answered` is one of those
    answerable ones that were answered. `answer_shown` counts refusals whose nearest passages contain the whole answer. `auroc` is
    the probability that an answerable question has a higher relevance than an unanswerable one. `held` is, for each stage, the
    share of answerable questions whose whole answer it contains; `reasons` counts the failed questions by reason.
    """

    answerable: int
    unanswerable: int
    right: float | None
    right_of_answered: float | None
    wrongly_refused: float | None
    answer_shown: float | None
    right_or_shown: float | None
    unanswerable_refused: float | None
    auroc: float | None
    gold_first: float | None
    gold_found: float | None
    held: Mapping[Stage, float | None]
    reasons: Mapping[Reason, int]


def summarize_answers(trials: Iterable[AnswerTrial]) -> AnswerSummary:
    """Return the measures of these answers."""
    trials = list(trials)
    answerable = [trial for trial in trials if trial.question.is_answerable]
    others = [trial for trial in trials if not trial.question.is_answerable]
    answered = [trial for trial in answerable if not trial.is_refused]
    return AnswerSummary(
        answerable=len(answerable),
        unanswerable=len(others),
        right=_share(answerable, _is_right),
        right_of_answered=_share(answered, _is_right),
        wrongly_refused=_share(answerable, lambda trial: trial.is_refused),
        answer_shown=_share(answerable, lambda trial: trial.is_answer_shown),
        right_or_shown=_share(answerable, lambda trial: _is_right(trial) or trial.is_answer_shown),
        unanswerable_refused=_share(others, lambda trial: trial.is_refused),
        auroc=auroc(
            [trial.relevance for trial in answerable], [trial.relevance for trial in others]
        ),
        gold_first=_share(answerable, lambda trial: trial.is_gold_first),
        gold_found=_share(answerable, lambda trial: trial.is_gold_found),
        held={stage: mean(stage in trial.held for trial in answerable) for stage in Stage},
        reasons=count_reasons(trials),
    )


def count_reasons(trials: Sequence[AnswerTrial]) -> dict[Reason, int]:
    """Return the number of failed questions by reason, in the order of the reasons, without zeros."""
    counts = {reason: sum(trial.reason is reason for trial in trials) for reason in Reason}
    return {reason: count for reason, count in counts.items() if count}


def worst_first(trials: Iterable[AnswerTrial]) -> list[AnswerTrial]:
    """Return the failed questions: wrong answers, the highest relevance first; then refusals, those whose passages
    contain the answer first.
    """
    failed = [trial for trial in trials if not trial.is_well]
    return sorted(failed, key=_badness, reverse=True)


def _badness(trial: AnswerTrial) -> tuple[bool, int, float]:
    at_hand = 0 if not trial.is_refused else len(trial.held)
    return (not trial.is_refused, at_hand, trial.relevance)


def _is_right(trial: AnswerTrial) -> bool:
    return trial.outcome is TrialOutcome.RIGHT


def _share(trials: Sequence[AnswerTrial], holds: Callable[[AnswerTrial], bool]) -> float | None:
    return mean(holds(trial) for trial in trials)

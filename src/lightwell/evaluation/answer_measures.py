"""Measures of answers: shares over many questions."""

from collections.abc import Iterable, Mapping, Sequence
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
        right=mean(map(_is_right, answerable)),
        right_of_answered=mean(map(_is_right, answered)),
        wrongly_refused=mean(trial.is_refused for trial in answerable),
        answer_shown=mean(trial.is_answer_shown for trial in answerable),
        right_or_shown=mean(_is_right(trial) or trial.is_answer_shown for trial in answerable),
        unanswerable_refused=mean(trial.is_refused for trial in others),
        auroc=auroc(
            [trial.relevance for trial in answerable], [trial.relevance for trial in others]
        ),
        gold_first=mean(trial.is_gold_first for trial in answerable),
        gold_found=mean(trial.is_gold_found for trial in answerable),
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

    def badness(trial: AnswerTrial) -> tuple[bool, int, float]:
        return not trial.is_refused, trial.is_refused * len(trial.held), trial.relevance

    return sorted((trial for trial in trials if not trial.is_well), key=badness, reverse=True)


def _is_right(trial: AnswerTrial) -> bool:
    return trial.outcome is TrialOutcome.RIGHT

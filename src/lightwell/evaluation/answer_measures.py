"""Measures of answers: shares over many questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lightwell.domain.answers import AnswerState, Confidence
from lightwell.evaluation.answers import AnswerTrial, Reason, Stage, TrialOutcome
from lightwell.evaluation.measures import auroc, mean

STATES = (AnswerState.ANSWERED, AnswerState.POSSIBLY, AnswerState.INSUFFICIENT)
"""What becomes of a question, the surest first; no question is answered with a courtesy."""

SURENESS = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
"""The words of confidence of what is answered, the surest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The questions that ended in one state, or with one word of confidence.

    `right` is the share of its answerable ones that are right. The other shares say how many of all answerable, and of all unanswerable, questions
    ended so. A share is None where no question counts for it.
    """

    answerable: int
    unanswerable: int
    right: float | None
    of_answerable: float | None
    of_unanswerable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLengths:
    """Words of what is answered, as medians: the key sentences and the whole text; None without answers.

    `key_right` is the share of the right answers whose key sentences contain the whole answer.
    """

    key_right: float | None
    key_words: float | None
    words: float | None


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
    states: Mapping[AnswerState, Ended]
    confidences: Mapping[Confidence, Ended]
    lengths: AnswerLengths


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
        states={
            state: _ended(answerable, others, lambda trial, state=state: trial.state is state)
            for state in STATES
        },
        confidences={
            word: _ended(answerable, others, lambda trial, word=word: trial.confidence is word)
            for word in SURENESS
        },
        lengths=_lengths(trials),
    )


def _ended(
    answerable: Sequence[AnswerTrial],
    others: Sequence[AnswerTrial],
    is_so: Callable[[AnswerTrial], bool],
) -> Ended:
    ended = [trial for trial in answerable if is_so(trial)]
    return Ended(
        answerable=len(ended),
        unanswerable=sum(map(is_so, others)),
        right=mean(map(_is_right, ended)),
        of_answerable=mean(map(is_so, answerable)),
        of_unanswerable=mean(map(is_so, others)),
    )


def _lengths(trials: Sequence[AnswerTrial]) -> AnswerLengths:
    answered = [trial for trial in trials if not trial.is_refused]
    return AnswerLengths(
        key_right=mean(trial.is_key_right for trial in answered if _is_right(trial)),
        key_words=_median(len(trial.key_text.split()) for trial in answered),
        words=_median(trial.words for trial in answered),
    )


def _median(values: Iterable[int]) -> float | None:
    numbers = list(values)
    return median(numbers) if numbers else None


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

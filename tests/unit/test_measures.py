"""What is said of retrieval, against counting by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.evaluation.measures import (
    QuestionTime,
    Trial,
    auroc,
    percentile,
    recall,
    reciprocal_rank,
    relevances,
    split_by,
    summary,
)

NUMBERS = st.lists(st.floats(0, 1), min_size=1, max_size=12)
TRIAL = Trial(
    kind="two-hop",
    split="dev",
    gold=frozenset("ab"),
    found=("x", "a", "y", "z", "b"),
    best=0.9,
    best_without=0.2,
    took=QuestionTime(wall=20.0, cpu=10.0, bare_wall=8.0, bare_cpu=4.0),
)


def test_recall_is_the_share_of_gold_documents_among_the_first() -> None:
    assert [recall(TRIAL.found, TRIAL.gold, depth) for depth in (1, 2, 5)] == [0.0, 0.5, 1.0]


def test_the_reciprocal_rank_is_that_of_the_first_gold_document() -> None:
    assert reciprocal_rank(TRIAL.found, TRIAL.gold) == 0.5
    assert reciprocal_rank(("x", "y"), TRIAL.gold) == 0.0


@given(NUMBERS, NUMBERS)
def test_the_area_is_the_share_of_pairs_in_order_and_half_the_equal_ones(
    higher: list[float], lower: list[float]
) -> None:
    pairs = [(one > other) + 0.5 * (one == other) for one in higher for other in lower]
    assert auroc(higher, lower) == pytest.approx(sum(pairs) / len(pairs))


def test_there_is_no_area_without_pairs() -> None:
    assert auroc([], [0.5]) is None
    assert auroc([0.5], []) is None


@given(NUMBERS, st.floats(0.01, 1))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    assert all(
        sum(each <= value for each in values) < share * len(values)
        for value in values
        if value < found
    )


def test_a_summary_is_the_mean_over_its_questions() -> None:
    missed = replace(TRIAL, found=("x", "y"), best=0.3, best_without=0.7)
    both = summary([TRIAL, missed])
    assert both.questions == 2
    assert both.recall == {2: 0.25, 5: 0.5, 10: 0.5}
    assert (both.all_gold, both.reciprocal_rank) == (0.5, 0.25)
    assert (both.auroc, both.answered, both.refused) == (0.75, 0.5, 0.5)


def test_all_gold_documents_must_be_within_the_first_five() -> None:
    late = replace(TRIAL, found=("x", "a", "y", "z", "w", "b"))
    assert summary([late]).all_gold == 0.0
    assert summary([late]).recall[10] == 1.0


def test_exactly_enough_is_enough() -> None:
    edge = replace(TRIAL, best=SUFFICIENT_RELEVANCE, best_without=SUFFICIENT_RELEVANCE)
    assert (summary([edge]).answered, summary([edge]).refused) == (1.0, 0.0)


def test_a_question_without_gold_documents_is_unanswerable_as_it_stands() -> None:
    nobodys = replace(TRIAL, gold=frozenset[str](), best=0.4, best_without=None)
    assert relevances([TRIAL, nobodys]) == ([0.9], [0.2, 0.4])
    alone = summary([nobodys])
    assert (alone.recall[5], alone.all_gold, alone.reciprocal_rank, alone.answered) == (None,) * 4
    assert alone.refused == 1.0


def test_no_questions_have_no_numbers() -> None:
    nothing = summary([])
    assert (nothing.questions, nothing.auroc, nothing.recall[5]) == (0, None, None)


def test_trials_are_parted_in_the_order_of_the_words() -> None:
    other = replace(TRIAL, kind="comparison")
    assert list(split_by([TRIAL, other, TRIAL], lambda each: each.kind).items()) == [
        ("comparison", [other]),
        ("two-hop", [TRIAL, TRIAL]),
    ]

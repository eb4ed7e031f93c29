"""When an answer is right, by the rule of the collections."""

import pytest

from lightwell.evaluation.correctness import holds_answer, is_right, missing_groups, normalize
from tests.answers import GROUPS, answer, refusal


@pytest.mark.parametrize(
    "text",
    [
        "You have 25 days; your manager approves them.",
        "TWENTY-FIVE   DAYS\nby the Manager",
        "**25** `days`, and the _manager_ agrees",
    ],
)
def test_an_answer_with_one_alternative_of_each_group_is_right(text: str) -> None:
    assert is_right(GROUPS, answer(text))


@pytest.mark.parametrize("text", ["25 days.", "Ask your manager.", "2 5 days, manager", ""])
def test_an_answer_with_half_of_what_was_asked_is_wrong(text: str) -> None:
    assert not is_right(GROUPS, answer(text))


def test_an_answer_without_citations_is_not_right() -> None:
    assert not is_right(GROUPS, refusal())


def test_straight_and_curly_quotation_marks_are_equal() -> None:
    assert normalize("don’t say “no”") == normalize('don\'t say "no"')
    assert holds_answer((("don't",),), "They don’t.")


def test_a_citation_mark_answers_nothing() -> None:
    said = answer("Several backups are kept")
    assert "[1]" in said.text
    assert not is_right((("1",),), said)
    assert is_right((("several",),), said)


def test_where_no_answer_is_expected_none_is_held() -> None:
    assert not holds_answer((), "anything")


def test_the_missing_groups_are_named_in_order() -> None:
    assert missing_groups(GROUPS, "Nothing of it.") == GROUPS
    assert missing_groups(GROUPS, "25 days") == GROUPS[1:]

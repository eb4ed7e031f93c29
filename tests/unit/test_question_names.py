from collections.abc import Collection

import pytest

from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.question_names import find_name_runs, match_names, proper_name_terms


def candidate_names(question: str) -> tuple[str, ...]:
    return analyze_question(question).candidate_names


def matched(question: str, known: Collection[str]) -> tuple[str, ...]:
    return match_names(find_name_runs(question), known)


def test_a_name_of_several_words_may_be_written_small() -> None:
    assert "gross margin" in candidate_names("What is the gross margin of Nordwind?")


def test_a_single_small_word_is_no_name() -> None:
    assert "margin" not in candidate_names("What is the margin of Nordwind?")
    assert "nordwind" in candidate_names("What is the margin of Nordwind?")


def test_identifiers_and_addresses_may_be_names() -> None:
    names = candidate_names("Did ada@halden.example close ENG-42?")
    assert {"ada@halden.example", "eng 42"} & {*names} == {"ada@halden.example", "eng 42"}


def test_words_in_one_are_taken_apart() -> None:
    assert "li hua" in candidate_names("What does LiHua think?")


def test_the_longest_known_name_wins_and_no_word_serves_twice() -> None:
    known = {"nordwind", "nordwind energie", "energie"}
    assert matched("Who buys for Nordwind Energie and for Nordwind?", known) == (
        "nordwind energie",
        "nordwind",
    )


def test_a_possessive_names_its_owner() -> None:
    assert matched("What is Plover's budget?", {"plover"}) == ("plover",)


def test_a_question_of_small_words_holds_no_name() -> None:
    assert candidate_names("why?") == ()


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Is the discount for Nordwind still open?", {"nordwind"}),
        ("Nordwind is late. When should I expect GPLv3 and port 80?", {"gplv3", "80"}),
        ("I've left Logit a message and I'm waiting. OK to close it?", {"logit"}),
        ("Did Dr. Smith and J. Adams sign?", {"dr", "smith", "j", "adam"}),
        ("Is it OK? Whose is it? Ours!", set[str]()),
    ],
)
def test_a_capital_makes_a_name_but_not_where_a_sentence_begins(
    question: str, named: set[str]
) -> None:
    assert proper_name_terms(question) == named

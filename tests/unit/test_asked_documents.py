"""Of which documents a question says that it is asked, on questions that were written before the rules."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from lightwell.text.asked_documents import Part, find_phrases, without

ROOT = Path(__file__).parents[2] / "benchmarks"
TODAY = date(2026, 10, 15)


def questions(path: Path) -> list[Mapping[str, Any]]:
    return [
        cast("Mapping[str, Any]", json.loads(line)) for line in path.read_text("utf-8").splitlines()
    ]


def understood(question: str, today: date = TODAY) -> dict[str, set[str]]:
    filters: dict[str, set[str]] = {}
    for phrase in find_phrases(question, today):
        filters.setdefault(phrase.part.value, set()).update(phrase.values)
    return filters


def due(filters: Mapping[str, str | list[str]]) -> dict[str, set[str]]:
    """Return what a question is to be understood as; an end that is today or later says nothing."""
    return {
        name: {value} if isinstance(value, str) else set(value)
        for name, value in filters.items()
        if name != "until" or str(value) < TODAY.isoformat()
    }


@pytest.mark.parametrize(("split", "least"), [("dev", 32), ("test", 31)])
def test_what_a_question_says_of_the_documents_is_understood(split: str, least: int) -> None:
    listed = [q for q in questions(ROOT / "filters" / "questions.jsonl") if q["split"] == split]
    right = [
        question
        for question in listed
        if understood(question["question"]) == due(question["filters"])
    ]
    assert len(listed) == 32
    assert len(right) >= least, [q["question"] for q in listed if q not in right]
    assert not [q for q in listed if not q["filters"] and understood(q["question"])]


@pytest.mark.parametrize("collection", ["borg", "debian", "licences"])
def test_questions_on_documentation_get_no_filter(collection: str) -> None:
    for question in questions(ROOT / "questions" / collection / "questions.jsonl"):
        assert not find_phrases(question["question"], TODAY), question["question"]


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        ("from yesterday", "2026-10-14", "2026-10-14"),
        ("from this month", "2026-10-01", ""),
        ("from last year", "2025-01-01", "2025-12-31"),
        ("of the past three weeks", "2026-09-24", ""),
        ("in December", "2025-12-01", "2025-12-31"),
        ("since 3 May", "2026-05-03", ""),
        ("after June 2026", "2026-07-01", ""),
        ("before 2026", "", "2025-12-31"),
        ("until 2026-03-01", "", "2026-03-01"),
        ("since Thursday", "2026-10-15", ""),
        ("seit Freitag", "2026-10-09", ""),
        ("in DECEMBER 2025", "2025-12-01", "2025-12-31"),
        ("from MAİ 2026", "2026-05-01", "2026-05-31"),
        ("of the last fıve days", "2026-10-10", ""),
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("since November 2026", "", ""),
        ("since 31 February 2026", "", ""),
    ],
)
def test_spans_of_days_are_told_from_today(words: str, since: str, until: str) -> None:
    filters = understood(f"messages {words}")
    assert filters.get("since", {""}) == {since}
    assert filters.get("until", {""}) == {until}


@pytest.mark.parametrize(
    "question",
    [
        "List all tasks due in June 2025",
        "Which pumps did we say were sold last month?",
        "What did the board decide to sell last year?",
    ],
)
def test_days_of_what_documents_speak_of_are_no_filter(question: str) -> None:
    assert not understood(question)


def test_the_last_month_of_january_is_december() -> None:
    filters = understood("notes from last month", date(2026, 1, 31))
    assert (filters["since"], filters["until"]) == ({"2025-12-01"}, {"2025-12-31"})


def test_what_is_searched_for_lacks_the_words_of_the_filters() -> None:
    question = "What did Bob Okafor write in Linear last week about firmware 4.2?"
    phrases = find_phrases(question, TODAY)
    assert without(question, phrases) == "What about firmware 4.2?"
    question = "When does the canteen open, in Linear?"
    assert without(question, find_phrases(question, TODAY)) == "When does the canteen open?"
    question = "What did Bob Okafor write in Linear last week about firmware 4.2?"
    words = {question[phrase.start : phrase.end] for phrase in phrases}
    assert words == {"did Bob Okafor write", "in Linear", "last week"}
    assert [phrase.part for phrase in phrases] == [
        Part.AUTHOR,
        Part.SYSTEM,
        Part.SINCE,
        Part.UNTIL,
    ]

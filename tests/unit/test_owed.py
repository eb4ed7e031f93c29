"""How a question asks for what is owed, and of which days."""

from datetime import date

import pytest

from lightwell.text.answer_types.owed import Period, asked_period, read_owed

TODAY = date(2026, 11, 27)  # a Friday


@pytest.mark.parametrize(
    ("question", "is_late", "asks_when"),
    [
        ("What did we promise about deadlines?", False, False),
        ("What is due in June 2026?", False, False),
        ("Which commitments do we have towards Nordwind?", False, False),
        ("What did we tell Nordwind we would do by Friday?", False, False),
        ("What is overdue?", True, False),
        ("Welche Aufgaben sind überfällig?", True, False),
        ("Was haben wir Nordwind zugesagt?", False, False),
        ("Qu'avons-nous promis à Nordwind ?", False, False),
        ("When is the training day due?", False, True),
    ],
)
def test_a_question_for_what_is_owed_is_known(
    question: str,
    is_late: bool,  # noqa: FBT001
    asks_when: bool,  # noqa: FBT001
) -> None:
    asked = read_owed(question)
    assert asked is not None
    assert (asked.is_late, asked.asks_when) == (is_late, asks_when)


@pytest.mark.parametrize(
    "question",
    [
        "What was the delay due to?",
        "What is the late fee?",
        "What does the guarantee cover?",
        "Who leads Osprey?",
        "What discount does Nordwind Energie receive?",
        "How soon must I report a stolen laptop?",
    ],
)
def test_other_questions_are_none(question: str) -> None:
    assert read_owed(question) is None


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What is due in June 2026?", date(2026, 6, 1), date(2026, 6, 30)),
        ("What is due in June?", date(2027, 6, 1), date(2027, 6, 30)),
        ("What is due by the end of June 2026?", date.min, date(2026, 6, 30)),
        ("What is due on 3 May 2026?", date(2026, 5, 3), date(2026, 5, 3)),
        ("What is due by Friday?", date.min, date(2026, 11, 27)),
        ("What is due on Monday?", date(2026, 11, 30), date(2026, 11, 30)),
        ("What is due in 2026?", date(2026, 1, 1), date(2026, 12, 31)),
        ("Was ist bis zum 4. März 2027 fällig?", date.min, date(2027, 3, 4)),
        ("Was ist nächste Woche fällig?", date(2026, 11, 30), date(2026, 12, 6)),
        ("What is due next month?", date(2026, 12, 1), date(2026, 12, 31)),
        ("What is due today?", TODAY, TODAY),
        ("Was ist am Samstag fällig?", date(2026, 11, 28), date(2026, 11, 28)),
        ("What is due on FRİDAY?", TODAY, TODAY),
    ],
)
def test_the_days_that_a_question_is_about(question: str, first: date, last: date) -> None:
    assert asked_period(question, TODAY) == Period(first=first, last=last)


def test_the_month_after_december_is_january() -> None:
    period = asked_period("What is due next month?", date(2026, 12, 31))
    assert period == Period(first=date(2027, 1, 1), last=date(2027, 1, 31))


def test_no_day_is_no_period() -> None:
    assert asked_period("What is overdue?", TODAY) is None

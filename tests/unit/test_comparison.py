"""Two runs of an evaluation side by side: what moved, the figures that differ, and a page on which documents are text."""

from pathlib import Path

import pytest

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.comparison import Figure, Side, compare
from lightwell.entrypoints.cli.comparison_page import page, write_page
from lightwell.entrypoints.cli.saved_results import Json


def trial(
    number: int, outcome: str, reason: str | None = None, *, state: str = "", text: str = ""
) -> Json:
    return {
        "id": f"q{number}",
        "question": f"Question {number}?",
        "outcome": outcome,
        "state": state,
        "reason": reason,
        "isWell": reason is None,
        "missing": [["25 days", "25d"], ["manager"]] if reason else [],
        "text": text,
    }


def run(*trials: Json, right: float = 0.5, **more: object) -> Json:
    return {
        "version": "1",
        "codeHash": "abcdef0123",
        "dataset": "own",
        "corpusHash": "c",
        "questionsHash": "q",
        "questions": len(trials),
        "settings": {"model": "extracts"},
        "quality": {"all": {"right": right, **more}},
        "answers": trials,
    }


BEFORE = run(
    trial(1, "right", text="It is 25 days, says the manager."),
    trial(2, "refused", "below threshold"),
    trial(3, "wrong", "incomplete", text="25 days"),
    trial(4, "right", text="The same."),
)
NOW = run(
    trial(1, "wrong", "wrong sentence selected", state="possibly", text="<script>No.</script>"),
    trial(2, "right", state="answered", text="The manager gives 25 days."),
    trial(3, "refused", "below threshold", state="insufficient"),
    trial(4, "right", state="answered", text="The same."),
    right=0.75,
    unanswerableRefused=1.0,
)


def test_questions_are_better_worse_or_otherwise() -> None:
    comparison = compare(BEFORE, NOW)
    assert [question.id for question in comparison.worse] == ["q1"]
    assert [question.id for question in comparison.better] == ["q2"]
    assert [question.id for question in comparison.otherwise] == ["q3"]
    worse = comparison.worse[0]
    assert worse.before == Side(outcome="right", answer="It is 25 days, says the manager.")
    assert worse.now.outcome == "possibly, wrong (wrong sentence selected)"
    assert worse.expected == "25 days or 25d and manager"


def test_figures_that_both_runs_have_and_that_differ_are_shown() -> None:
    comparison = compare(BEFORE, NOW)
    assert comparison.figures == [Figure(name="right", before=0.5, now=0.75)]
    assert comparison.figures[0].texts == ("50.0", "75.0", "+25.0")
    assert Figure(name="words", before=12, now=None, is_share=False).texts == ("12", "–", "")


def test_other_documents_are_warned_of() -> None:
    assert compare(BEFORE, {**NOW, "corpusHash": "d"}).warnings
    assert not compare(BEFORE, NOW).warnings


def test_the_page_shows_both_answers_and_what_documents_say_is_text(tmp_path: Path) -> None:
    comparison = compare(BEFORE, NOW)
    written = page(comparison)
    assert "&lt;script&gt;No.&lt;/script&gt;" in written
    assert "<script" not in written
    for words in ("Worse now: 1", "Better now: 1", "It is 25 days, says the manager.", "+25.0"):
        assert words in written
    write_page(tmp_path / "page.html", comparison)
    assert (tmp_path / "page.html").read_text() == written
    with pytest.raises(Invalid, match="cannot be written"):
        write_page(tmp_path, comparison)

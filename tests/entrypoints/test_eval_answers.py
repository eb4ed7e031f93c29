"""`lightwell eval` on a small handbook with questions, through the real program and the real local model."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import cast

import pytest

from lightwell.stores.embedded.server import run_server
from lightwell.testing.endpoint import FakeEndpoint
from tests.entrypoints.program import Ended, run

DOCUMENTS = {
    "people/leave.md": "---\nacl_tags: [people]\n---\n# Annual leave\n\nEvery employee has 25 days of annual leave each year.\n",
    "people/parental.md": "# Parental leave\n\nParental leave lasts 16 weeks and is paid in full.\n",
    "it/backups.md": "# Backups\n\nNightly backups of the order database are kept for 35 days in Frankfurt.\n",
}
QUESTIONS: Sequence[Mapping[str, object]] = (
    {
        "id": "leave",
        "question": "How many days of annual leave does every employee have?",
        "kind": "number",
        "style": "plain",
        "gold": ["people/leave.md"],
        "evidence": ["25 days of annual leave"],
        "answer_any": [["25 days", "twenty-five days"]],
        "split": "dev",
    },
    {
        "id": "backups",
        "question": "How long are nightly backups of the order database kept?",
        "kind": "number",
        "style": "plain",
        "gold": ["it/backups.md", "people/leave.md"],
        "gold_any": True,
        "answer_any": [["35 days"], ["on tape"]],
        "split": "dev",
    },
    {
        "id": "orchestra",
        "question": "Which orchestra played at the opera gala in Vienna?",
        "kind": "unanswerable",
        "style": "short",
        "gold": [],
        "answer_any": [],
        "split": "dev",
    },
    {
        "id": "parental",
        "question": "How many weeks does parental leave last?",
        "kind": "number",
        "style": "plain",
        "gold": ["people/parental.md"],
        "answer_any": [["16 weeks"]],
        "split": "test",
    },
)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with a handbook in `own/`, and the server of the data directory's `eval/` running."""
    folder = Path(tempfile.mkdtemp(prefix="lightwell-eval-"))
    folder.chmod(0o755)
    for path, text in DOCUMENTS.items():
        (folder / "own" / "documents" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "own" / "documents" / path).write_text(text)
    lines = "".join(json.dumps(each) + "\n" for each in QUESTIONS)
    (folder / "own" / "questions.jsonl").write_text(lines)
    (folder / "data").mkdir(mode=0o755)
    with run_server(folder / "data" / "eval"):
        yield folder
    rmtree(folder, ignore_errors=True)


def ran(home: Path, *arguments: str, code: int = 0, **settings: str) -> Ended:
    ended = run(home, "eval", *arguments, **settings)
    assert ended.returncode == code, ended.stderr
    return ended


@pytest.fixture(scope="module")
def first(home: Path) -> Ended:
    return ran(home, "own", "--split", "dev", "--json", "--save", "first.json")


def results(ended: Ended) -> Mapping[str, object]:
    return cast("Mapping[str, object]", json.loads(ended.stdout))


def by_id(ended: Ended) -> dict[str, Mapping[str, object]]:
    answers = cast("Sequence[Mapping[str, object]]", results(ended)["answers"])
    return {str(each["id"]): each for each in answers}


def test_answers_are_judged_by_what_they_must_say(first: Ended) -> None:
    document = results(first)
    assert (document["dataset"], document["documents"], document["questions"]) == ("own", 3, 3)
    quality = cast("Mapping[str, Mapping[str, object]]", document["quality"])["all"]
    assert (quality["answerable"], quality["unanswerable"]) == (2, 1)
    assert (quality["right"], quality["unanswerableRefused"]) == (0.5, 1.0)
    assert quality["relevanceAuroc"] == 1.0
    reasons = cast("Mapping[str, int]", quality["reasons"])
    assert {name: count for name, count in reasons.items() if count} == {
        "not retrieved": 1  # no document says "on tape"
    }
    states = cast("Mapping[str, Mapping[str, object]]", quality["states"])
    assert states["insufficient"]["unanswerable"] == 1
    assert sum(cast("int", ended["answerable"]) for ended in states.values()) == 2
    assert cast("Mapping[str, object]", quality["keySentences"])["ofRight"] == 1.0
    asked = by_id(first)
    assert "25 days" in cast("str", asked["leave"]["keySentences"])
    assert (asked["leave"]["outcome"], asked["leave"]["reason"]) == ("right", None)
    assert asked["leave"]["found"][0] == "people/leave.md"  # type: ignore[index]
    assert asked["backups"]["missing"] == [["on tape"]]
    assert asked["orchestra"]["outcome"] == "refused"


def test_the_text_has_the_tables_and_the_worst_cases(home: Path, first: Ended) -> None:
    assert first.returncode == 0
    text = ran(home, "own", "--split", "dev").stdout
    for words in ("right / answered", "best sentence", "1,200 characters", "not retrieved", "CPU"):
        assert words in text
    assert "confidence high" in text
    assert "The key sentences contain the whole answer in 100.0 % of the right answers." in text
    assert "kind number" in text
    assert "style short" in text
    assert "missing: 'on tape'" in text
    assert "documents: it/backups.md, people/leave.md" in text


def test_two_runs_are_compared_question_by_question(home: Path, first: Ended) -> None:
    saved = cast("dict[str, object]", json.loads((home / "first.json").read_text()))
    assert saved == results(first)
    answers = cast("list[dict[str, object]]", saved["answers"])
    earlier = [{**each, "isWell": not each["isWell"], "reason": "earlier"} for each in answers]
    quality = cast("dict[str, dict[str, object]]", saved["quality"])
    before = {"all": {**quality["all"], "right": 0.25}}
    (home / "old.json").write_text(
        json.dumps({**saved, "version": "0.0.0", "answers": earlier, "quality": before})
    )
    text = ran(
        home, "own", "--split", "dev", "--compare", "old.json", "--report", "page.html"
    ).stdout
    assert "Lightwell 0.0.0" in text
    assert "+25.0" in text
    assert "Better now: 2" in text
    assert "Worse now: 1" in text
    assert "backups  How long are nightly backups" in text
    assert "before  wrong (earlier): Nightly backups" in text
    assert "now     wrong (not retrieved): Nightly backups" in text
    page = (home / "page.html").read_text()
    assert "How long are nightly backups of the order database kept?" in page
    assert "Missing: on tape" in page
    same = ran(home, "own", "--split", "dev", "--compare", "first.json").stdout
    assert "Better now: 0" in same
    assert "No figure has changed." in same or "processor" in same


def test_a_page_needs_a_run_to_compare_with(home: Path) -> None:
    ended = ran(home, "own", "--report", "page.html", code=2)
    assert "--report writes a comparison: name the saved results with --compare" in ended.stderr


TALK: Sequence[Mapping[str, object]] = (
    {**QUESTIONS[0], "dialogue": "leave"},
    {
        "id": "approver",
        "question": "and of backups?",
        "kind": "number",
        "style": "ellipsis",
        "gold": ["it/backups.md"],
        "answer_any": [["35 days"]],
        "split": "dev",
        "dialogue": "leave",
    },
    {**QUESTIONS[3], "split": "dev"},
)


def test_the_questions_of_a_dialogue_are_asked_in_one_conversation(home: Path) -> None:
    (home / "talk").mkdir()
    lines = "".join(json.dumps(each) + "\n" for each in TALK)
    (home / "talk" / "questions.jsonl").write_text(lines)
    ended = ran(home, "talk", "--documents", "own/documents", "--json")
    asked = by_id(ended)
    assert asked["leave"]["asked"] == asked["leave"]["question"]
    assert "leave" in cast("str", asked["approver"]["asked"])
    assert asked["parental"]["asked"] == asked["parental"]["question"]
    quality = cast("Mapping[str, Mapping[str, object]]", results(ended)["quality"])
    assert (quality["first turns"]["answerable"], quality["follow-ups"]["answerable"]) == (1, 1)
    one = ran(home, "talk", "--documents", "own/documents", "--json", "--limit-questions", "1")
    assert list(by_id(one)) == ["leave", "approver"]  # a dialogue is not cut


def test_documents_are_read_again_only_when_they_change(home: Path, first: Ended) -> None:
    assert first.stderr.count(": 1 passage\n") == 3
    assert "3 of 3 passages read\n" in first.stderr
    again = ran(home, "own", "--split", "test", "--json")
    assert "passage" not in again.stderr
    backups = home / "own" / "documents" / "it" / "backups.md"
    backups.write_text(backups.read_text() + "\nThey are tested each month.\n")
    changed = ran(home, "own", "--split", "test", "--json")
    assert changed.stderr.count(": 1 passage\n") == 1
    assert "1 of 1 passage read\n" in changed.stderr
    assert list(by_id(again)) == ["parental"]


def test_a_model_answers_where_there_is_one(home: Path, first: Ended) -> None:
    assert first.returncode == 0
    with FakeEndpoint(lambda body: "Every employee has 99 days of leave [1].").running() as model:
        ended = ran(
            home,
            "own",
            "--split",
            "dev",
            "--json",
            LIGHTWELL_CHAT_URL=model.base_url,
            LIGHTWELL_CHAT_MODEL="fake",
        )
    assert cast("Mapping[str, str]", results(ended)["settings"])["model"] == "fake"
    assert cast("int", results(ended)["modelTokens"]) > 0
    assert any("model" in note for note in cast("list[str]", by_id(ended)["leave"]["notes"]))


def test_what_is_for_sets_of_passages_is_refused(home: Path) -> None:
    ended = ran(home, "own", "--ablate", code=2)
    assert "--ablate is for sets of passages (corpus.jsonl)" in ended.stderr


def test_a_wrong_line_is_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text(
        '{"id": "1", "question": "Who?", "gold": ["no.md"]}\n'
    )
    (tmp_path / "documents").mkdir()
    ended = ran(home, str(tmp_path), code=2)
    assert "questions.jsonl, line 1: 'answer_any': Field required" in ended.stderr

"""`lightwell eval` on a small set, through the real program and the real local model."""

import gzip
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

PASSAGES = {
    "harbour": "The harbour of Brimhaven was deepened in 1974 by the engineer Olga Petrov.",
    "petrov": "Olga Petrov, the engineer, was born in the village of Tarnby.",
    "bees": "Beehives on the roof of the town hall give forty jars of honey each summer.",
    "tram": "The tram line to the university runs every eight minutes on weekdays.",
    "soup": "The canteen serves pea soup on Thursdays and pancakes afterwards.",
}
QUESTIONS: tuple[tuple[str, list[str], str, str], ...] = (
    ("Who deepened the harbour of Brimhaven?", ["harbour"], "one", "dev"),
    ("How many jars of honey do the beehives on the town hall give?", ["bees"], "one", "test"),
    ("Where was the engineer who deepened Brimhaven's harbour born?", ["harbour", "petrov"], "two", "test"),
    ("Which orchestra played at the opera gala in Vienna?", [], "none", "dev"),
)  # fmt: skip


def lines(each: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in each)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with a set in `town/`, and the server of the data directory's `eval/` running."""
    folder = Path(tempfile.mkdtemp(prefix="lightwell-eval-"))
    folder.chmod(0o755)
    town = folder / "town"
    town.mkdir()
    corpus = [{"id": id_, "title": id_.title(), "text": text} for id_, text in PASSAGES.items()]
    asked = [
        {"id": str(at), "question": text, "answer": "", "gold": gold, "type": kind, "split": split}
        for at, (text, gold, kind, split) in enumerate(QUESTIONS)
    ]
    (town / "corpus.jsonl.gz").write_bytes(gzip.compress(lines(corpus).encode()))
    (town / "questions.jsonl").write_text(lines(asked))
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
    return ran(home, "town", "--json", "--ablate", "--save", "first.json")


def quality(document: Mapping[str, object], part: str) -> Mapping[str, float]:
    return cast("Mapping[str, Mapping[str, Mapping[str, float]]]", document)["quality"][part]


def test_what_is_measured_is_what_the_set_holds(first: Ended) -> None:
    document = cast("dict[str, object]", json.loads(first.stdout))
    assert (document["dataset"], document["documents"], document["passages"]) == ("town", 5, 5)
    assert document["questions"] == 4
    whole = quality(document, "all")
    assert whole["recallAt5"] == 1.0
    assert whole["allGoldAt5"] == 1.0
    assert whole["meanReciprocalRank"] == 1.0
    assert whole["abstentionAuroc"] == 1.0
    assert quality(document, "type two")["recallAt2"] == 1.0
    assert quality(document, "split test")["questions"] == 2
    assert quality(document, "type none")["recallAt5"] is None


def test_each_channel_is_left_out_and_each_mode_is_tried(
    first: Ended,
) -> None:
    variants = cast("dict[str, dict[str, float]]", json.loads(first.stdout)["variants"])
    assert {"without dense", "without words", "mode naive", "mode local"} <= set(variants)
    assert "mode bypass" not in variants
    assert variants["mode naive"]["recallAt5"] == 1.0
    assert variants["mode global"]["recallAt5"] < 1.0  # these passages relate nothing


def test_the_second_run_reads_nothing_and_says_what_has_changed(home: Path, first: Ended) -> None:
    saved = cast("dict[str, object]", json.loads((home / "first.json").read_text()))
    assert saved == json.loads(first.stdout)
    (home / "old.json").write_text(json.dumps(saved | {"version": "0.0.0"}))
    again = ran(home, "town", "--compare", "old.json")
    assert "1 passage" in first.stderr
    assert "1 passage" not in again.stderr
    assert "0.0.0" in again.stdout
    assert "R@5" in again.stdout
    assert "not meaningful" not in again.stdout


def test_what_cannot_be_compared_is_said(home: Path, first: Ended) -> None:
    saved = cast("dict[str, object]", json.loads(first.stdout))
    assert len(str(saved["codeHash"])) == len(str(saved["questionsHash"])) == 64
    fewer = ran(home, "town", "--limit-questions", "2", "--compare", "first.json")
    assert "The questions differ: 4 before, 2 now." in fewer.stdout
    others = {"questionsHash": "0", "corpusHash": "0", "dataset": "village"}
    (home / "village.json").write_text(json.dumps(saved | others))
    other = ran(home, "town", "--compare", "village.json")
    assert "The documents differ: village before, town now. The comparison" in other.stdout
    assert "The questions differ: 4 before, 4 now. The comparison" in other.stdout


def test_nothing_of_the_users_is_touched(home: Path, first: Ended) -> None:
    assert first.returncode == 0
    assert [each.name for each in (home / "data").iterdir()] == ["eval"]


def test_fresh_reads_the_passages_anew(home: Path, first: Ended) -> None:
    again = ran(home, "town", "--fresh", "--split", "dev", "--limit-questions", "1", "--json")
    for ended in (first, again):
        assert ended.stderr.count(": 1 passage\n") == len(PASSAGES)
        assert f"{len(PASSAGES)} of {len(PASSAGES)} passages read\n" in ended.stderr
    assert json.loads(again.stdout)["questions"] == 1


def test_a_reranker_is_calibrated(home: Path, first: Ended) -> None:
    assert first.returncode == 0
    with FakeEndpoint().running() as reranker:
        ended = ran(
            home,
            "town",
            "--calibrate",
            LIGHTWELL_RERANK="endpoint",
            LIGHTWELL_RERANK_URL=reranker.url,
            LIGHTWELL_RERANK_MODEL="fake",
            LIGHTWELL_RERANK_TIMEOUT_MS="20000",
        )
    assert "LIGHTWELL_RERANK_SCALE=" in ended.stdout
    assert "LIGHTWELL_RERANK_SHIFT=" in ended.stdout


def test_what_is_wrong_with_a_set_is_said_with_its_place(home: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("{}\n")
    (tmp_path / "questions.jsonl").write_text("")
    ended = ran(home, str(tmp_path), code=2)
    assert "corpus.jsonl, line 1: 'id': Field required" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_other_wrong_input_is_said_before_anything_is_read(home: Path) -> None:
    (home / "notes.json").write_text("[]")
    for arguments, message in (
        (["town", "--split", "train"], "there are: dev, test"),
        (["town", "--calibrate"], "set LIGHTWELL_RERANK"),
        (["town", "--compare", "notes.json"], "has no results"),
    ):
        assert message in ran(home, *arguments, code=2).stderr

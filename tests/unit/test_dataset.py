"""An evaluation set as a source, and the readers it is asked by."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lightwell.domain.access import is_visible
from lightwell.domain.errors import Invalid
from lightwell.evaluation.dataset import Dataset, load_dataset


def written(folder: Path, name: str, rows: Sequence[object]) -> None:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    corpus = [{"id": f"d{n}", "text": f"Text {n}."} for n in range(60)]
    asked = [
        {"id": str(n), "question": f"Question {n}?", "gold": [f"d{n}", f"d{n // 2 + 20}"]}
        for n in range(30)
    ]
    written(tmp_path, "corpus", corpus)
    written(tmp_path, "questions", asked)
    return load_dataset(tmp_path)


def test_the_reader_without_a_fold_sees_all_but_what_answers_its_questions(
    dataset: Dataset,
) -> None:
    folds = {each.fold for each in dataset.questions}
    assert len(folds) > 3
    for fold in folds:
        gold = {url for each in dataset.questions if each.fold == fold for url in each.gold}
        hidden = {
            each.url
            for each in dataset.documents
            if not is_visible(each.acl_tags, dataset.tags_without(fold))
        }
        assert hidden == gold


def test_the_reader_with_all_tags_sees_everything(dataset: Dataset) -> None:
    assert all(is_visible(each.acl_tags, dataset.tags) for each in dataset.documents)
    assert all(len(each.acl_tags) == 1 for each in dataset.documents)


def test_another_passage_makes_another_corpus(dataset: Dataset, tmp_path: Path) -> None:
    with (tmp_path / "corpus.jsonl").open("a") as corpus:
        corpus.write(json.dumps({"id": "more", "text": "More."}) + "\n")
    assert load_dataset(tmp_path).corpus_hash != dataset.corpus_hash


GOOD = {"id": "1", "text": "Soup.", "title": "Soup"}
ASKED = {"id": "1", "question": "What?", "gold": ["1"]}
WRONG: list[tuple[Sequence[object], Sequence[object] | None, str]] = [
    ([GOOD], None, "questions.jsonl or questions.jsonl.gz is missing"),
    ([GOOD], [], "questions.jsonl is empty"),
    ([GOOD, {"id": "2"}], [ASKED], "corpus.jsonl, line 2: 'text': Field required"),
    ([GOOD, GOOD], [ASKED], "corpus.jsonl, line 2: the id '1' occurs twice"),
    ([GOOD], [ASKED | {"gold": ["9"]}], "questions.jsonl, line 1: 'gold' names '9'"),
    ([GOOD], [ASKED | {"gold": "1"}], "questions.jsonl, line 1: 'gold': "),
    ([GOOD], [ASKED | {"question": " "}], "questions.jsonl, line 1: 'question': "),
    ([GOOD], ["What?"], "questions.jsonl, line 1: "),
]


@pytest.mark.parametrize(("corpus", "asked", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, corpus: Sequence[object], asked: Sequence[object] | None, message: str
) -> None:
    written(tmp_path, "corpus", corpus)
    if asked is not None:
        written(tmp_path, "questions", asked)
    with pytest.raises(Invalid, match=re.escape(message)):
        load_dataset(tmp_path)


def test_a_file_that_is_not_compressed_as_its_name_says_is_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl.gz").write_bytes(b"{}")
    written(tmp_path, "questions", [ASKED])
    with pytest.raises(Invalid, match=r"corpus\.jsonl\.gz cannot be read"):
        load_dataset(tmp_path)

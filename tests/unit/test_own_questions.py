"""Our own questions on packaged documentation: well formed, answered by the page that they name, or by none."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from benchmarks.packaged_documents import (
    NAMES,
    QUESTIONS,
    Selection,
    copy_documents,
    find_changed_packages,
    find_missing_packages,
    read_selection,
)
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.evaluation.collection import UNANSWERABLE, load_collection
from lightwell.evaluation.correctness import missing_groups, normalize
from lightwell.ingest.parse import parse

ROOT = Path("/")
DIALOGUES = QUESTIONS.parent / "dialogues"
FORMATS = {".html": Format.HTML, ".txt": Format.TEXT}


def read_raw(name: str, below: Path = QUESTIONS) -> list[dict[str, object]]:
    lines = (below / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [cast("dict[str, object]", json.loads(line)) for line in lines]


def strings(question: dict[str, object], field: str) -> list[str]:
    return cast("list[str]", question.get(field, []))


def unpacked(selection: Selection, below: Path) -> Path:
    for source in selection.source:
        for path in source.paths(below).values():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("A page.\n", encoding="utf-8")
    return below


@pytest.mark.parametrize("name", NAMES)
def test_questions_are_well_formed_and_name_selected_documents(name: str, tmp_path: Path) -> None:
    selection = read_selection(name)
    copy_documents(selection, unpacked(selection, tmp_path / "root"), tmp_path / "documents")
    questions = load_collection(
        QUESTIONS / name, unpack_below=tmp_path, documents=tmp_path / "documents"
    ).questions

    assert len({question.text.casefold() for question in questions}) == len(questions)
    assert all(question.kind and question.style for question in questions)
    splits = Counter(question.split for question in questions)
    assert set(splits) == {"dev", "test"}
    assert abs(splits["dev"] - splits["test"]) <= len(questions) / 10
    unanswerable = sum(not question.is_answerable for question in questions)
    assert 0.1 < unanswerable / len(questions) < 0.2


def test_there_are_more_than_150_questions() -> None:
    assert sum(len(read_raw(name)) for name in NAMES) >= 150


@pytest.mark.parametrize("name", ["borg", "debian", "govuk"])
def test_dialogues_begin_with_a_question_that_stands_alone(name: str) -> None:
    dialogues: dict[object, list[dict[str, object]]] = {}
    for question in read_raw(name, DIALOGUES):
        dialogues.setdefault(question["dialogue"], []).append(question)
    for turns in dialogues.values():
        assert 2 <= len(turns) <= 4
        assert [turn["style"] == "first" for turn in turns] == [True, *[False] * (len(turns) - 1)]
        assert len({str(turn["split"]) for turn in turns}) == 1
    splits = Counter(str(turns[0]["split"]) for turns in dialogues.values())
    assert abs(splits["dev"] - splits["test"]) <= 1


def test_documents_of_another_version_are_noticed(tmp_path: Path) -> None:
    selection = read_selection("borg")
    assert find_changed_packages(selection, unpacked(selection, tmp_path)) == ["borgbackup-doc"]
    assert find_changed_packages(selection, tmp_path / "nothing") == []


def test_a_missing_package_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"apt-get install \S+ borgbackup-doc`"):
        copy_documents(read_selection("borg"), tmp_path, tmp_path / "documents")


@pytest.mark.parametrize("name", NAMES)
def test_documents_hold_the_expected_answers_and_nothing_of_the_unanswerable(name: str) -> None:
    selection = read_selection(name)
    missing = find_missing_packages(selection, ROOT)
    if missing:
        pytest.skip(f"the documents are not here; apt-get install {' '.join(missing)}")
    changed = find_changed_packages(selection, ROOT)
    if changed:
        pytest.skip(f"the questions were written on other versions of {' '.join(changed)}")
    texts = read_texts(selection)
    wrong = {str(question["id"]): find_errors(question, texts) for question in read_raw(name)}
    for question in read_raw(name, DIALOGUES) if (DIALOGUES / name).is_dir() else ():
        wrong[str(question["id"])] = find_lacking(question, texts) if question["gold"] else []
    assert {key: errors for key, errors in wrong.items() if errors} == {}


def find_errors(question: dict[str, object], texts: dict[str, str]) -> list[object]:
    """Return what the documents lack for an answer, or what they say of a question that none of them should answer."""
    if question["kind"] != UNANSWERABLE:
        return find_lacking(question, texts)
    patterns = strings(question, "absent")
    return find_unexpected(patterns, texts) if patterns else ["it has no 'absent'"]


def read_texts(selection: Selection) -> dict[str, str]:
    return {
        name: normalize(parse(path.read_bytes(), FORMATS[Path(name).suffix], name=name).text)
        for source in selection.source
        for name, path in source.paths(ROOT).items()
    }


def find_unexpected(patterns: list[str], texts: dict[str, str]) -> list[object]:
    matches = [re.search(pattern, text, re.I) for pattern in patterns for text in texts.values()]
    return [found[0] for found in matches if found]


def find_lacking(question: dict[str, object], texts: dict[str, str]) -> list[object]:
    """Return the evidence that no gold document holds, and the groups: each gold one has them where one is enough."""
    gold = [texts[path] for path in strings(question, "gold")]
    everywhere = gold if question.get("gold_any") else [" ".join(gold)]
    groups = cast("list[list[str]]", question["answer_any"])
    evidence = [
        words
        for words in strings(question, "evidence")
        if not any(normalize(words) in text for text in gold)
    ]
    return [
        *evidence,
        *(
            lost
            for text in everywhere
            for lost in missing_groups([tuple(group) for group in groups], text)
        ),
    ]

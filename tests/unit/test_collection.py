"""A collection of documents with questions: how it is read, and the messages for invalid ones."""

import io
import json
import re
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.evaluation import archive
from lightwell.evaluation.archive import unpack
from lightwell.evaluation.collection import (
    TAGS,
    Collection,
    PublicDocuments,
    is_collection,
    load_collection,
)
from lightwell.ports import Change, ChangedDocument, RemovedDocument

ASKED: dict[str, object] = {
    "id": "1",
    "question": "How many days?",
    "kind": "number",
    "gold": ["people/leave.md"],
    "answer_any": [["25 days", "25d"]],
    "split": "dev",
}
NOBODY_SAYS: dict[str, object] = {
    "id": "2",
    "question": "Who won?",
    "kind": "unanswerable",
    "gold": [],
    "answer_any": [],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one document, and no questions yet."""
    folder = tmp_path / "handbook"
    (folder / "documents" / "people").mkdir(parents=True)
    (folder / "documents" / "people" / "leave.md").write_text("You have 25 days.\n")
    return folder


def write(folder: Path, *questions: object) -> None:
    lines = (each if isinstance(each, str) else json.dumps(each) for each in questions)
    (folder / "questions.jsonl").write_text("".join(f"{line}\n" for line in lines))


def load(folder: Path, documents: Path | None = None) -> Collection:
    return load_collection(folder, unpack_below=folder.parent / "unpacked", documents=documents)


def test_questions_name_documents_by_their_path(folder: Path) -> None:
    write(folder, ASKED, NOBODY_SAYS)
    collection = load(folder)
    first, second = collection.questions
    assert first.gold == {(folder / "documents" / "people" / "leave.md").as_uri()}
    assert (first.groups, first.is_answerable) == ((("25 days", "25d"),), True)
    assert (second.gold, second.is_answerable) == (frozenset(), False)


def test_questions_of_a_dialogue_are_its_turns_in_their_order(folder: Path) -> None:
    one = {**ASKED, "dialogue": "leave"}
    write(folder, one, {**NOBODY_SAYS, "id": "x"}, {**one, "id": "3", "question": "and days?"})
    turns = [(each.dialogue, each.turn) for each in load(folder).questions]
    assert turns == [("leave", 1), ("", 1), ("leave", 2)]


def test_a_dialogue_is_of_one_split(folder: Path) -> None:
    one = {**ASKED, "dialogue": "leave"}
    write(folder, one, {**one, "id": "3", "split": "test"})
    with pytest.raises(Invalid, match=r"line 2: the dialogue 'leave' is of two splits"):
        load(folder)


def test_documents_may_lie_elsewhere(folder: Path, tmp_path: Path) -> None:
    elsewhere = (folder / "documents").rename(tmp_path / "own")
    write(folder, ASKED)
    assert load(folder, elsewhere).root == elsewhere
    with pytest.raises(Invalid, match="has no documents: put them into"):
        load(folder)


def test_a_corpus_makes_it_a_set_of_passages(folder: Path) -> None:
    assert is_collection(folder)
    (folder / "corpus.jsonl").write_text("{}\n")
    assert not is_collection(folder)


WRONG: list[tuple[Sequence[object], str]] = [
    ([], "questions.jsonl is empty"),
    (["{"], "questions.jsonl, line 1: Invalid JSON"),
    ([ASKED, ASKED], "questions.jsonl, line 2: the id '1' occurs twice"),
    ([{**ASKED, "gold": ["leave.md"]}], "line 1: 'gold' names 'leave.md', which is not a file of"),
    (
        [{**ASKED, "gold": ["../secret"]}],
        "line 1: 'gold' names '../secret', which is not a file of",
    ),
    (
        [{**ASKED, "gold": ["/etc/passwd"]}],
        "line 1: 'gold' names '/etc/passwd', which is not a file",
    ),
    ([{**ASKED, "gold": []}], "line 1: 'gold' is empty; fill it in, or leave both"),
    ([{**ASKED, "answer_any": []}], "line 1: 'answer_any' is empty; fill it in, or leave both"),
    ([{**ASKED, "answer_any": [[]]}], "line 1: 'answer_any.0': "),
    ([{**ASKED, "answer_any": [["**"]]}], "line 1: 'answer_any' has '**', which consists of"),
    ([{**ASKED, "answer_any": "25 days"}], "line 1: 'answer_any': "),
    ([{**ASKED, "kind": "unanswerable"}], "line 1: the kind 'unanswerable' contradicts 'gold'"),
    ([{**NOBODY_SAYS, "kind": "fact"}], "line 1: the kind 'fact' contradicts 'gold'"),
]


@pytest.mark.parametrize(("questions", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_line_and_how_to_fix_it(
    folder: Path, questions: Sequence[object], message: str
) -> None:
    write(folder, *questions)
    with pytest.raises(Invalid, match=re.escape(message)):
        load(folder)


def test_without_questions_an_example_is_shown(folder: Path) -> None:
    with pytest.raises(Invalid, match=r"has no questions\.jsonl: write one JSON object per line"):
        load(folder)


def packed(path: Path, *members: tarfile.TarInfo, content: bytes = b"Text.") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o777
    return info


def test_an_archive_is_unpacked_once(folder: Path) -> None:
    (folder / "documents" / "people" / "leave.md").unlink()
    (folder / "documents" / "people").rmdir()
    (folder / "documents").rmdir()
    packed(folder / "documents.tar.gz", member("./people/leave.md"))
    write(folder, ASKED)
    root = load(folder).root
    assert (root / "people" / "leave.md").read_text() == "Text."
    (root / "mark").touch()
    assert load(folder).root == root
    assert (root / "mark").exists()
    assert [each.name for each in root.parent.iterdir()] == [root.name]


HOSTILE = [
    (member("../out.md"), "'../out.md' leads out of the archive"),
    (member("/etc/out.md"), "'/etc/out.md' leads out of the archive"),
    (member("a/../../out.md"), "leads out of the archive"),
    (member("link", tarfile.SYMTYPE, "/etc/passwd"), "'link' is a link or a device"),
    (member("hard", tarfile.LNKTYPE, "people/leave.md"), "'hard' is a link or a device"),
    (member("pipe", tarfile.FIFOTYPE), "'pipe' is a link or a device"),
    (member("a" * 2000), "a path has more than 1,000 characters"),
]


@pytest.mark.parametrize(("hostile", "message"), HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(
    tmp_path: Path, hostile: tarfile.TarInfo, message: str
) -> None:
    path = packed(tmp_path / "documents.tar.gz", member("people/leave.md"), hostile)
    with pytest.raises(Invalid, match=re.escape(message)):
        unpack(path, tmp_path / "below")
    assert list((tmp_path / "below").iterdir()) == []
    assert not (tmp_path / "out.md").exists()


def test_an_archive_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 7)
    path = packed(tmp_path / "documents.tar.gz", member("one.md"), member("two.md"))
    with pytest.raises(Invalid, match="unpack it yourself and name the folder with --documents"):
        unpack(path, tmp_path / "below")


def test_an_archive_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "documents.tar.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(Invalid, match=r"documents\.tar\.gz cannot be unpacked"):
        unpack(path, tmp_path / "below")


class Source:
    scope = "file:///"

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        yield RemovedDocument(url="file:///old.md")
        yield ChangedDocument(
            document=NewDocument(
                system="file",
                kind="document",
                source_id="new.md",
                url="file:///new.md",
                format=Format.MARKDOWN,
                title="",
                topic="",
                acl_tags=frozenset({"team:secret"}),
                content=b"Text.",
                content_hash="1",
                updated_at=None,
            )
        )


@pytest.mark.asyncio
async def test_the_evaluation_sees_all_documents_whatever_they_say_of_access() -> None:
    gone, new = [each async for each in PublicDocuments(Source()).changes({})]
    assert gone == RemovedDocument(url="file:///old.md")
    assert isinstance(new, ChangedDocument)
    assert new.document.acl_tags == TAGS

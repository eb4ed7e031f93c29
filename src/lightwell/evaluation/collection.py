"""A collection: documents, and questions with what a right answer must contain."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import MAX_QUESTION_LENGTH
from lightwell.evaluation.archive import unpack
from lightwell.evaluation.correctness import AnswerGroup, normalize
from lightwell.evaluation.jsonl import find_file, parse_line, read_lines
from lightwell.ports import Change, ChangedDocument, Connector, UnchangedDocument

DOCUMENTS = "documents"
ARCHIVES = ("documents.tar.gz", "documents.tgz", "documents.tar")
TAGS: Tags = frozenset({"eval:all"})
"""The access tag of every document of a collection."""

UNANSWERABLE = "unanswerable"

_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Question(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: _Text
    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_LENGTH, pattern=r"\S")]
    gold: list[_Text]
    answer_any: list[Annotated[list[_Text], Field(min_length=1)]]
    gold_any: bool = False
    evidence: list[str] = []
    kind: str = ""
    style: str = ""
    split: str = ""
    dialogue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionQuestion:
    """A question; `gold` are the URLs of the documents that answer it, `groups` what a right answer must contain.

    Both are empty where no document answers it. Questions of one `dialogue` are asked in one conversation, in their order; "" is none, and
    `turn` counts from 1 in it. Of `gold` one document is enough where `is_one_gold_enough`, else all are needed.
    """

    id: str
    text: str
    kind: str
    style: str
    split: str
    gold: frozenset[str]
    is_one_gold_enough: bool
    groups: tuple[AnswerGroup, ...]
    dialogue: str = ""
    turn: int = 1

    @property
    def is_answerable(self) -> bool:
        return bool(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Documents below `root`, and questions in the order of their file."""

    name: str
    root: Path
    questions: tuple[CollectionQuestion, ...]


@dataclass(frozen=True, slots=True)
class PublicDocuments:
    """A `Connector` that passes on the documents of another one, with the tag of the evaluation's reader.

    What the files themselves say of access does not hold here: the store is the evaluation's own.
    """

    inner: Connector

    @property
    def scope(self) -> str:
        return self.inner.scope

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the other connector's changes."""
        async for change in self.inner.changes(hashes):
            match change:
                case ChangedDocument(document=document) | UnchangedDocument(document=document):
                    yield replace(change, document=replace(document, acl_tags=TAGS))
                case _:
                    yield change


def is_collection(folder: Path) -> bool:
    """Return whether the folder is to be read as a collection: it has no corpus of passages."""
    return find_file(folder, "corpus") is None


def load_collection(
    folder: Path, *, unpack_below: Path, documents: Path | None = None
) -> Collection:
    """Return the collection of a folder with `questions.jsonl` and `documents/` or `documents.tar.gz`.

    `documents` names a folder or an archive elsewhere. Archives are unpacked below `unpack_below`. Raises `Invalid` with the file, the line, what is
    wrong there and how to fix it.
    """
    questions = find_file(folder, "questions")
    if questions is None:
        raise Invalid(
            f"{folder} has no questions.jsonl: write one JSON object per line, such as"
            ' {"id": "1", "question": "How many days?", "gold": ["leave.md"], "answer_any": [["25 days"]]}'
        )
    root = documents or _find_documents(folder)
    if not root.is_dir():
        if not root.is_file():
            raise Invalid(f"{root} is neither a folder nor an archive; check the path")
        root = unpack(root, unpack_below)
    root = root.resolve()
    return Collection(
        name=folder.resolve().name, root=root, questions=tuple(_questions(questions, root))
    )


def _find_documents(folder: Path) -> Path:
    if (folder / DOCUMENTS).is_dir():
        return folder / DOCUMENTS
    for name in ARCHIVES:
        if (folder / name).is_file():
            return folder / name
    raise Invalid(
        f"{folder} has no documents: put them into {folder / DOCUMENTS}/ or {ARCHIVES[0]}, or name them with"
        " --documents. A set of passages has a corpus.jsonl instead"
    )


def _questions(path: Path, root: Path) -> list[CollectionQuestion]:
    questions: list[CollectionQuestion] = []
    ids: set[str] = set()
    dialogues: dict[str, list[str]] = {}
    for where, line in read_lines(path):
        written = parse_line(_Question, where, line)
        if written.id in ids:
            raise Invalid(
                f"{where}: the id {written.id!r} occurs twice; give each question its own"
            )
        ids.add(written.id)
        _check_answer(where, written)
        splits = dialogues.setdefault(written.dialogue or written.id, [])
        splits.append(written.split)
        if len(set(splits)) > 1:
            raise Invalid(
                f"{where}: the dialogue {written.dialogue!r} is of two splits; give all its questions one"
            )
        question = CollectionQuestion(
            id=written.id,
            text=written.question,
            kind=written.kind,
            style=written.style,
            split=written.split,
            gold=frozenset(_url(where, file, root) for file in written.gold),
            is_one_gold_enough=written.gold_any,
            groups=tuple(tuple(group) for group in written.answer_any),
            dialogue=written.dialogue,
            turn=len(splits),
        )
        questions.append(question)
    return questions


def _check_answer(where: str, written: _Question) -> None:
    if bool(written.gold) != bool(written.answer_any):
        lacking = "answer_any" if written.gold else "gold"
        raise Invalid(
            f"{where}: {lacking!r} is empty; fill it in, or leave both 'gold' and 'answer_any' empty for a question"
            " that no document answers"
        )
    if (written.kind == UNANSWERABLE) == bool(written.gold) and written.kind:
        raise Invalid(
            f"{where}: the kind {written.kind!r} contradicts 'gold'; questions of the kind"
            f" {UNANSWERABLE!r} have no 'gold', all other questions have one"
        )
    for words in chain.from_iterable(written.answer_any):
        if not normalize(words):
            raise Invalid(
                f"{where}: 'answer_any' has {words!r}, which consists of characters that the comparison ignores"
            )


def _url(where: str, path: str, root: Path) -> str:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or not (root / relative).is_file():
        raise Invalid(
            f"{where}: 'gold' names {path!r}, which is not a file of {root}; write its path relative to that folder"
        )
    return (root / relative).as_uri()

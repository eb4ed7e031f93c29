"""An evaluation set as a source: passages to find, and questions with the passages that answer them."""

import hashlib
import zlib
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from lightwell.domain.access import Tags
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import MAX_QUESTION_LENGTH
from lightwell.evaluation.jsonl import find_file, parse_line, read_lines
from lightwell.ports import Change, ChangedDocument, RemovedDocument, UnchangedDocument

FOLDS = 10
"""Number of parts of the questions; the documents that answer the questions of one part are hidden together."""

_NO_FOLD = "eval:all"


class _Passage(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    title: str = ""


class _Question(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_LENGTH, pattern=r"\S")]
    gold: list[str]
    type: str = ""
    split: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question; `gold` are the URLs of the documents that answer it, none if no document does.

    `fold` is the part of the questions that it belongs to, from 0.
    """

    text: str
    kind: str
    split: str
    gold: frozenset[str]
    fold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A `Connector` over an evaluation set; `corpus_hash` is the SHA-256 of its passages, in order.

    `folds` are its access tags. Each document has one access tag, which says of the questions of which folds it is gold. So a reader with all
    tags but those of a fold is, by non-interference, one of a store without what answers that fold's questions.
    """

    name: str
    documents: tuple[NewDocument, ...]
    questions: tuple[DatasetQuestion, ...]
    corpus_hash: str
    folds: Mapping[str, frozenset[int]]
    scope: str = "eval:///"

    @property
    def tags(self) -> Tags:
        """Return the tags of the reader who sees all documents."""
        return frozenset(self.folds)

    def tags_without(self, fold: int) -> Tags:
        """Return the tags of the reader who sees none of the documents that answer this fold's questions."""
        return frozenset(tag for tag, folds in self.folds.items() if fold not in folds)

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield every document, then the removed ones."""
        for document in self.documents:
            is_known = hashes.get(document.url) == document.content_hash
            yield (
                UnchangedDocument(url=document.url, document=document)
                if is_known
                else ChangedDocument(document=document)
            )
        for url in sorted(hashes.keys() - {document.url for document in self.documents}):
            yield RemovedDocument(url=url)


def load_dataset(folder: Path) -> Dataset:
    """Return the evaluation set of `corpus.jsonl` and `questions.jsonl` in the folder; each may end in .gz too.

    Raises `Invalid` with the file, the line and what is wrong there.
    """
    passages = _passages(_file(folder, "corpus"))
    questions = _questions(_file(folder, "questions"), passages)
    folds: dict[str, set[int]] = {_url(passage_id): set() for passage_id in passages}
    for question in questions:
        for url in question.gold:
            folds[url].add(question.fold)
    tags = {url: _tag(its) for url, its in folds.items()}
    documents = tuple(_document(passage, tags[_url(passage.id)]) for passage in passages.values())
    return Dataset(
        name=folder.resolve().name,
        documents=documents,
        questions=tuple(questions),
        corpus_hash=_sha256(*(document.content_hash for document in documents)),
        folds={tags[url]: frozenset(its) for url, its in folds.items()},
    )


def _file(folder: Path, part: str) -> Path:
    file = find_file(folder, part)
    if file is None:
        raise Invalid(
            f"{folder} is not an evaluation set: {part}.jsonl or {part}.jsonl.gz is missing"
        )
    return file


def _passages(path: Path) -> dict[str, _Passage]:
    passages: dict[str, _Passage] = {}
    for where, line in read_lines(path):
        passage = parse_line(_Passage, where, line)
        if passage.id in passages:
            raise Invalid(f"{where}: the id {passage.id!r} occurs twice")
        passages[passage.id] = passage
    return passages


def _questions(path: Path, passages: Mapping[str, _Passage]) -> list[DatasetQuestion]:
    questions: list[DatasetQuestion] = []
    for where, line in read_lines(path):
        question = parse_line(_Question, where, line)
        for gold in question.gold:
            if gold not in passages:
                raise Invalid(f"{where}: 'gold' names {gold!r}, which is not in the corpus")
        questions.append(
            DatasetQuestion(
                text=question.question,
                kind=question.type,
                split=question.split,
                gold=frozenset(_url(gold) for gold in question.gold),
                fold=zlib.crc32(min(question.gold, default="").encode()) % FOLDS,
            )
        )
    return questions


def _tag(folds: Collection[int]) -> str:
    return f"folds:{'+'.join(map(str, sorted(folds)))}" if folds else _NO_FOLD


def _url(id_: str) -> str:
    return f"eval:///{quote(id_, safe='')}"


def _document(passage: _Passage, tag: str) -> NewDocument:
    return NewDocument(
        system="eval",
        kind="document",
        source_id=passage.id,
        url=_url(passage.id),
        format=Format.TEXT,
        title=passage.title,
        topic="",
        acl_tags=frozenset({tag}),
        content=passage.text.encode(),
        content_hash=_sha256(passage.id, passage.title, passage.text),
        updated_at=None,
    )


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()

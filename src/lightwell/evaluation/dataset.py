"""An evaluation set as a source: passages to find, and questions of which it is known what answers them."""

import gzip
import hashlib
import zlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lightwell.domain.access import Tags
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import LONGEST_QUESTION
from lightwell.ports import Change, ChangedDocument, RemovedDocument, UnchangedDocument

FOLDS = 10
"""Into so many parts questions are divided; the documents that answer those of one part are taken out together."""

_NO_FOLD = "eval:all"

Line = TypeVar("Line", bound=BaseModel)


class _Passage(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    title: str = ""


class _Question(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(min_length=1, max_length=LONGEST_QUESTION, pattern=r"\S")]
    gold: list[str]
    type: str = ""
    split: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question; `gold` are the URLs of the documents that answer it, none when nothing does.

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

    async def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield every document, then what is gone."""
        for document in self.documents:
            is_known = known.get(document.url) == document.content_hash
            yield (
                UnchangedDocument(url=document.url, document=document)
                if is_known
                else ChangedDocument(document=document)
            )
        for url in sorted(known.keys() - {document.url for document in self.documents}):
            yield RemovedDocument(url=url)


def load_dataset(folder: Path) -> Dataset:
    """Return the evaluation set of `corpus.jsonl` and `questions.jsonl` in the folder; each may end in .gz too.

    Raises `Invalid` with the file, the line and what is wrong there.
    """
    passages = _passages(_file(folder, "corpus"))
    questions = _questions(_file(folder, "questions"), passages)
    folds: dict[str, set[int]] = {_url(each): set() for each in passages}
    for each in questions:
        for url in each.gold:
            folds[url].add(each.fold)
    tags = {url: _tag(its) for url, its in folds.items()}
    documents = tuple(_document(each, tags[_url(each.id)]) for each in passages.values())
    return Dataset(
        name=folder.resolve().name,
        documents=documents,
        questions=tuple(questions),
        corpus_hash=_sha256(*(each.content_hash for each in documents)),
        folds={tags[url]: frozenset(its) for url, its in folds.items()},
    )


def _file(folder: Path, part: str) -> Path:
    for name in (f"{part}.jsonl.gz", f"{part}.jsonl"):
        if (folder / name).is_file():
            return folder / name
    raise Invalid(f"{folder} is not an evaluation set: {part}.jsonl or {part}.jsonl.gz is missing")


def _passages(path: Path) -> dict[str, _Passage]:
    passages: dict[str, _Passage] = {}
    for where, line in _lines(path):
        passage = _parse_line(_Passage, where, line)
        if passage.id in passages:
            raise Invalid(f"{where}: the id {passage.id!r} is there twice")
        passages[passage.id] = passage
    return passages


def _questions(path: Path, passages: Mapping[str, _Passage]) -> list[DatasetQuestion]:
    questions: list[DatasetQuestion] = []
    for where, line in _lines(path):
        asked = _parse_line(_Question, where, line)
        for gold in asked.gold:
            if gold not in passages:
                raise Invalid(f"{where}: 'gold' names {gold!r}, which is not in the corpus")
        questions.append(
            DatasetQuestion(
                text=asked.question,
                kind=asked.type,
                split=asked.split,
                gold=frozenset(_url(gold) for gold in asked.gold),
                fold=zlib.crc32(min(asked.gold, default="").encode()) % FOLDS,
            )
        )
    return questions


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines that are not blank, each after where it stands; there is one at least."""
    is_empty = True
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    is_empty = False
                    yield f"{path}, line {number}", line
    except (OSError, EOFError, zlib.error) as error:
        raise Invalid(f"{path} cannot be read: {error}") from error
    if is_empty:
        raise Invalid(f"{path} is empty")


def _parse_line(kind: type[Line], where: str, line: bytes) -> Line:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in wrong["loc"])
        raise Invalid(f"{where}: {f'{field!r}: ' if field else ''}{wrong['msg']}") from error


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

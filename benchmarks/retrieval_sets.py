"""The evaluation sets, the collections of documentation and the example world as stores."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypedDict, cast

import numpy as np
from late_interaction import encoded
from packaged_documents import QUESTIONS as WRITTEN
from packaged_documents import copy_documents, read_selection
from retrieval_store import Passage, Question, Store

from lightwell.connectors.files import Files
from lightwell.domain.access import is_visible
from lightwell.domain.documents import ChunkDraft, NewDocument, heading_path
from lightwell.domain.errors import Unreadable
from lightwell.domain.graph import normalize_name
from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import join_windows
from lightwell.domain.reranking import HeadedPassage
from lightwell.domain.similarity import cosine_scale
from lightwell.evaluation.collection import (
    TAGS,
    Collection,
    CollectionQuestion,
    PublicDocuments,
    load_collection,
)
from lightwell.evaluation.correctness import missing_groups
from lightwell.ingest.chunking import split_into_chunks, text_to_embed
from lightwell.ingest.extract.rule_extractor import extract_by_rules
from lightwell.ingest.parse import parse
from lightwell.models.bge import BgeSmall
from lightwell.models.late_interaction import LocalLateInteraction
from lightwell.ports import ChangedDocument, Connector, Embedder, ExtractionInput, Vectors
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.world import DOCUMENTS, PEOPLE, QUESTIONS

EVALUATION = Path(__file__).parents[2] / "shared" / "eval"
EMBEDDER: Embedder = BgeSmall()
"""Put another one here to measure what its vectors would do; what is embedded is kept for each model."""

HANDBOOKS = ("govuk", "sourcegraph")
PACKAGED = ("borg", "debian", "licences")
"""Our own questions, on documents of Debian packages."""


class _Document(TypedDict):
    id: str
    title: str
    text: str


class _Question(TypedDict):
    question: str
    gold: list[str]
    split: str


class _Stated(TypedDict):
    entities: list[str]
    triples: list[list[str]]


def load(name: str, cache: Path, *, triples: bool = False) -> Store:
    """Return an evaluation set as a store, one document one chunk; vectors are kept in `cache`."""
    documents = cast("list[_Document]", _lines(name, "corpus"))
    asked = cast("list[_Question]", _lines(name, "questions"))
    stated = cast("list[_Stated]", _lines(name, "openie")) if triples else []
    drafts = [_draft(each["text"]) for each in documents]
    passages = [
        _passage(each["id"], each["title"], draft, is_first=True)
        for each, draft in zip(documents, drafts, strict=True)
    ]
    said = [_said(each) for each in stated]
    if triples:
        passages = [
            Passage(
                key=one.key,
                title=one.title,
                head=one.head,
                text=one.text,
                words=one.words,
                names=one.names | names,
            )
            for one, (names, _) in zip(passages, said, strict=True)
        ]
    vectors = _vectors(
        name,
        cache,
        passages,
        [each["question"] for each in asked],
    )
    places = {each["id"]: at for at, each in enumerate(documents)}
    questions = [
        Question(
            text=each["question"],
            gold=tuple(sorted(places[gold] for gold in each["gold"])),
            split=each["split"],
            vector=vector,
        )
        for each, vector in zip(asked, vectors[len(passages) :], strict=True)
    ]
    return Store(
        name=f"{name}+triples" if triples else name,
        passages=passages,
        vectors=vectors[: len(passages)],
        scale=cosine_scale(EMBEDDER.model),
        stated=Counter(pair for _, pairs in said for pair in pairs),
        questions=questions,
    )


def open_collection(name: str, data: Path) -> Collection:
    """Return a collection of documentation, with what is unpacked and copied below `data`."""
    if name in HANDBOOKS:
        return load_collection(EVALUATION / "handbooks" / name, unpack_below=data / "documents")
    copied = data / "packaged"
    copy_documents(read_selection(name), Path("/"), copied)
    return load_collection(WRITTEN / name, unpack_below=data / "documents", documents=copied)


def collection_store(name: str, cache: Path) -> Store:
    """Return a collection as a store. Of each document that answers, the chunks with most of the answer are gold."""
    collection = open_collection(name, cache / name)
    documents = asyncio.run(_read(PublicDocuments(Files(collection.root, TAGS))))
    passages: list[Passage] = []
    for each in documents:
        with suppress(Unreadable):  # ingestion leaves out an empty file, too
            passages += _passages(each)
    asked = [each for each in collection.questions if each.is_answerable]
    vectors = _vectors(
        name,
        cache,
        passages,
        [each.text for each in asked],
    )
    questions = [
        Question(text=each.text, gold=_holding(each, passages), split=each.split, vector=vector)
        for each, vector in zip(asked, vectors[len(passages) :], strict=True)
    ]
    return Store(
        name=name,
        passages=passages,
        vectors=vectors[: len(passages)],
        scale=cosine_scale(EMBEDDER.model),
        stated=Counter(),
        questions=questions,
    )


def _holding(question: CollectionQuestion, passages: Sequence[Passage]) -> tuple[int, ...]:
    held: dict[str, dict[int, int]] = {}
    for at, each in enumerate(passages):
        url = each.key.rsplit("#", 1)[0]
        if url in question.gold:
            missing = len(missing_groups(question.groups, each.text))
            held.setdefault(url, {})[at] = len(question.groups) - missing
    return tuple(
        at
        for some in held.values()
        for at, count in some.items()
        if 0 < count == max(some.values())
    )


def sample_texts(
    name: str, cache: Path, most: int, random: np.random.Generator
) -> tuple[list[HeadedPassage], list[str]]:
    """Return some passages of a set or of a collection, and its development questions."""
    if name in (*HANDBOOKS, *PACKAGED):
        collection = open_collection(name, cache / name)
        documents = asyncio.run(_read(PublicDocuments(Files(collection.root, TAGS))))
        chosen: list[int] = random.permutation(len(documents))[:most].tolist()
        held: list[HeadedPassage] = []
        for place in chosen:
            with suppress(Unreadable):
                held += [
                    HeadedPassage(head=each.head, text=each.text)
                    for each in _passages(documents[place])
                ]
        asked = [each.text for each in collection.questions if each.split == "dev"]
    else:
        lines = cast("list[_Document]", _lines(name, "corpus"))
        held = [HeadedPassage(head=each["title"], text=each["text"]) for each in lines]
        stated = cast("list[_Question]", _lines(name, "questions"))
        asked = [each["question"] for each in stated if each["split"] == "dev"]
    places: list[int] = random.permutation(len(held))[:most].tolist()
    return [held[place] for place in places], asked


def worlds(cache: Path) -> list[Store]:
    """Return what each person of the example world may read, with all of its questions.

    Gold are the chunks of the files that a question needs, when the person may hear its answer.
    """
    documents = asyncio.run(_read(Files(DOCUMENTS, frozenset())))
    return [_world_of(name, person.tags, documents, cache) for name, person in PEOPLE.items()]


async def _read(files: Connector) -> list[NewDocument]:
    return [
        change.document async for change in files.changes({}) if isinstance(change, ChangedDocument)
    ]


def _world_of(
    name: str, tags: frozenset[str], documents: Sequence[NewDocument], cache: Path
) -> Store:
    seen = [each for each in documents if is_visible(each.acl_tags, tags)]
    passages = [passage for each in seen for passage in _passages(each)]
    vectors = _vectors(
        f"world-{name}",
        cache,
        passages,
        [each.text for each in QUESTIONS],
    )
    questions = [
        Question(
            text=each.text,
            gold=tuple(
                at
                for at, passage in enumerate(passages)
                if name in each.may_answer
                and passage.key.rsplit("#", 1)[0].endswith(each.answered_by)
            )
            if each.answered_by
            else (),
            split="world",
            vector=vector,
        )
        for each, vector in zip(QUESTIONS, vectors[len(passages) :], strict=True)
    ]
    return Store(
        name=f"world-{name}",
        passages=passages,
        vectors=vectors[: len(passages)],
        scale=cosine_scale(EMBEDDER.model),
        stated=Counter(),
        questions=questions,
    )


def _passages(document: NewDocument) -> list[Passage]:
    name = PurePosixPath(document.url).name
    parsed = parse(document.content, document.format, name=name)
    title = document.title or parsed.title or PurePosixPath(name).stem
    return [
        _passage(f"{document.url}#{draft.index:06}", title, draft, is_first=draft.index == 0)
        for draft in split_into_chunks(parsed)
    ]


def _passage(key: str, title: str, draft: ChunkDraft, *, is_first: bool) -> Passage:
    chunk = ExtractionInput(
        id=cast("ChunkId", key), document_title=title, draft=draft, is_first=is_first
    )
    names = {normalize_name(mention.name) for mention in extract_by_rules(chunk).mentions} - {""}
    return Passage(
        key=key,
        title=title,
        head=heading_path(title, draft.section_path),
        text=draft.text,
        words=text_to_embed(title, draft),
        names=frozenset(names),
    )


def _draft(text: str) -> ChunkDraft:
    return ChunkDraft(
        index=0,
        start=0,
        end=len(text),
        text=text,
        tokens=1,
        section_path=(),
        sections=(),
        pages=(),
        has_code=False,
        has_formula=False,
        has_table=False,
        language="en",
    )


def _said(stated: _Stated) -> tuple[frozenset[str], list[tuple[str, str]]]:
    names = {normalize_name(name) for name in stated["entities"]}
    pairs: list[tuple[str, str]] = []
    for triple in stated["triples"]:
        ends = sorted({normalize_name(triple[0]), normalize_name(triple[-1])} - {""})
        names.update(ends)
        if len(ends) == 2:
            pairs.append((ends[0], ends[1]))
    return frozenset(names - {""}), pairs


def _lines(name: str, part: str) -> list[object]:
    with gzip.open(EVALUATION / name / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _vectors(
    name: str, cache: Path, passages: Sequence[Passage], questions: Sequence[str]
) -> Floats:
    """Return the vectors of the passages, then those of the questions."""
    path = cache / f"{name}-{EMBEDDER.model.replace('/', '-')}.npy"
    if path.exists() and len(kept := np.load(path)) == len(passages) + len(questions):
        return kept.astype(np.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    joins = EMBEDDER.model == LocalLateInteraction.space
    windows = encoded(name, passages, cache) if joins else []
    joined = {
        at: join_windows(each.wholes, each.ends - each.starts)
        for at, each in enumerate(windows)
        if len(each.starts)
    }
    others = [at for at in range(len(passages)) if at not in joined]
    *asked, embedded = asyncio.run(_embed([passages[at].words for at in others], questions))
    joined |= dict(zip(others, embedded, strict=True))
    vectors = np.concatenate([[joined[at] for at in range(len(passages))], *asked])
    np.save(path, vectors)
    return vectors.astype(np.float64)


async def _embed(passages: Sequence[str], questions: Sequence[str]) -> list[Vectors]:
    """Return the vectors of each question, then those of the passages."""
    asked = [await EMBEDDER.embed_query(each) for each in questions]
    return [*asked, await EMBEDDER.embed_documents(passages)]

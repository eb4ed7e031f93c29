"""Fits what a passage that was read is judged by, on the development questions, and says how well it does.

python benchmarks/fit_reading.py            # report what the shipped weights reach
python benchmarks/fit_reading.py --write    # fit, write weights.toml, report

Each question is asked of a set and of the same set without the passages that answer it. Fitted on `split: dev` of the
sets; the test questions and the example world are reported, and have no part in the fit.
"""

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
from fit_retrieval import WEIGHTS, least, page, parse_fit_options, report_relevance
from numpy.typing import NDArray
from retrieval_sets import EMBEDDER, load, worlds
from retrieval_store import Passage, Question, Store, opened, texts

from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.evidence import Evidence
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef
from lightwell.domain.question_names import proper_name_terms
from lightwell.ports import Embedder, Vectors
from lightwell.retrieve import calibration, fusion, local_reranker, signals
from lightwell.retrieve import weights as learned
from lightwell.retrieve.local_reranker import RerankQuery
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import RERANK, Logistic
from lightwell.text.answer_types import expected_answer

SETS = ("hotpotqa_train100", "musique_train100", "lihua_world")
SHOWN, RIDGE = 5, 1e-2
AGAINST = frozenset({"missing", "lacking"})
ANSWERABLE = 0.55
"""The share of questions that is taken to be answerable: it moves what 0.6 means, not the order."""

_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question as it was asked once: the measures of its passages, (passages, measures)."""

    name: str
    split: str
    is_answerable: bool
    table: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The local model, asked once for each text ever: vectors are kept in a file."""

    inner: Embedder
    file: sqlite3.Connection

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        known = {key: vector for key in keys if (vector := self._vector(key)) is not None}
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for key, vector in zip(
            unknown, await self.inner.embed_documents([*unknown.values()]), strict=True
        ):
            known[key] = vector
            self.file.execute("INSERT INTO vectors VALUES (?, ?)", (key, vector.tobytes()))
        self.file.commit()
        return np.stack([known[key] for key in keys])

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)

    def _vector(self, key: bytes) -> NDArray[np.float32] | None:
        row = self.file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)


def kept(cache: Path) -> Kept:
    file = sqlite3.connect(cache / f"units-{EMBEDDER.model.replace('/', '-')}.sqlite")
    file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")
    return Kept(inner=EMBEDDER, file=file)


async def cases(stores: Sequence[tuple[str, Store]], embedder: Kept) -> list[Case]:
    """Return every question of these stores, with the passages that answer it and without."""
    made: list[Case] = []
    for name, store in stores:
        for each in store.questions:
            for without in ((), each.gold) if each.gold else ((),):
                made.append(
                    Case(
                        name=name,
                        split=each.split,
                        is_answerable=bool(each.gold) and not without,
                        table=await measured(store, each, without, embedder),
                    )
                )
    return made


async def measured(
    store: Store, question: Question, without: Sequence[int], embedder: Kept
) -> Floats:
    """Return the measures of the first passages, as a reader without some passages gets them."""
    as_read, found = found_passages(store, question, without)
    read = await local_reranker.rerank_locally(embedder, as_read, found)
    rows = [
        local_reranker.rerank_measures(as_read, replace(one, relevance=own.relevance))
        for one, own in zip(read, found, strict=True)
    ]
    return np.array(rows).reshape(len(rows), len(RERANK))


def found_passages(
    store: Store, question: Question, without: Sequence[int]
) -> tuple[RerankQuery, list[Evidence]]:
    """Return the question as the reranker gets it, and the first passages that are found `without` some passages."""
    asked = store.ask(question, without=without)
    first_pass = opened(asked, learned.load_weights())
    scores = fusion.second_pass_scores(
        first_pass, texts(store, asked, first_pass), learned.load_weights()
    )
    relevance = calibration.calibrated_relevance(first_pass, scores)
    weights = signals.inverse_document_frequencies(asked.corpus).tolist()
    query = RerankQuery(
        text=question.text,
        vector=np.asarray(question.vector, np.float32),
        weights=dict(zip(asked.candidates.terms, weights, strict=True)),
        names=proper_name_terms(question.text),
        expected=expected_answer(question.text),
    )
    return query, [
        evidence(store.passages[int(asked.places[at])], float(relevance[at]))
        for at in fusion.rank(scores, asked.candidates.keys)[:SHOWN]
    ]


def evidence(passage: Passage, relevance: float) -> Evidence:
    """Return a passage as the pipeline has it before it is read."""
    id_ = UUID(bytes=hashlib.sha256(passage.key.encode()).digest()[:16])
    chunk = Chunk(
        id=ChunkId(id_),
        document_id=DocumentId(id_),
        document_ref=GlobalRef(passage.key),
        index=0,
        text=passage.text,
        tokens=0,
        title=passage.title,
        url=passage.key,
        system="file",
        kind="document",
        topic="",
        language="en",
        locator=Locator(page=None, last_page=None, section=(), start=0, end=len(passage.text)),
        layout=Layout(sections=(), pages=()),
        created_at=_BEGUN,
        updated_at=_BEGUN,
    )
    return Evidence(chunk=chunk, relevance=relevance, score=0.0, cosine_distance=None)


def fitted(
    asked: Sequence[Case], measures: Sequence[str] = RERANK, answerable: float = ANSWERABLE
) -> Logistic:
    """Return the weights under which the best passage says whether a question is answerable.

    `measures` are the columns of the tables, `answerable` is the share of answerable questions. Sets count alike. Measures count for a passage, those `AGAINST` it against.
    """
    tables = [each.table for each in asked]
    size = np.concatenate(tables).std(axis=0) + 1e-9
    right = np.array([each.is_answerable for each in asked], float)
    kinds = [(each.name, each.is_answerable) for each in asked]
    share = np.array([1 / kinds.count(kind) for kind in kinds]) / len({name for name, _ in kinds})
    share *= np.where(right == 1, answerable, 1 - answerable)

    def loss(weights: Floats) -> tuple[float, Floats]:
        best = np.array([max(table / size, key=lambda row: row @ weights[1:]) for table in tables])
        chance = 1 / (1 + np.exp(-(weights[0] + best @ weights[1:])))
        said = right * np.log(chance + 1e-12) + (1 - right) * np.log(1 - chance + 1e-12)
        ridge = RIDGE * np.array([0.0, *weights[1:]])
        wrong = share * (chance - right)
        slope = np.array([wrong.sum(), *(wrong @ best)]) + ridge
        return -float(share @ said) + float(ridge @ weights) / 2, slope

    bounds = [(None, 0.0) if name in AGAINST else (0.0, None) for name in measures]
    start = np.array([0.0, *(-0.3 if name in AGAINST else 0.3 for name in measures)])
    found = least(loss, start, [(None, None), *bounds])
    return Logistic(base=float(found[0]), weights=found[1:] / size)


def report(asked: Sequence[Case], judge: Logistic) -> None:
    for name, split in dict.fromkeys((each.name, each.split) for each in asked):
        its = [each for each in asked if (each.name, each.split) == (name, split)]
        best = [float((judge.base + each.table @ judge.weights).max(initial=-20)) for each in its]
        chances = [1 / (1 + np.exp(-value)) for value in best]
        report_relevance(
            f"{name} {split}",
            [one for one, each in zip(chances, its, strict=True) if each.is_answerable],
            [one for one, each in zip(chances, its, strict=True) if not each.is_answerable],
        )


def main() -> None:
    options = parse_fit_options(__doc__)
    stores = [(name, load(name, options.cache)) for name in SETS]
    stores += [("example", store) for store in worlds(options.cache)]
    asked = asyncio.run(cases(stores, kept(options.cache)))
    if options.write:
        dev = [each for each in asked if each.split == "dev"]
        WEIGHTS.write_text(
            page(replace(learned.load_weights(), rerank=fitted(dev))), encoding="utf-8"
        )
        learned.load_weights.cache_clear()
    report(asked, learned.load_weights().rerank)


if __name__ == "__main__":
    main()

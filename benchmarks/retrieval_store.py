"""The store of records played in memory over the evaluation sets: what retrieval would be given, and no more."""

import asyncio
import gzip
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sparse

from lightwell.domain import terms
from lightwell.domain.documents import ChunkDraft
from lightwell.domain.graph import normalized
from lightwell.domain.ids import ChunkId
from lightwell.ingest.rules import read
from lightwell.models.local import MiniLM
from lightwell.ports import ChunkToRead
from lightwell.retrieve import signals
from lightwell.retrieve.asked import held_names
from lightwell.retrieve.signals import Candidates, Corpus, Floats, Matrix, Places

EVALUATION = Path(__file__).parents[2] / "shared" / "eval"
BEST, NEAR, MOST_NAMED, MOST_NEAR = 200, 10, 50, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    gold: tuple[int, ...]
    split: str
    vector: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with what the store says of it; `places` are the candidates' places in the corpus."""

    question: Question
    candidates: Candidates
    corpus: Corpus
    terms: tuple[str, ...]
    places: Places

    @property
    def is_gold(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.isin(self.places, self.question.gold)


@dataclass(frozen=True, kw_only=True)
class Store:
    """A whole corpus. `mentions` is (chunks, entities), `relations` (entities, entities)."""

    name: str
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]
    frequencies: tuple[Counter[str], ...]
    lengths: Floats
    vectors: Floats
    mentions: Matrix
    relations: Matrix
    entities: dict[str, int]
    questions: tuple[Question, ...]

    @cached_property
    def term_counts(self) -> Counter[str]:
        return Counter(term for each in self.frequencies for term in each)

    @cached_property
    def by_entity(self) -> Matrix:
        return cast("Matrix", self.mentions.T.tocsr())

    def ask(self, question: Question, *, without: tuple[int, ...] = ()) -> Asked:
        """Return the candidates of a question, as if the chunks `without` were not there."""
        is_there = np.ones(len(self.keys), bool)
        is_there[list(without)] = False
        asked = tuple(sorted(set(terms.terms(question.text))))
        found = np.array(
            [[min(each[term], terms.MOST_COUNTED) for term in asked] for each in self.frequencies],
            float,
        )
        found = found.reshape(len(self.keys), len(asked))
        counts = np.array([self.term_counts[term] for term in asked], float)
        counts -= (found[list(without)] > 0).sum(axis=0)
        entity_counts = np.asarray(self.mentions.sum(axis=0)).ravel()
        entity_counts = entity_counts - np.asarray(self.mentions[list(without)].sum(axis=0)).ravel()
        corpus = Corpus(
            chunks=int(is_there.sum()),
            mean_length=float(self.lengths[is_there].mean()),
            term_counts=counts,
            entity_counts=entity_counts,
        )
        named = np.array(
            sorted(self.entities[name] for name in held_names(question.text, self.entities)),
            np.intp,
        )
        named = named[entity_counts[named] > 0]
        cosine = self.vectors @ question.vector
        everything = Candidates(
            keys=self.keys, titles=self.titles, cosine=cosine, frequencies=found, lengths=self.lengths,
            mentions=self.mentions, relations=self.relations, named=named,
        )  # fmt: skip
        places = self._drawn(everything, corpus, is_there)
        return self._narrowed(question, everything, corpus, asked, places)

    def _drawn(self, everything: Candidates, corpus: Corpus, is_there: np.ndarray) -> Places:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        words = np.where(is_there, signals.impacts(everything, corpus).sum(axis=1), 0.0)
        cosine = np.where(is_there, everything.cosine, -1.0)
        by_words = [at for at in np.argsort(-words, kind="stable")[:BEST] if words[at] > 0]
        by_meaning = np.argsort(-cosine, kind="stable")[:BEST].tolist()
        drawn = {*by_words, *by_meaning}
        best = np.argsort(-(signals.spread(words) + signals.spread(cosine)), kind="stable")[:NEAR]
        near = np.unique(self.mentions[best].indices)
        counts = corpus.entity_counts
        followed = [
            *near[counts[near] <= MOST_NEAR],
            *everything.named[counts[everything.named] <= MOST_NAMED],
        ]
        for entity in followed:
            drawn.update(self.by_entity[[entity]].indices.tolist())
        return np.array(sorted(at for at in drawn if is_there[at]), np.intp)

    def _narrowed(
        self,
        question: Question,
        everything: Candidates,
        corpus: Corpus,
        asked: tuple[str, ...],
        places: Places,
    ) -> Asked:
        mentions = everything.mentions[places]
        kept = np.union1d(np.unique(mentions.indices), everything.named)
        candidates = Candidates(
            keys=tuple(self.keys[at] for at in places),
            titles=tuple(self.titles[at] for at in places),
            cosine=everything.cosine[places],
            frequencies=everything.frequencies[places],
            lengths=self.lengths[places],
            mentions=cast("Matrix", mentions[:, kept].tocsr()),
            relations=cast("Matrix", self.relations[kept][:, kept].tocsr()),
            named=np.searchsorted(kept, everything.named),
        )
        narrowed = Corpus(
            chunks=corpus.chunks,
            mean_length=corpus.mean_length,
            term_counts=corpus.term_counts,
            entity_counts=corpus.entity_counts[kept],
        )
        return Asked(
            question=question, candidates=candidates, corpus=narrowed, terms=asked, places=places
        )


def load(name: str, cache: Path, *, triples: bool = False) -> Store:
    """Return an evaluation set as a store; vectors are kept in `cache`."""
    documents = _lines(name, "corpus")
    asked = _lines(name, "questions")
    texts = [f"{each['title']}\n{each['text']}" for each in documents]
    vectors = _vectors(cache / f"{name}.npy", [*texts, *(each["question"] for each in asked)])
    names, relations = _graph(documents, _lines(name, "openie") if triples else [])
    entities = {each: at for at, each in enumerate(sorted(set().union(*names)))}
    places = {each["id"]: at for at, each in enumerate(documents)}
    frequencies = tuple(Counter(terms.terms(text)) for text in texts)
    return Store(
        name=f"{name}+triples" if triples else name,
        keys=tuple(each["id"] for each in documents),
        titles=tuple(each["title"] for each in documents),
        texts=tuple(each["text"] for each in documents),
        frequencies=frequencies,
        lengths=np.array([sum(each.values()) for each in frequencies], float),
        vectors=vectors[: len(texts)],
        mentions=_incidence(names, entities),
        relations=_weights(relations, entities),
        entities=entities,
        questions=tuple(
            Question(
                text=each["question"],
                gold=tuple(sorted(places[gold] for gold in each["gold"])),
                split=each["split"],
                vector=vector,
            )
            for each, vector in zip(asked, vectors[len(texts) :], strict=True)
        ),
    )


def _lines(name: str, part: str) -> list[dict[str, str]]:
    with gzip.open(EVALUATION / name / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _vectors(path: Path, texts: list[str]) -> Floats:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, asyncio.run(MiniLM().documents(texts)))
    return np.load(path).astype(np.float64)


def _graph(
    documents: list[dict[str, str]], stated: list[dict[str, str]]
) -> tuple[list[set[str]], Counter[tuple[str, str]]]:
    names: list[set[str]] = []
    for each in documents:
        draft = ChunkDraft(index=0, start=0, end=len(each["text"]), text=each["text"], tokens=1, section_path=(), sections=(), pages=(), has_code=False, has_formula=False, has_table=False, language="en")  # fmt: skip
        chunk = ChunkToRead(
            id=cast("ChunkId", each["id"]), document_title=each["title"], draft=draft, is_first=True
        )
        names.append({normalized(mention.name) for mention in read(chunk).mentions} - {""})
    relations: Counter[tuple[str, str]] = Counter()
    for held, model in zip(names, stated, strict=False):
        held.update(normalized(name) for name in cast("list[str]", model["entities"]))
        for triple in cast("list[list[str]]", model["triples"]):
            if len(triple) == 3 and (ends := {normalized(triple[0]), normalized(triple[2])} - {""}):
                held.update(ends)
                if len(ends) == 2:
                    one, other = sorted(ends)
                    relations[one, other] += 1
        held.discard("")
    return names, relations


def _incidence(names: list[set[str]], entities: dict[str, int]) -> Matrix:
    pairs = [(row, entities[name]) for row, each in enumerate(names) for name in sorted(each)]
    rows, columns = zip(*pairs, strict=True)
    return sparse.csr_array(
        (np.ones(len(pairs)), (rows, columns)), shape=(len(names), len(entities))
    )


def _weights(relations: Counter[tuple[str, str]], entities: dict[str, int]) -> Matrix:
    ends = np.array([(entities[one], entities[other]) for one, other in relations], int).reshape(
        -1, 2
    )
    shape = (len(entities), len(entities))
    half = sparse.csr_array(
        (np.array([*relations.values()], float), (ends[:, 0], ends[:, 1])), shape=shape
    )
    return cast("Matrix", (half + half.T).tocsr())

"""The store of records played in memory: what retrieval would be given for a question, and no more."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lightwell.domain.graph import RAREST
from lightwell.domain.question_names import find_name_runs, match_names
from lightwell.domain.similarity import CosineScale
from lightwell.retrieve import fusion, signals
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics
from lightwell.retrieve.sparse_matrix import Floats, Places, SparseMatrix, sparse_matrix
from lightwell.retrieve.weights import Weights
from lightwell.text import terms

Flags = NDArray[np.bool_]

BEST, NEAR, MAX_NAMED, MAX_NEAR = 200, 10, 50, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question; `gold` are the places of the passages that answer it, none when nothing does."""

    text: str
    gold: tuple[int, ...]
    split: str
    vector: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with what the store says of it; `places` are the candidates' places in the store.

    `token_matches` is how well candidates match by late interaction, None where it was not asked.
    """

    question: Question
    candidates: CandidateArrays
    corpus: CorpusStatistics
    places: Places
    token_matches: Floats | None = None

    @property
    def is_gold(self) -> Flags:
        return np.isin(self.places, self.question.gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk as ingestion leaves it: `words` is what is embedded and what the full text holds, `head` its title and headings."""

    key: str
    title: str
    head: str
    text: str
    words: str
    names: frozenset[str]


@dataclass(frozen=True)
class Store:
    """Passages with their vectors, (passages, dimension), and weighted relations of names."""

    name: str
    passages: Sequence[Passage]
    vectors: Floats
    scale: CosineScale
    stated: Counter[tuple[str, str]]
    questions: Sequence[Question]

    @cached_property
    def entities(self) -> dict[str, int]:
        names = sorted({name for each in self.passages for name in each.names})
        return {name: at for at, name in enumerate(names)}

    @cached_property
    def mentions(self) -> csr_array:
        pairs = [
            (row, self.entities[name])
            for row, each in enumerate(self.passages)
            for name in sorted(each.names)
        ]
        return _matrix(pairs, [1.0] * len(pairs), (len(self.passages), len(self.entities)))

    @cached_property
    def by_entity(self) -> csr_array:
        return cast("csr_array", self.mentions.T.tocsr())

    @cached_property
    def relations(self) -> csr_array:
        known = {ends: count for ends, count in self.stated.items() if {*ends} <= {*self.entities}}
        pairs = [(self.entities[one], self.entities[other]) for one, other in known]
        half = _matrix(pairs, [*map(float, known.values())], (len(self.entities),) * 2)
        return cast("csr_array", half + half.T)

    @cached_property
    def frequencies(self) -> list[Counter[str]]:
        return [Counter(terms.terms(each.words)) for each in self.passages]

    @cached_property
    def lengths(self) -> Floats:
        return np.array([each.total() for each in self.frequencies], float)

    def ask(self, question: Question, *, without: Sequence[int] = ()) -> Asked:
        """Return the candidates of a question, as if the passages `without` were not there."""
        is_there = ~np.isin(np.arange(len(self.passages)), without)
        everything, corpus = self._everything(question, is_there)
        places = self._drawn(everything, corpus, is_there)
        drawn = [self.passages[int(at)] for at in places]
        mentions = _rows(self.mentions, places)
        kept = np.union1d(_columns_of(mentions), everything.named)
        candidates = CandidateArrays(
            keys=tuple(each.key for each in drawn),
            titles=tuple(each.title for each in drawn),
            cosine=everything.cosine[places],
            frequencies=everything.frequencies[places],
            lengths=self.lengths[places],
            mentions=_for_ranking(_columns(mentions, kept)),
            relations=_for_ranking(_columns(_rows(self.relations, kept), kept)),
            named=np.searchsorted(kept, everything.named),
            terms=tuple(sorted(set(terms.terms(question.text)))),
            question=question.text,
        )
        narrowed = CorpusStatistics(
            chunks=corpus.chunks,
            mean_length=corpus.mean_length,
            term_counts=corpus.term_counts,
            entity_counts=corpus.entity_counts[kept],
        )
        return Asked(question=question, candidates=candidates, corpus=narrowed, places=places)

    def _everything(
        self, question: Question, is_there: Flags
    ) -> tuple[CandidateArrays, CorpusStatistics]:
        asked = sorted(set(terms.terms(question.text)))
        rows = [
            [min(each[term], terms.MAX_TERM_FREQUENCY) for term in asked]
            for each in self.frequencies
        ]
        found = np.array(rows, float).reshape(len(rows), len(asked))
        counts = cast("Floats", is_there.astype(float) @ self.mentions)
        known = {name: at for name, at in self.entities.items() if counts[at] > 0}
        named = sorted(known[name] for name in match_names(find_name_runs(question.text), known))
        everything = CandidateArrays(
            keys=tuple(each.key for each in self.passages),
            titles=tuple(each.title for each in self.passages),
            cosine=self.scale.factor * (self.vectors @ question.vector) + self.scale.offset,
            frequencies=found,
            lengths=self.lengths,
            mentions=_for_ranking(self.mentions),
            relations=_for_ranking(self.relations),
            named=np.array(named, np.intp),
        )
        corpus = CorpusStatistics(
            chunks=int(is_there.sum()),
            mean_length=float(self.lengths[is_there].mean()),
            term_counts=(found[is_there] > 0).sum(axis=0).astype(float),
            entity_counts=counts,
        )
        return everything, corpus

    def _drawn(
        self, everything: CandidateArrays, corpus: CorpusStatistics, is_there: Flags
    ) -> Places:
        words = np.where(is_there, signals.bm25_by_term(everything, corpus).sum(axis=1), 0.0)
        cosine = np.where(is_there, everything.cosine, -1.0)
        by_words = _best(words)[:BEST]
        best = _best(signals.min_max(words) + signals.min_max(cosine))[:NEAR]
        near = np.unique(_columns_of(_rows(self.mentions, best)))
        counts = corpus.entity_counts
        few = everything.named[counts[everything.named] <= MAX_NAMED]
        rare = near[(counts[near] > 1) & (counts[near] <= RAREST)]
        shared = np.bincount(_columns_of(_rows(self.by_entity, rare)), minlength=len(is_there))
        nearest = _best(shared.astype(float))[:MAX_NEAR]
        drawn = np.zeros(len(is_there), bool)
        drawn[by_words[words[by_words] > 0]] = True
        drawn[_best(cosine)[:BEST]] = True
        drawn[_columns_of(_rows(self.by_entity, few))] = True
        drawn[nearest[shared[nearest] > 0]] = True
        return np.flatnonzero(drawn & is_there)


def opened(asked: Asked, weights: Weights) -> fusion.FirstPass:
    """Return the first look at a question's candidates."""
    first = fusion.first_pass(asked.candidates, asked.corpus, weights)
    if asked.token_matches is None or not asked.token_matches.any():
        return first
    return fusion.with_token_matches(first, asked.token_matches, weights)


def texts(store: Store, asked: Asked, first_pass: fusion.FirstPass) -> dict[int, str]:
    """Return what the store hands over for the second look: the words of the best passages, as `matchable`."""
    return {
        at: _matchable(store.passages[int(asked.places[at])].text) for at in first_pass.top.tolist()
    }


@cache
def _matchable(text: str) -> str:
    return signals.matchable(text)


def _matrix(
    pairs: Sequence[tuple[int, int]], values: Sequence[float], shape: tuple[int, ...]
) -> csr_array:
    ends = np.array(pairs, np.intp).reshape(-1, 2)
    return csr_array((np.array(values), (ends[:, 0], ends[:, 1])), shape=shape)


def _best(scores: Floats) -> Places:
    return np.argsort(-scores, kind="stable")


def _for_ranking(matrix: csr_array) -> SparseMatrix:
    cells = matrix.tocoo()
    rows, columns = cast("Places", cells.row), cast("Places", cells.col)
    size = cast("tuple[int, int]", matrix.shape)
    return sparse_matrix(rows, columns, cast("Floats", cells.data), size)


def _rows(matrix: csr_array, at: Places) -> csr_array:
    return cast("csr_array", matrix[at])


def _columns(matrix: csr_array, at: Places) -> csr_array:
    return cast("csr_array", matrix[:, at])


def _columns_of(matrix: csr_array) -> Places:
    return cast("Places", matrix.indices).astype(np.intp)

"""What the store says of candidates, as the arrays that signals are computed from."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from lightwell.domain.ids import ChunkId
from lightwell.ports import Neighbourhood
from lightwell.records.search import WordStatistics
from lightwell.retrieve import signals
from lightwell.retrieve.channels import Asked, Found
from lightwell.retrieve.signals import Candidates, Corpus, Matrix


def candidates(asked: Asked, found: Found, near: Neighbourhood) -> Candidates:
    """Return what is known of the neighbourhood's chunks, in their order."""
    hits = [found.words[chunk] for chunk in near.chunks]
    named = {entity.id.bytes for entity in asked.named}
    return Candidates(
        keys=tuple(f"{hit.url}\n{hit.index:09}" for hit in hits),
        titles=tuple(hit.title for hit in hits),
        terms=asked.terms,
        question=asked.question.text,
        cosine=np.array([found.similarities.get(chunk, 0.0) for chunk in near.chunks]),
        frequencies=np.array([hit.frequencies for hit in hits], np.float64).reshape(
            len(hits), len(asked.terms)
        ),
        lengths=np.array([hit.length for hit in hits], np.float64),
        mentions=_matrix(near.mentions[0], near.mentions[1], None, (len(hits), len(near.entities))),
        relations=_both_ways(near),
        named=np.array([at for at, entity in enumerate(near.entities) if entity in named], np.intp),
    )


def corpus(statistics: WordStatistics, terms: Sequence[str], near: Neighbourhood | None) -> Corpus:
    """Return the statistics over the reader's chunks; without a neighbourhood, of no entity."""
    return Corpus(
        chunks=statistics.chunks,
        mean_length=statistics.mean_length,
        term_counts=np.array([statistics.chunks_with.get(term, 0) for term in terms], np.float64),
        entity_counts=np.empty(0) if near is None else near.counts,
    )


def without_graph(chunks: Sequence[ChunkId]) -> Neighbourhood:
    """Return a neighbourhood in which nothing is mentioned."""
    return Neighbourhood(
        chunks=tuple(chunks),
        entities=(),
        counts=np.empty(0),
        mentions=np.empty((2, 0), np.intp),
        relations=np.empty((2, 0), np.intp),
        weights=np.empty(0),
    )


def term_weights(statistics: WordStatistics, terms: Sequence[str]) -> dict[str, float]:
    """Return BM25's weight of each term among the reader's chunks, in the order of the terms."""
    return dict(zip(terms, signals.rarity(corpus(statistics, terms, None)).tolist(), strict=True))


def _matrix(
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    values: NDArray[np.float64] | None,
    shape: tuple[int, int],
) -> Matrix:
    data = np.ones(len(rows)) if values is None else values
    return sparse.csr_array((data, (rows, columns)), shape=shape)


def _both_ways(near: Neighbourhood) -> Matrix:
    size = (len(near.entities), len(near.entities))
    one = _matrix(near.relations[0], near.relations[1], near.weights, size)
    return cast("Matrix", one + one.T)

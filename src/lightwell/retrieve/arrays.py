"""What the store says of candidates, as the arrays that signals are computed from."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from lightwell.domain.ids import ChunkId
from lightwell.ports import Neighbourhood
from lightwell.records.search import Place, WordStatistics
from lightwell.retrieve import signals
from lightwell.retrieve.channels import Asked, Found
from lightwell.retrieve.signals import Candidates, Corpus, Matrix


def candidates(
    asked: Asked, found: Found, near: Neighbourhood, places: Mapping[ChunkId, Place]
) -> tuple[list[ChunkId], Candidates]:
    """Return the neighbourhood's chunks that have a place, and what is known of them, in the same order."""
    chunks = [chunk for chunk in near.chunks if chunk in places]
    row = {chunk: at for at, chunk in enumerate(chunks)}
    rows = np.array([row.get(chunk, -1) for chunk in near.chunks], np.intp)
    kept = rows[near.mentions[0]] >= 0
    shape = (len(chunks), len(near.entities))
    named = {entity.id.bytes for entity in asked.named}
    return chunks, Candidates(
        keys=tuple(f"{places[chunk].url}\n{places[chunk].index:09}" for chunk in chunks),
        titles=tuple(places[chunk].title for chunk in chunks),
        terms=asked.terms,
        cosine=np.array([found.similarities.get(chunk, 0.0) for chunk in chunks]),
        frequencies=np.array(
            [found.words[chunk].frequencies for chunk in chunks], np.float64
        ).reshape(len(chunks), len(asked.terms)),
        lengths=np.array([found.words[chunk].length for chunk in chunks], np.float64),
        mentions=_matrix(rows[near.mentions[0]][kept], near.mentions[1][kept], None, shape),
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

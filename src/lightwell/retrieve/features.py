"""The candidates' features as arrays, from which signals are computed."""

from collections.abc import Sequence

import numpy as np

from lightwell.domain.ids import ChunkId
from lightwell.ports import Neighbourhood
from lightwell.records.search import TermStatistics
from lightwell.retrieve import signals
from lightwell.retrieve.channels import ChannelResults, SearchQuery
from lightwell.retrieve.signals import CandidateFeatures, Corpus
from lightwell.retrieve.sparse import SparseMatrix, sparse_matrix


def candidate_features(
    query: SearchQuery, results: ChannelResults, neighbourhood: Neighbourhood
) -> CandidateFeatures:
    """Return the features of the neighbourhood's chunks, in their order."""
    hits = [results.words[chunk] for chunk in neighbourhood.chunks]
    named = {entity.id.bytes for entity in query.entities}
    return CandidateFeatures(
        keys=tuple(f"{hit.url}\n{hit.index:09}" for hit in hits),
        titles=tuple(hit.title for hit in hits),
        terms=query.terms,
        question=query.question.text,
        cosine=np.array([results.similarities.get(chunk, 0.0) for chunk in neighbourhood.chunks]),
        frequencies=np.array([hit.frequencies for hit in hits], np.float64).reshape(
            len(hits), len(query.terms)
        ),
        lengths=np.array([hit.length for hit in hits], np.float64),
        mentions=_mentions(neighbourhood),
        relations=_symmetric_relations(neighbourhood),
        named=np.array(
            [at for at, entity in enumerate(neighbourhood.entities) if entity in named], np.intp
        ),
    )


def corpus_statistics(
    statistics: TermStatistics, terms: Sequence[str], neighbourhood: Neighbourhood | None
) -> Corpus:
    """Return the statistics over the reader's chunks; an empty neighbourhood gives none for entities."""
    return Corpus(
        chunks=statistics.chunks,
        mean_length=statistics.mean_length,
        term_counts=np.array([statistics.chunks_with.get(term, 0) for term in terms], np.float64),
        entity_counts=np.empty(0) if neighbourhood is None else neighbourhood.counts,
    )


def empty_neighbourhood(chunks: Sequence[ChunkId]) -> Neighbourhood:
    """Return the chunks without any mention, for questions that do not search the graph."""
    return Neighbourhood(
        chunks=tuple(chunks),
        entities=(),
        counts=np.empty(0),
        mentions=np.empty((2, 0), np.intp),
        relations=np.empty((2, 0), np.intp),
        weights=np.empty(0),
    )


def term_weights(statistics: TermStatistics, terms: Sequence[str]) -> dict[str, float]:
    """Return BM25's weight of each term among the reader's chunks, in the order of the terms."""
    return dict(
        zip(
            terms,
            signals.inverse_document_frequencies(
                corpus_statistics(statistics, terms, None)
            ).tolist(),
            strict=True,
        )
    )


def _mentions(neighbourhood: Neighbourhood) -> SparseMatrix:
    chunks, entities = neighbourhood.mentions
    size = (len(neighbourhood.chunks), len(neighbourhood.entities))
    return sparse_matrix(chunks, entities, np.ones(len(chunks)), size)


def _symmetric_relations(neighbourhood: Neighbourhood) -> SparseMatrix:
    size = (len(neighbourhood.entities), len(neighbourhood.entities))
    one, other = neighbourhood.relations
    return sparse_matrix(
        np.concatenate([one, other]),
        np.concatenate([other, one]),
        np.concatenate([neighbourhood.weights, neighbourhood.weights]),
        size,
    )

"""What the channels and the store know of the candidates, as arrays with one row per candidate: `signals.py` computes from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lightwell.domain.ids import ChunkId
from lightwell.ports import Neighbourhood
from lightwell.records.search import LexicalHit, NamedEntity, TermStatistics
from lightwell.retrieve.sparse_matrix import Floats, Places, SparseMatrix, sparse_matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateArrays:
    """What is known of n candidates with t question terms and e entities, in any order of the candidates.

    `keys` are distinct and order equal scores. `cosine` (n,) lies in [-1, 1]. `frequencies` (n, t) and
    `lengths` (n,) count terms. `mentions` (n, e) holds 1 where a candidate mentions an entity, `relations`
    (e, e) the weight of what is stated of two, both ways. `named` are the entities the question names.
    `terms` are the question's, `question` its text; without them titles do not count.
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    cosine: Floats
    frequencies: Floats
    lengths: Floats
    mentions: SparseMatrix
    relations: SparseMatrix
    named: Places
    terms: tuple[str, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusStatistics:
    """Statistics over all of the reader's chunks: how many, their mean length in terms, and how many hold
    each question term (t,) and each entity (e,).
    """

    chunks: int
    mean_length: float
    term_counts: Floats
    entity_counts: Floats


def collect_arrays(
    neighbourhood: Neighbourhood,
    hits: Sequence[LexicalHit],
    similarities: Sequence[float],
    *,
    question: str,
    terms: Sequence[str],
    entities: Iterable[NamedEntity],
) -> CandidateArrays:
    """Return the arrays of the neighbourhood's chunks, in their order, which is that of the hits and the similarities."""
    named = {entity.id.bytes for entity in entities}
    return CandidateArrays(
        keys=tuple(f"{hit.url}\n{hit.index:09}" for hit in hits),
        titles=tuple(hit.title for hit in hits),
        terms=tuple(terms),
        question=question,
        cosine=np.array(similarities, np.float64),
        frequencies=np.array([hit.frequencies for hit in hits], np.float64).reshape(
            len(hits), len(terms)
        ),
        lengths=np.array([hit.length for hit in hits], np.float64),
        mentions=_mentions(neighbourhood),
        relations=_symmetric_relations(neighbourhood),
        named=np.array(
            [place for place, entity in enumerate(neighbourhood.entities) if entity in named],
            np.intp,
        ),
    )


def corpus_statistics(
    statistics: TermStatistics, terms: Sequence[str], neighbourhood: Neighbourhood | None
) -> CorpusStatistics:
    """Return the statistics over the reader's chunks; an empty neighbourhood gives none for entities."""
    return CorpusStatistics(
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


def _mentions(neighbourhood: Neighbourhood) -> SparseMatrix:
    chunks, entities = neighbourhood.mentions
    size = (len(neighbourhood.chunks), len(neighbourhood.entities))
    return sparse_matrix(chunks, entities, np.ones(len(chunks)), size)


def _symmetric_relations(neighbourhood: Neighbourhood) -> SparseMatrix:
    size = (len(neighbourhood.entities), len(neighbourhood.entities))
    sources, other = neighbourhood.relations
    return sparse_matrix(
        np.concatenate([sources, other]),
        np.concatenate([other, sources]),
        np.concatenate([neighbourhood.weights, neighbourhood.weights]),
        size,
    )

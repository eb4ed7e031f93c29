"""The way out: which chunks bear on a question?

question ─ words, meaning, names ─► candidates ─ signals ─► opening ─ second look ─► order ─ calibration ─► evidence
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import cast

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.evidence import Evidence, Metrics, Retrieval
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import GRAPH_CHANNELS, Channel, Question
from lightwell.domain.terms import terms
from lightwell.ports import Embedder, GraphIndex, Neighbourhood, VectorIndex
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.search import NamedEntity, Place, WordHit, WordQuestion, WordStatistics
from lightwell.records.spaces import Space
from lightwell.retrieve import asked as naming
from lightwell.retrieve import calibration, fusion, reading, signals
from lightwell.retrieve.reading import Reading
from lightwell.retrieve.signals import Candidates, Corpus, Matrix
from lightwell.retrieve.weights import weights

DRAWN = 100
"""Chunks by words, and as many by meaning."""

_MOST_DRAWN_BY_RARE = 600
_NAMED_CHUNKS = 50
_SEEN_NEAR, _NEIGHBOURS = 10, 60
_MOST_TERMS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as the store understands it; `terms` are distinct, in order, with their visible statistics."""

    question: Question
    vector: NDArray[np.float32]
    terms: tuple[str, ...]
    statistics: WordStatistics
    named: tuple[NamedEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Candidate chunks, each with its place per channel, from 0."""

    ranks: dict[ChunkId, dict[Channel, int]]
    similarities: dict[ChunkId, float]
    words: dict[ChunkId, WordHit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """Finds evidence in one project."""

    database: Database
    vectors: VectorIndex
    graph: GraphIndex
    space: Space
    embedder: Embedder

    async def retrieve(self, question: Question, reader: Reader) -> Retrieval:
        """Return what the reader may see of what bears on the question, best first."""
        clock = _Clock()
        asked = await self._asked(question, reader)
        found = await self._candidates(asked, reader)
        clock.vector = clock.lap()
        if question.channels & GRAPH_CHANNELS:
            await self._follow(asked, found, reader)
        chunks = await self._complete(asked, found, reader)
        near = await self.graph.around(reader, chunks, [entity.id for entity in asked.named])
        clock.graph = clock.lap()
        places = await search.places(self.database, reader, chunks)
        ranked = await self._ranked(asked, found, near, places, reader)
        evidence = await self._evidence(asked, found, ranked, reader)
        weighed = _weights(asked)
        clock.fusion = clock.lap()
        as_read = Reading(
            vector=asked.vector, weights=weighed, names=naming.proper_terms(question.text)
        )
        evidence = await reading.read(self.embedder, as_read, evidence)
        clock.rerank = clock.lap()
        return Retrieval(
            question=question,
            weights=weighed,
            evidence=evidence,
            best=max((entry.relevance for entry in evidence), default=0.0),
            metrics=_metrics(clock, found, near, evidence),
        )

    async def _asked(self, question: Question, reader: Reader) -> Asked:
        """Embed the question and look its words and names up."""
        wanted = tuple(dict.fromkeys(terms(question.text)))[:_MOST_TERMS]
        vector, statistics, entities = await asyncio.gather(
            self.embedder.query(question.text),
            search.statistics(self.database, reader, wanted),
            search.named(self.database, reader, naming.possible_names(question.text)),
        )
        names = set(naming.held_names(question.text, {entity.name for entity in entities}))
        return Asked(
            question=question,
            vector=vector[0],
            terms=wanted,
            statistics=statistics,
            named=tuple(entity for entity in entities if entity.name in names),
        )

    async def _candidates(self, asked: Asked, reader: Reader) -> Found:
        """Draw chunks by words and by meaning."""
        by_words, by_meaning = await asyncio.gather(
            self._by_words(asked, reader),
            self.vectors.nearest(self.space.id, asked.vector, reader, limit=DRAWN),
        )
        found = Found(
            ranks={},
            similarities={hit.chunk_id: hit.similarity for hit in by_meaning},
            words={hit.chunk_id: hit for hit in by_words},
        )
        _rank(found, Channel.DENSE, [hit.chunk_id for hit in by_meaning])
        _rank(found, Channel.WORDS, [hit.chunk_id for hit in by_words])
        return found

    async def _by_words(self, asked: Asked, reader: Reader) -> list[WordHit]:
        rarities = _weights(asked)
        draw = _draw(asked.statistics, asked.terms)
        if not draw:
            return []
        return await search.by_words(
            self.database,
            reader,
            WordQuestion(
                weights=rarities,
                mean_length=asked.statistics.mean_length,
                draw=draw,
                topic=asked.question.topic,
            ),
            limit=DRAWN,
        )

    async def _follow(self, asked: Asked, found: Found, reader: Reader) -> None:
        """Add chunks of the named entities, and chunks that share rare entities with the best so far."""
        rare = [entity.id for entity in asked.named if entity.chunks <= _NAMED_CHUNKS]
        best = sorted(found.ranks, key=lambda chunk: (_first_score(found.ranks[chunk]), chunk))
        mentioning, near = await asyncio.gather(
            self.graph.mentioning(reader, rare, limit=DRAWN),
            self.graph.neighbours(
                reader, best[:_SEEN_NEAR], rarest=signals.RAREST, limit=_NEIGHBOURS
            ),
        )
        _rank(found, Channel.ENTITIES, mentioning)
        _rank(found, Channel.NEIGHBOURS, near)

    async def _complete(self, asked: Asked, found: Found, reader: Reader) -> list[ChunkId]:
        """Fetch the numbers that some channels did not bring; return the candidates on the topic."""
        lack_words = [chunk for chunk in found.ranks if chunk not in found.words]
        lack_meaning = [chunk for chunk in found.ranks if chunk not in found.similarities]
        hits, similarities = await asyncio.gather(
            search.words_of(
                self.database, reader, lack_words, asked.terms, topic=asked.question.topic
            ),
            self.vectors.similarities(self.space.id, asked.vector, reader, lack_meaning),
        )
        found.words.update({hit.chunk_id: hit for hit in hits})
        found.similarities.update(similarities)
        return sorted(chunk for chunk in found.ranks if chunk in found.words)

    async def _ranked(
        self,
        asked: Asked,
        found: Found,
        near: Neighbourhood,
        places: dict[ChunkId, Place],
        reader: Reader,
    ) -> "list[_Ranked]":
        """Order the candidates: each by itself first, then by what it adds to the best."""
        chunks = [chunk for chunk in near.chunks if chunk in places]
        if not chunks:
            return []
        candidates = _arrays(asked, found, near, chunks, places)
        corpus = _corpus(asked, near)
        opening = fusion.opened(candidates, corpus, weights())
        wanted: list[int] = opening.wanted.tolist()
        read = await search.chunks(self.database, reader, [chunks[place] for place in wanted])
        texts = {place: read[chunks[place]].text for place in wanted if chunks[place] in read}
        scores = fusion.fused(opening, texts, weights())
        relevance = calibration.relevance(opening, scores)
        order: list[int] = fusion.order(scores, candidates.keys).tolist()
        return [
            _Ranked(
                chunk=chunks[place], score=float(scores[place]), relevance=float(relevance[place])
            )
            for place in order
        ]

    async def _evidence(
        self, asked: Asked, found: Found, ranked: "Sequence[_Ranked]", reader: Reader
    ) -> tuple[Evidence, ...]:
        top = ranked[: asked.question.limit]
        texts = await search.chunks(self.database, reader, [entry.chunk for entry in top])
        return tuple(
            Evidence(
                chunk=texts[entry.chunk],
                relevance=round(entry.relevance, 6),
                score=round(entry.score, 6),
                cosine_distance=_distance(found.similarities.get(entry.chunk)),
                ranks=found.ranks[entry.chunk],
            )
            for entry in top
            if entry.chunk in texts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    chunk: ChunkId
    score: float
    relevance: float


@dataclass(slots=True)
class _Clock:
    """Milliseconds per stage, wall time."""

    started: float = 0.0
    vector: int = 0
    graph: int = 0
    fusion: int = 0
    rerank: int = 0

    def __post_init__(self) -> None:
        self.started = time.perf_counter()

    def lap(self) -> int:
        now = time.perf_counter()
        passed, self.started = now - self.started, now
        return round(passed * 1000)


def _rank(found: Found, channel: Channel, chunks: Sequence[ChunkId]) -> None:
    for rank, chunk in enumerate(chunks):
        found.ranks.setdefault(chunk, {})[channel] = rank


def _first_score(ranks: dict[Channel, int]) -> float:
    """Return what orders candidates before there are signals: less is better."""
    return -sum(1 / (fusion.RANK_OFFSET + rank + 1) for rank in ranks.values())


def _weights(asked: Asked) -> dict[str, float]:
    corpus = _words_corpus(asked)
    return dict(zip(asked.terms, signals.rarity(corpus).tolist(), strict=True))


def _draw(statistics: WordStatistics, wanted: Sequence[str]) -> str:
    """Return a tsquery of the rarest visible terms; of common ones only two together draw a chunk."""
    counts = sorted(
        (statistics.chunks_with[term], term) for term in wanted if term in statistics.chunks_with
    )
    drawn: list[str] = []
    total = 0
    for count, term in counts:
        total += count
        if drawn and total > _MOST_DRAWN_BY_RARE:
            break
        drawn.append(search.tsquery(term))
    if len(drawn) == 1 and len(counts) > 1 and counts[0][0] > _MOST_DRAWN_BY_RARE:
        others = " | ".join(search.tsquery(term) for _, term in counts[1:4])
        return f"{drawn[0]} & ({others})"
    return " | ".join(drawn)


def _arrays(
    asked: Asked,
    found: Found,
    near: Neighbourhood,
    chunks: Sequence[ChunkId],
    places: dict[ChunkId, Place],
) -> Candidates:
    row = {chunk: at for at, chunk in enumerate(chunks)}
    rows = np.array([row.get(chunk, -1) for chunk in near.chunks], np.intp)
    kept = rows[near.mentions[0]] >= 0
    shape = (len(chunks), len(near.entities))
    named = {entity.id.bytes for entity in asked.named}
    return Candidates(
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


def _corpus(asked: Asked, near: Neighbourhood) -> Corpus:
    words = _words_corpus(asked)
    return Corpus(
        chunks=words.chunks,
        mean_length=words.mean_length,
        term_counts=words.term_counts,
        entity_counts=near.counts,
    )


def _words_corpus(asked: Asked) -> Corpus:
    statistics = asked.statistics
    return Corpus(
        chunks=statistics.chunks,
        mean_length=statistics.mean_length,
        term_counts=np.array(
            [statistics.chunks_with.get(term, 0) for term in asked.terms], np.float64
        ),
        entity_counts=np.empty(0),
    )


def _distance(similarity: float | None) -> float | None:
    """Return the cosine distance clamped to [0, 1]."""
    return None if similarity is None else round(min(1.0, max(0.0, 1.0 - similarity)), 6)


def _metrics(
    clock: _Clock, found: Found, near: Neighbourhood, evidence: Sequence[Evidence]
) -> Metrics:
    dense = sorted(found.similarities.values(), reverse=True)
    dense_ranks = [ranks for ranks in found.ranks.values() if Channel.DENSE in ranks]
    graph_ranks = [
        ranks
        for ranks in found.ranks.values()
        if Channel.ENTITIES in ranks or Channel.NEIGHBOURS in ranks
    ]
    return Metrics(
        vector_ms=clock.vector,
        vector_hits=len(dense_ranks),
        vector_top=round(dense[0], 6) if dense else 0.0,
        vector_mean=round(fmean(dense[:10]), 6) if dense else 0.0,
        graph_ms=clock.graph,
        graph_hits=len(graph_ranks),
        graph_depth=2 if graph_ranks else 0,
        concepts=len(near.entities),
        fusion_ms=clock.fusion,
        overlap=sum(Channel.DENSE in ranks for ranks in graph_ranks),
        fused_top=evidence[0].score if evidence else 0.0,
        rerank_ms=clock.rerank,
        rerank_top=max((entry.relevance for entry in evidence), default=0.0),
    )

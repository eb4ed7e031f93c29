"""The way out: which chunks bear on a question?

question ─ keywords, words, meaning, names ─► channels ─► candidates ─ signals ─► order ─► passages ─ read ─► evidence
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import (
    GRAPH_CHANNELS,
    Channel,
    Fusion,
    Keywords,
    Question,
)
from lightwell.ports import Embedder, Neighbourhood, Reranker, Vectors
from lightwell.records import search
from lightwell.records.graph import entities
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.retrieve import calibration, features, fusion, local_reranker, passages, rerank
from lightwell.retrieve import query_entities as naming
from lightwell.retrieve.channels import (
    AnalyzedQuestion,
    ChannelResults,
    Stores,
    complete_scores,
    search_channels,
)
from lightwell.retrieve.keywords import UNANSWERED, extract_keywords, rule_keywords
from lightwell.retrieve.keywords import ExtractedKeywords as FoundKeywords
from lightwell.retrieve.local_reranker import RerankQuery
from lightwell.retrieve.metrics import StepTimer, make_metrics
from lightwell.retrieve.passages import Passage
from lightwell.retrieve.signals import Floats
from lightwell.retrieve.weights import load_weights
from lightwell.text.terms import terms

_MAX_TERMS = 32
_RERANKED = 20
_SPARE = 5
_MIN_JUDGED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How candidates are ranked, and how long a question's keywords are kept.

    `min_score` is S1's minScore, below which a reranked passage is dropped. Without a reranker, `reads` says whether
    passages are judged unit by unit, or by the fusion alone.
    """

    fusion: Fusion = Fusion.LEARNED
    reads: bool = True
    min_score: float = 0.1
    keyword_seconds: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """Finds evidence in one project.

    `asking` is the model that finds keywords; without one they are the question's own. `reranker` judges passages
    where there is one; without one they are read here.
    """

    stores: Stores
    embedder: Embedder
    model: CachedModel | None = None
    reranker: Reranker | None = None
    ranking: Ranking = Ranking()

    async def retrieve(
        self, question: Question, reader: Reader, *, until: float | None = None
    ) -> Retrieval:
        """Return what the reader may see of what bears on the question, best first.

        From the event loop's time `until` on, no model is waited for: keywords are the question's own, an embedder failed.
        """
        clock = StepTimer()
        asked, words = await self._analyze(question, reader, until)
        clock.lap()
        found = await search_channels(self.stores, asked, reader)
        chunks = await complete_scores(self.stores, asked, found, reader)
        clock.lap()
        near = await self._neighbourhood(asked, chunks, reader)
        clock.graph = clock.lap()
        order = await self._rank(asked, found, near, reader)
        told = await self._graph_facts(asked, found, reader)
        evidence = await self._evidence(asked, found, order, reader)
        clock.fusion = clock.lap()
        evidence, failed = await self._judge(asked, evidence)
        evidence = _most_relevant(evidence, question.limit)
        clock.rerank = clock.lap()
        return Retrieval(
            question=question,
            weights=asked.weights,
            evidence=evidence,
            best=max((entry.relevance for entry in evidence), default=0.0),
            metrics=make_metrics(clock, found, near, evidence),
            entities=told[0],
            relations=told[1],
            notes=tuple(each for each in (words.note, failed) if each),
            keywords=words.keywords,
        )

    async def keywords(self, question: Question, *, until: float | None = None) -> Keywords:
        """Return what the question is about, as `retrieve` would look for it in the graph."""
        return (await self._keywords(question, until)).keywords

    async def _analyze(
        self, question: Question, reader: Reader, until: float | None
    ) -> tuple[AnalyzedQuestion, FoundKeywords]:
        """Embed the question, look its words and names up, and find its keywords."""
        wanted = tuple(dict.fromkeys(terms(question.text)))[:_MAX_TERMS]
        database = self.stores.database
        vector, statistics, named, words = await asyncio.gather(
            self._embedded(question.text, until),
            search.term_statistics(database, reader, wanted),
            search.entities_named(database, reader, naming.candidate_names(question.text)),
            self._keywords(question, until),
        )
        low, high = await self._keyword_vectors(words, vector)
        names = set(naming.match_names(question.text, {entity.name for entity in named}))
        asked = AnalyzedQuestion(
            question=question,
            vector=vector[0],
            low=low[0],
            high=high[0],
            weights=features.term_weights(statistics, wanted),
            statistics=statistics,
            named=tuple(entity for entity in named if entity.name in names),
        )
        return asked, words

    async def _embedded(self, text: str, until: float | None) -> Vectors:
        try:
            async with asyncio.timeout_at(until):
                return await self.embedder.query(text)
        except TimeoutError:
            raise ModelFailed(
                f"The embedding model {self.embedder.model} did not answer in time;"
                " LIGHTWELL_ANSWER_TIMEOUT_SECONDS allows more"
            ) from None

    async def _keywords(self, question: Question, until: float | None) -> FoundKeywords:
        looks = question.channels & {Channel.ENTITIES, Channel.RELATIONS}
        asking = self.model if looks else None
        try:
            async with asyncio.timeout_at(until):
                return await extract_keywords(
                    question.text, asking, max_age_seconds=self.ranking.keyword_seconds
                )
        except TimeoutError:
            return FoundKeywords(keywords=rule_keywords(question.text), note=UNANSWERED)

    async def _keyword_vectors(
        self, words: FoundKeywords, vector: Vectors
    ) -> tuple[Vectors, Vectors]:
        """Return the vectors of the low and of the high keywords; the question's for those from its own text."""
        if not words.keywords.by_model:
            return vector, vector
        low, high = ", ".join(words.keywords.low), ", ".join(words.keywords.high)
        return (
            await self.embedder.query(low) if low else vector,
            await self.embedder.query(high) if high else vector,
        )

    async def _neighbourhood(
        self, analysis: AnalyzedQuestion, chunks: Sequence[ChunkId], reader: Reader
    ) -> Neighbourhood:
        if not analysis.question.channels & GRAPH_CHANNELS:
            return features.empty_neighbourhood(chunks)
        named = [entity.id for entity in analysis.named]
        return await self.stores.graph.neighbourhood(reader, chunks, named)

    async def _rank(
        self,
        analysis: AnalyzedQuestion,
        results: ChannelResults,
        neighbourhood: Neighbourhood,
        reader: Reader,
    ) -> "_Ranking":
        """Order the candidates: each by itself first, then by what it adds to the best."""
        chunks = neighbourhood.chunks
        if not chunks:
            return _Ranking(ranked=[], read={})
        candidates = features.candidate_features(analysis, results, neighbourhood)
        corpus = features.corpus_statistics(analysis.statistics, analysis.terms, neighbourhood)
        opening = fusion.first_pass(candidates, corpus, load_weights())
        read: dict[ChunkId, Chunk] = {}
        if self.ranking.fusion is Fusion.RRF:
            scores = _reciprocal(results, chunks, candidates.keys)
        else:
            wanted: list[int] = opening.wanted.tolist()
            read = await search.get_chunks(
                self.stores.database, reader, [chunks[place] for place in wanted]
            )
            texts = {place: read[chunks[place]].text for place in wanted if chunks[place] in read}
            scores = fusion.fuse(opening, texts, load_weights())
        relevance = calibration.calibrated_relevance(opening, scores)
        order: list[int] = fusion.rank(scores, candidates.keys)[
            : self._passages_wanted(analysis) + _SPARE
        ].tolist()
        ranked = [
            _RankedChunk(
                chunk=chunks[place], score=float(scores[place]), relevance=float(relevance[place])
            )
            for place in order
        ]
        return _Ranking(ranked=ranked, read=read)

    async def _evidence(
        self, analysis: AnalyzedQuestion, results: ChannelResults, order: "_Ranking", reader: Reader
    ) -> tuple[Evidence, ...]:
        """Return the best as passages."""
        limit = self._passages_wanted(analysis)
        top = {entry.chunk: entry for entry in order.ranked}
        unread = [chunk for chunk in top if chunk not in order.read]
        texts = {**order.read, **await search.get_chunks(self.stores.database, reader, unread)}

        async def text_of(chunk: Chunk, start: int, end: int) -> str:
            return await search.get_text_slice(
                self.stores.database, reader, chunk.document_id, start, end
            )

        grouped = passages.group_chunks(list(top), texts, limit=limit)
        wholes = [await passages.join_passage(each, text_of) for each in grouped]
        return tuple(
            _evidence(results, top, each, whole, rank)
            for rank, (each, whole) in enumerate(zip(grouped, wholes, strict=True))
        )

    def _passages_wanted(self, analysis: AnalyzedQuestion) -> int:
        """Return how many passages are looked at: those that a reranker is handed, or as many as are judged."""
        return _judged_count(analysis) if self.reranker is None else _RERANKED

    async def _judge(
        self, analysis: AnalyzedQuestion, evidence: Sequence[Evidence]
    ) -> tuple[tuple[Evidence, ...], str]:
        """Return the evidence with its calibrated relevance and its highlights, and what went wrong."""
        note = ""
        local = self.ranking.reads
        if self.reranker is not None:
            judged = await rerank.rerank(
                self.reranker, analysis.question.text, evidence, least=self.ranking.min_score
            )
            evidence, note = judged.evidence, judged.note
            local = bool(note) and self.ranking.reads
        evidence = evidence[: _judged_count(analysis)]
        as_read = RerankQuery(
            vector=analysis.vector,
            weights=analysis.weights,
            names=naming.proper_name_terms(analysis.question.text),
        )
        read = await local_reranker.rerank_locally(self.embedder, as_read, evidence)
        if local:
            return read, note
        pairs = zip(read, evidence, strict=True)
        return tuple(replace(seen, relevance=own.relevance) for seen, own in pairs), note

    async def _graph_facts(
        self, analysis: AnalyzedQuestion, results: ChannelResults, reader: Reader
    ) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
        """Return what the graph says of what the question is about; nothing where no profile is like it."""
        if not results.entities and not results.relations:
            return (), ()
        database = self.stores.database
        wanted = list(dict.fromkeys([*(each.id for each in analysis.named), *results.entities]))
        things, relations = await asyncio.gather(
            entities.get_many(database, reader, wanted),
            entities.get_relations(database, reader, results.relations),
        )
        return tuple(things[each] for each in wanted if each in things), tuple(relations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankedChunk:
    chunk: ChunkId
    score: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The best candidates, best first, some to spare, and those chunks that were read to order them."""

    ranked: list[_RankedChunk]
    read: dict[ChunkId, Chunk]


def _judged_count(analysis: AnalyzedQuestion) -> int:
    """Return how many passages are judged: whether the evidence is enough must not hang on how much of it is wanted."""
    return max(analysis.question.limit, _MIN_JUDGED)


def _most_relevant(evidence: Sequence[Evidence], limit: int) -> tuple[Evidence, ...]:
    """Return the `limit` of the highest relevance, in the order they have."""
    kept = sorted(range(len(evidence)), key=lambda place: (-evidence[place].relevance, place))
    return tuple(evidence[place] for place in sorted(kept[:limit]))


def _reciprocal(results: ChannelResults, chunks: Sequence[ChunkId], keys: Sequence[str]) -> Floats:
    """Return the chunks' scores by reciprocal rank fusion over the channels."""
    key_of = dict(zip(chunks, keys, strict=True))
    rankings: list[list[str]] = []
    for channel in Channel:
        held = [chunk for chunk in chunks if channel in results.ranks[chunk]]
        held.sort(key=lambda chunk: results.ranks[chunk][channel])
        rankings.append([key_of[chunk] for chunk in held])
    fused = fusion.reciprocal_ranks(rankings)
    return np.array([fused[key] for key in keys])


def _evidence(
    results: ChannelResults,
    top: Mapping[ChunkId, _RankedChunk],
    passage: Passage,
    whole: tuple[Chunk, tuple[Chunk, ...]],
    rank: int,
) -> Evidence:
    best = top[passage.best]
    return Evidence(
        chunk=whole[0],
        members=whole[1],
        relevance=round(max(top[each.id].relevance for each in passage.members), 6),
        score=round(best.score, 6),
        cosine_distance=_distance(results.similarities.get(best.chunk)),
        ranks=results.ranks[best.chunk],
        original_rank=rank,
        new_rank=rank,
    )


def _distance(similarity: float | None) -> float | None:
    """Return the cosine distance clamped to [0, 1]."""
    return None if similarity is None else round(min(1.0, max(0.0, 1.0 - similarity)), 6)

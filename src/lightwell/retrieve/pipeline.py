"""From a question to evidence: which chunks are relevant?

question ─ analysis, keywords, vectors ─► channels ─► candidates ─ signals ─► order ─► passages ─ rerank ─► evidence
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lightwell.domain.access import Reader
from lightwell.domain.errors import GraphFailed, ModelFailed
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.ids import ChunkId
from lightwell.domain.keywords import Keywords
from lightwell.domain.question_analysis import QuestionAnalysis, analyze_question
from lightwell.domain.question_names import match_names
from lightwell.domain.questions import (
    GRAPH_CHANNELS,
    SUFFICIENT_RELEVANCE,
    Channel,
    Fusion,
    Question,
)
from lightwell.domain.similarity import cosine_scale
from lightwell.ports import Embedder, LateInteraction, Neighbourhood, Reranker, Vectors
from lightwell.records import embedding_spaces, search
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.records.graph import entities
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.retrieve import local_reranker, rerank, signals
from lightwell.retrieve.candidate_arrays import empty_neighbourhood
from lightwell.retrieve.channels import (
    WITHOUT_GRAPH,
    ChannelResults,
    SearchQuery,
    Stores,
    complete_scores,
    search_channels,
)
from lightwell.retrieve.decomposition import retrieve_by_parts
from lightwell.retrieve.keywords import UNANSWERED, ExtractedKeywords, extract_keywords
from lightwell.retrieve.local_reranker import RerankQuery
from lightwell.retrieve.metrics import StepTimer, make_metrics
from lightwell.retrieve.ranking import Ranker
from lightwell.retrieve.spelling import IsWord, Respelled, correct_spelling
from lightwell.text.terms import terms as terms_of
from lightwell.tracing import span

_MAX_TERMS = 32
_RERANKED = 20
_MIN_JUDGED = 5

_CARRIED = 0.4
"""The weight of a term that a follow-up leaves out: what it says itself is what it asks for."""

_FOLLOWS_BEHIND, _BEHIND = 0.4, 0.1
"""By how much passages near the last answer may be less relevant than others: to a question that leaves its subject out, and to one that does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How candidates are ranked, and how long a question's keywords are cached, in seconds.

    A reranking endpoint drops passages below `min_score`. Without an endpoint `is_local` says whether the local reranker
    scores passages unit by unit; if not, they keep the relevance that fusion gave them, and no unit is embedded.
    """

    fusion: Fusion = Fusion.LEARNED
    is_local: bool = True
    min_score: float = 0.1
    keyword_seconds: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """Finds evidence in one project.

    `embedder` embeds questions, `sentence_embedder` the sentences of passages: the same model, perhaps with a cache.
    `model` names keywords; without one they are the question's own words. `reranker` is an endpoint that scores
    passages; without one `ranking` decides. `late_interaction` compares the best candidates with the question, and parts of passages for the local reranker. `is_word`
    knows ordinary words; without it no spelling is corrected. `models` are those that it can
    call: the space may become another one's.
    """

    stores: Stores
    embedder: Embedder
    sentence_embedder: Embedder
    model: CachedModel | None = None
    is_word: IsWord | None = None
    reranker: Reranker | None = None
    late_interaction: LateInteraction | None = None
    ranking: Ranking = Ranking()
    models: tuple[SpaceModel, ...] = ()

    async def retrieve(
        self, question: Question, reader: Reader, *, until: float | None = None
    ) -> Retrieval:
        """Return the evidence that the reader may see, best first, from the space that is active now.

        Raises `Invalid` where this process cannot call the space's model.
        """
        retriever = await self._follow_space(reader)
        search = partial(retriever.retrieve_in_space, reader=reader, until=until)
        return await retrieve_by_parts(question, search) or await search(question)

    async def _follow_space(self, reader: Reader) -> "Retriever":
        """Return the retriever for the space that is active now: another process may have changed the embedding model."""
        stores = self.stores
        space = await embedding_spaces.find_active(stores.database, reader.project_id)
        if space is None or space.id == stores.space.id:
            return self
        model = embedding_spaces.require_model(self.models, space)
        return replace(
            self,
            stores=replace(stores, space=space),
            embedder=model.embedder,
            sentence_embedder=model.sentences,
        )

    async def retrieve_in_space(
        self, question: Question, reader: Reader, until: float | None
    ) -> Retrieval:
        """Return the evidence that the reader may see, best first.

        From the event loop's time `until` on, no model is waited for: keywords are the question's own words, and an
        embedder that has not answered raises `ModelFailed`.
        """
        timer = StepTimer()
        with span("retrieve.prepare"):
            respelled = Respelled(question=question)
            if self.is_word is not None and question.channels:
                respelled = await correct_spelling(
                    self.stores.database, reader, question, self.is_word
                )
            query, keyword_note = await self._prepare(respelled.question, reader, until)
        timer.lap()
        with span("retrieve.search"):
            results = await search_channels(self.stores, query, reader)
            chunks = await complete_scores(self.stores, query, results, reader)
        timer.lap()
        with span("retrieve.neighbourhood"):
            neighbourhood = await self._neighbourhood(query, results, chunks, reader)
        timer.graph = timer.lap()
        with span("retrieve.rank"):
            ranker = Ranker(
                stores=self.stores,
                fusion=self.ranking.fusion,
                late_interaction=self.late_interaction,
            )
            # as many passages as a reranking endpoint is sent, or as are scored here
            count = _judged_count(query) if self.reranker is None else _RERANKED
            evidence = await ranker.rank(query, results, neighbourhood, reader, limit=count)
            things, relations = await self._graph_facts(query, results, reader)
        timer.fusion = timer.lap()
        with span("retrieve.rerank"):
            evidence, rerank_note = await self._rerank(query, evidence)
        evidence = _most_relevant(_stay_near(question, evidence), question.limit)
        timer.rerank = timer.lap()
        notes = (respelled.note, keyword_note, *results.notes, rerank_note)
        return Retrieval(
            question=question,
            analysis=query.analysis,
            weights=query.weights,
            evidence=evidence,
            best_relevance=max((entry.relevance for entry in evidence), default=0.0),
            metrics=make_metrics(timer, results, neighbourhood, evidence),
            entities=things,
            relations=relations,
            notes=tuple(dict.fromkeys(filter(None, notes))),
        )

    async def keywords(
        self, question: Question, reader: Reader, *, until: float | None = None
    ) -> Keywords:
        """Return the keywords with which `retrieve` would search the graph."""
        analysis = analyze_question(question.text)
        return (await self._keywords(question, analysis, reader, until)).keywords

    async def _prepare(
        self, question: Question, reader: Reader, until: float | None
    ) -> tuple[SearchQuery, str]:
        """Return the analysed question with its vectors, its statistics and the entities it names, and a note on what failed."""
        analysis = analyze_question(question.text, question.subject)
        terms = analysis.terms[:_MAX_TERMS]
        database = self.stores.database
        vector, statistics, named_entities, extracted = await asyncio.gather(
            self._embed_question(question.as_read, until),
            search.get_term_statistics(database, reader, terms),
            search.find_named_entities(database, reader, analysis.candidate_names),
            self._keywords(question, analysis, reader, until),
        )
        low, high = await self._keyword_vectors(extracted.keywords, vector)
        names = set(match_names(analysis.name_runs, {entity.name for entity in named_entities}))
        query = SearchQuery(
            question=question,
            analysis=replace(analysis, keywords=extracted.keywords),
            vector=vector[0],
            low_vector=low[0],
            high_vector=high[0],
            weights=_weights(question, signals.term_weights(statistics, terms)),
            statistics=statistics,
            entities=tuple(entity for entity in named_entities if entity.name in names),
        )
        return query, extracted.note

    async def _embed_question(self, text: str, until: float | None) -> Vectors:
        try:
            async with asyncio.timeout_at(until):
                return await self.embedder.embed_query(text)
        except TimeoutError:
            raise ModelFailed(
                f"The embedding model {self.embedder.model} did not answer in time;"
                " LIGHTWELL_ANSWER_TIMEOUT_SECONDS allows more"
            ) from None

    async def _keywords(
        self, question: Question, analysis: QuestionAnalysis, reader: Reader, until: float | None
    ) -> ExtractedKeywords:
        needs_graph = question.channels & {Channel.ENTITIES, Channel.RELATIONS}
        model = self.model if needs_graph else None
        try:
            async with asyncio.timeout_at(until):
                return await extract_keywords(
                    analysis, model, reader, max_age_seconds=self.ranking.keyword_seconds
                )
        except TimeoutError:
            return ExtractedKeywords(keywords=analysis.keywords, note=UNANSWERED)

    async def _keyword_vectors(
        self, keywords: Keywords, vector: Vectors
    ) -> tuple[Vectors, Vectors]:
        """Return the vectors of the low and of the high keywords; the question's own where no model named them."""
        if not keywords.by_model:
            return vector, vector
        low, high = ", ".join(keywords.low), ", ".join(keywords.high)
        return (
            await self.embedder.embed_query(low) if low else vector,
            await self.embedder.embed_query(high) if high else vector,
        )

    async def _neighbourhood(
        self,
        query: SearchQuery,
        results: ChannelResults,
        chunks: Sequence[ChunkId],
        reader: Reader,
    ) -> Neighbourhood:
        if not query.question.channels & GRAPH_CHANNELS:
            return empty_neighbourhood(chunks)
        named = [entity.id for entity in query.entities]
        try:
            return await self.stores.graph.neighbourhood(reader, chunks, named)
        except GraphFailed:
            results.notes.append(WITHOUT_GRAPH)
            return empty_neighbourhood(chunks)

    async def _rerank(
        self, query: SearchQuery, evidence: Sequence[Evidence]
    ) -> tuple[tuple[Evidence, ...], str]:
        """Return the evidence with its calibrated relevance and its highlights, and a note on what failed."""
        note = ""
        is_local = self.ranking.is_local
        if self.reranker is not None:
            reranked = await rerank.rerank(
                self.reranker, query.question.as_read, evidence, min_score=self.ranking.min_score
            )
            evidence, note = reranked.evidence, reranked.note
            is_local = bool(note) and is_local
        evidence = evidence[: _judged_count(query)]
        if not self.ranking.is_local:
            scale = cosine_scale(self.stores.space.model)
            return local_reranker.highlight_by_terms(query.weights, evidence, scale), note
        rerank_query = RerankQuery(
            text=query.question.as_read,
            vector=query.vector,
            weights=query.weights,
            names=query.analysis.proper_name_terms,
            expected=query.analysis.expected,
        )
        scored = await local_reranker.rerank_locally(
            self.sentence_embedder,
            rerank_query,
            evidence,
            late_interaction=self.late_interaction,
        )
        if is_local:
            return scored, note
        pairs = zip(scored, evidence, strict=True)
        return tuple(replace(entry, relevance=before.relevance) for entry, before in pairs), note

    async def _graph_facts(
        self, query: SearchQuery, results: ChannelResults, reader: Reader
    ) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
        """Return what the graph states about the question's subject; nothing where no profile is similar to it."""
        if not results.entities and not results.relations:
            return (), ()
        database = self.stores.database
        wanted = list(dict.fromkeys([*(entity.id for entity in query.entities), *results.entities]))
        things, relations = await asyncio.gather(
            entities.get_many(database, reader, wanted),
            entities.get_relations(database, reader, results.relations),
        )
        return tuple(things[entity_id] for entity_id in wanted if entity_id in things), tuple(
            relations
        )


def _judged_count(query: SearchQuery) -> int:
    """Return how many passages are scored: at least 5, so that sufficiency does not depend on the question's limit."""
    return max(query.question.limit, _MIN_JUDGED)


def _weights(question: Question, weights: dict[str, float]) -> dict[str, float]:
    """Return the weights of the question's terms, less for those that it has from the conversation."""
    if not question.subject:
        return weights
    own_terms = frozenset(terms_of(question.text))
    return {
        term: weight if term in own_terms else _CARRIED * weight for term, weight in weights.items()
    }


def _stay_near(question: Question, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Return the passages near the last answer where they are sufficient, and none elsewhere is much more relevant; else all."""
    near = tuple(entry for entry in evidence if entry.is_near)
    if not question.stays_near or not near:
        return evidence
    margin = _FOLLOWS_BEHIND if question.subject else _BEHIND
    least = max(SUFFICIENT_RELEVANCE, *(entry.relevance - margin for entry in evidence))
    return near if any(entry.relevance >= least for entry in near) else evidence


def _most_relevant(evidence: Sequence[Evidence], limit: int) -> tuple[Evidence, ...]:
    """Return the `limit` passages of the highest relevance, in the order they have."""
    kept = sorted(range(len(evidence)), key=lambda place: (-evidence[place].relevance, place))
    return tuple(evidence[place] for place in sorted(kept[:limit]))

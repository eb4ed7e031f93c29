"""The channels: each finds chunks that the reader sees, in its own order, and they search at the same time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.errors import GraphFailed
from lightwell.domain.evidence import ChannelMetrics, rrf_score
from lightwell.domain.graph import RAREST, ProfileSubject
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.domain.questions import Channel, Question
from lightwell.domain.similarity import cosine_scale
from lightwell.logs import logger
from lightwell.ports import GraphIndex, ProfileHit, ProfileIndex, VectorIndex
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import Space
from lightwell.records.search import LexicalHit, LexicalQuery, NamedEntity, TermStatistics
from lightwell.retrieve import fusion
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.tracing import span

MAX_FOUND = 100
"""Chunks that a channel finds, at most."""

WITHOUT_GRAPH = "The graph store did not answer, or is behind: this was found without the graph"
"""The note of what was found while the graph store failed."""

UNREAD = (
    "The embedding model has not read these documents yet: this was found by words and names."
    " A server, a worker or the next `lightwell ingest` reads them"
)
"""The note of what was found where nothing that the reader sees has a vector, as after a change of the bundled model."""

_MAX_FOUND_BY_RARE = 600
_NAMED_CHUNKS = 50
_EXPANDED, _NEIGHBOURS = 10, 60
_PROFILES, _LINKED = 10, 10
_MIN_SIMILARITY = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where one project's passages, graph and profiles are found."""

    database: Database
    vectors: VectorIndex
    profiles: ProfileIndex
    graph: GraphIndex
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question as the channels search for it: its analysis, with what the store and the embedder say of it.

    `weights` are its first 32 distinct terms, in order, with their rarity among the reader's chunks. `low_vector` and
    `high_vector` are the vectors of its keywords (`Keywords.low`, `Keywords.high`), or the question's own where its keywords
    are only its words. `entities` are those of the
    reader's that the question names.
    """

    question: Question
    analysis: QuestionAnalysis
    vector: NDArray[np.float32]
    low_vector: NDArray[np.float32]
    high_vector: NDArray[np.float32]
    weights: Mapping[str, float]
    statistics: TermStatistics
    entities: tuple[NamedEntity, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelResults:
    """Candidate chunks, each with its rank per channel, from 0, and the numbers that channels returned with them.

    `entities` and `relations` are those whose profiles are similar to the question, most similar first. `notes` say
    which stores failed, and what lacks vectors: their channels found nothing. `near` are the chunks around what the last answer of
    the conversation cites.
    """

    ranks: dict[ChunkId, dict[Channel, int]] = field(
        default_factory=dict[ChunkId, dict[Channel, int]]
    )
    similarities: dict[ChunkId, float] = field(default_factory=dict[ChunkId, float])
    words: dict[ChunkId, LexicalHit] = field(default_factory=dict[ChunkId, LexicalHit])
    entities: list[EntityId] = field(default_factory=list[EntityId])
    relations: list[RelationId] = field(default_factory=list[RelationId])
    metrics: dict[Channel, ChannelMetrics] = field(default_factory=dict[Channel, ChannelMetrics])
    notes: list[str] = field(default_factory=list[str])
    near: set[ChunkId] = field(default_factory=set[ChunkId])


_log = logger(__name__)
_int = attrgetter("int")  # comparing identifiers themselves is ten times as slow
Search = Callable[[Stores, SearchQuery, ChannelResults, Reader], Awaitable[list[ChunkId]]]


async def search_channels(stores: Stores, query: SearchQuery, reader: Reader) -> ChannelResults:
    """Return what the question's channels find. Neighbours come last, since they start from the best of the others."""
    results = ChannelResults()
    wanted = query.question.channels
    await asyncio.gather(
        *(
            _into(results, channel, find(stores, query, results, reader))
            for channel, find in _CHANNELS.items()
            if channel in wanted
        )
    )
    if Channel.NEIGHBOURS in wanted:
        await _into(results, Channel.NEIGHBOURS, _neighbours(stores, query, results, reader))
    if query.question.near and wanted:
        await _add_near(stores, query, results, reader)
    if Channel.DENSE in wanted and results.ranks and not results.metrics[Channel.DENSE].hits:
        results.notes.append(UNREAD)
    return results


async def complete_scores(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    """Add the scores that some channels did not return to `results`, and return the candidates that match the filters."""
    lack_words = [chunk for chunk in results.ranks if chunk not in results.words]
    lack_meaning = [chunk for chunk in results.ranks if chunk not in results.similarities]
    hits, similarities = await asyncio.gather(
        search.get_term_frequencies(
            stores.database, reader, lack_words, query.terms, filters=query.question.filters
        ),
        stores.vectors.similarities(stores.space.id, query.vector, reader, lack_meaning),
    )
    results.words.update({hit.chunk_id: hit for hit in hits})
    results.similarities.update(similarities)
    return sorted((chunk for chunk in results.ranks if chunk in results.words), key=_int)


async def _add_near(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> None:
    """Make what stands near the last answer candidates, whether a channel found them or not."""
    question = query.question
    near = await search.find_chunks_near(
        stores.database, reader, question.near, filters=question.filters, limit=MAX_FOUND
    )
    results.near.update(near)
    for chunk in near:
        results.ranks.setdefault(chunk, {})


async def _into(
    results: ChannelResults, channel: Channel, search: Awaitable[list[ChunkId]]
) -> None:
    began = time.perf_counter()
    with span(f"retrieve.search.{channel}"):
        try:
            chunks = await search
        except GraphFailed as error:
            _log.warning("a channel found nothing: the graph store failed", error=str(error))
            results.notes.append(WITHOUT_GRAPH)
            chunks = []
    for rank, chunk in enumerate(chunks):
        results.ranks.setdefault(chunk, {})[channel] = rank
    passed = round((time.perf_counter() - began) * 1000)
    results.metrics[channel] = ChannelMetrics(ms=passed, hits=len(chunks))


async def _dense(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    hits = await stores.vectors.nearest(
        stores.space.id,
        query.vector,
        reader,
        limit=MAX_FOUND,
        filters=query.question.filters,
        visible=query.statistics.chunks,
    )
    results.similarities.update({hit.chunk_id: hit.similarity for hit in hits})
    return [hit.chunk_id for hit in hits]


async def _lexical(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    draw = _lexical_query(query.statistics, query.terms)
    if not draw:
        return []
    hits = await search.search_lexical(
        stores.database,
        reader,
        LexicalQuery(
            weights=query.weights,
            mean_length=query.statistics.mean_length,
            match_query=draw,
            filters=query.question.filters,
            is_scattered=query.statistics.is_scattered,
        ),
        limit=MAX_FOUND,
    )
    results.words.update({hit.chunk_id: hit for hit in hits})
    return [hit.chunk_id for hit in hits]


async def _from_entities(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    """Return chunks that mention entities the question names, then entities whose profiles are similar to it."""
    near = await _similar_profiles(stores, query.low_vector, reader, ProfileSubject.ENTITY)
    described = [EntityId(hit.subject_id) for hit in near]
    results.entities.extend(described)
    by_name, by_profile = await asyncio.gather(
        _mentioning(stores, query, _rare_entities(query), reader),
        _mentioning(stores, query, described, reader),
    )
    return list(dict.fromkeys([*by_name, *by_profile]))[:MAX_FOUND]


async def _from_relations(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    """Return chunks that state relations similar to the question, then relations of the entities it names."""
    near = await _similar_profiles(stores, query.high_vector, reader, ProfileSubject.RELATION)
    results.relations.extend(RelationId(hit.subject_id) for hit in near)
    filters, graph, rare = query.question.filters, stores.graph, _rare_entities(query)
    described = (
        await graph.chunks_stating(reader, results.relations, limit=MAX_FOUND, filters=filters)
        if near
        else []
    )
    named = (
        await graph.chunks_relating(reader, rare, limit=MAX_FOUND, filters=filters) if rare else []
    )
    return list(dict.fromkeys([*described, *named]))[:MAX_FOUND]


async def _from_links(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    del results
    named = [entity.id for entity in query.entities]
    if not named:
        return []
    linked = await stores.graph.linked_entities(reader, named, limit=_LINKED)
    return await _mentioning(stores, query, linked, reader)


async def _neighbours(
    stores: Stores, query: SearchQuery, results: ChannelResults, reader: Reader
) -> list[ChunkId]:
    """Return chunks that share rare entities with the best chunks so far."""
    best = sorted(
        results.ranks, key=lambda chunk: (-rrf_score(results.ranks[chunk].values()), chunk.int)
    )
    return await stores.graph.neighbour_chunks(
        reader,
        best[:_EXPANDED],
        rarest=RAREST,
        limit=_NEIGHBOURS,
        filters=query.question.filters,
    )


async def _similar_profiles(
    stores: Stores, vector: NDArray[np.float32], reader: Reader, subject: ProfileSubject
) -> list[ProfileHit]:
    near = await stores.profiles.nearest(stores.space.id, vector, reader, subject, limit=_PROFILES)
    scale = cosine_scale(stores.space.model)
    return [hit for hit in near if scale.similarity(hit.similarity) >= _MIN_SIMILARITY]


def _rare_entities(query: SearchQuery) -> list[EntityId]:
    return [entity.id for entity in query.entities if entity.chunks <= _NAMED_CHUNKS]


async def _mentioning(
    stores: Stores, query: SearchQuery, entities: Sequence[EntityId], reader: Reader
) -> list[ChunkId]:
    if not entities:
        return []
    filters = query.question.filters
    return await stores.graph.chunks_mentioning(reader, entities, limit=MAX_FOUND, filters=filters)


_CHANNELS: Mapping[Channel, Search] = {
    Channel.DENSE: _dense,
    Channel.LEXICAL: _lexical,
    Channel.ENTITIES: _from_entities,
    Channel.RELATIONS: _from_relations,
    Channel.LINKS: _from_links,
}


def _lexical_query(statistics: TermStatistics, wanted: Sequence[str]) -> str:
    """Return a tsquery of the rarest visible terms; common terms find a chunk only two at a time."""
    counts = sorted(
        (statistics.chunks_with[term], term) for term in wanted if term in statistics.chunks_with
    )
    rare: list[str] = []
    total = 0
    for count, term in counts:
        total += count
        if rare and total > _MAX_FOUND_BY_RARE:
            break
        rare.append(search.tsquery(term))
    if len(rare) == 1 and len(counts) > 1 and counts[0][0] > _MAX_FOUND_BY_RARE:
        others = " | ".join(search.tsquery(term) for _, term in counts[1:4])
        return f"{rare[0]} & ({others})"
    return " | ".join(rare)


def reciprocal_rank_scores(
    results: ChannelResults, chunks: Sequence[ChunkId], keys: Sequence[str]
) -> Floats:
    """Return the chunks' scores by reciprocal rank fusion over the channels, (chunks,); `keys` are theirs."""
    key_of = dict(zip(chunks, keys, strict=True))
    rankings: list[list[str]] = []
    for channel in Channel:
        ranked = [chunk for chunk in chunks if channel in results.ranks[chunk]]
        ranked.sort(key=lambda chunk: results.ranks[chunk][channel])
        rankings.append([key_of[chunk] for chunk in ranked])
    fused = fusion.reciprocal_ranks(rankings)
    return np.array([fused[key] for key in keys])

"""From candidates to passages: late interaction compares the best ones, learned weights order them, and neighbours become one passage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import Fusion
from lightwell.domain.reranking import ENCODED_LANGUAGE
from lightwell.domain.similarity import cosine_scale
from lightwell.ports import LateInteraction, Neighbourhood
from lightwell.records import search
from lightwell.retrieve import calibration, fusion, late_interaction, passages
from lightwell.retrieve.candidate_arrays import collect_arrays, corpus_statistics
from lightwell.retrieve.channels import (
    ChannelResults,
    SearchQuery,
    Stores,
    reciprocal_rank_scores,
)
from lightwell.retrieve.fusion import FirstPass
from lightwell.retrieve.late_interaction import MATCHED, ChunkMatches
from lightwell.retrieve.passages import Passage
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import load_weights
from lightwell.text.language import detect_language

_NEAR = 3.0
"""What it adds to a score that a chunk stands near the last answer: about what lies between the first and the third passage."""

_SURE = 0.8
"""How sure the detection of another language must be. None of 430 English questions, most of them short, is taken for another one."""

_SPARE = 5
"""Chunks more than there are passages, since neighbours become one passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranker:
    """Ranks what a question found in these stores; without `late_interaction`, by the learned weights or reciprocal ranks alone."""

    stores: Stores
    fusion: Fusion
    late_interaction: LateInteraction | None

    async def rank(
        self,
        query: SearchQuery,
        results: ChannelResults,
        neighbourhood: Neighbourhood,
        reader: Reader,
        *,
        limit: int,
    ) -> tuple[Evidence, ...]:
        """Return up to `limit` passages that the reader may see, best first; raise `ModelFailed`."""
        if not neighbourhood.chunks:
            return ()
        first_pass = self._first_pass(query, results, neighbourhood)
        chunks, keys = neighbourhood.chunks, first_pass.candidates.keys
        best = fusion.rank(first_pass.scores, keys)[:MATCHED]
        compared: list[int] = best.tolist()
        matches = await self._match(query, [chunks[place] for place in compared], reader)
        signal = late_interaction.token_matches(best, chunks, matches)
        if signal.any():
            first_pass = fusion.with_token_matches(first_pass, signal, load_weights())
        scores, texts = await self._fuse(results, chunks, first_pass, reader)
        relevance = calibration.calibrated_relevance(first_pass, scores)
        scores = scores + _NEAR * np.array([chunk in results.near for chunk in chunks], float)
        order: list[int] = fusion.rank(scores, keys)[: limit + _SPARE].tolist()
        ranked = {
            chunks[place]: _RankedChunk(
                score=float(scores[place]), relevance=float(relevance[place])
            )
            for place in order
        }
        missing = [chunk for chunk in ranked if chunk not in texts]
        texts |= await search.get_chunks(self.stores.database, reader, missing)
        if late := [
            chunks[place] for place in order if place not in compared
        ]:  # raised by links alone
            matches = {**matches, **await self._match(query, late, reader)}
        grouped = passages.group_chunks(list(ranked), texts, limit=limit)
        return tuple(
            _make_evidence(results, ranked, matches, passage, rank)
            for rank, passage in enumerate(grouped)
        )

    def _first_pass(
        self, query: SearchQuery, results: ChannelResults, neighbourhood: Neighbourhood
    ) -> FirstPass:
        chunks = neighbourhood.chunks
        scale = cosine_scale(self.stores.space.model)
        candidates = collect_arrays(
            neighbourhood,
            [results.words[chunk] for chunk in chunks],
            [scale.similarity(results.similarities.get(chunk)) for chunk in chunks],
            question=query.question.as_read,
            terms=query.terms,
            entities=query.entities,
        )
        corpus = corpus_statistics(query.statistics, query.terms, neighbourhood)
        return fusion.first_pass(candidates, corpus, load_weights())

    async def _fuse(
        self,
        results: ChannelResults,
        chunks: Sequence[ChunkId],
        first_pass: FirstPass,
        reader: Reader,
    ) -> tuple[Floats, dict[ChunkId, Chunk]]:
        """Return the scores, each chunk by itself first, then by what it adds to the best; and the chunks that were fetched for that."""
        if self.fusion is Fusion.RRF:
            return reciprocal_rank_scores(results, chunks, first_pass.candidates.keys), {}
        top: list[int] = first_pass.top.tolist()
        texts = await search.get_chunks(
            self.stores.database, reader, [chunks[place] for place in top]
        )
        folded = {
            place: passages.analysis_of([chunk], chunk.text).folded
            for place in top
            if (chunk := texts.get(chunks[place]))
        }
        return fusion.second_pass_scores(first_pass, folded, load_weights()), texts

    async def _match(
        self, query: SearchQuery, chunks: Sequence[ChunkId], reader: Reader
    ) -> ChunkMatches:
        question = query.question.as_read
        if (
            self.late_interaction is None
            or self.fusion is Fusion.RRF
            or not _is_comparable(question)
        ):
            return {}
        return await late_interaction.match_windows(
            self.stores.database, self.late_interaction, reader, question, chunks
        )


def _is_comparable(question: str) -> bool:
    """Return whether the question is in the language of late interaction, as far as can be told: in others its matches are noise."""
    language = detect_language(question, default=ENCODED_LANGUAGE, min_confidence=_SURE)
    return language == ENCODED_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankedChunk:
    score: float
    relevance: float


def _make_evidence(
    results: ChannelResults,
    ranked: Mapping[ChunkId, _RankedChunk],
    matches: ChunkMatches,
    passage: Passage,
    rank: int,
) -> Evidence:
    best = passage.best
    chunk = passages.join_passage(passage)
    similarity = results.similarities.get(best)
    return Evidence(
        chunk=chunk,
        analysis=passages.analysis_of(passage.members, chunk.text),
        members=passage.members if len(passage.members) > 1 else (),
        windows=passages.windows_of(passage, matches),
        encoded=passages.encoded_chunks(passage, matches),
        relevance=round(max(ranked[member.id].relevance for member in passage.members), 6),
        score=round(ranked[best].score, 6),
        cosine_distance=None
        if similarity is None
        else round(min(1.0, max(0.0, 1 - similarity)), 6),
        ranks=results.ranks[best],
        is_near=not results.near.isdisjoint(member.id for member in passage.members),
        original_rank=rank,
        new_rank=rank,
    )

"""Answers, passages, documents and jobs as JSON, with the keys that HTTP uses; `json_graph`, `json_brief` and `json_analytics` have the rest.

Docstrings name the types of the specification, such as `QueryResponse`, whose keys the JSON has.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lightwell.domain.answers import (
    Answer,
    Citation,
    ResponseMetadata,
    StreamChunk,
    response_metadata,
)
from lightwell.domain.candidates import Candidates
from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Evidence, Retrieval, rrf_score
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.keywords import Keywords
from lightwell.domain.questions import GRAPH_CHANNELS, PASSAGE_CHANNELS, Channel
from lightwell.domain.usage import TokenSummary

Json = Mapping[str, object]


def answer(answer: Answer, *, milliseconds: int) -> Json:
    """Return an answer with the keys of `QueryResponse`, and the nearest passages if there is no answer."""
    return {
        "queryId": str(answer.query_id),
        "query": answer.question,
        "answer": answer.text,
        "confidence": answer.confidence.value,
        "relevance": round(answer.relevance, 4),
        "threshold": SUFFICIENT_RELEVANCE,
        "model": answer.model,
        "highlights": [list(each) for each in answer.highlights],
        "citations": [citation(each) for each in answer.citations],
        "nearest": [citation(each) for each in answer.nearest],
        "notes": list(answer.notes),
        "ambiguousNames": ambiguous_names(answer.ambiguous_names),
        "metadata": _metadata(response_metadata(answer, latency_ms=milliseconds)),
    }


def statements(answer: Answer, *, milliseconds: int) -> Json:
    """Return an answer as a list of statements, each with its citations and dates."""
    return {
        "queryId": str(answer.query_id),
        "query": answer.question,
        "statements": [
            {
                "text": each.text,
                "sourceChunkId": each.source_chunk_id,
                "saidAt": time_text(each.said_at),
                "dates": list(each.dates),
                "citations": [citation(cited) for cited in each.citations],
            }
            for each in answer.sentences
        ],
        "confidence": answer.confidence.value,
        "relevance": round(answer.relevance, 4),
        "threshold": SUFFICIENT_RELEVANCE,
        "model": answer.model,
        "nearest": [citation(each) for each in answer.nearest],
        "notes": list(answer.notes),
        "ambiguousNames": ambiguous_names(answer.ambiguous_names),
        "metadata": {"latencyMs": milliseconds},
    }


def event(chunk: StreamChunk) -> Json:
    """Return an event with the keys of `StreamChunk`; `done` also has the answer's notes and usage."""
    return {"type": chunk.type.value} | {
        name: value
        for name, value in {
            "content": chunk.content or None,
            "citation": chunk.citation and citation(chunk.citation),
            "metadata": chunk.metadata and _metadata(chunk.metadata),
            "error": chunk.error or None,
            "nearest": chunk.answer and [citation(each) for each in chunk.answer.nearest],
            "notes": chunk.answer and list(chunk.answer.notes),
            "ambiguousNames": chunk.answer and ambiguous_names(chunk.answer.ambiguous_names),
            "usage": chunk.answer and usage(chunk.answer.usage),
        }.items()
        if value is not None
    }


def usage(spent: TokenSummary) -> Json:
    """Return the keys of `TokenSummary`."""
    return {
        "calls": spent.calls,
        "totalInputTokens": spent.total_input_tokens,
        "totalOutputTokens": spent.total_output_tokens,
        "byOperationType": {kind.value: n for kind, n in spent.by_operation_type.items()},
    }


def _metadata(numbers: ResponseMetadata) -> Json:
    return {
        "queryId": str(numbers.query_id),
        "totalTokens": numbers.total_tokens,
        "citationCount": numbers.citation_count,
        "confidence": numbers.confidence.value,
        "vectorResultCount": numbers.vector_result_count,
        "graphResultCount": numbers.graph_result_count,
        "latencyMs": numbers.latency_ms,
    }


def retrieval(retrieval: Retrieval, *, milliseconds: int) -> Json:
    """Return a retrieval; its `results` have the keys of `RankedResult`."""
    return {
        "queryId": str(retrieval.query_id),
        "query": retrieval.question.text,
        "mode": retrieval.question.mode.value,
        "hasInsufficientEvidence": not retrieval.is_sufficient,
        "relevance": round(retrieval.best_relevance, 4),
        "threshold": SUFFICIENT_RELEVANCE,
        "results": [_evidence(rank, each) for rank, each in enumerate(retrieval.evidence, start=1)],
        "entities": [_entity(each) for each in retrieval.entities],
        "relations": [_relation(each) for each in retrieval.relations],
        "keywords": keywords(retrieval.analysis.keywords),
        "notes": list(retrieval.notes),
        "ambiguousNames": ambiguous_names(retrieval.ambiguous_names),
        "metadata": {
            "vectorResultCount": retrieval.metrics.vector_hits,
            "graphResultCount": retrieval.metrics.graph_hits,
            "latencyMs": milliseconds,
            "channels": {
                channel.value: {"ms": each.ms, "hits": each.hits}
                for channel in Channel
                if (each := retrieval.metrics.channels.get(channel)) is not None
            },
        },
    }


def keywords(keywords: Keywords) -> Json:
    """Return the keys of `KeywordResult`, and whether a model found the keywords."""
    return {
        "highLevelKeywords": list(keywords.high),
        "lowLevelKeywords": list(keywords.low),
        "queryHash": keywords.question_hash,
        "cachedAt": time_text(keywords.cached_at),
        "byModel": keywords.by_model,
    }


def job(job: Job) -> Json:
    """Return a job with the keys of `IngestStatusResponse`, and more.

    The specification has no status for a cancelled job: its `status` is `failed`, and its `jobState` is `cancelled`.
    """
    is_cancelled = job.state is JobState.CANCELLED
    return {
        "jobId": str(job.id),
        "documentId": str(job.document_id),
        "documentUrl": job.url,
        "status": JobState.FAILED.value if is_cancelled else job.state.value,
        "jobState": job.state.value,
        "currentStep": job.step,
        "progress": job.progress,
        "totalChunks": job.total_chunks,
        "processedChunks": job.processed_chunks,
        "errorCode": job.error_code,
        "errorMessage": "The job was cancelled" if is_cancelled else job.error,
        "usage": usage(job.usage),
        "unknownPredicates": job.unknown_predicates,
        "attempts": job.attempts,
        "createdAt": time_text(job.created_at),
        "startedAt": time_text(job.started_at),
        "completedAt": time_text(job.completed_at),
    }


def citation(citation: Citation) -> Json:
    """Return a citation. Some fields have two keys, because two parts of the specification name them differently."""
    return {
        "id": citation.id,
        "chunkId": citation.chunk_id,
        "chunkRef": citation.chunk_ref,
        "documentRef": citation.document_ref,
        "documentTitle": citation.document_title,
        "documentUrl": citation.source_url,
        "sourceUrl": citation.source_url,
        "sourceSystem": citation.source_system,
        "sourceType": citation.source_type,
        "createdAt": time_text(citation.created_at),
        "snippet": citation.snippet,
        "highlight": list(citation.highlight) if any(citation.highlight) else None,
        "score": round(citation.score, 4),
        "relevanceScore": round(citation.score, 4),
        "locator": locator(citation.locator),
        "suppliedByHand": citation.is_supplied,
    }


def _evidence(rank: int, evidence: Evidence) -> Json:
    distance = evidence.cosine_distance
    return {
        "rank": rank,
        "chunkId": str(evidence.chunk.id),
        "content": evidence.chunk.text,
        **_source(evidence),
        "relevanceScore": round(evidence.relevance, 4),
        "isAboveThreshold": evidence.relevance >= SUFFICIENT_RELEVANCE,
        "score": round(evidence.score, 6),
        **_fused(evidence.ranks),
        "distance": None if distance is None else round(distance, 4),
        "sources": sorted(channel.value for channel in evidence.ranks),
        "ranks": {channel.value: rank for channel, rank in sorted(evidence.ranks.items())},
        "originalRank": evidence.original_rank,
        "newRank": evidence.new_rank,
        "chunkRefs": [each.ref for each in evidence.members] or [evidence.chunk.ref],
        "locator": locator(evidence.chunk.locator),
        "metadata": _chunk(evidence.chunk, evidence.published_chunks),
    }


def _source(evidence: Evidence) -> Json:
    """Return the fields that the specification requires of every passage, except its score; the snippet is its best unit."""
    from lightwell.answer.quotes import make_nearest_citation

    return {
        "chunkRef": evidence.chunk.ref,
        "documentRef": str(evidence.chunk.document_ref),
        "sourceUrl": evidence.chunk.url,
        "sourceSystem": evidence.chunk.system,
        "sourceType": evidence.chunk.kind,
        "createdAt": time_text(evidence.chunk.created_at),
        "snippet": make_nearest_citation(0, evidence).snippet,
    }


def _fused(ranks: Mapping[Channel, int]) -> Json:
    """Return the keys of `FusedResult`, computed from the ranks in the channels; the best rank of each side counts, from 0."""
    by_passage = [rank for channel, rank in ranks.items() if channel in PASSAGE_CHANNELS]
    by_graph = [rank for channel, rank in ranks.items() if channel in GRAPH_CHANNELS]
    return {
        "rrfScore": round(rrf_score(ranks.values()), 6),
        "vectorRank": min(by_passage, default=None),
        "graphRank": min(by_graph, default=None),
        "inBothSources": bool(by_passage and by_graph),
    }


def _entity(entity: Entity) -> Json:
    return {
        "ref": entity.ref,
        "name": entity.name,
        "kind": entity.kind,
        "description": entity.description,
        "aliases": list(entity.concept.aliases),
        "category": entity.concept.category,
        "difficulty": entity.concept.difficulty,
        "tags": list(entity.concept.tags),
        "sources": list(entity.sources),
    }


def _relation(relation: Relation) -> Json:
    return {
        "source": relation.source,
        "target": relation.target,
        "predicate": relation.predicate.value,
        "keywords": relation.keywords,
        "description": relation.description,
        "comparison": relation.comparison,
        "useCase": relation.use_case,
        "weight": relation.weight,
        "sources": list(relation.sources),
    }


def ambiguous_names(found: Sequence[Candidates]) -> list[Json]:
    """Return the candidates of each name of a question that may mean several entities."""
    return [candidates(each) for each in found]


def candidates(named: Candidates) -> Json:
    """Return the entities that a name may mean, each with what distinguishes it."""
    return {
        "name": named.name,
        "candidates": [
            {**entity_names(each.entity), "distinguishing": dict(each.distinguishing)}
            for each in named.candidates
        ],
    }


def entity_names(entity: Entity) -> Json:
    """Return the id, reference, name and kind of an entity."""
    return {
        "entityId": str(entity.id),
        "entityRef": entity.ref,
        "entityName": entity.name,
        "entityType": entity.kind,
    }


def _chunk(chunk: Chunk, members: Sequence[Chunk]) -> Json:
    """Return the keys of `ChunkMetadata`; a passage has code, a formula or a table if one of its chunks has."""
    return {
        "documentId": str(chunk.document_id),
        "documentRef": chunk.document_ref,
        "documentUrl": chunk.url,
        "documentTitle": chunk.title,
        "pageNumber": chunk.locator.page,
        "sectionPath": list(chunk.locator.section),
        "chunkIndex": chunk.index,
        "hasCode": any(each.has_code for each in members),
        "hasFormula": any(each.has_formula for each in members),
        "hasTable": any(each.has_table for each in members),
        "language": chunk.language,
        "tokenCount": chunk.tokens,
        "llmCacheIds": [each for member in members for each in member.llm_cache_ids],
        "topic": chunk.topic,
        "createdAt": time_text(chunk.created_at),
        "documentUpdatedAt": time_text(chunk.updated_at),
        "ingestedAt": time_text(chunk.ingested_at),
    }


def locator(place: Locator) -> Json:
    """Return where in a document something stands."""
    return {
        "page": place.page,
        "lastPage": place.last_page,
        "section": list(place.section),
        "start": place.start,
        "end": place.end,
    }


def time_text(moment: datetime | None) -> str | None:
    """Return the time as ISO 8601, None where it is not known."""
    return None if moment is None else moment.isoformat()

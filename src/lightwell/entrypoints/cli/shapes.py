"""What programs get: our values as JSON, with the keys that HTTP uses."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from lightwell.answer.quotes import nearest
from lightwell.domain.candidates import Candidates
from lightwell.domain.documents import Chunk, Document, Locator
from lightwell.domain.evidence import ENOUGH, Answer, Citation, Evidence, Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.questions import GRAPH_CHANNELS, PASSAGE_CHANNELS, Channel, Keywords
from lightwell.domain.requests import IngestResponse
from lightwell.domain.statements import Statements
from lightwell.domain.streams import ResponseMetadata, StreamChunk, response_metadata
from lightwell.domain.usage import TokenSummary
from lightwell.retrieve.fusion import RANK_OFFSET

Json = Mapping[str, object]


def answer(given: Answer, *, milliseconds: int) -> Json:
    """Return an answer in the shape of S3's QueryResponse, with what came nearest."""
    return {
        "queryId": str(given.query_id),
        "query": given.question,
        "answer": given.text,
        "confidence": given.confidence.value,
        "relevance": round(given.relevance, 4),
        "threshold": ENOUGH,
        "model": given.model,
        "citations": [citation(each) for each in given.citations],
        "nearest": [citation(each) for each in given.nearest],
        "notes": list(given.notes),
        "ambiguousNames": ambiguous_names(given.ambiguous_names),
        "metadata": _metadata(response_metadata(given, latency_ms=milliseconds)),
    }


def statements(listed: Statements, *, milliseconds: int) -> Json:
    """Return a list of statements, each with its citations and dates."""
    return {
        "queryId": str(listed.query_id),
        "query": listed.question,
        "statements": [
            {
                "text": each.text,
                "sourceChunkId": each.source_chunk_id,
                "saidAt": _time(each.said_at),
                "dates": list(each.dates),
                "citations": [citation(cited) for cited in each.citations],
            }
            for each in listed.statements
        ],
        "confidence": listed.confidence.value,
        "relevance": round(listed.relevance, 4),
        "threshold": ENOUGH,
        "model": listed.model,
        "nearest": [citation(each) for each in listed.nearest],
        "notes": list(listed.notes),
        "ambiguousNames": ambiguous_names(listed.ambiguous_names),
        "metadata": {"latencyMs": milliseconds},
    }


def event(chunk: StreamChunk) -> Json:
    """Return an event in the shape of S3's StreamChunk; `done` has the answer's notes and usage besides."""
    return {"type": chunk.type.value} | {
        name: value
        for name, value in {
            "content": chunk.content or None,
            "citation": chunk.citation and citation(chunk.citation),
            "metadata": chunk.metadata and _metadata(chunk.metadata),
            "error": chunk.error or None,
            "notes": chunk.answer and list(chunk.answer.notes),
            "ambiguousNames": chunk.answer and ambiguous_names(chunk.answer.ambiguous_names),
            "usage": chunk.answer and usage(chunk.answer.usage),
        }.items()
        if value is not None
    }


def usage(spent: TokenSummary) -> Json:
    """Return S1's TokenSummary."""
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


def retrieval(found: Retrieval, *, milliseconds: int) -> Json:
    """Return what was found as a list of S3's RankedResult."""
    return {
        "queryId": str(found.query_id),
        "query": found.question.text,
        "mode": found.question.mode.value,
        "hasInsufficientEvidence": not found.is_enough,
        "relevance": round(found.best, 4),
        "threshold": ENOUGH,
        "results": [_evidence(rank, each) for rank, each in enumerate(found.evidence, start=1)],
        "entities": [_entity(each) for each in found.entities],
        "relations": [_relation(each) for each in found.relations],
        "keywords": keywords(found.keywords),
        "notes": list(found.notes),
        "ambiguousNames": ambiguous_names(found.ambiguous_names),
        "metadata": {
            "vectorResultCount": found.metrics.vector_hits,
            "graphResultCount": found.metrics.graph_hits,
            "latencyMs": milliseconds,
            "channels": {
                channel.value: {"ms": each.ms, "hits": each.hits}
                for channel in Channel
                if (each := found.metrics.channels.get(channel)) is not None
            },
        },
    }


def keywords(found: Keywords) -> Json:
    """Return S0's KeywordResult, and whether a model named them."""
    return {
        "highLevelKeywords": list(found.high),
        "lowLevelKeywords": list(found.low),
        "queryHash": found.question_hash,
        "cachedAt": _time(found.cached_at),
        "byModel": found.by_model,
    }


def document(held: Document) -> Json:
    """Return a document's metadata."""
    return {
        "documentId": str(held.id),
        "documentRef": held.ref,
        "documentUrl": held.url,
        "title": held.title,
        "format": held.format,
        "author": held.author,
        "authorRef": held.author_ref,
        "metadata": dict(held.metadata),
        "rawPayload": dict(held.raw_payload),
        "topic": held.topic,
        "language": held.language,
        "aclTags": sorted(held.acl_tags),
        "status": held.state.value,
        "errorMessage": held.error,
        "contentHash": held.content_hash,
        "fileSize": held.file_size,
        "chunkCount": held.chunk_count,
        "createdAt": _time(held.created_at),
        "updatedAt": _time(held.updated_at),
        "ingestedAt": _time(held.ingested_at),
    }


def documents(held: Iterable[Document], *, following: str | None) -> Json:
    """Return a page of documents; `nextAfter` is what `--after` takes for the next page, null on the last."""
    return {"documents": [document(each) for each in held], "nextAfter": following}


def job(held: Job) -> Json:
    """Return a job in the shape of S3's IngestStatusResponse, with what else is known of it.

    S3 has no word for a cancelled job: its `status` is `failed`, and `jobState` says `cancelled`.
    """
    is_cancelled = held.state is JobState.CANCELLED
    return {
        "jobId": str(held.id),
        "documentId": str(held.document_id),
        "documentUrl": held.url,
        "status": JobState.FAILED.value if is_cancelled else held.state.value,
        "jobState": held.state.value,
        "currentStep": held.step,
        "progress": held.progress,
        "totalChunks": held.total_chunks,
        "processedChunks": held.processed_chunks,
        "errorCode": held.error_code,
        "errorMessage": "The job was cancelled" if is_cancelled else held.error,
        "attempts": held.attempts,
        "createdAt": _time(held.created_at),
        "startedAt": _time(held.started_at),
        "completedAt": _time(held.completed_at),
    }


def ingest_response(given: IngestResponse) -> Json:
    """Return S3's IngestResponse."""
    return {
        "jobId": str(given.job_id),
        "documentId": str(given.document_id),
        "status": given.status.value,
        "estimatedChunks": given.estimated_chunks,
    }


def citation(cited: Citation) -> Json:
    """Return S3's citation and S2's eight fields, under both of their names where they have two."""
    return {
        "id": cited.id,
        "chunkId": cited.chunk_id,
        "chunkRef": cited.chunk_ref,
        "documentRef": cited.document_ref,
        "documentTitle": cited.document_title,
        "documentUrl": cited.source_url,
        "sourceUrl": cited.source_url,
        "sourceSystem": cited.source_system,
        "sourceType": cited.source_type,
        "createdAt": _time(cited.created_at),
        "snippet": cited.snippet,
        "score": round(cited.score, 4),
        "relevanceScore": round(cited.score, 4),
        "locator": _locator(cited.locator),
    }


def _evidence(rank: int, found: Evidence) -> Json:
    distance = found.cosine_distance
    return {
        "rank": rank,
        "chunkId": str(found.chunk.id),
        "content": found.chunk.text,
        **_source(found),
        "relevanceScore": round(found.relevance, 4),
        "isAboveThreshold": found.relevance >= ENOUGH,
        "score": round(found.score, 6),
        **_fused(found.ranks),
        "distance": None if distance is None else round(distance, 4),
        "sources": sorted(channel.value for channel in found.ranks),
        "ranks": {channel.value: rank for channel, rank in sorted(found.ranks.items())},
        "originalRank": found.original_rank,
        "newRank": found.new_rank,
        "chunkRefs": [each.ref for each in found.members] or [found.chunk.ref],
        "locator": _locator(found.chunk.locator),
        "metadata": _chunk(found.chunk, found.published),
    }


def _source(found: Evidence) -> Json:
    """Return what S2 asks for of every passage, its score apart; the snippet is the best unit of it."""
    return {
        "chunkRef": found.chunk.ref,
        "documentRef": str(found.chunk.document_ref),
        "sourceUrl": found.chunk.url,
        "sourceSystem": found.chunk.system,
        "sourceType": found.chunk.kind,
        "createdAt": _time(found.chunk.created_at),
        "snippet": nearest(0, found).snippet,
    }


def _fused(ranks: Mapping[Channel, int]) -> Json:
    """Return S3's FusedResult, from the places that the channels gave; of several, each side has its best, from 0."""
    by_passage = [rank for channel, rank in ranks.items() if channel in PASSAGE_CHANNELS]
    by_graph = [rank for channel, rank in ranks.items() if channel in GRAPH_CHANNELS]
    return {
        "rrfScore": round(sum(1 / (RANK_OFFSET + rank + 1) for rank in ranks.values()), 6),
        "vectorRank": min(by_passage, default=None),
        "graphRank": min(by_graph, default=None),
        "inBothSources": bool(by_passage and by_graph),
    }


def _entity(known: Entity) -> Json:
    return {
        "ref": known.ref,
        "name": known.name,
        "kind": known.kind,
        "description": known.description,
        "sources": list(known.sources),
    }


def _relation(known: Relation) -> Json:
    return {
        "source": known.source,
        "target": known.target,
        "predicate": known.predicate.value,
        "keywords": known.keywords,
        "description": known.description,
        "weight": known.weight,
        "sources": list(known.sources),
    }


def ambiguous_names(found: Sequence[Candidates]) -> list[Json]:
    """Return the pick list of each name of a question that may mean several entities."""
    return [pick_list(each) for each in found]


def pick_list(several: Candidates) -> Json:
    """Return the entities that a name may mean, each with what tells it apart."""
    return {
        "name": several.name,
        "candidates": [
            {**entity_names(each.entity), "apart": dict(each.apart)} for each in several.candidates
        ],
    }


def entity_names(entity: Entity) -> Json:
    """Return what identifies an entity."""
    return {
        "entityId": str(entity.id),
        "entityRef": entity.ref,
        "entityName": entity.name,
        "entityType": entity.kind,
    }


def _chunk(chunk: Chunk, members: Sequence[Chunk]) -> Json:
    """Return S3's ChunkMetadata of a passage, which holds what one of its chunks holds."""
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
        "createdAt": _time(chunk.created_at),
        "documentUpdatedAt": _time(chunk.updated_at),
        "ingestedAt": _time(chunk.ingested_at),
    }


def chunks(held: Sequence[Chunk]) -> list[Json]:
    """Return a document's passages, each with its text, its place and what it was read from."""
    return [
        {
            "chunkId": str(each.id),
            "chunkRef": each.ref,
            "content": each.text,
            "locator": _locator(each.locator),
            "metadata": _chunk(each, (each,)),
        }
        for each in held
    ]


def _locator(place: Locator) -> Json:
    return {
        "page": place.page,
        "lastPage": place.last_page,
        "section": list(place.section),
        "start": place.start,
        "end": place.end,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()

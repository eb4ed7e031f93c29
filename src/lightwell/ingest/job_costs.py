"""What extraction tells of a job: what models cost, and how many relations fitted no predicate."""

from collections.abc import Mapping, Sequence

from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId, DocumentId, JobId
from lightwell.domain.usage import TokenSummary, add_usage
from lightwell.records.database import Connection, Database
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim


async def add_costs(
    database: Database,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    extractions: Sequence[Extraction],
) -> None:
    """Add what the extraction from these chunks cost to the jobs of their documents."""
    spent: dict[DocumentId, list[TokenSummary]] = {}
    for chunk, extraction in zip(chunks, extractions, strict=True):
        spent.setdefault(chunk.document_id, []).append(extraction.usage)
    by_job = {
        claim.job_id: add_usage(spent[claim.document_id])
        for claim in batch
        if claim.document_id in spent
    }
    await queue.add_usage(database, by_job)


async def record_unknown_predicates(
    connection: Connection,
    chunks_by_job: Mapping[JobId, Sequence[StagedChunk]],
    extractions: Mapping[ChunkId, Extraction],
) -> dict[JobId, int]:
    """Record and return how many relations of each job's document became RELATED_TO for lack of a predicate."""
    counts = {
        job: sum(extractions[chunk.id].unknown_predicates for chunk in chunks)
        for job, chunks in chunks_by_job.items()
    }
    await queue.record_unknown_predicates(connection, counts)
    return counts

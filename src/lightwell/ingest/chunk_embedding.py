"""The embedding step where an endpoint embeds: vectors for staged chunks. Equal text is embedded once for all documents of an access class."""

from collections import Counter
from collections.abc import Mapping, Sequence

from lightwell.domain.ids import ChunkId, ClassId, DocumentId
from lightwell.domain.jobs import JobState
from lightwell.ingest.chunking import text_to_embed
from lightwell.ingest.context import IngestContext
from lightwell.ingest.progress import ProgressCounter, Step
from lightwell.records.documents import chunks as staging
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim

_Text = tuple[ClassId, bytes]
"""An access class, and the hash of a text in it."""


async def embed_chunks(
    context: IngestContext,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    """Stage the vectors that these jobs' chunks lack, and advance the jobs to extraction."""
    if not batch:
        return
    await _stage_lacking(context, batch, chunks, titles)
    async with context.database.relaxed_transaction() as connection:
        await queue.advance(
            connection,
            [claim.job_id for claim in batch],
            context.worker,
            state=JobState.EXTRACTING,
            step="read",
            progress=75,
        )


async def _stage_lacking(
    context: IngestContext,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    have_vector = await staging.list_embedded(
        context.database, context.space.id, [chunk.id for chunk in chunks]
    )
    missing = [chunk for chunk in chunks if chunk.id not in have_vector]
    by_document = {claim.document_id: claim.job_id for claim in batch}
    progress = ProgressCounter(context.progress, Step.EMBEDDING, batch, chunks)
    lacking = await _reuse_published(context, batch, missing)
    still_lacking = {chunk.id for chunk in lacking}
    progress.add([chunk for chunk in chunks if chunk.id not in still_lacking])
    classes = {claim.document_id: claim.class_id for claim in batch}
    equal: dict[_Text, list[StagedChunk]] = {}
    for chunk in lacking:
        equal.setdefault((classes[chunk.document_id], chunk.hash), []).append(chunk)
    for start in range(0, len(equal), context.embedding_batch_size):
        part = list(equal.values())[start : start + context.embedding_batch_size]
        distinct = [chunks[0] for chunks in part]
        texts = [text_to_embed(titles[chunk.document_id], chunk.draft) for chunk in distinct]
        vectors = await context.embedder.embed_documents(texts)
        vector_by_chunk = {
            chunk.id: vector
            for chunks, vector in zip(part, vectors, strict=True)
            for chunk in chunks
        }
        embedded = [chunk for chunks in part for chunk in chunks]
        chunks_by_job = Counter(by_document[chunk.document_id] for chunk in embedded)
        async with context.database.relaxed_transaction() as connection:
            await queue.renew_or_raise(connection, list(chunks_by_job), context.worker)
            await queue.add_processed(connection, chunks_by_job)
            await staging.stage_vectors(connection, context.space.id, vector_by_chunk)
        progress.add(embedded)


async def _reuse_published(
    context: IngestContext, batch: Sequence[Claim], missing: Sequence[StagedChunk]
) -> list[StagedChunk]:
    """Copy vectors from published chunks of equal text that all readers of the new ones see; return the chunks that still lack one."""
    if not missing:
        return []
    classes = {claim.document_id: claim.class_id for claim in batch}
    texts: dict[ChunkId, _Text] = {
        chunk.id: (classes[chunk.document_id], chunk.hash) for chunk in missing
    }
    equal = await staging.find_published_by_hash(
        context.database, context.project_id, list(dict.fromkeys(texts.values()))
    )
    if not equal:
        return list(missing)
    vectors = await context.vectors.vectors(context.space.id, list(equal.values()))
    reused = {
        chunk: vectors[equal[text]]
        for chunk, text in texts.items()
        if text in equal and equal[text] in vectors
    }
    async with context.database.relaxed_transaction() as connection:
        await queue.renew_or_raise(connection, [claim.job_id for claim in batch], context.worker)
        await staging.stage_vectors(connection, context.space.id, reused)
    return [chunk for chunk in missing if chunk.id not in reused]

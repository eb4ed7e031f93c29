"""The ingestion pipeline: from claimed jobs to published chunks.

    claimed jobs ─ chunk ─► staged chunks ─ embed ─► vectors ─ extract ─► mentions ─ publish ─► visible ─ refresh

Each step commits its result together with the name of the next step. So a crash repeats only the step under way.
Jobs store these names: "" (chunk), "embed", "read" (extract), "index", and `REEXTRACT`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.domain.documents import ChunkDraft, NewDocument
from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId, DocumentId, make_chunk_id
from lightwell.domain.jobs import JobState
from lightwell.ingest.chunking import chunk_hash, text_to_embed
from lightwell.ingest.concurrency import gather_or_cancel
from lightwell.ingest.context import IngestContext, Outcome, Progress, Step, refresh, sync_index
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parser_messages import ChunkedDocument
from lightwell.ingest.progress_counter import ProgressCounter
from lightwell.ingest.titles import title_from_url
from lightwell.ports import ExtractionInput
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import publishing
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.documents.publishing import PublishedTerms, PublishedText
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim
from lightwell.records.locks import lock_project
from lightwell.text.terms import count_terms

_CHUNKS_PER_EXTRACTION = 200
"""Chunks per call of the extractor. Progress is reported after each call, and a batch has no more model calls at once."""

REEXTRACT = "read again"
"""The first step of a published document whose unchanged chunks are extracted again. Stored in jobs: do not rename."""


def file_name_from_url(url: str) -> str:
    """Return the file name: the last part of the URL's path, decoded."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def choose_title(source: Claim | NewDocument, parsed: ChunkedDocument) -> str:
    """Return the source's title, else the document's own, else one made from the file name."""
    return source.title or parsed.title or title_from_url(source.url)


def extraction_input(title: str, chunk: StagedChunk) -> ExtractionInput:
    """Return the extractor's input for a chunk of the document with this title."""
    return ExtractionInput(
        id=chunk.id, document_title=title, draft=chunk.draft, is_first=chunk.draft.index == 0
    )


async def ingest(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> None:
    """Ingest the documents of these jobs completely, from the step where each one stands.

    A document that cannot be parsed fails alone. Raises `ModelFailed` if a model fails and `LeaseLost` if another worker
    has taken over. Later steps raise whatever error a document causes. After an error the jobs stay at their step.
    """
    async with context.preparation_slots:
        ready = await _prepare(context, batch, on_outcome)
    if ready.batch:
        await _extract_and_publish(context, ready)
        await gather_or_cancel([_index(context, ready.batch), refresh(context)])
        await _finish(context, ready, on_outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedBatch:
    """Jobs whose documents are chunked and embedded, with the chunks to extract from."""

    batch: Sequence[Claim]
    chunks: Sequence[StagedChunk]
    titles: Mapping[DocumentId, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkedDocument:
    """A document that was parsed and chunked."""

    claim: Claim
    title: str
    author: str
    dated: datetime | None
    chunks: Sequence[StagedChunk]


async def _prepare(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> _PreparedBatch:
    """Chunk and embed whatever is not yet; documents that cannot be parsed are left out of the result."""
    chunked = await _chunk_documents(
        context, [claim for claim in batch if claim.step == ""], on_outcome
    )
    resumed = [claim for claim in batch if claim.step in ("embed", "read")]
    reextracted = [claim for claim in batch if claim.step == REEXTRACT]
    published = [claim for claim in batch if claim.step == "index"]
    titles = {each.claim.document_id: each.title for each in chunked}
    if resumed or reextracted:
        titles |= await _stored_titles(context, [*resumed, *reextracted])
    chunks = [chunk for each in chunked for chunk in each.chunks]
    missing = list(chunks)
    if resumed:
        staged = await staging.list_staged(
            context.database, [claim.document_id for claim in resumed]
        )
        have_vector = await staging.list_embedded(
            context.database, context.space.id, [chunk.id for chunk in staged]
        )
        missing += [chunk for chunk in staged if chunk.id not in have_vector]
        chunks += staged
    to_embed = [each.claim for each in chunked] + [
        claim for claim in resumed if claim.step == "embed"
    ]
    await _embed(context, to_embed, missing, titles)
    if reextracted:
        chunks += await staging.list_published(
            context.database, [claim.document_id for claim in reextracted]
        )
    chunked_claims = [each.claim for each in chunked]
    return _PreparedBatch(
        batch=[*chunked_claims, *resumed, *reextracted, *published], chunks=chunks, titles=titles
    )


async def _chunk_documents(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> list[_ChunkedDocument]:
    """Parse and chunk, as many at once as the parser has processes; return the documents that succeeded."""
    parsing = asyncio.Semaphore(context.parser.processes)

    async def parse_one(claim: Claim) -> _ChunkedDocument | None:
        async with parsing:
            return await _parse_or_fail(context, claim, on_outcome)

    chunked = [each for each in await gather_or_cancel(map(parse_one, batch)) if each is not None]
    if not chunked:
        return []
    async with context.database.relaxed_transaction() as connection:
        await queue.advance(
            connection,
            [each.claim.job_id for each in chunked],
            context.worker,
            state=JobState.EMBEDDING,
            step="embed",
            progress=25,
        )
        await staging.stage(
            connection,
            {each.claim.document_id: each.claim.ref for each in chunked},
            [chunk for each in chunked for chunk in each.chunks],
        )
        await queue.record_chunking(
            connection,
            [
                queue.ChunkedJob(
                    job_id=each.claim.job_id,
                    chunks=len(each.chunks),
                    title=each.title,
                    author=each.author,
                    document_date=each.dated,
                )
                for each in chunked
            ],
        )
    return chunked


async def _parse_or_fail(
    context: IngestContext, claim: Claim, on_outcome: Callable[[Outcome], None]
) -> _ChunkedDocument | None:
    """Parse and chunk one document. If it fails by itself, mark its job as failed, report it and return None."""
    try:
        return await _parse(context, claim)
    except Exception as error:
        failure = document_failure(error, claim.url)
        if failure is None:
            raise
        await queue.fail(
            context.database,
            claim.job_id,
            context.worker,
            code=failure.code,
            message=failure.message,
        )
        on_outcome(Outcome(url=claim.url, chunks=0, error=failure.message))
        return None


async def _embed(
    context: IngestContext,
    batch: Sequence[Claim],
    missing: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    """Compute the missing vectors. Equal text is never embedded twice."""
    if not batch:
        return
    by_document = {claim.document_id: claim.job_id for claim in batch}
    progress = ProgressCounter(context, Step.EMBEDDING, batch, missing)
    without_vector = await _reuse(context, batch, missing)
    for start in range(0, len(without_vector), context.embedding_batch_size):
        batch_chunks = without_vector[start : start + context.embedding_batch_size]
        distinct = {chunk.hash: chunk for chunk in batch_chunks}
        texts = [
            text_to_embed(titles[chunk.document_id], chunk.draft) for chunk in distinct.values()
        ]
        vectors = dict(zip(distinct, await context.embedder.embed_documents(texts), strict=True))
        chunks_by_job = Counter(by_document[chunk.document_id] for chunk in batch_chunks)
        async with context.database.relaxed_transaction() as connection:
            await queue.renew(connection, list(chunks_by_job), context.worker)
            await queue.add_processed(connection, chunks_by_job)
            await staging.stage_vectors(
                connection,
                context.space.id,
                {chunk.id: vectors[chunk.hash] for chunk in batch_chunks},
            )
        progress.add(batch_chunks)
    async with context.database.relaxed_transaction() as connection:
        await queue.advance(
            connection,
            [claim.job_id for claim in batch],
            context.worker,
            state=JobState.EXTRACTING,
            step="read",
            progress=75,
        )


async def _reuse(
    context: IngestContext, batch: Sequence[Claim], missing: Sequence[StagedChunk]
) -> list[StagedChunk]:
    """Copy vectors from published chunks of equal text; return the chunks that still lack one."""
    if not missing:
        return []
    chunk_by_hash = await staging.find_published_by_hash(
        context.database, context.project_id, [chunk.hash for chunk in missing]
    )
    if not chunk_by_hash:
        return list(missing)
    vectors = await context.vectors.vectors(context.space.id, list(chunk_by_hash.values()))
    vector_by_hash = {
        hash_: vectors[chunk] for hash_, chunk in chunk_by_hash.items() if chunk in vectors
    }
    async with context.database.relaxed_transaction() as connection:
        await queue.renew(connection, [claim.job_id for claim in batch], context.worker)
        await staging.stage_vectors(
            connection,
            context.space.id,
            {
                chunk.id: vector_by_hash[chunk.hash]
                for chunk in missing
                if chunk.hash in vector_by_hash
            },
        )
    return [chunk for chunk in missing if chunk.hash not in vector_by_hash]


async def _extract_and_publish(context: IngestContext, prepared: _PreparedBatch) -> None:
    batch = [claim for claim in prepared.batch if claim.step != "index"]
    if not batch:
        return
    chunks, titles = prepared.chunks, prepared.titles
    extractions = await _extract(context, batch, prepared)
    reextracted = {claim.document_id for claim in batch if claim.step == REEXTRACT}
    staged = [chunk for chunk in chunks if chunk.document_id not in reextracted]
    new_documents = [claim.document_id for claim in batch if claim.document_id not in reextracted]
    texts = await asyncio.to_thread(
        lambda: [_published_text(document_id, staged) for document_id in new_documents]
    )
    terms = await asyncio.to_thread(
        lambda: [_chunk_terms(titles[chunk.document_id], chunk) for chunk in staged]
    )
    project_id = context.project_id
    async with context.database.relaxed_transaction() as connection:
        await lock_project(connection, project_id)
        await queue.advance(
            connection,
            [claim.job_id for claim in batch],
            context.worker,
            state=JobState.EXTRACTING,
            step="index",
            progress=90,
        )
        if texts:
            own_extractions = {chunk.id: extractions[chunk.id] for chunk in staged}
            await publishing.publish(connection, project_id, texts, terms, own_extractions)
        if reextracted:
            own_extractions = {
                chunk.id: extractions[chunk.id]
                for chunk in chunks
                if chunk.document_id in reextracted
            }
            await publishing.republish_extractions(
                connection, project_id, list(reextracted), own_extractions
            )


async def _extract(
    context: IngestContext, batch: Sequence[Claim], prepared: _PreparedBatch
) -> dict[ChunkId, Extraction]:
    progress = ProgressCounter(context, Step.EXTRACTING, batch, prepared.chunks)
    extractions: dict[ChunkId, Extraction] = {}
    for start in range(0, len(prepared.chunks), _CHUNKS_PER_EXTRACTION):
        part = prepared.chunks[start : start + _CHUNKS_PER_EXTRACTION]
        inputs = [extraction_input(prepared.titles[chunk.document_id], chunk) for chunk in part]
        batch_extractions = await context.extractor.extract(inputs)
        extractions |= zip((chunk.id for chunk in part), batch_extractions, strict=True)
        progress.add(part)
    return extractions


async def _index(context: IngestContext, batch: Sequence[Claim]) -> None:
    """Update the vector index to what PostgreSQL now publishes."""
    await sync_index(context)
    documents = [claim.document_id for claim in batch]
    vectors = await staging.list_published_vectors(context.database, context.space.id, documents)
    if vectors:
        await context.vectors.put(context.space.id, vectors)


async def _finish(
    context: IngestContext, prepared: _PreparedBatch, on_outcome: Callable[[Outcome], None]
) -> None:
    documents = [claim.document_id for claim in prepared.batch]
    async with context.database.transaction() as connection:
        await queue.complete(connection, [claim.job_id for claim in prepared.batch], context.worker)
        await staging.delete_staged_vectors(connection, documents)
    chunks_by_document = Counter(chunk.document_id for chunk in prepared.chunks)
    for claim in prepared.batch:
        on_outcome(Outcome(url=claim.url, chunks=chunks_by_document[claim.document_id], error=""))


async def _stored_titles(context: IngestContext, batch: Sequence[Claim]) -> dict[DocumentId, str]:
    return await staging.get_titles(context.database, [claim.document_id for claim in batch])


async def _parse(context: IngestContext, claim: Claim) -> _ChunkedDocument:
    context.progress(Progress(url=claim.url, step=Step.PARSING, done=0, total=0))
    document = await context.parser.parse(
        claim.upload, claim.format, name=file_name_from_url(claim.url)
    )
    title = choose_title(claim, document)
    staged = await asyncio.to_thread(
        lambda: [_staged_chunk(claim, title, draft) for draft in document.chunks]
    )
    return _ChunkedDocument(
        claim=claim, title=title, author=document.author, dated=document.updated_at, chunks=staged
    )


def _staged_chunk(claim: Claim, title: str, draft: ChunkDraft) -> StagedChunk:
    return StagedChunk(
        id=make_chunk_id(claim.job_id, draft.index),
        document_id=claim.document_id,
        hash=bytes.fromhex(chunk_hash(title, draft)),
        draft=draft,
    )


def _published_text(document_id: DocumentId, staged: Sequence[StagedChunk]) -> PublishedText:
    """Reassemble a document's text from its chunks; the gaps held only white space, so blanks keep the offsets right."""
    drafts = [chunk.draft for chunk in staged if chunk.document_id == document_id]
    text: list[str] = []
    end = 0
    for draft in drafts:
        gap = draft.start - end
        text += ["\n" * gap if gap > 1 else " " * gap, draft.text]
        end = draft.end
    languages = [draft.language for draft in drafts]
    return PublishedText(
        document_id=document_id,
        text="".join(text),
        language=max(set(languages), key=lambda language: (languages.count(language), language)),
        chunks=len(drafts),
    )


def _chunk_terms(title: str, chunk: StagedChunk) -> PublishedTerms:
    counts = count_terms(text_to_embed(title, chunk.draft))
    return PublishedTerms(chunk_id=chunk.id, length=sum(counts.values()), frequencies=counts)

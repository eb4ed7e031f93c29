"""The way in: what does a document say?

    claimed jobs ─ cut ─► staged chunks ─ embed ─► vectors ─ read ─► mentions ─ publish ─► visible ─ refresh

Each step commits what it made and the name of the next, so a crash repeats the step in flight and no other.
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
from lightwell.domain.ids import ChunkId, DocumentId, chunk_id
from lightwell.domain.jobs import JobState
from lightwell.ingest.chunking import chunk_hash, text_to_embed
from lightwell.ingest.concurrency import gather_or_cancel
from lightwell.ingest.context import IngestContext, Outcome, Progress, Step, refresh, sync_index
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parser_messages import ChunkedDocument
from lightwell.ingest.titles import title_from_url
from lightwell.ports import ExtractionInput
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import publishing
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.documents.publishing import PublishedTerms, PublishedText
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim
from lightwell.records.locks import lock_project
from lightwell.text.terms import frequencies

_EXTRACTED_AT_ONCE = 200
"""Chunks between two words on progress; a model has at most as many calls under way for one batch."""

REEXTRACT = "read again"
"""The step at which a published document begins when its chunks are to be read anew, as they are."""


def file_name_from_url(url: str) -> str:
    """Return the last part of a URL's path, as its file is called."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def choose_title(given: Claim | NewDocument, parsed: ChunkedDocument) -> str:
    """Return the title that the source gives, or else the document itself, or else its file's name."""
    return given.title or parsed.title or title_from_url(given.url)


def extraction_input(title: str, chunk: StagedChunk) -> ExtractionInput:
    """Return what an extractor is given of a chunk of the document with this title."""
    return ExtractionInput(
        id=chunk.id, document_title=title, draft=chunk.draft, is_first=chunk.draft.index == 0
    )


async def ingest(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> None:
    """Bring these jobs to their end.

    A document that cannot be read fails by itself. Raises `ModelFailed` when a model does, `Lost` when another
    worker has taken over, and whatever else one of the documents makes a later step raise: the jobs then stay where
    they are.
    """
    async with context.preparation_slots:
        ready = await _prepare(context, batch, on_outcome)
    if ready.batch:
        await _read_and_publish(context, ready)
        await gather_or_cancel(
            [_index(context, ready.batch), refresh(context, ready.batch[0].project_id)]
        )
        await _finish(context, ready, on_outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedBatch:
    """Jobs whose documents are cut and embedded, with the chunks that are still to be read."""

    batch: Sequence[Claim]
    chunks: Sequence[StagedChunk]
    titles: Mapping[DocumentId, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkedDocument:
    """A document that could be read, in chunks."""

    claim: Claim
    title: str
    author: str
    dated: datetime | None
    chunks: Sequence[StagedChunk]


async def _prepare(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> _PreparedBatch:
    """Cut and embed what is not yet; documents that cannot be read fall out."""
    cut = await _chunk_documents(
        context, [claim for claim in batch if claim.step == ""], on_outcome
    )
    begun = [claim for claim in batch if claim.step in ("embed", "read")]
    again = [claim for claim in batch if claim.step == REEXTRACT]
    at_end = [claim for claim in batch if claim.step == "index"]
    titles = {each.claim.document_id: each.title for each in cut}
    if begun or again:
        titles |= await _titles(context, [*begun, *again])
    chunks = [chunk for each in cut for chunk in each.chunks]
    missing = list(chunks)
    if begun:
        staged = await staging.list_staged(context.database, [claim.document_id for claim in begun])
        done = await staging.chunks_with_vector(
            context.database, context.space.id, [chunk.id for chunk in staged]
        )
        missing += [chunk for chunk in staged if chunk.id not in done]
        chunks += staged
    unread = [each.claim for each in cut] + [claim for claim in begun if claim.step == "embed"]
    await _embed(context, unread, missing, titles)
    if again:
        chunks += await staging.list_published(
            context.database, [claim.document_id for claim in again]
        )
    readable = [each.claim for each in cut]
    return _PreparedBatch(batch=[*readable, *begun, *again, *at_end], chunks=chunks, titles=titles)


async def _chunk_documents(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[Outcome], None]
) -> list[_ChunkedDocument]:
    """Parse and chunk, as many at once as the parser has processes; return the documents that could be read."""
    parsing = asyncio.Semaphore(context.parser.processes)

    async def parsed(claim: Claim) -> _ChunkedDocument | None:
        async with parsing:
            return await _parsed_or_failed(context, claim, on_outcome)

    cut = [each for each in await gather_or_cancel(map(parsed, batch)) if each is not None]
    if not cut:
        return []
    async with context.database.relaxed_transaction() as connection:
        await queue.advance(
            connection,
            [each.claim.job_id for each in cut],
            context.worker,
            state=JobState.EMBEDDING,
            step="embed",
            progress=25,
        )
        await staging.stage(
            connection,
            {each.claim.document_id: each.claim.ref for each in cut},
            [chunk for each in cut for chunk in each.chunks],
        )
        await queue.record_chunking(
            connection,
            [
                queue.ChunkedJob(
                    job_id=each.claim.job_id,
                    chunks=len(each.chunks),
                    title=each.title,
                    author=each.author,
                    dated=each.dated,
                )
                for each in cut
            ],
        )
    return cut


async def _parsed_or_failed(
    context: IngestContext, claim: Claim, on_outcome: Callable[[Outcome], None]
) -> _ChunkedDocument | None:
    """Parse and chunk one document; where that fails for its own fault, tell so and return None."""
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
    """Compute the vectors that are missing; equal text is never embedded twice."""
    if not batch:
        return
    by_document = {claim.document_id: claim.job_id for claim in batch}
    counting = _ProgressCounter(context, Step.EMBEDDING, batch, missing)
    fresh = await _reuse(context, batch, missing)
    for start in range(0, len(fresh), context.embedding_batch_size):
        part = fresh[start : start + context.embedding_batch_size]
        distinct = {chunk.hash: chunk for chunk in part}
        texts = [
            text_to_embed(titles[chunk.document_id], chunk.draft) for chunk in distinct.values()
        ]
        vectors = dict(zip(distinct, await context.embedder.documents(texts), strict=True))
        counted = Counter(by_document[chunk.document_id] for chunk in part)
        async with context.database.relaxed_transaction() as connection:
            await queue.renew(connection, list(counted), context.worker)
            await queue.add_processed(connection, counted)
            await staging.stage_vectors(
                connection, context.space.id, {chunk.id: vectors[chunk.hash] for chunk in part}
            )
        counting.add(part)
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
    """Take the vectors of equal text that is already published; return the chunks that still lack one."""
    if not missing:
        return []
    same = await staging.published_by_hash(
        context.database, batch[0].project_id, [chunk.hash for chunk in missing]
    )
    if not same:
        return list(missing)
    vectors = await context.vectors.vectors(context.space.id, list(same.values()))
    found = {hash_: vectors[chunk] for hash_, chunk in same.items() if chunk in vectors}
    async with context.database.relaxed_transaction() as connection:
        await queue.renew(connection, [claim.job_id for claim in batch], context.worker)
        await staging.stage_vectors(
            connection,
            context.space.id,
            {chunk.id: found[chunk.hash] for chunk in missing if chunk.hash in found},
        )
    return [chunk for chunk in missing if chunk.hash not in found]


async def _read_and_publish(context: IngestContext, prepared: _PreparedBatch) -> None:
    batch = [claim for claim in prepared.batch if claim.step != "index"]
    if not batch:
        return
    chunks, titles = prepared.chunks, prepared.titles
    said = await _extractions(context, batch, prepared)
    again = {claim.document_id for claim in batch if claim.step == REEXTRACT}
    staged = [chunk for chunk in chunks if chunk.document_id not in again]
    fresh = [claim.document_id for claim in batch if claim.document_id not in again]
    texts = await asyncio.to_thread(
        lambda: [_published_text(document_id, staged) for document_id in fresh]
    )
    words = await asyncio.to_thread(
        lambda: [_chunk_terms(titles[chunk.document_id], chunk) for chunk in staged]
    )
    project_id = batch[0].project_id
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
            its = {chunk.id: said[chunk.id] for chunk in staged}
            await publishing.publish(connection, project_id, texts, words, its)
        if again:
            its = {chunk.id: said[chunk.id] for chunk in chunks if chunk.document_id in again}
            await publishing.republish_extractions(connection, project_id, list(again), its)


async def _extractions(
    context: IngestContext, batch: Sequence[Claim], prepared: _PreparedBatch
) -> dict[ChunkId, Extraction]:
    counting = _ProgressCounter(context, Step.EXTRACTING, batch, prepared.chunks)
    said: dict[ChunkId, Extraction] = {}
    for start in range(0, len(prepared.chunks), _EXTRACTED_AT_ONCE):
        part = prepared.chunks[start : start + _EXTRACTED_AT_ONCE]
        to_read = [extraction_input(prepared.titles[chunk.document_id], chunk) for chunk in part]
        extractions = await context.extractor.extract(to_read)
        said |= zip((chunk.id for chunk in part), extractions, strict=True)
        counting.add(part)
    return said


class _ProgressCounter:
    """Counts how many of each document's chunks have passed a step, and tells so."""

    def __init__(
        self,
        context: IngestContext,
        step: Step,
        batch: Sequence[Claim],
        chunks: Sequence[StagedChunk],
    ) -> None:
        self._progress = context.progress
        self._step = step
        self._urls = {claim.document_id: claim.url for claim in batch}
        self._total = Counter(chunk.document_id for chunk in chunks)
        self._done = Counter[DocumentId]()

    def add(self, part: Sequence[StagedChunk]) -> None:
        self._done.update(chunk.document_id for chunk in part)
        for document_id in dict.fromkeys(chunk.document_id for chunk in part):
            progress = Progress(
                url=self._urls[document_id],
                step=self._step,
                done=self._done[document_id],
                total=self._total[document_id],
            )
            self._progress(progress)


async def _index(context: IngestContext, batch: Sequence[Claim]) -> None:
    """Bring the vector index to what PostgreSQL shows by now."""
    await sync_index(context, batch[0].project_id)
    documents = [claim.document_id for claim in batch]
    vectors = await staging.published_vectors(context.database, context.space.id, documents)
    if vectors:
        await context.vectors.put(context.space.id, vectors)


async def _finish(
    context: IngestContext, prepared: _PreparedBatch, on_outcome: Callable[[Outcome], None]
) -> None:
    documents = [claim.document_id for claim in prepared.batch]
    async with context.database.transaction() as connection:
        await queue.complete(connection, [claim.job_id for claim in prepared.batch], context.worker)
        await staging.delete_staged_vectors(connection, documents)
    counted = Counter(chunk.document_id for chunk in prepared.chunks)
    for claim in prepared.batch:
        on_outcome(Outcome(url=claim.url, chunks=counted[claim.document_id], error=""))


async def _titles(context: IngestContext, batch: Sequence[Claim]) -> dict[DocumentId, str]:
    return await staging.titles(context.database, [claim.document_id for claim in batch])


async def _parse(context: IngestContext, claim: Claim) -> _ChunkedDocument:
    context.progress(Progress(url=claim.url, step=Step.PARSING, done=0, total=0))
    document = await context.parser.parse(
        claim.upload, claim.format, name=file_name_from_url(claim.url)
    )
    title = choose_title(claim, document)
    staged = await asyncio.to_thread(
        lambda: [_stage(claim, title, draft) for draft in document.chunks]
    )
    return _ChunkedDocument(
        claim=claim, title=title, author=document.author, dated=document.updated_at, chunks=staged
    )


def _stage(claim: Claim, title: str, draft: ChunkDraft) -> StagedChunk:
    return StagedChunk(
        id=chunk_id(claim.job_id, draft.index),
        document_id=claim.document_id,
        hash=bytes.fromhex(chunk_hash(title, draft)),
        draft=draft,
    )


def _published_text(document_id: DocumentId, staged: Sequence[StagedChunk]) -> PublishedText:
    """Put a document's text together again; between chunks only white space was left out."""
    parts = [chunk.draft for chunk in staged if chunk.document_id == document_id]
    text: list[str] = []
    reached = 0
    for draft in parts:
        text += [" " * (draft.start - reached), draft.text]
        reached = draft.end
    languages = [draft.language for draft in parts]
    return PublishedText(
        document_id=document_id,
        text="".join(text),
        language=max(set(languages), key=lambda language: (languages.count(language), language)),
        chunks=len(parts),
    )


def _chunk_terms(title: str, chunk: StagedChunk) -> PublishedTerms:
    counted = frequencies(text_to_embed(title, chunk.draft))
    return PublishedTerms(chunk_id=chunk.id, length=sum(counted.values()), frequencies=counted)

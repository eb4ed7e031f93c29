"""The first stage of ingestion: from claimed jobs to published chunks.

    claimed jobs ─ chunk ─► staged chunks ─ embed, at an endpoint ─► vectors ─ extract ─► mentions ─ publish ─► visible ─ refresh

Each step commits its result together with the name of the next step. So a crash repeats only the step under way. What the network of
this process makes of chunks comes afterwards (`passage_reading.py`): without it a chunk is found by its words and in the graph.
Jobs store these names: "" (chunk), "embed", "read" (extract), "index", and `REEXTRACT`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import LimitExceeded, Unreadable
from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, JobId, make_chunk_id
from lightwell.domain.jobs import JobState
from lightwell.domain.usage import TokenSummary, add_usage
from lightwell.ingest.chunk_analysis import analyse_chunks
from lightwell.ingest.chunk_embedding import embed_chunks
from lightwell.ingest.chunking import chunk_hash, text_to_embed
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import refresh, sync_index
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parser_messages import ChunkedDocument
from lightwell.ingest.progress import DocumentOutcome, Progress, ProgressCounter, Step
from lightwell.ingest.table_reading import read_rows
from lightwell.ingest.titles import title_from_url
from lightwell.ports import ExtractionInput
from lightwell.records import embedding_spaces
from lightwell.records.documents import analyses, originals, publishing, table_rows
from lightwell.records.documents import chunks as staging
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.documents.publishing import PublishedDocument, PublishedTerms
from lightwell.records.documents.table_rows import TextPart
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim
from lightwell.records.locks import lock_project
from lightwell.tasks import gather_or_cancel
from lightwell.text.analysis.stored import VERSION
from lightwell.text.dates import find_first_day, find_header_date
from lightwell.text.tables.rows import VERSION as TABLES_VERSION
from lightwell.text.terms import count_terms
from lightwell.tracing import span

_CHUNKS_PER_EXTRACTION = 200
"""Chunks per call of the extractor. Progress is reported after each call, and a batch has no more model calls at once."""

_CHUNKS_PER_GROUP = 500
"""Chunks of the documents that are embedded, extracted and published together: it bounds memory and the time of a lock."""

REEXTRACT = "read again"
"""The first step of a published document whose unchanged chunks are extracted again. Stored in jobs: do not rename."""


def file_name_from_url(url: str) -> str:
    """Return the file name: the last part of the URL's path, decoded."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def choose_title(source: Claim | NewDocument, parsed: ChunkedDocument) -> str:
    """Return the source's title, else the document's own, else one made from the file name."""
    return source.title or parsed.title or title_from_url(source.url)


def extraction_input(
    title: str, chunk: StagedChunk, class_id: ClassId | None = None
) -> ExtractionInput:
    """Return the extractor's input for a chunk of the document with this title and access class."""
    return ExtractionInput(
        id=chunk.id,
        document_title=title,
        draft=chunk.draft,
        is_first=chunk.draft.index == 0,
        class_id=class_id,
    )


async def ingest(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[DocumentOutcome], None]
) -> None:
    """Ingest the documents of these jobs completely, from the step where each one stands.

    Small documents are published and reported before large ones. A document that cannot be parsed fails alone. Raises
    `ModelFailed` if a model fails and `LeaseLost` if another worker has taken over. Later steps raise whatever error a
    document causes. After an error the unfinished jobs stay at their step.
    """
    async with context.preparation_slots:
        with span("ingest.parse"):
            documents = await _load_documents(context, batch, on_outcome)
    waiting = deque(sorted(documents, key=lambda document: len(document.chunks)))
    del documents  # so that each group's chunks are freed when it is published
    while group := _take_group(waiting):
        if not context.is_embedded_later:
            async with context.preparation_slots:
                with span("ingest.embed"):
                    await _embed(context, group)
        with span("ingest.extract_and_publish"):
            unknown = await _extract_and_publish(context, group)
        with span("ingest.index_and_refresh"):
            await gather_or_cancel([_index(context, group), refresh(context)])
        await _finish(context, group, unknown, on_outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StagedDocument:
    """A document whose chunks are staged; `claim.step` is its next step."""

    claim: Claim
    title: str
    chunks: Sequence[StagedChunk]
    author: str = ""
    dated: datetime | None = None
    omitted: int = 0
    pages: int = 0


def _take_group(waiting: deque[_StagedDocument]) -> list[_StagedDocument]:
    """Remove and return the next documents, up to a limit of chunks, but at least one document."""
    group: list[_StagedDocument] = []
    size = 0
    while waiting and (not group or size + len(waiting[0].chunks) <= _CHUNKS_PER_GROUP):
        group.append(waiting.popleft())
        size += len(group[-1].chunks)
    return group


async def _load_documents(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[DocumentOutcome], None]
) -> list[_StagedDocument]:
    """Parse and chunk new documents and load the chunks of others; documents that cannot be parsed are left out."""
    documents = await _chunk_documents(
        context, [claim for claim in batch if claim.step == ""], on_outcome
    )
    resumed = [claim for claim in batch if claim.step in ("embed", "read")]
    published = [claim for claim in batch if claim.step in ("index", REEXTRACT)]
    if resumed or published:
        ids = [claim.document_id for claim in (*resumed, *published)]
        titles = await staging.get_titles(context.database, ids)
        omitted = await staging.count_omitted(context.database, ids)
        stored = await staging.list_staged(
            context.database, [claim.document_id for claim in resumed]
        )
        stored += await staging.list_published(
            context.database, [claim.document_id for claim in published]
        )
        by_document: dict[DocumentId, list[StagedChunk]] = {}
        for chunk in stored:
            by_document.setdefault(chunk.document_id, []).append(chunk)
        documents += [
            _StagedDocument(
                claim=claim,
                title=titles[claim.document_id],
                chunks=by_document.get(claim.document_id, ()),
                omitted=omitted[claim.document_id],
            )
            for claim in (*resumed, *published)
        ]
    return documents


async def _embed(context: IngestContext, group: Sequence[_StagedDocument]) -> None:
    to_embed = [document for document in group if document.claim.step == "embed"]
    claims = [document.claim for document in to_embed]
    chunks = [chunk for document in to_embed for chunk in document.chunks]
    titles = {document.claim.document_id: document.title for document in to_embed}
    await embed_chunks(context, claims, chunks, titles)


async def _chunk_documents(
    context: IngestContext, batch: Sequence[Claim], on_outcome: Callable[[DocumentOutcome], None]
) -> list[_StagedDocument]:
    """Parse and chunk, as many at once as the parser has processes; return the documents that succeeded."""
    parsing = asyncio.Semaphore(context.parser.processes)

    async def parse_one(claim: Claim) -> _StagedDocument | None:
        async with parsing:
            return await _parse_or_fail(context, claim, on_outcome)

    chunked = [
        document
        for document in await gather_or_cancel(map(parse_one, batch))
        if document is not None
    ]
    if not chunked:
        return []
    step = "read" if context.is_embedded_later else "embed"
    async with context.database.relaxed_transaction() as connection:
        await queue.advance(
            connection,
            [document.claim.job_id for document in chunked],
            context.worker,
            state=JobState.EXTRACTING if step == "read" else JobState.EMBEDDING,
            step=step,
            progress=25,
        )
        await staging.stage(
            connection,
            {document.claim.document_id: document.claim.ref for document in chunked},
            [chunk for document in chunked for chunk in document.chunks],
        )
        await queue.record_chunking(
            connection,
            [
                queue.ChunkedJob(
                    job_id=document.claim.job_id,
                    chunks=len(document.chunks),
                    title=document.title,
                    author=document.author,
                    document_date=document.dated,
                    omitted=document.omitted,
                )
                for document in chunked
            ],
        )
        await originals.settle(
            connection, {document.claim.job_id: document.pages for document in chunked}
        )
    return [replace(document, claim=replace(document.claim, step=step)) for document in chunked]


async def _parse_or_fail(
    context: IngestContext, claim: Claim, on_outcome: Callable[[DocumentOutcome], None]
) -> _StagedDocument | None:
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
        on_outcome(DocumentOutcome(url=claim.url, chunks=0, error=failure.message))
        return None


async def _extract_and_publish(
    context: IngestContext, group: Sequence[_StagedDocument]
) -> Mapping[JobId, int]:
    """Return how many relations of each job fitted no predicate."""
    unpublished = [document for document in group if document.claim.step != "index"]
    if not unpublished:
        return {}
    extractions = await _extract(context, unpublished)
    reextracted = [document for document in unpublished if document.claim.step == REEXTRACT]
    new = [document for document in unpublished if document.claim.step != REEXTRACT]
    terms = await asyncio.to_thread(_published_terms, new)
    read = await asyncio.to_thread(
        analyse_chunks, [chunk for document in new for chunk in document.chunks]
    )
    tables = await asyncio.to_thread(
        lambda: {document.claim.document_id: read_rows(_texts(document)) for document in new}
    )
    project_id = context.project_id
    async with context.database.relaxed_transaction() as connection:
        await lock_project(connection, project_id)
        await queue.advance(
            connection,
            [document.claim.job_id for document in unpublished],
            context.worker,
            state=JobState.EXTRACTING,
            step="index",
            progress=25 if context.is_embedded_later else 90,
        )
        unknown = {
            document.claim.job_id: sum(
                extractions[chunk.id].unknown_predicates for chunk in document.chunks
            )
            for document in unpublished
        }
        await queue.record_unknown_predicates(connection, unknown)
        if new:
            await publishing.publish(
                connection,
                project_id,
                [_published(document) for document in new],
                terms,
                _extractions_of(new, extractions),
            )
            await analyses.store(connection, VERSION, read)
            await table_rows.store(connection, TABLES_VERSION, tables)
        if reextracted:
            await publishing.republish_extractions(
                connection,
                project_id,
                [document.claim.document_id for document in reextracted],
                _extractions_of(reextracted, extractions),
            )
        # the heartbeat waits for this transaction's locks, so a long one must leave the jobs with a fresh lease
        await queue.renew_or_raise(
            connection, [document.claim.job_id for document in unpublished], context.worker
        )
    return unknown


def _texts(document: _StagedDocument) -> list[TextPart]:
    return [
        TextPart(
            id=chunk.id,
            start=chunk.draft.start,
            text=chunk.draft.text,
            title=document.title,
            url=document.claim.url,
        )
        for chunk in document.chunks
    ]


def _extractions_of(
    documents: Sequence[_StagedDocument], extractions: Mapping[ChunkId, Extraction]
) -> dict[ChunkId, Extraction]:
    return {chunk.id: extractions[chunk.id] for document in documents for chunk in document.chunks}


async def _extract(
    context: IngestContext, documents: Sequence[_StagedDocument]
) -> dict[ChunkId, Extraction]:
    titles = {document.claim.document_id: document.title for document in documents}
    classes = {document.claim.document_id: document.claim.class_id for document in documents}
    chunks = [chunk for document in documents for chunk in document.chunks]
    batch = [document.claim for document in documents]
    progress = ProgressCounter(context.progress, Step.EXTRACTING, batch, chunks)
    extractions: dict[ChunkId, Extraction] = {}
    for start in range(0, len(chunks), _CHUNKS_PER_EXTRACTION):
        part = chunks[start : start + _CHUNKS_PER_EXTRACTION]
        inputs = [
            extraction_input(titles[chunk.document_id], chunk, classes[chunk.document_id])
            for chunk in part
        ]
        part_extractions = await context.extractor.extract(inputs)
        usage: dict[DocumentId, list[TokenSummary]] = {}
        for chunk, extraction in zip(part, part_extractions, strict=True):
            extractions[chunk.id] = extraction
            usage.setdefault(chunk.document_id, []).append(extraction.usage)
        usage_by_job = {
            claim.job_id: add_usage(usage[claim.document_id])
            for claim in batch
            if claim.document_id in usage
        }
        await queue.add_usage(context.database, usage_by_job)
        progress.add(part)
    return extractions


async def _index(context: IngestContext, group: Sequence[_StagedDocument]) -> None:
    """Update the vector index to what PostgreSQL now publishes."""
    await sync_index(context)
    documents = [document.claim.document_id for document in group]
    for space in await embedding_spaces.list_live(context.database, context.project_id):
        vectors = await staging.list_published_vectors(context.database, space.id, documents)
        if vectors:
            await context.vectors.put(space.id, vectors)


async def _finish(
    context: IngestContext,
    group: Sequence[_StagedDocument],
    unknown: Mapping[JobId, int],
    on_outcome: Callable[[DocumentOutcome], None],
) -> None:
    async with context.database.transaction() as connection:
        await queue.complete(
            connection, [document.claim.job_id for document in group], context.worker
        )
        await staging.delete_staged_vectors(
            connection, [document.claim.document_id for document in group]
        )
    for document in group:
        on_outcome(
            DocumentOutcome(
                url=document.claim.url,
                chunks=len(document.chunks),
                error="",
                omitted=document.omitted,
                unknown_predicates=unknown.get(document.claim.job_id, 0),
            )
        )


async def _parse(context: IngestContext, claim: Claim) -> _StagedDocument:
    context.progress(Progress(url=claim.url, step=Step.PARSING, done=0, total=0))
    document = await _parse_upload(context, claim)
    title = choose_title(claim, document)
    staged = await asyncio.to_thread(
        lambda: [
            StagedChunk(
                id=make_chunk_id(claim.job_id, draft.index),
                document_id=claim.document_id,
                hash=bytes.fromhex(chunk_hash(title, draft)),
                draft=draft,
            )
            for draft in document.chunks
        ]
    )
    return _StagedDocument(
        claim=claim,
        title=title,
        author=document.author,
        dated=find_first_day(f"{file_name_from_url(claim.url)} {title}")
        or (document.updated_at or find_header_date([chunk.text for chunk in document.chunks[:1]])),
        chunks=staged,
        omitted=document.omitted,
        pages=document.pages,
    )


async def _parse_upload(context: IngestContext, claim: Claim) -> ChunkedDocument:
    """Parse the document's bytes. An item without a text that can be read, such as a picture, is found by its title."""
    name = file_name_from_url(claim.url)
    content = await originals.read_staged(context.database, claim.job_id)
    try:
        if claim.format is Format.FOREIGN:
            content = await _convert(context, content, name)
        return await context.parser.parse(content, claim.format, name=name)
    except Unreadable as error:
        if not claim.is_item or isinstance(error, LimitExceeded):
            raise
    title = claim.title.strip() or claim.url
    return await context.parser.parse(title.encode(), Format.TEXT, name=name)


async def _convert(context: IngestContext, content: bytes, name: str) -> bytes:
    """Return what the parser elsewhere makes of a file."""
    if context.convert is None:
        raise Unreadable(
            "unsupported", "only a parser elsewhere reads it, and LIGHTWELL_PARSER_URL names none"
        )
    return await context.convert(content, name)


def _published(document: _StagedDocument) -> PublishedDocument:
    languages = [chunk.draft.language for chunk in document.chunks]
    return PublishedDocument(
        document_id=document.claim.document_id,
        language=max(set(languages), key=lambda language: (languages.count(language), language)),
        chunks=len(languages),
    )


def _published_terms(documents: Sequence[_StagedDocument]) -> list[PublishedTerms]:
    """Count the terms of each chunk with the title of its document; those of equal text are counted once."""
    counts: dict[bytes, Mapping[str, int]] = {}
    terms: list[PublishedTerms] = []
    for document in documents:
        for chunk in document.chunks:
            if chunk.hash not in counts:
                counts[chunk.hash] = count_terms(text_to_embed(document.title, chunk.draft))
            frequencies = counts[chunk.hash]
            length = sum(frequencies.values())
            terms.append(PublishedTerms(chunk_id=chunk.id, length=length, frequencies=frequencies))
    return terms

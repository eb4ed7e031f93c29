"""Chunks that the caller supplies. They replace parsing and chunking, and embedding where they bring vectors."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.documents import ChunkDraft, Document, Section
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ChunkId, JobId, new_id
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestResponse
from lightwell.domain.texts import require_text
from lightwell.ingest.chunking import chunk_hash, validate_chunk
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.records.database import repeatable
from lightwell.records.documents import supplied_chunks
from lightwell.records.documents.chunks import StagedChunk
from lightwell.text.language import detect_language
from lightwell.text.tokens import token_count

_SEPARATOR = "\n\n"


@repeatable
async def enqueue_document(
    context: IngestContext, document: Document, chunks: Sequence[EmbeddedChunk]
) -> IngestResponse:
    """Enqueue these chunks as the document's whole new content; raise `Invalid` if a chunk or vector is not valid.

    Readers see the previous content until a worker has published the new one.
    """
    context = await follow_space(context)
    if not chunks:
        raise Invalid("Give at least one chunk; to remove a document, delete it")
    drafts = _drafts(chunks)
    vectors = [_vector(chunk, context.space.dimension) for chunk in chunks]
    staged = [
        StagedChunk(
            id=ChunkId(new_id()),
            document_id=document.id,
            hash=_hash(document.title, draft, vector),
            draft=draft,
        )
        for draft, vector in zip(drafts, vectors, strict=True)
    ]
    staged_vectors = zip(staged, vectors, strict=True)
    vector_by_chunk = {chunk.id: vector for chunk, vector in staged_vectors if vector is not None}
    job = JobId(new_id())
    async with context.database.transaction() as connection:
        await supplied_chunks.enqueue(
            connection,
            context.project_id,
            document,
            job,
            staged,
            (context.space.id, vector_by_chunk),
        )
    return IngestResponse(
        job_id=job, document_id=document.id, status=JobState.QUEUED, estimated_chunks=len(staged)
    )


def _drafts(chunks: Sequence[EmbeddedChunk]) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    start = 0
    for index, chunk in enumerate(chunks):
        text = require_text(chunk.content, "The chunk").strip()
        end = start + len(text)
        draft = ChunkDraft(
            index=index,
            start=start,
            end=end,
            text=text,
            tokens=token_count(text),
            section_path=chunk.section_path,
            sections=(Section(path=chunk.section_path, start=start, end=end),),
            pages=(),
            has_code=False,
            has_formula=False,
            has_table=False,
            language=detect_language(text),
        )
        drafts.append(validate_chunk(draft))
        start = end + len(_SEPARATOR)
    return drafts


def _vector(chunk: EmbeddedChunk, dimension: int) -> NDArray[np.float32] | None:
    """Return the chunk's vector scaled to length 1, or None if it has none."""
    if chunk.embedding is None:
        return None
    if len(chunk.embedding) != dimension:
        raise Invalid(f"Embedding must be {dimension} dimensions")
    with np.errstate(over="ignore", under="ignore"):
        vector = np.asarray(chunk.embedding, dtype=np.float32)  # as it is stored: 1e39 is infinite
    length = math.hypot(*map(float, vector))
    if not 0 < length < math.inf:
        raise Invalid("Embedding must consist of 32-bit numbers, finite and not all zero")
    return np.asarray(vector / np.float64(length), dtype=np.float32)


def _hash(title: str, draft: ChunkDraft, vector: NDArray[np.float32] | None) -> bytes:
    """Return the hash under which vectors are reused. A supplied vector is part of it, so no other chunk reuses that vector."""
    content_hash = bytes.fromhex(chunk_hash(title, draft))
    return (
        content_hash if vector is None else hashlib.sha256(content_hash + vector.tobytes()).digest()
    )

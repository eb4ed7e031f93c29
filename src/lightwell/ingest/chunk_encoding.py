"""Encodes chunks for late interaction: before they are published, and later those that were published without.

Where the model fails, or there is none, the chunk is published with a gap: search orders it without that comparison.
"""

import hashlib
from collections.abc import Mapping, Sequence

from lightwell.domain.documents import heading_path
from lightwell.domain.errors import ModelFailed
from lightwell.domain.ids import ChunkId, ClassId, DocumentId
from lightwell.domain.reranking import HeadedPassage
from lightwell.ingest.context import IngestContext
from lightwell.logs import logger
from lightwell.ports import LateInteraction
from lightwell.records import multi_vectors
from lightwell.records.documents import chunks as published
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim

_BATCH = 32
"""Chunks whose vectors are stored at once: some two seconds of a core."""

_PORTION = 64
"""Published chunks that are encoded before a worker looks for jobs again: some five seconds."""

_log = logger(__name__)


async def encode_chunks(
    context: IngestContext,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    """Store the vectors that these jobs' chunks lack, copied where the same was encoded for the same access class before. A model that fails is logged: publishing notes what is missing."""
    model = context.late_interaction
    if model is None or not (batch and chunks):
        return
    try:
        await _encode_lacking(context, model, batch, chunks, titles)
    except ModelFailed as error:
        _log.warning("passages wait to be encoded: the model failed", error=str(error))


async def fill_encoding_gaps(context: IngestContext) -> bool:
    """Encode some of the published chunks of the project for which a gap is noted; return whether there were any.

    A model that fails is logged, and stops no worker.
    """
    model, database = context.late_interaction, context.database
    if model is None:
        return False
    ids = await multi_vectors.list_gaps(database, context.project_id, limit=_PORTION)
    for start in range(0, len(ids), _BATCH):
        part = ids[start : start + _BATCH]
        entries = await published.list_published_by_id(database, part)
        passages = {entry.chunk.id: _headed(entry.title, entry.chunk) for entry in entries}
        try:
            encoded = await model.encode(list(passages.values()))
        except ModelFailed as error:
            _log.warning("passages wait to be encoded: the model failed", error=str(error))
            return False
        vectors = dict(zip(passages, encoded, strict=True))
        hashes = {
            entry.chunk.id: _hash(context, entry.class_id, passages[entry.chunk.id])
            for entry in entries
        }
        for chunk in part:  # one lock at a time: documents may be deleted meanwhile, in any order
            encoded_chunk = {chunk: vectors[chunk]} if chunk in vectors else {}
            async with database.relaxed_transaction() as connection:
                await multi_vectors.put(connection, model.model, encoded_chunk, hashes)
                await multi_vectors.close_gaps(connection, [chunk])
    if ids:
        _log.info("passages that were published before are encoded", passages=len(ids))
    return bool(ids)


async def _encode_lacking(
    context: IngestContext,
    model: LateInteraction,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    database = context.database
    jobs = [claim.job_id for claim in batch]
    classes = {claim.document_id: claim.class_id for claim in batch}
    passages = {chunk.id: _headed(titles[chunk.document_id], chunk) for chunk in chunks}
    lacking = await multi_vectors.list_lacking(database, model.model, list(passages))
    hashes = {
        chunk.id: _hash(context, classes[chunk.document_id], passages[chunk.id])
        for chunk in chunks
        if chunk.id in lacking
    }
    async with database.relaxed_transaction() as connection:
        await queue.renew_or_raise(connection, jobs, context.worker)
        copied = await multi_vectors.copy_equal(connection, model.model, hashes)
    by_hash: dict[bytes, list[ChunkId]] = {}
    for chunk in sorted(hashes.keys() - copied):
        by_hash.setdefault(hashes[chunk], []).append(chunk)
    equal = list(by_hash.values())
    for start in range(0, len(equal), _BATCH):
        part = equal[start : start + _BATCH]
        encoded = await model.encode([passages[same[0]] for same in part])
        vectors = {
            chunk: vector for same, vector in zip(part, encoded, strict=True) for chunk in same
        }
        async with database.relaxed_transaction() as connection:
            await queue.renew_or_raise(connection, jobs, context.worker)
            await multi_vectors.put(connection, model.model, vectors, hashes)


def _headed(title: str, chunk: StagedChunk) -> HeadedPassage:
    return HeadedPassage(head=heading_path(title, chunk.draft.section_path), text=chunk.draft.text)


def _hash(context: IngestContext, class_id: ClassId, passage: HeadedPassage) -> bytes:
    """Return the SHA-256 of the project, the access class and exactly what is encoded.

    Whether something is encoded shows in time, so nothing is copied from one class to another. The hash of the text to
    embed would not do: it is the same for a title and for a text that begins with it.
    """
    encoded = "\0".join((str(context.project_id), str(class_id), passage.head, passage.text))
    return hashlib.sha256(encoded.encode()).digest()

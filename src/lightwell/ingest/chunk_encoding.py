"""Encodes chunks for late interaction: before they are published, and later those that were published without.

Where the model fails, or there is none, a gap is noted, and the chunk is published: search orders it without that comparison.
"""

from collections.abc import Mapping, Sequence

from lightwell.domain.documents import heading_path
from lightwell.domain.errors import ModelFailed
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.reranking import ReadablePassage
from lightwell.ingest.context import IngestContext
from lightwell.late_interaction_port import LateInteraction
from lightwell.logs import logger
from lightwell.records import multi_vectors
from lightwell.records.documents import chunks as published
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs import queue
from lightwell.records.jobs.queue import Claim

_BATCH = 32
"""Chunks whose vectors are stored at once: some two seconds of a core."""

_PORTION = 256
"""Published chunks that are encoded before a worker looks for jobs again: some 20 seconds."""

_log = logger(__name__)


async def encode_chunks(
    context: IngestContext,
    batch: Sequence[Claim],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    """Store the vectors that these jobs' chunks lack, copied from equal chunks where there are any; note gaps where no model encodes."""
    if not (batch and chunks):
        return
    model, jobs = context.late_interaction, [claim.job_id for claim in batch]
    ids = [chunk.id for chunk in chunks]
    try:
        if model is not None:
            await _encode_lacking(context, model, jobs, chunks, titles)
            return
    except ModelFailed as error:
        _log.warning("passages wait to be encoded: the model failed", error=str(error))
    async with context.database.relaxed_transaction() as connection:
        await queue.renew_or_raise(connection, jobs, context.worker)
        await multi_vectors.note_gaps(connection, ids)


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
        found = await published.list_published_by_id(database, part)
        try:
            encoded = await model.encode([_readable(each.title, each.chunk) for each in found])
        except ModelFailed as error:
            _log.warning("passages wait to be encoded: the model failed", error=str(error))
            return False
        vectors = dict(zip((each.chunk.id for each in found), encoded, strict=True))
        for chunk in part:  # one lock at a time: documents may be deleted meanwhile, in any order
            held = {chunk: vectors[chunk]} if chunk in vectors else {}
            async with database.relaxed_transaction() as connection:
                await multi_vectors.put(connection, model.model, held)
                await multi_vectors.close_gaps(connection, [chunk])
    if ids:
        _log.info("passages that were published before are encoded", passages=len(ids))
    return bool(ids)


async def _encode_lacking(
    context: IngestContext,
    model: LateInteraction,
    jobs: Sequence[JobId],
    chunks: Sequence[StagedChunk],
    titles: Mapping[DocumentId, str],
) -> None:
    database, ids = context.database, [chunk.id for chunk in chunks]
    async with database.relaxed_transaction() as connection:
        await multi_vectors.copy_from_equal_chunks(connection, context.project_id, model.model, ids)
    lacking = await multi_vectors.list_lacking(database, model.model, ids)
    by_hash: dict[bytes, list[StagedChunk]] = {}
    for chunk in chunks:
        if chunk.id in lacking:
            by_hash.setdefault(chunk.hash, []).append(chunk)
    hashes = list(by_hash)
    for start in range(0, len(hashes), _BATCH):
        part = [by_hash[hash_] for hash_ in hashes[start : start + _BATCH]]
        encoded = await model.encode(
            [_readable(titles[same[0].document_id], same[0]) for same in part]
        )
        vectors = {
            chunk.id: vector for same, vector in zip(part, encoded, strict=True) for chunk in same
        }
        async with database.relaxed_transaction() as connection:
            await queue.renew_or_raise(connection, jobs, context.worker)
            await multi_vectors.put(connection, model.model, vectors)


def _readable(title: str, chunk: StagedChunk) -> ReadablePassage:
    return ReadablePassage(
        head=heading_path(title, chunk.draft.section_path), text=chunk.draft.text
    )

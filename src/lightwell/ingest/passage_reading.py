"""The second stage of ingestion: the network reads passages that are published already.

    published, found by words and graph ─ claim a few ─ chunk vectors ─ token vectors ─► found by meaning, compared word by word

A worker reads a few passages, then looks for jobs again, so the first stage of every document comes before the second of any.
A process that dies leaves claims, which run out. Whatever is deleted or moved meanwhile is seen when the vectors are stored.
"""

from collections import Counter
from collections.abc import Sequence

from lightwell.domain.errors import ModelFailed
from lightwell.ingest.chunk_encoding import encode_published
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.derived_data import gap_filler
from lightwell.ingest.progress import Progress, Step
from lightwell.logs import logger
from lightwell.records import passage_gaps
from lightwell.records.documents import chunks as published
from lightwell.records.documents.chunks import PublishedChunk
from lightwell.records.passage_gaps import DocumentGaps, Scope
from lightwell.tracing import span

_LEASES = 2
"""A claim is not renewed, so it is as long as two leases: a minute for what takes some seconds."""

_log = logger(__name__)


async def read_some(context: IngestContext) -> bool:
    """Read a few of the passages that lack vectors, those of `context.only` where it names documents; return whether there were any.

    Raises `ModelFailed` where chunks cannot be embedded. Where only tokens cannot be encoded, that is logged, and what lacks them
    stays as it is: search orders it without that comparison.
    """
    context = await follow_space(context)
    scope = _scope(context)
    claimed = await passage_gaps.claim_without_vector(context.database, scope)
    if not claimed:
        return await _read_tokens(context, scope)
    filler, space = gap_filler(context), context.space.id
    with span("ingest.embed"):
        entries = await filler.read_claimed(space, context.embedder, claimed)
    if not context.joins_windows:
        await _encode_or_log(context, entries)
    await _report(context, entries)
    if not await passage_gaps.is_any_without_vector(context.database, space):
        await context.vectors.build(space)
    return True


async def report_waiting(context: IngestContext) -> None:
    """Report of each document with passages to read how far it is."""
    context = await follow_space(context)
    for gaps in await passage_gaps.list_waiting(
        context.database, _scope(context), with_tokens=context.late_interaction is not None
    ):
        _tell(context, gaps, moved=0)


async def is_being_read(context: IngestContext) -> bool:
    """Return whether another process reads passages that this one would wait for."""
    context = await follow_space(context)
    return await passage_gaps.is_taken(context.database, _scope(context))


def _scope(context: IngestContext) -> Scope:
    return Scope(
        project_id=context.project_id,
        space=context.space.id,
        seconds=_LEASES * context.worker.seconds,
        only=context.only,
    )


async def _read_tokens(context: IngestContext, scope: Scope) -> bool:
    """Encode a few passages that have a vector but none of their tokens; return whether that could be done."""
    if context.late_interaction is None:
        return False
    claimed = await passage_gaps.claim_without_tokens(context.database, scope)
    if not claimed:
        return False
    try:
        entries = await published.list_published_by_id(context.database, claimed)
        is_encoded = await _encode_or_log(context, entries)
    finally:
        await passage_gaps.release_tokens(context.database, claimed)
    await _report(context, entries)
    return is_encoded


async def _encode_or_log(context: IngestContext, entries: Sequence[PublishedChunk]) -> bool:
    model = context.late_interaction
    if model is None:
        return False
    try:
        with span("ingest.encode"):
            await encode_published(context.database, context.project_id, model, entries)
    except ModelFailed as error:
        _log.warning("passages wait to be encoded: the model failed", error=str(error))
        return False
    return True


async def _report(context: IngestContext, entries: Sequence[PublishedChunk]) -> None:
    """Report how far the documents of these passages are."""
    moved = Counter(entry.chunk.document_id for entry in entries)
    with_tokens = context.late_interaction is not None
    for gaps in await passage_gaps.count(
        context.database, context.space.id, list(moved), with_tokens=with_tokens
    ):
        _tell(context, gaps, moved=moved[gaps.document_id])


def _tell(context: IngestContext, gaps: DocumentGaps, *, moved: int) -> None:
    done = gaps.total - gaps.waiting
    context.progress(
        Progress(url=gaps.url, step=Step.VECTORS, done=done, total=gaps.total, moved=moved)
    )

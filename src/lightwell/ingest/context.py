"""What work on a project needs, and how its outcome is told."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.sources import SourceRetention
from lightwell.ingest.parser import Parser
from lightwell.ingest.profile_embedding import ProfileEmbedder, embed_profiles
from lightwell.ingest.summaries import Summarizer, summarize_long_profiles
from lightwell.ports import Embedder, Extractor, ProfileIndex, VectorIndex
from lightwell.records import conversations
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database, repeatable
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import erasure
from lightwell.records.embedding_spaces import Space
from lightwell.records.graph import profiles
from lightwell.records.jobs.queue import Worker
from lightwell.records.llm_cache import cache

_INDEX_CHANGES_PER_BATCH = 500


class Step(StrEnum):
    """What is being done with a document; each counts its chunks, parsing none."""

    PARSING = "parsing"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a step has come within one document: `done` of `total` chunks."""

    url: str
    step: Step
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """What a batch of jobs needs on its way in; `only` these documents' jobs are claimed, None for all.

    `batches` of `jobs_per_batch` are under way at once; of these, two at most are cut and embedded, so that the first
    are read while the next are prepared. `embedding_batch_size` texts are handed to the embedder, and `refresh_batch_size`
    entities and relations derived anew in one transaction. `sources` says which sources these list. `progress` is told how steps come along within documents.
    """

    database: Database
    vectors: VectorIndex
    profiles: ProfileIndex
    space: Space
    embedder: Embedder
    extractor: Extractor
    worker: Worker
    parser: Parser
    summarizer: Summarizer | None = None
    only: tuple[DocumentId, ...] | None = None
    max_batches: int = 1
    jobs_per_batch: int = 8
    embedding_batch_size: int = 32
    refresh_batch_size: int = 500
    sources: SourceRetention = field(default_factory=SourceRetention)
    progress: Callable[[Progress], None] = lambda progress: None
    preparation_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    refresh_queue: Coalescer["tuple[IngestContext, ProjectId]", None] = field(
        default_factory=lambda: Coalescer(_refresh_all)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one document's job ended; `error` is "" when it ended well."""

    url: str
    chunks: int
    error: str


async def sync_index(context: IngestContext, project_id: ProjectId) -> None:
    """Carry out what the vector index has still to follow: chunks that went or changed their class, and its growth."""
    while changes := await staging.index_changes(
        context.database, project_id, limit=_INDEX_CHANGES_PER_BATCH
    ):
        gone = [change.chunk_id for change in changes if change.class_id is None]
        if gone:
            await context.vectors.remove(context.space.id, gone)
        for class_id in sorted({each.class_id for each in changes if each.class_id is not None}):
            moved = [change.chunk_id for change in changes if change.class_id == class_id]
            await context.vectors.reclassify(context.space.id, moved, class_id)
        await staging.delete_index_changes(context.database, changes)
    await context.vectors.build(context.space.id)


async def refresh(context: IngestContext, project_id: ProjectId) -> None:
    """Recompute whatever was derived from mentions that came or went, once for all batches that wait for it."""
    await context.refresh_queue((context, project_id))


async def _refresh_all(requests: "Sequence[tuple[IngestContext, ProjectId]]") -> list[None]:
    for project_id, context in {project_id: context for context, project_id in requests}.items():
        refreshed = context.refresh_batch_size
        while refreshed == context.refresh_batch_size:
            refreshed = await _refresh_some(context, project_id)
    return [None] * len(requests)


@repeatable
async def _refresh_some(context: IngestContext, project_id: ProjectId) -> int:
    async with context.database.transaction() as connection:
        return await profiles.refresh(connection, project_id, limit=context.refresh_batch_size)


async def finish_derived(
    context: IngestContext, project_id: ProjectId, since: datetime | None = None
) -> None:
    """Do what is done once however many documents came or went: long descriptions are summarised, what is said of
    things is embedded, replies and turns of conversations are forgotten of which nothing is left. So is an erasure that
    somebody began and did not live to end.

    With `since` only what was derived then or later is summarised and embedded; the rest waits for a worker.
    """
    await erasure.finish_requested(context.database, project_id)
    if context.summarizer is not None:
        await summarize_long_profiles(project_id, context.summarizer, since)
    describer = ProfileEmbedder(
        database=context.database,
        index=context.profiles,
        space_id=context.space.id,
        embedder=context.embedder,
        batch_size=context.embedding_batch_size,
    )
    await embed_profiles(describer, project_id, since)
    await cache.delete_unused_replies(context.database, project_id)
    await conversations.delete_unsupported_exchanges(context.database, project_id)


async def apply_pending_changes(context: IngestContext, project_id: ProjectId) -> None:
    """Bring everything derived up to what PostgreSQL shows, after documents went or changed hands."""
    await sync_index(context, project_id)
    await refresh(context, project_id)

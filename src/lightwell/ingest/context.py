"""The ingestion context: stores, models and limits of a worker; and the upkeep of derived data."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from lightwell.domain.access import Reader
from lightwell.domain.business_systems import Source
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.source_retention import SourceRetention
from lightwell.ingest.gap_filling import GapFiller
from lightwell.ingest.graph_copy import GraphCopy
from lightwell.ingest.link_proposer import propose_links
from lightwell.ingest.parser import Parser
from lightwell.ingest.profile_embedding import ProfileEmbedder, embed_profiles
from lightwell.ingest.summaries import Summarizer, summarize_long_profiles
from lightwell.logs import logger
from lightwell.metering import stop_recording
from lightwell.ports import Embedder, Extractor, ProfileIndex, VectorIndex
from lightwell.records import conversations, embedding_spaces
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database, repeatable
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import erasure
from lightwell.records.embedding_spaces import Space, SpaceModel, SpaceStatus
from lightwell.records.graph import profiles
from lightwell.records.graph.due_profiles import DueProfiles
from lightwell.records.leases import LeaseHolder
from lightwell.records.llm_cache import cache
from lightwell.source_ports import ItemSource

_INDEX_CHANGES_PER_BATCH = 500

_log = logger(__name__)


OpenConnector = Callable[[Source], AbstractAsyncContextManager[ItemSource]]
"""Opens the connector of a source; raises `Invalid` where an option or a secret is missing."""


class Step(StrEnum):
    """The step that a document is in. Embedding and extracting count chunks; parsing counts nothing."""

    PARSING = "parsing"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of one step within one document: `done` of `total` chunks."""

    url: str
    step: Step
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLimits:
    """Most `tokens` of an endpoint that a change of the embedding model takes, 0 for no limit, and how long the old vectors are kept."""

    tokens: int = 0
    grace_seconds: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """One project with the stores, models and limits that ingestion into it needs. `only` restricts claims to these documents; None means all.

    Up to `max_batches` batches of `jobs_per_batch` documents run concurrently. `preparation_slots` lets two of them
    parse and embed at a time, so that the others can wait for the chat model meanwhile. `embedding_batch_size` is the
    number of texts per embedder call. `refresh_batch_size` is the number of entities and relations per refresh
    transaction. `refresh_queue` combines the refreshes that concurrent batches ask for. `sources` says how entities
    list their source chunks. `models` are the embedding models that this process can call: `space` may become another's, within `change_limits`. `graph_copy` is the copy of the graph in another store, if there is one. `open_source` opens the connector of a business system. Ingestion calls `progress` after each step within a document.
    """

    project_id: ProjectId
    database: Database
    vectors: VectorIndex
    profiles: ProfileIndex
    space: Space
    embedder: Embedder
    extractor: Extractor
    worker: LeaseHolder
    parser: Parser
    models: tuple[SpaceModel, ...] = ()
    change_limits: ChangeLimits = ChangeLimits()
    graph_copy: GraphCopy | None = None
    summarizer: Summarizer | None = None
    only: tuple[DocumentId, ...] | None = None
    max_batches: int = 1
    jobs_per_batch: int = 8
    embedding_batch_size: int = 32
    refresh_batch_size: int = 500
    sources: SourceRetention = field(default_factory=SourceRetention)
    progress: Callable[[Progress], None] = lambda progress: None
    open_source: OpenConnector = field(default_factory=lambda: _no_connector)
    preparation_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    refresh_queue: Coalescer["IngestContext", None] = field(
        default_factory=lambda: Coalescer(_refresh_all)
    )


def _no_connector(source: Source) -> AbstractAsyncContextManager[ItemSource]:
    raise Invalid(f"There is no connector for {source.system!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOutcome:
    """The result of one document's job; `error` is "" on success. `omitted` counts chunks that were left out."""

    url: str
    chunks: int
    error: str
    omitted: int = 0


async def follow_space(context: IngestContext) -> IngestContext:
    """Return the context for the space that is active now: another process may have changed the embedding model.

    Raises `Invalid`, which says what to set, where this process cannot call that model.
    """
    space = await embedding_spaces.find_active(context.database, context.project_id)
    if space is None or space.id == context.space.id:
        return context
    model = embedding_spaces.require_model(context.models, space)
    return replace(context, space=space, embedder=model.embedder)


async def sync_index(context: IngestContext) -> None:
    """Apply recorded changes to the vector index, in all spaces: chunks that were removed or changed their access class."""
    spaces = await embedding_spaces.list_live(context.database, context.project_id)
    while changes := await staging.list_index_changes(
        context.database, context.project_id, limit=_INDEX_CHANGES_PER_BATCH
    ):
        gone = [change.chunk_id for change in changes if change.class_id is None]
        classes = sorted({each.class_id for each in changes if each.class_id is not None})
        for space in spaces:
            if gone:
                await context.vectors.remove(space.id, gone)
            for class_id in classes:
                moved = [change.chunk_id for change in changes if change.class_id == class_id]
                await context.vectors.reclassify(space.id, moved, class_id)
        await staging.delete_index_changes(context.database, changes)
    for space in spaces:
        if space.status is SpaceStatus.ACTIVE:
            await context.vectors.build(space.id)
    await update_graph_copy(context)


async def update_graph_copy(context: IngestContext) -> None:
    """Let the graph store, if it is not PostgreSQL, apply recorded changes; where it is down, they wait."""
    if context.graph_copy is not None:
        await context.graph_copy.update()


async def refresh(context: IngestContext) -> None:
    """Recompute the profiles whose mentions changed, once for all concurrent batches that ask for it."""
    await context.refresh_queue(context)


async def _refresh_all(requests: "Sequence[IngestContext]") -> list[None]:
    for context in {each.project_id: each for each in requests}.values():
        refreshed = context.refresh_batch_size
        while refreshed == context.refresh_batch_size:
            refreshed = await _refresh_some(context)
    return [None] * len(requests)


@repeatable
async def _refresh_some(context: IngestContext) -> int:
    async with context.database.transaction() as connection:
        return await profiles.refresh(
            connection, context.project_id, limit=context.refresh_batch_size
        )


async def finish_derived(context: IngestContext, since: datetime | None = None) -> None:
    """Finish derived data, once for any number of changed documents.

    This completes erasures that a crash interrupted, summarises long descriptions and embeds profiles. It also
    deletes cached replies and conversation turns whose sources are gone. With `since`, only profiles that were
    refreshed at that time or later are summarised and embedded; a worker does the rest.
    """
    context, project_id = await follow_space(context), context.project_id
    await erasure.finish_requested(context.database, project_id)
    await _fill_active(context)
    await describe_profiles(context, DueProfiles(since=since))
    await propose_links(context.database, project_id)
    await cache.delete_unused_replies(context.database, project_id)
    await conversations.delete_unsupported_exchanges(context.database, project_id)
    await update_graph_copy(context)


async def finish_derived_for(
    context: IngestContext, reader: Reader, since: datetime | None = None
) -> None:
    """Finish derived data, as `finish_derived` does, after a change that this reader made.

    Usage logs around it count only what the reader's own classes cost: the rest would tell of what the reader does not see.
    """
    await describe_profiles(context, DueProfiles(classes=reader.classes, since=since))
    with stop_recording():
        await finish_derived(context, since)


async def describe_profiles(context: IngestContext, due: DueProfiles) -> None:
    """Summarise the long descriptions of due profiles, and embed what changed; a model that fails is logged."""
    context, project_id = await follow_space(context), context.project_id
    if context.summarizer is not None:
        await summarize_long_profiles(project_id, context.summarizer, due)
    describer = ProfileEmbedder(
        database=context.database,
        index=context.profiles,
        space_id=context.space.id,
        spaces=[each.id for each in await embedding_spaces.list_live(context.database, project_id)],
        embedder=context.embedder,
        batch_size=context.embedding_batch_size,
    )
    await embed_profiles(describer, project_id, due)


def gap_filler(context: IngestContext) -> GapFiller:
    """Return what embeds the chunks and profiles that a space of this project lacks."""
    return GapFiller(
        database=context.database,
        project_id=context.project_id,
        vectors=context.vectors,
        profiles=context.profiles,
        batch_size=context.embedding_batch_size,
    )


async def _fill_active(context: IngestContext) -> None:
    """Embed published chunks that the active space lacks: their jobs began before the embedding model was changed."""
    filler = gap_filler(context)
    try:
        while await filler.fill_chunks(context.space.id, context.embedder):
            pass
    except ModelFailed as error:
        _log.warning("passages wait for their vectors: a model failed", error=str(error))


async def apply_pending_changes(context: IngestContext) -> None:
    """Update the vector index and the profiles after documents were deleted or got other access tags."""
    await sync_index(context)
    await refresh(context)

"""Brings up to date what is derived from documents: indexes, profiles, summaries and their vectors, proposals, caches."""

from datetime import datetime

from lightwell.domain.access import Reader
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.gap_filling import GapFiller
from lightwell.ingest.link_proposer import propose_links
from lightwell.ingest.profile_embedding import ProfileEmbedder, embed_profiles
from lightwell.ingest.profile_refresh import RefreshRequest
from lightwell.ingest.summaries import summarize_long_profiles
from lightwell.metering import stop_recording
from lightwell.records import conversations, embedding_spaces
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import erasure, index_descriptions
from lightwell.records.embedding_spaces import SpaceStatus
from lightwell.records.graph.profile_queue import DueProfiles
from lightwell.records.llm_cache import cache

_INDEX_CHANGES_PER_BATCH = 500


async def sync_index(context: IngestContext) -> None:
    """Apply recorded changes to the vector index, in all spaces: chunks that were removed or changed their access class, and documents that are described anew."""
    spaces = await embedding_spaces.list_live(context.database, context.project_id)
    scope = context.database, context.project_id
    while changes := await staging.list_index_changes(*scope, limit=_INDEX_CHANGES_PER_BATCH):
        gone = [change.chunk_id for change in changes if change.class_id is None]
        classes = sorted({change.class_id for change in changes if change.class_id is not None})
        for space in spaces:
            if gone:
                await context.vectors.remove(space.id, gone)
            for class_id in classes:
                moved = [change.chunk_id for change in changes if change.class_id == class_id]
                await context.vectors.reclassify(space.id, moved, class_id)
        await staging.delete_index_changes(context.database, changes)
    while described := await index_descriptions.list_open(*scope, limit=_INDEX_CHANGES_PER_BATCH):
        for space in spaces:
            await context.vectors.describe(
                space.id, [description.document_id for description in described]
            )
        await index_descriptions.forget(context.database, described)
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
    await context.refresh_queue(
        RefreshRequest(
            database=context.database,
            project_id=context.project_id,
            batch_size=context.refresh_batch_size,
        )
    )


async def finish_derived(context: IngestContext, since: datetime | None = None) -> None:
    """Finish derived data, once for any number of changed documents.

    This completes erasures that a crash interrupted, summarises long descriptions and embeds profiles. It also
    deletes cached replies and conversation turns whose sources are gone. With `since`, only profiles that were
    refreshed at that time or later are summarised and embedded; a worker does the rest.
    """
    context, project_id = await follow_space(context), context.project_id
    await erasure.finish_requested(context.database, project_id)
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
        spaces=[
            space.id for space in await embedding_spaces.list_live(context.database, project_id)
        ],
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
        late_interaction=context.late_interaction,
    )


async def apply_pending_changes(context: IngestContext) -> None:
    """Update the vector index and the profiles after documents were deleted or got other access tags."""
    await sync_index(context)
    await refresh(context)

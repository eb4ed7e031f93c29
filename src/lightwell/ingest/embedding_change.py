"""Changes a project's embedding model while questions go on.

    start ─► space "preparing" ─ tables ─► "building", queues filled ─► advance: claim ─ embed ─ put ─ close, until the queues are empty
          ─► indexes built ─► swap, in one transaction ─► the old space is "retired", and dropped after the grace period

Nothing here reads for a person: vectors are made from texts by chunk and by profile, each in its own access class.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from lightwell.domain.errors import BudgetSpent, Invalid, ModelFailed
from lightwell.domain.ids import SpaceId
from lightwell.ingest.chunking import text_to_embed
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import gap_filler
from lightwell.ingest.profile_embedding import MAX_CHARACTERS
from lightwell.logs import logger
from lightwell.records import embedding_space_changes, embedding_space_progress, embedding_spaces
from lightwell.records.documents import chunks as published
from lightwell.records.embedding_space_progress import SpaceProgress
from lightwell.records.embedding_spaces import SpaceModel, SpaceStatus
from lightwell.text.tokens import token_count

_log = logger(__name__)

_SAMPLED_CHUNKS = 8
_CHARACTERS_PER_TOKEN = 4
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEstimate:
    """What it would take to embed a project again: `tokens` in all, `price` (None: unknown) and `seconds` of this process.

    `chunks` counts different texts: equal ones are embedded once.
    """

    model: str
    dimension: int
    chunks: int
    profiles: int
    tokens: int
    price: float | None
    seconds: float


async def estimate(context: IngestContext, model: SpaceModel) -> ChangeEstimate:
    """Return what a change to this model takes. It embeds a few chunks, so it also proves that the model answers; raises `ModelFailed`."""
    text = await embedding_space_changes.measure_text(
        context.database, context.project_id, MAX_CHARACTERS
    )
    tokens = text.chunk_tokens + text.profile_characters // _CHARACTERS_PER_TOKEN
    ids = await published.list_published_ids(
        context.database, context.project_id, after=None, limit=_SAMPLED_CHUNKS
    )
    sample = await published.list_published_by_id(context.database, [chunk for chunk, _ in ids])
    texts = [text_to_embed(entry.title, entry.chunk.draft) for entry in sample]
    begun = monotonic()
    await model.embedder.embed_documents(texts)
    sampled = sum(map(token_count, texts))
    return ChangeEstimate(
        model=model.embedder.model,
        dimension=model.embedder.dimension,
        chunks=text.chunks,
        profiles=text.profiles,
        tokens=tokens,
        price=None if model.price is None else tokens * model.price / 1_000_000,
        seconds=(monotonic() - begun) / sampled * tokens if sampled else 0.0,
    )


async def start(context: IngestContext, model: SpaceModel, tokens: int) -> SpaceId:
    """Begin to fill a space for this model, which takes about so many tokens; return it.

    Raises `Invalid` where another change is under way, the space is active already, or its dimension cannot be indexed,
    and `BudgetSpent` where the estimate exceeds the budget.
    """
    embedder, database, project_id = model.embedder, context.database, context.project_id
    active = await embedding_spaces.find_active(database, project_id)
    if active is not None and model.fits(active):
        raise Invalid(f"The project's vectors are those of {model.name} already")
    if not model.is_bundled and 0 < context.change_limits.tokens < tokens:
        raise BudgetSpent(
            f"The change takes about {tokens:,} tokens, and LIGHTWELL_TOKEN_BUDGET allows {context.change_limits.tokens:,}:"
            " raise it, or set it to 0 for no limit"
        )
    await _require_none_under_way(context)
    reused = await embedding_space_changes.reuse_retired(
        database, project_id, embedder.model, embedder.dimension
    )
    if reused is not None:
        return reused
    prepared = await embedding_space_changes.prepare(
        database, project_id, embedder.model, embedder.dimension
    )
    if prepared is None:
        await _require_none_under_way(context)
        raise Invalid("Another change of the embedding model has just begun")
    try:
        await context.vectors.prepare(prepared, embedder.dimension)
        await context.profiles.prepare(prepared, embedder.dimension)
        await embedding_space_changes.start(context.database, context.project_id, prepared)
    except Exception:
        await drop(context, [SpaceStatus.PREPARING])
        raise
    return prepared


async def _require_none_under_way(context: IngestContext) -> None:
    for change in await embedding_space_progress.list_progress(
        context.database, context.project_id
    ):
        if change.space.status in (SpaceStatus.PREPARING, SpaceStatus.BUILDING):
            raise Invalid(
                f"A change to {change.space.model} ({change.space.dimension}) is under way: wait for it"
                " (`lightwell embeddings status`), or end it with `lightwell embeddings cancel`"
            )


async def find_building(context: IngestContext) -> SpaceProgress | None:
    """Return the space that is being filled, None where no change is under way."""
    changes = await embedding_space_progress.list_progress(context.database, context.project_id)
    return next((change for change in changes if change.space.status is SpaceStatus.BUILDING), None)


async def change_until_swapped(
    context: IngestContext, progress: Callable[[SpaceProgress], None]
) -> None:
    """Fill the project's new space, beside other processes, until it is the active one or the change is cancelled.

    Raises `ModelFailed`, `StoreFailed`, `BudgetSpent`, and `Invalid` where this process does not know the model. All that was
    embedded is kept, and the next call goes on.
    """
    while (building := await find_building(context)) is not None:
        progress(building)
        if not await advance(context, building):
            await asyncio.sleep(_POLL_SECONDS)


async def work_on_change(context: IngestContext) -> bool:
    """Do one step of the change that is under way, if this process can; return whether there was anything to do.

    What stops the change is logged, and stops no worker. Without a change, vectors of earlier models are dropped after their grace.
    """
    live = await embedding_spaces.list_live(context.database, context.project_id)
    statuses = {space.status for space in live}
    if SpaceStatus.BUILDING not in statuses:
        if SpaceStatus.RETIRED in statuses:
            await drop(context, [SpaceStatus.RETIRED], seconds=context.change_limits.grace_seconds)
        return False
    building = await find_building(context)
    try:
        return building is not None and await advance(context, building)
    except (Invalid, ModelFailed) as error:
        _log.warning("the change of the embedding model waits", error=str(error))
        return False


async def advance(context: IngestContext, building: SpaceProgress) -> bool:
    """Embed one batch of what a space lacks, or swap it in where it lacks nothing; return whether there was anything to do."""
    space = building.space
    model = embedding_spaces.require_model(context.models, space)
    if not model.is_bundled and 0 < context.change_limits.tokens <= building.tokens:
        raise BudgetSpent(
            f"The change to {model.name} has taken {building.tokens:,} tokens, and LIGHTWELL_TOKEN_BUDGET allows"
            f" {context.change_limits.tokens:,}. What is embedded is kept; the rest needs a larger budget"
        )
    if not building.is_queued:
        await embedding_space_changes.queue(context.database, context.project_id, space.id)
    filler = gap_filler(context)
    if await filler.fill_chunks(space.id, model.embedder):
        return True
    if await filler.fill_profiles(space.id, model.embedder):
        return True
    if building.missing_chunks or building.missing_profiles:
        return False
    await context.vectors.build(space.id)
    await context.profiles.build(space.id)
    return await embedding_space_changes.swap(context.database, context.project_id, space.id)


async def drop(
    context: IngestContext, statuses: Sequence[SpaceStatus], *, seconds: float = 0.0
) -> int:
    """Drop the spaces in these states that ended so long ago, with their vectors, and finish drops that a crash interrupted.

    Returns how many were dropped. Questions that began before a swap may still read the old space, so give them time.
    """
    doomed = await embedding_space_changes.mark_for_dropping(
        context.database, context.project_id, statuses, seconds=seconds
    )
    for space in doomed:
        await context.vectors.drop(space)
        await context.profiles.drop(space)
        await embedding_space_changes.forget(context.database, space)
    return len(doomed)

"""The ingestion context: stores, models and limits of a worker."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightwell.domain.business_systems import Source
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import SourceRetention
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.withdrawals import NoteWithdrawals
from lightwell.ingest.parser import Parser
from lightwell.ports import (
    Embedder,
    Extractor,
    ItemSource,
    LateInteraction,
    ProfileIndex,
    VectorIndex,
)
from lightwell.records import embedding_spaces
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import Space, SpaceModel
from lightwell.records.locks import LeaseHolder

if TYPE_CHECKING:
    from lightwell.ingest.graph_copy import GraphCopy
    from lightwell.ingest.profile_refresh import RefreshQueue, RefreshRequest
    from lightwell.ingest.progress import Progress
    from lightwell.ingest.summaries import Summarizer

ConvertFile = Callable[[bytes, str], Awaitable[bytes]]
"""Sends a file with its name to a parser elsewhere, and returns its reply; raises `Unreadable` or `ModelFailed`."""

OpenConnector = Callable[[Source], AbstractAsyncContextManager[ItemSource]]
"""Opens the connector of a source; raises `Invalid` where an option or a secret is missing."""


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
    transaction. `refresh_queue` combines the refreshes that concurrent batches ask for. `convert` reads files in formats that are not read here, if anything does. `sources` says how entities
    list their source chunks. `models` are the embedding models that this process can call: `space` may become another's, within `change_limits`. `late_interaction` encodes published chunks; without it they are noted as still to be encoded. `graph_copy` is the copy of the graph in another store, if there is one. `open_source` opens the connector of a business system, one of `list_systems`. `note_withdrawals` keeps outside the database what a restored backup must not show. Ingestion calls `progress` after each step within a document.
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
    convert: ConvertFile | None = None
    models: tuple[SpaceModel, ...] = ()
    late_interaction: LateInteraction | None = None
    change_limits: ChangeLimits = ChangeLimits()
    graph_copy: "GraphCopy | None" = None
    summarizer: "Summarizer | None" = None
    only: tuple[DocumentId, ...] | None = None
    max_batches: int = 1
    jobs_per_batch: int = 8
    embedding_batch_size: int = 32
    refresh_batch_size: int = 500
    sources: SourceRetention = field(default_factory=SourceRetention)
    progress: "Callable[[Progress], None]" = lambda progress: None
    open_source: OpenConnector = field(default_factory=lambda: _no_connector)
    list_systems: Callable[[], Sequence[str]] = tuple
    note_withdrawals: NoteWithdrawals = lambda withdrawals: None
    preparation_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    refresh_queue: "RefreshQueue" = field(default_factory=lambda: Coalescer(_refresh))

    @property
    def is_embedded_later(self) -> bool:
        """Whether documents are published first and embedded afterwards: the model of their vectors runs in this process."""
        model = embedding_spaces.find_model(self.models, self.space)
        return self.joins_windows or (model is not None and model.is_bundled)

    @property
    def joins_windows(self) -> bool:
        """Whether the vectors of the active space are those of the windows that are encoded for late interaction."""
        return self.late_interaction is not None and self.late_interaction.space == self.space.model


async def _refresh(requests: "Sequence[RefreshRequest]") -> list[None]:
    from lightwell.ingest.profile_refresh import refresh_all

    return await refresh_all(requests)


def _no_connector(source: Source) -> AbstractAsyncContextManager[ItemSource]:
    raise Invalid(f"There is no connector for {source.system!r}")


async def follow_space(context: IngestContext) -> IngestContext:
    """Return the context for the space that is active now: another process may have changed the embedding model.

    Raises `Invalid`, which says what to set, where this process cannot call that model.
    """
    space = await embedding_spaces.find_active(context.database, context.project_id)
    if space is None or space.id == context.space.id:
        return context
    model = embedding_spaces.require_model(context.models, space)
    return replace(context, space=space, embedder=model.embedder)

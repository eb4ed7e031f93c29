"""The stores and models that corrections of the graph need."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.access import Reader
from lightwell.domain.descriptions import Summary
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.ids import ClassId
from lightwell.ports import GraphIndex
from lightwell.records.database import Database

Summarize = Callable[[str, Sequence[str], ClassId], Awaitable[Summary | None]]
"""Summarises the descriptions that a class has of a named entity; returns None if the reply is unusable, raises `ModelFailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationContext:
    """What corrections need. `summarize` is None without a chat model; `graph` finds the entities of a chunk.

    `finish_derived` runs after each correction: it summarises and embeds what was refreshed since a moment.
    Usage logs around it count only what the reader's own part cost.
    `separator` joins the parts of returned descriptions.
    """

    database: Database
    graph: GraphIndex
    summarize: Summarize | None
    finish_derived: Callable[[Reader, datetime], Awaitable[None]]
    separator: str = DESCRIPTION_SEPARATOR

    @asynccontextmanager
    async def finish_derived_after(self, reader: Reader) -> AsyncGenerator[None, None]:
        """Finish the data derived from the changes in this block; older work is left to an ingestion or a worker."""
        since = await self.database.now()
        yield
        await self.finish_derived(reader, since)

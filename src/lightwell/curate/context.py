"""What corrections need."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.summaries import Summary
from lightwell.ports import GraphIndex
from lightwell.records.database import Database

Summarize = Callable[[str, Sequence[str]], Awaitable[Summary | None]]
"""One description of a thing from its name and several, None when the model says nothing of use; `ModelFailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationContext:
    """Where corrections are made: `summarize` is None without a chat model, `graph` knows which chunks say what.

    `round_off` follows each change: what was derived since a moment is summarised and embedded as after an ingestion.
    `separator` stands between the parts of the descriptions that are handed out.
    """

    database: Database
    graph: GraphIndex
    summarize: Summarize | None
    finish_derived: Callable[[datetime], Awaitable[None]]
    separator: str = DESCRIPTION_SEPARATOR

    @asynccontextmanager
    async def finish_derived_after(self) -> AsyncGenerator[None, None]:
        """Round off what is changed within; what waited before is left to an ingestion or a worker."""
        since = await self.database.now()
        yield
        await self.finish_derived(since)

"""The verbs on pushes: what programs bring into a source."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lightwell.domain.business_systems import Source
from lightwell.domain.documents import PUSHED
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.pushes import PushBatch, PushResult
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import apply_pending_changes
from lightwell.ingest.pushing import Completion, Push, begin_push, complete, end_push, store_batch
from lightwell.records import sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushes:
    """Pushes into the sources of one project. Its caller has the source's key, or is an administrator."""

    context: IngestContext

    async def find_source(self, name: str) -> Source:
        """Return the source of this name or id; raise `NotFound`, and `Invalid` for one that reads its system itself, or is paused."""
        source = await sources.get(self.context.database, self.context.project_id, name)
        if source.system != PUSHED:
            raise Invalid(f"The source {source.name!r} reads {source.system} itself")
        if source.is_paused:
            raise Invalid(f"The source {source.name!r} is paused")
        return source

    @asynccontextmanager
    async def open(self, source: Source, sync: str = "") -> AsyncGenerator[Push]:
        """Hold a push open during the block; `sync` names the sync of everything that it is a part of, "" for none.

        What it removes or hides is out of everything that is derived from it at the end.
        """
        context = self.context
        push = await begin_push(context.database, source, sync, context.note_withdrawals)
        error = "the push was broken off"
        try:
            yield push
            error = ""
        except LightwellError as failure:
            error = str(failure)
            raise
        finally:
            await end_push(push, error)
            await apply_pending_changes(self.context)

    async def store(self, push: Push, batch: PushBatch) -> PushResult:
        """Store a batch of lines, and return what it did; raise `SourceBusy`."""
        return await store_batch(push, batch)

    async def complete(self, push: Push, *, allows_mass_deletion: bool = False) -> Completion:
        """Remove what the sync of everything did not name, and end it; raise `SourceBusy`."""
        return await complete(push, allows_mass_deletion=allows_mass_deletion)

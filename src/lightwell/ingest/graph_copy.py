"""Brings the copy of a graph in another store up to date, and rebuilds it from mentions. No model is called."""

from dataclasses import dataclass

from lightwell.domain.errors import GraphFailed
from lightwell.domain.ids import ProjectId
from lightwell.logs import logger
from lightwell.ports import GraphStore
from lightwell.records.database import Database
from lightwell.records.graph import copies, copy_batches
from lightwell.records.graph.copies import FoundCopy

_CHUNKS_PER_BATCH = 500

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCopy:
    """One project's copy in a store."""

    database: Database
    project_id: ProjectId
    store: GraphStore

    async def update(self) -> bool:
        """Apply all changes; return whether the store let it. A failure is logged, and the changes wait for the next update.

        Documents are found without the copy, so a store that is down stops no ingestion.
        """
        try:
            await self._update()
        except GraphFailed as error:
            _log.warning("the copy of the graph waits for its store", error=str(error))
            return False
        return True

    async def rebuild(self) -> int:
        """Write a new copy in place of the present one; return how many chunks it holds. Raises `GraphFailed`."""
        graph = await copies.start(self.database, self.project_id, self.store.name)
        await self.store.prepare()
        await self.store.create(graph)
        return await self._update()

    async def _update(self) -> int:
        facts = self.database, self.project_id, self.store.name
        copy = await copies.find(*facts)
        if copy is None or await self._is_lost(copy):
            return await self.rebuild()
        if not copy.is_filled:
            await self.store.create(copy.graph)
        applied = 0
        while changes := await copy_batches.read_changes(*facts, limit=_CHUNKS_PER_BATCH):
            if await self.store.write(changes.batch):
                await copy_batches.mark_applied(self.database, self.project_id, changes)
                applied += len(changes.batch.chunks)
            elif not await self.store.has(changes.batch.graph):
                raise GraphFailed("The copy of the graph was replaced meanwhile")
            # Otherwise another process wrote a later batch: what that did not cover is read again.
        await copies.mark_filled(self.database, self.project_id, copy.graph)
        for dropped in await copies.list_dropped(self.database, self.store.name):
            await self.store.drop(dropped)
            await copies.forget_dropped(self.database, dropped)
        return applied

    async def _is_lost(self, copy: FoundCopy) -> bool:
        """Return whether the copy cannot be brought up to date, and log why."""
        if not copy.is_current:
            _log.warning("an earlier version wrote the copy of the graph, which is written anew")
            return True
        if copy.is_filled and not await self.store.has(copy.graph):
            _log.warning("the store has lost the copy of the graph, which is written again")
            return True
        return False

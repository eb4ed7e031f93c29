"""A business system with many items: the first sync, its memory, and a second sync in which nothing has changed.

The system's replies are made on the way, so what grows is Lightwell's. Documents are registered and not ingested.
"""

import asyncio
import resource
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lightwell.domain.business_systems import NewSource, Source
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage
from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.records import access_classes, sources
from lightwell.records.database import Database, connect
from lightwell.testing.item_source import MemorySource, MemorySystem, ref_of
from lightwell.testing.server import temporary_server

_PAGE = 50


@dataclass(frozen=True)
class _Endless(MemorySource):
    """A system with so many issues, none of which is kept in memory."""

    size: int = 0

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        if stream != "issue":
            return
        for start in range(int(cursor or 0), self.size, _PAGE):
            numbers = range(self.size)[start : start + _PAGE]
            made = MemorySystem(page_size=_PAGE)
            for number in numbers:
                made.put(f"issue/{number}", f"The pump {number} leaks. " * 20, about="issue/0")
            async for page in MemorySource(made).pull("issue", ""):
                yield ItemPage(items=page.items, cursor=str(numbers[-1] + 1))

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        if stream != "issue":
            return
        for start in range(0, self.size, 1000):
            yield [ref_of(f"issue/{number}") for number in range(self.size)[start : start + 1000]]


async def _sync(database: Database, source: Source, size: int) -> tuple[float, int]:
    @asynccontextmanager
    async def open_endless(source: Source) -> AsyncGenerator[_Endless]:
        del source
        yield _Endless(MemorySystem(), size=size)

    began = time.perf_counter()
    request = SyncRequest(is_full=True, with_sweep=True)
    await sync_source(database, source.id, open_endless, request)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def _measure(url: str, size: int) -> None:
    async with connect(url) as database:
        project = await access_classes.get_or_create_project(database, "tenant", f"of {size}")
        source = await sources.create(database, project, NewSource(name="many", system="memory"))
        first, memory = await _sync(database, source, size)
        jobs = "SELECT count(*) FROM ingestion_jobs WHERE project_id = %(project)s"
        before = await database.rows(jobs, {"project": project})
        await sources.forget_cursors(database, source.id)
        second, memory_again = await _sync(database, source, size)
        after = await database.rows(jobs, {"project": project})
        new = after[0][0] - before[0][0]
        print(
            f"{size:>7,} items: first {first:6.1f} s, second {second:6.1f} s with {new} new jobs;"
            f" memory {memory} MB, then {memory_again} MB"
        )


def main(sizes: Sequence[str] = ()) -> None:
    """Print a line for each number of items."""
    with temporary_server() as url:
        for size in sizes or ("5000", "50000"):
            asyncio.run(_measure(url, int(size)))


if __name__ == "__main__":
    main(sys.argv[1:])

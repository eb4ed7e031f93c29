"""Syncs sources when they are due, in a process that works in the background."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lightwell.domain.business_systems import Source, SourceId
from lightwell.domain.errors import LightwellError
from lightwell.knowledge_base.sources import Sources
from lightwell.logs import logger
from lightwell.tasks import cancel_and_wait

_POLL_SECONDS = 1.0
_PAUSE_SECONDS = 5.0
_MAX_SYNCS = 4
"""How many sources one process syncs at the same time."""

ListDue = Callable[[], Awaitable[Sequence[tuple[Sources, Source]]]]
"""Returns the sources that are due, each with those of its project."""

_log = logger(__name__)


@dataclass(slots=True, kw_only=True)
class SourceSchedule:
    """Syncs what `list_due` returns, several sources at a time. The lease in the database decides which process syncs one.

    A source that fails, and a database that does not answer, end nothing: they are tried again. `on_synced` is called
    after each sync.
    """

    list_due: ListDue
    on_synced: Callable[[], None] = lambda: None
    _running: dict[SourceId, asyncio.Task[None]] = field(
        default_factory=dict[SourceId, asyncio.Task[None]]
    )

    async def run(self, stop: asyncio.Event) -> None:
        """Sync until `stop` is set; syncs under way are then given up, and another process goes on with them."""
        try:
            while not stop.is_set():
                pause = _POLL_SECONDS
                try:
                    self._start(await self.list_due())
                except Exception as error:  # noqa: BLE001 - nothing must end the schedule; it is tried again
                    _log.warning("the schedule of sources waits", error=_describe(error))
                    pause = _PAUSE_SECONDS
                await _wait(stop, pause)
        finally:
            await cancel_and_wait(*self._running.values())

    def _start(self, due: Sequence[tuple[Sources, Source]]) -> None:
        for sources, source in due:
            if len(self._running) < _MAX_SYNCS and source.id not in self._running:
                self._running[source.id] = asyncio.create_task(self._sync(sources, source))

    async def _sync(self, sources: Sources, source: Source) -> None:
        try:
            await sources.sync_due(source)
        except Exception as error:  # noqa: BLE001 - a connector that fails must not end the worker; it is tried again
            _log.warning("a source could not be synced", source=source.name, error=_describe(error))
        finally:
            del self._running[source.id]
        self.on_synced()


@asynccontextmanager
async def run_in_background(
    schedule: SourceSchedule, stop: asyncio.Event
) -> AsyncGenerator[None, None]:
    """Sync sources during the block."""
    task = asyncio.create_task(schedule.run(stop))
    task.add_done_callback(_log_end)
    try:
        yield
    finally:
        await cancel_and_wait(task)


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("the schedule of sources ended", error=type(error).__name__)


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, LightwellError) else type(error).__name__


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        # Not `wait_for`: in Python 3.11 it forgets a cancellation that comes together with the event.
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return

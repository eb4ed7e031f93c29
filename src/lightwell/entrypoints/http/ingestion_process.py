"""Ingestion in a process of its own, beside those that answer: at a lower priority, and with an interpreter lock that no question waits for."""

import asyncio
import os
import signal

from lightwell.entrypoints.http.background_worker import work_in_background
from lightwell.entrypoints.http.metrics import open_reporter
from lightwell.entrypoints.http.projects import projects_on
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring import open_resources

_NICENESS = 10
"""Of 19. A process that answers gets about nine times as much of a busy core."""


async def ingest_until_stopped(settings: Settings, *, orphaned: int | None) -> None:
    """Work on the jobs and sources of all projects until SIGTERM, or until the parent ends, whose file descriptor `orphaned` is then readable."""
    os.nice(_NICENESS)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop_as_orphan(parent: int) -> None:
        loop.remove_reader(parent)
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if orphaned is not None:
        loop.add_reader(orphaned, stop_as_orphan, orphaned)
    meter = Meter(settings.ingestion.token_budget, max_listed=0)
    async with (
        open_resources(settings, meter) as resources,
        open_reporter(resources),
        work_in_background(projects_on(resources)),
    ):
        await stop.wait()

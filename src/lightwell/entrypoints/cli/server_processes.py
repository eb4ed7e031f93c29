"""The processes of a server: those that answer on one socket, and one that ingests. Their parent replaces those that die, and stops them."""

import asyncio
import logging
import multiprocessing
import socket
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import SecretStr

from lightwell.domain.errors import StoreFailed
from lightwell.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from multiprocessing.context import SpawnProcess

    from lightwell.settings import Settings

_MAX_EARLY_ENDS = 5
_EARLY_SECONDS = 10.0
"""A worker that ends so soon has failed to start; after several the server gives up."""

_GRACE_SECONDS = 15.0

_log = logger(__name__)


async def serve_in_workers(
    chosen: "Settings", listening: socket.socket, workers: int, on_start: Callable[[], None]
) -> None:
    """Serve in this many processes until SIGINT or SIGTERM; raise `StoreFailed` where they do not start.

    The migrations are applied and the embedded server is started here; the processes only connect.
    """
    from lightwell.entrypoints.http.serving import stop_signals
    from lightwell.records.database import connect
    from lightwell.wiring.database import database_server

    async with database_server(chosen) as conninfo:
        async with connect(conninfo):
            pass
        own = chosen.model_copy(update={"database_url": SecretStr(conninfo), "http_worker": False})
        group = _Processes(settings=own, listening=listening)
        tasks = [run_worker] * workers + [run_ingestion] * chosen.http_worker
        with stop_signals() as stop:
            on_start()
            try:
                await group.run(tasks, stop)
            finally:
                await asyncio.to_thread(group.end)


@asynccontextmanager
async def ingest_beside(chosen: "Settings", listening: socket.socket) -> "AsyncGenerator[None]":
    """Keep a process that ingests during the block; where it does not start, say so and go on without."""
    group, stop = _Processes(settings=chosen, listening=listening), asyncio.Event()
    running = asyncio.create_task(group.run([run_ingestion], stop))
    running.add_done_callback(_log_end)
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait([running])
        await asyncio.to_thread(group.end)


def _log_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("no document is ingested until the server starts again", error=str(error))


_Task = Callable[["Settings", socket.socket, int], None]
"""What a process does: settings, the socket of the server, and the level of its log."""


@dataclass(slots=True)
class _Processes:
    settings: "Settings"
    listening: socket.socket
    running: "dict[SpawnProcess, _Task]" = field(default_factory=dict["SpawnProcess", _Task])

    async def run(self, tasks: Sequence[_Task], stop: asyncio.Event) -> None:
        """Keep one process for each of these tasks until `stop` is set."""
        early, loop = 0, asyncio.get_running_loop()
        for each in tasks:
            self._start(each)
        started = loop.time()
        while True:
            with self._ends() as ended:
                waiting = [asyncio.ensure_future(each.wait()) for each in (stop, ended)]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for each in waiting:
                    each.cancel()
            if stop.is_set():
                return
            dead = [each for each in self.running if not each.is_alive()]
            early = early + len(dead) if loop.time() - started < _EARLY_SECONDS else 0
            if early >= _MAX_EARLY_ENDS:
                raise StoreFailed("The server's processes end as soon as they start; see the log")
            for each in dead:
                _log.warning("a server process ended and is replaced", exit_code=each.exitcode)
                self._start(self.running.pop(each))
            started = loop.time()

    def end(self) -> None:
        """Ask all processes to stop, wait, and kill those that do not."""
        for each in self.running:
            each.terminate()
        for each in self.running:
            each.join(_GRACE_SECONDS)
            if each.is_alive():
                each.kill()
                each.join()

    def _start(self, task: _Task) -> None:
        context = multiprocessing.get_context("spawn")
        level = logging.getLogger().level  # what --verbose chose
        process = context.Process(target=task, args=(self.settings, self.listening, level))
        process.start()
        self.running[process] = task

    @contextmanager
    def _ends(self) -> "Generator[asyncio.Event]":
        """Yield an event that is set when a worker ends."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        sentinels = [each.sentinel for each in self.running]
        for each in sentinels:
            loop.add_reader(each, ended.set)
        try:
            yield ended
        finally:
            for each in sentinels:
                loop.remove_reader(each)


def run_worker(chosen: "Settings", listening: socket.socket, level: int) -> None:
    """Serve in this process until SIGTERM, or until the parent ends, and log from this level on. SIGINT is the parent's."""
    from lightwell.entrypoints.http import serving
    from lightwell.entrypoints.http.app import create_app

    parent = _prepare(level)
    with listening:
        app = create_app(chosen)
        asyncio.run(
            serving.serve_worker(app, listening, proxies=chosen.http_proxies, orphaned=parent)
        )


def run_ingestion(chosen: "Settings", listening: socket.socket, level: int) -> None:
    """Ingest in this process until SIGTERM, or until the parent ends. The socket is left to those that answer."""
    from lightwell.entrypoints.http.ingestion_process import ingest_until_stopped

    listening.close()
    asyncio.run(ingest_until_stopped(chosen, orphaned=_prepare(level)))


def _prepare(level: int) -> int | None:
    """Log from this level on and leave SIGINT to the parent; return the file descriptor that is readable when it has ended."""
    import signal

    from lightwell.entrypoints.cli.execution import configure_logging

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging(level)
    parent = multiprocessing.parent_process()
    return parent.sentinel if parent is not None else None

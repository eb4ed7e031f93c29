"""The processes of a server: those that answer on one socket, and one that ingests. Their parent replaces those that die, and stops them."""

import asyncio
import logging
import multiprocessing
import signal
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightwell.domain.errors import LightwellError, StoreFailed
from lightwell.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from multiprocessing.context import SpawnProcess

    from lightwell.settings import Settings

_MAX_EARLY_ENDS = 5
_EARLY_SECONDS = 10.0
"""A worker that ends so soon has failed to start; after several the server gives up."""

GRACE_SECONDS = 15.0
_PAUSE_SECONDS = 30.0
"""How long a server goes on without ingestion before it tries to start it again."""

_log = logger(__name__)


async def serve_in_workers(
    chosen: "Settings", listening: socket.socket, workers: int, on_start: Callable[[], None]
) -> None:
    """Serve in this many processes until SIGINT or SIGTERM; raise `StoreFailed` where they do not start.

    The migrations are applied and the embedded server is started here, before the processes.
    """
    from lightwell.entrypoints.http.serving import stop_signals
    from lightwell.records.database import connect
    from lightwell.wiring.database import database_server

    async with database_server(chosen) as conninfo:
        async with connect(conninfo):
            pass
        group = _Processes(task=run_worker, settings=chosen, listening=listening)
        with stop_signals() as stop:
            on_start()
            try:
                await group.run(workers, stop)
            finally:
                await asyncio.to_thread(group.end)


@asynccontextmanager
async def ingest_beside(chosen: "Settings", listening: socket.socket) -> "AsyncGenerator[None]":
    """Keep a process that ingests during the block; while it does not start, go on without it."""
    group = _Processes(task=run_ingestion, settings=chosen, listening=listening)
    stop = asyncio.Event()
    running = asyncio.create_task(_keep_ingesting(group, stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await asyncio.to_thread(group.end)


async def _keep_ingesting(group: "_Processes", stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            await group.run(1, stop)
        except StoreFailed:
            _log.warning("ingestion does not start and is tried again", seconds=_PAUSE_SECONDS)
            await asyncio.to_thread(group.end)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_SECONDS):
                    await stop.wait()


@dataclass(slots=True, kw_only=True)
class _Processes:
    """Processes with one task, which gets the settings, the server's socket, and the level of the log."""

    task: "Callable[[Settings, socket.socket, int], None]"
    settings: "Settings"
    listening: socket.socket
    running: "list[SpawnProcess]" = field(default_factory=list["SpawnProcess"])

    async def run(self, count: int, stop: asyncio.Event) -> None:
        """Keep this many processes until `stop` is set; raise `StoreFailed` where they do not start."""
        early, loop = 0, asyncio.get_running_loop()
        for _ in range(count):
            self._start()
        started = loop.time()
        while True:
            with self._ends() as ended:
                waiting = [asyncio.ensure_future(event.wait()) for event in (stop, ended)]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for wait in waiting:
                    wait.cancel()
            if stop.is_set():
                return
            dead = [process for process in self.running if not process.is_alive()]
            early = early + len(dead) if loop.time() - started < _EARLY_SECONDS else 0
            if early >= _MAX_EARLY_ENDS:
                raise StoreFailed("The server's processes end as soon as they start; see the log")
            for process in dead:
                _log.warning("a server process ended and is replaced", exit_code=process.exitcode)
                self.running.remove(process)
                self._start()
            started = loop.time()

    def end(self) -> None:
        """Ask all processes to stop, wait, and kill those that do not."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.join(GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
        self.running.clear()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        level = logging.getLogger().level  # what --verbose chose
        process = context.Process(target=self.task, args=(self.settings, self.listening, level))
        process.start()
        self.running.append(process)

    @contextmanager
    def _ends(self) -> "Generator[asyncio.Event]":
        """Yield an event that is set when a worker ends."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        sentinels = [process.sentinel for process in self.running]
        for sentinel in sentinels:
            loop.add_reader(sentinel, ended.set)
        try:
            yield ended
        finally:
            for sentinel in sentinels:
                loop.remove_reader(sentinel)


def run_worker(chosen: "Settings", listening: socket.socket, level: int) -> None:
    """Serve in this process until SIGTERM, or until the parent ends, and log from this level on. SIGINT is the parent's."""
    from lightwell.entrypoints.http import serving
    from lightwell.entrypoints.http.app import create_app

    parent = _prepare(level)
    with listening:
        app = create_app(chosen)
        asyncio.run(
            serving.serve(
                app,
                listening,
                proxies=chosen.http.proxies,
                signals=(signal.SIGTERM,),
                orphaned=parent,
            )
        )


def run_ingestion(chosen: "Settings", listening: socket.socket, level: int) -> None:
    """Ingest in this process until SIGTERM, or until the parent ends. The socket is left to those that answer."""
    from lightwell.entrypoints.http.ingestion_process import ingest_until_stopped

    listening.close()
    parent = _prepare(level)
    try:
        asyncio.run(ingest_until_stopped(chosen, orphaned=parent))
    except LightwellError as error:
        _log.warning("ingestion ends", error=str(error))
        raise SystemExit(1) from None


def _prepare(level: int) -> int | None:
    """Log from this level on and leave SIGINT to the parent; return the file descriptor that is readable when it has ended."""
    from lightwell.entrypoints.cli.execution import configure_logging

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging(level)
    parent = multiprocessing.parent_process()
    return parent.sentinel if parent is not None else None

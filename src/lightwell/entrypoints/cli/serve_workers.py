"""Several processes that serve one socket. Their parent holds the database server, replaces those that die, and stops them."""

import asyncio
import logging
import multiprocessing
import socket
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import SecretStr

from lightwell.domain.errors import StoreFailed
from lightwell.logs import logger

if TYPE_CHECKING:
    from collections.abc import Generator
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

    The migrations are applied and the embedded server is started here; the workers only connect.
    """
    from lightwell.entrypoints.http.serving import stop_signals
    from lightwell.records.database import connect
    from lightwell.wiring.database import database_server

    async with database_server(chosen) as conninfo:
        async with connect(conninfo):
            pass
        own = chosen.model_copy(update={"database_url": SecretStr(conninfo)})
        group = _Workers(settings=own, listening=listening)
        with stop_signals() as stop:
            on_start()
            try:
                await group.run(workers, stop)
            finally:
                await asyncio.to_thread(group.end)


@dataclass(slots=True)
class _Workers:
    settings: "Settings"
    listening: socket.socket
    running: "list[SpawnProcess]" = field(default_factory=list["SpawnProcess"])

    async def run(self, workers: int, stop: asyncio.Event) -> None:
        """Keep this many workers until `stop` is set."""
        early, loop = 0, asyncio.get_running_loop()
        for _ in range(workers):
            self._start()
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
                self.running.remove(each)
                self._start()
            started = loop.time()

    def end(self) -> None:
        """Ask all workers to stop, wait, and kill those that do not."""
        for each in self.running:
            each.terminate()
        for each in self.running:
            each.join(_GRACE_SECONDS)
            if each.is_alive():
                each.kill()
                each.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        level = logging.getLogger().level  # what --verbose chose
        worker = context.Process(target=run_worker, args=(self.settings, self.listening, level))
        worker.start()
        self.running.append(worker)

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
    import signal

    from lightwell.entrypoints.cli.execution import configure_logging
    from lightwell.entrypoints.http import serving
    from lightwell.entrypoints.http.app import create_app

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging(level)
    parent = multiprocessing.parent_process()
    orphaned = parent.sentinel if parent is not None else None
    with listening:
        app = create_app(chosen)
        asyncio.run(
            serving.serve_worker(app, listening, proxies=chosen.http_proxies, orphaned=orphaned)
        )

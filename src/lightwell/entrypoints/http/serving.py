"""Serves the application on a socket until a signal."""

import asyncio
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

GRACE_SECONDS = 10
"""How long requests under way may take to end after the first signal."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """A server that leaves signals to `serve`: its own handlers would run beside those of the event loop."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(app: FastAPI, listening: socket.socket, *, proxies: str) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first. A second signal ends it at once.

    Only the `proxies`, addresses or networks separated by commas, are believed when they name a client's address.
    """
    server = _make_server(app, proxies)
    for each in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(each, _stop, server)
    await _run(server, app, listening)


async def serve_worker(
    app: FastAPI, listening: socket.socket, *, proxies: str, orphaned: int | None
) -> None:
    """Serve until SIGTERM, or until the parent process ends, whose file descriptor `orphaned` is then readable."""
    server, loop = _make_server(app, proxies), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, _stop, server)
    if orphaned is not None:
        loop.add_reader(orphaned, _stop_as_orphan, server, orphaned)
    await _run(server, app, listening)


@contextmanager
def stop_signals() -> Generator[asyncio.Event, None, None]:
    """Yield an event that the first SIGINT or SIGTERM sets."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in _SIGNALS:
        loop.add_signal_handler(each, stop.set)
    yield stop


def _make_server(app: FastAPI, proxies: str) -> _Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="off",
    )
    return _Server(config)


async def _run(server: _Server, app: FastAPI, listening: socket.socket) -> None:
    # Not by uvicorn, which would answer an error of ours with a traceback.
    async with app.router.lifespan_context(app):
        await server.serve(sockets=[listening])


def _stop(server: _Server) -> None:
    server.force_exit = server.should_exit
    server.should_exit = True


def _stop_as_orphan(server: _Server, orphaned: int) -> None:
    asyncio.get_running_loop().remove_reader(orphaned)
    server.should_exit = True

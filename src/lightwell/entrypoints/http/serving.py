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


class _Server(uvicorn.Server):
    """A server that leaves signals to `serve`: its own handlers would run beside those of the event loop."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first. A second signal ends it at once."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="off",
    )
    server = _Server(config)

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop)
    # Not by uvicorn, which would answer an error of ours with a traceback.
    async with app.router.lifespan_context(app):
        await server.serve(sockets=[listening])

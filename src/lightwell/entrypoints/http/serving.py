"""Serves the application on a socket until a signal."""

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE_SECONDS = 10
"""How long requests under way may take to end after the first signal."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


HEAD_SECONDS = 20.0
"""How long the head of a request may take to arrive."""

STALLED_SECONDS = 120.0
"""A connection whose client takes nothing for so long is closed, while something waits to be sent."""

_MOST_FILES = 65_536
_FILES_FOR_OTHERS = 256
"""File descriptors that connections of clients leave for the database, models and files."""


class Connection(H11Protocol):
    """A connection that is closed if no request comes, or at once if there are too many.

    Without that, clients that send nothing, or a head without end, would take all file descriptors, and nobody else could connect:
    uvicorn itself has a time limit only for a client that sends nothing after a response.
    """

    deadline: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.deadline = self.loop.call_later(HEAD_SECONDS, self._close_without_request)
        if len(self.connections) > most_connections():
            transport.abort()

    def on_response_complete(self) -> None:
        self.deadline.cancel()
        self.deadline = self.loop.call_later(HEAD_SECONDS, self._close_without_request)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.deadline.cancel()
        super().connection_lost(exc)

    def _close_without_request(self) -> None:
        if self.cycle and not self.cycle.response_complete:
            return
        if self.transport.get_write_buffer_size():  # a slow client still takes the response
            self.deadline = self.loop.call_later(HEAD_SECONDS, self._close_without_request)
        else:
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server that leaves signals to `serve`: its own handlers would run beside those of the event loop."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def set_socket_options(listening: socket.socket, *, stalled: float = STALLED_SECONDS) -> None:
    """Set what all connections of a listening socket inherit."""
    # asyncio sets it only where the socket names its protocol, which Python's own do not: without it
    # the second part of each response waits 40 ms for the client to acknowledge the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        # Without it, a client that is gone without a word, or never reads, holds its stream for as long as the server runs.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * stalled))


class Door(Protocol):
    """A second application, which is served on a socket of its own that is there as long as the application is."""

    @property
    def connection(self) -> type[Connection]: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def listening(self) -> AbstractContextManager[list[socket.socket]]: ...


async def serve(
    app: FastAPI,
    listening: socket.socket,
    *,
    proxies: str,
    signals: Sequence[signal.Signals] = _SIGNALS,
    orphaned: int | None = None,
    door: Door | None = None,
) -> None:
    """Serve until one of these signals; requests under way are answered first. A second signal ends it at once.

    It also ends with the parent process, whose file descriptor `orphaned` is then readable. Only the `proxies`, addresses or networks
    separated by commas, are believed when they name a client's address.
    """
    servers = [_server(app, Connection, proxies)]
    if door:  # before signals come: one that was made after the first signal would never end
        servers.append(_server(door, door.connection, ""))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for server in servers:
            server.force_exit = server.should_exit
            server.should_exit = True

    def stop_as_orphan(parent: int) -> None:
        loop.remove_reader(parent)
        for server in servers:
            server.should_exit = True

    for number in signals:
        loop.add_signal_handler(number, stop)
    if orphaned is not None:
        loop.add_reader(orphaned, stop_as_orphan, orphaned)
    _raise_file_limit()
    # Not by uvicorn, which would answer an error of ours with a traceback.
    async with app.router.lifespan_context(app):
        with door.listening() if door else nullcontext(list[socket.socket]()) as owners:
            sockets = [[listening], owners] if owners else [[listening]]
            serving = zip(servers, sockets, strict=False)
            await asyncio.gather(*(server.serve(some) for server, some in serving))


def _server(app: Callable[..., Awaitable[None]], http: type[Connection], proxies: str) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=http,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            timeout_graceful_shutdown=GRACE_SECONDS,
            lifespan="off",
        )
    )


@contextmanager
def stop_signals() -> Generator[asyncio.Event, None, None]:
    """Yield an event that the first SIGINT or SIGTERM sets."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    yield stop


def most_connections() -> int:
    """Return how many clients may be connected: as many as there are file descriptors for, apart from our own."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, soft - _FILES_FOR_OTHERS) if soft >= 0 else _MOST_FILES


def _raise_file_limit() -> None:
    """Allow this process as many file descriptors as its account may have, within reason."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard < 0 else min(hard, _MOST_FILES)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

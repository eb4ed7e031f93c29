"""Sends calls over HTTP, synchronously or not: repeats what may be repeated, and resumes streams.

It knows no operation, so that the command line loads those alone that it sends.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Generic, Self, TypeVar

import httpx

from lightwell.entrypoints.client.event_parser import EventParser, Received
from lightwell.entrypoints.client.failures import (
    ServerError,
    raise_for_problem,
    read_reply,
    unreachable,
)
from lightwell.entrypoints.operations.calls import Call

ATTEMPTS = 4
"""How often a call that may be repeated is sent, and how often a stream is connected without a new event."""

MAX_WAIT = 30.0
"""The longest wait before the next attempt, in seconds, whatever the server asks for."""

_TIMEOUT = httpx.Timeout(120.0, connect=10.0)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Connection:
    """A connection to the server at `url`, to be used in `with` or closed. `http` replaces the HTTP client, for proxies and tests."""

    def __init__(self, url: str, *, api_key: str, http: httpx.Client | None = None) -> None:
        self._url = url
        self._http = http or httpx.Client(timeout=_TIMEOUT)
        self._http.base_url = url
        self._http.headers.update(_headers(api_key))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Return the reply to a call; one that may be repeated is, after a temporary failure. Raise `ServerError`."""
        failures = 0
        while True:
            try:
                with ExitStack() as files:
                    reply = self._http.send(_make_request(self._http, call, files))
                raise_for_problem(reply)
                return read_reply(call, reply)
            except (httpx.TransportError, ServerError) as error:
                failures += 1
                time.sleep(
                    _wait_after(error, failures, self._url, is_repeatable=call.is_repeatable)
                )

    def follow(self, source: "Stream[T]") -> Generator[T, None, None]:
        """Yield the events of a stream; a lost connection is resumed. Raise `ServerError`."""
        progress = _Progress(EventParser(source.read))
        while not progress.is_complete:
            try:
                with self._http.stream(
                    source.method, source.path, content=source.content, headers=progress.headers
                ) as reply:
                    if reply.is_error:
                        reply.read()
                        raise_for_problem(reply)
                    for line in reply.iter_lines():
                        if event := progress.feed(line):
                            yield event.value
                progress.require_end()
            except (httpx.TransportError, ServerError) as error:
                time.sleep(progress.wait_after(error, self._url))


class AsyncConnection:
    """A connection to the server at `url`, to be used in `async with` or closed. `http` replaces the HTTP client."""

    def __init__(self, url: str, *, api_key: str, http: httpx.AsyncClient | None = None) -> None:
        self._url = url
        self._http = http or httpx.AsyncClient(timeout=_TIMEOUT)
        self._http.base_url = url
        self._http.headers.update(_headers(api_key))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: object, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Return the reply to a call; one that may be repeated is, after a temporary failure. Raise `ServerError`."""
        failures = 0
        while True:
            try:
                with ExitStack() as files:
                    reply = await self._http.send(_make_request(self._http, call, files))
                raise_for_problem(reply)
                return read_reply(call, reply)
            except (httpx.TransportError, ServerError) as error:
                failures += 1
                wait = _wait_after(error, failures, self._url, is_repeatable=call.is_repeatable)
                await asyncio.sleep(wait)

    async def follow(self, source: "Stream[T]") -> AsyncGenerator[T, None]:
        """Yield the events of a stream; a lost connection is resumed. Raise `ServerError`."""
        progress = _Progress(EventParser(source.read))
        while not progress.is_complete:
            try:
                async with self._http.stream(
                    source.method, source.path, content=source.content, headers=progress.headers
                ) as reply:
                    if reply.is_error:
                        await reply.aread()
                        raise_for_problem(reply)
                    async for line in reply.aiter_lines():
                        if event := progress.feed(line):
                            yield event.value
                progress.require_end()
            except (httpx.TransportError, ServerError) as error:
                await asyncio.sleep(progress.wait_after(error, self._url))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Generic[T]):
    """A request that is answered with events, and how each is read."""

    method: str
    path: str
    content: bytes | None
    read: Callable[[str, str], Received[T]]


@dataclass(slots=True)
class _Progress(Generic[T]):
    """How far a stream has come: whether its last event came, and how often it failed since the latest one."""

    parser: EventParser[T]
    failures: int = 0
    is_complete: bool = False

    @property
    def headers(self) -> dict[str, str]:
        resumed = {"Last-Event-ID": self.parser.last_id} if self.parser.last_id else {}
        return {"Accept": "text/event-stream", "Content-Type": "application/json", **resumed}

    def feed(self, line: str) -> Received[T] | None:
        event = self.parser.feed(line)
        if event is not None:
            self.failures, self.is_complete = 0, event.is_last
        return event

    def require_end(self) -> None:
        """Raise `ServerError` where a connection ended too early."""
        if not self.is_complete:
            raise ServerError("The server ended the stream before its last event")

    def wait_after(self, error: httpx.TransportError | ServerError, url: str) -> float:
        """Return how many seconds to wait before the stream is connected again; raise `ServerError` where it is not."""
        self.failures += 1
        self.parser.restart()
        return _wait_after(error, self.failures, url)


def _wait_after(
    error: httpx.TransportError | ServerError,
    failures: int,
    url: str,
    *,
    is_repeatable: bool = True,
) -> float:
    """Return how many seconds to wait before a request that failed so often is sent again; raise `ServerError` where it is not."""
    if not isinstance(error, ServerError):
        error = unreachable(error, url)
    # It may have had its effect; what is refused for its rate has had none.
    is_repeated = is_repeatable or error.status == HTTPStatus.TOO_MANY_REQUESTS
    if not error.is_temporary or not is_repeated or failures >= ATTEMPTS:
        raise error
    _log.info("sending again after %s", error)
    return min(MAX_WAIT, 0.2 * 2**failures if error.retry_after is None else error.retry_after)


def _make_request(
    http: httpx.Client | httpx.AsyncClient, call: Call[object], files: ExitStack
) -> httpx.Request:
    """Return the request of a call; its files stay open as long as `files` does."""
    upload = call.upload
    return http.build_request(
        call.method,
        call.path,
        content=call.content,
        params=call.parameters or None,
        headers=call.headers,
        data=upload.fields if upload else None,
        files=[
            ("files", (path.name, files.enter_context(path.open("rb")))) for path in upload.files
        ]
        if upload
        else None,
    )


def _headers(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}", "Accept": "application/json"}

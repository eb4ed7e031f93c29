"""Sends calls to a server, synchronously or not: both clients are made of the same calls."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, ParamSpec, Self, TypeVar, overload

import httpx
import stamina

import lightwell.entrypoints.client.calls as calls
from lightwell.domain.questions import Mode
from lightwell.entrypoints.client.calls import Call
from lightwell.entrypoints.client.event_parser import EventParser, StreamEvent
from lightwell.entrypoints.client.failures import ServerError, raise_for_problem, unreachable
from lightwell.entrypoints.schemas.questions import QueryResponse

ATTEMPTS = 4
"""How often a call that may be repeated is sent, and how often a stream is connected without a new event."""

MAX_WAIT = 30.0
"""The longest wait before the next attempt, in seconds, whatever the server asks for."""

_TIMEOUT = httpx.Timeout(120.0, connect=10.0)

P = ParamSpec("P")
T = TypeVar("T")


class Operation(Generic[P, T]):
    """A method of both clients: it returns the reply, in `AsyncClient` to be awaited. Both raise `ServerError`."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: "Client | AsyncClient | None", owner: type) -> object:
        if client is None:
            return self
        send = client.send

        def method(*args: P.args, **kwargs: P.kwargs) -> object:
            return send(self._make(*args, **kwargs))

        method.__doc__ = self.__doc__
        return method


class _Operations:
    models = Operation(calls.models)
    query = Operation(calls.query)
    statements = Operation(calls.statements)
    search = Operation(calls.search)
    brief = Operation(calls.brief)
    chat = Operation(calls.chat)


class Client(_Operations):
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
        for attempt in stamina.retry_context(
            on=_wait_before_next, attempts=ATTEMPTS if call.is_repeatable else 1, timeout=None
        ):
            with attempt:
                try:
                    reply = self._http.request(call.method, call.path, content=call.content)
                except httpx.TransportError as error:
                    raise unreachable(error, self._url) from error
                raise_for_problem(reply)
                return call.read(reply)
        raise AssertionError("the last attempt returns or raises")

    def stream(
        self, question: str, *, top_k: int = 5, mode: Mode = Mode.MIX, topic: str = ""
    ) -> Generator[StreamEvent, None, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        call = calls.query(question, top_k=top_k, mode=mode, topic=topic)
        progress = _Progress()
        while not progress.is_complete:
            try:
                yield from self._connect(call, progress)
            except ServerError as error:
                time.sleep(progress.wait_after(error))

    def _connect(
        self, call: Call[QueryResponse], progress: "_Progress"
    ) -> Generator[StreamEvent, None, None]:
        """Yield the events of one connection; raise `ServerError` where it ends too early."""
        try:
            with self._http.stream(
                "POST", _STREAM, content=call.content, headers=progress.headers
            ) as reply:
                if reply.is_error:
                    reply.read()
                    raise_for_problem(reply)
                for line in reply.iter_lines():
                    if event := progress.feed(line):
                        yield event
        except httpx.TransportError as error:
            raise unreachable(error, self._url) from error
        if not progress.is_complete:
            raise ServerError("The server ended the stream before the answer was complete")


class AsyncClient(_Operations):
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
        async for attempt in stamina.retry_context(
            on=_wait_before_next, attempts=ATTEMPTS if call.is_repeatable else 1, timeout=None
        ):
            with attempt:
                try:
                    reply = await self._http.request(call.method, call.path, content=call.content)
                except httpx.TransportError as error:
                    raise unreachable(error, self._url) from error
                raise_for_problem(reply)
                return call.read(reply)
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, question: str, *, top_k: int = 5, mode: Mode = Mode.MIX, topic: str = ""
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        call = calls.query(question, top_k=top_k, mode=mode, topic=topic)
        progress = _Progress()
        while not progress.is_complete:
            try:
                async with aclosing(self._connect(call, progress)) as events:
                    async for event in events:
                        yield event
            except ServerError as error:
                await asyncio.sleep(progress.wait_after(error))

    async def _connect(
        self, call: Call[QueryResponse], progress: "_Progress"
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of one connection; raise `ServerError` where it ends too early."""
        try:
            async with self._http.stream(
                "POST", _STREAM, content=call.content, headers=progress.headers
            ) as reply:
                if reply.is_error:
                    await reply.aread()
                    raise_for_problem(reply)
                async for line in reply.aiter_lines():
                    if event := progress.feed(line):
                        yield event
        except httpx.TransportError as error:
            raise unreachable(error, self._url) from error
        if not progress.is_complete:
            raise ServerError("The server ended the stream before the answer was complete")


_STREAM = "/v1/query/stream"


@dataclass(slots=True)
class _Progress:
    """How far a stream has come: whether its last event came, and how often it failed since the latest one."""

    parser: EventParser = field(default_factory=EventParser)
    failures: int = 0
    is_complete: bool = False

    @property
    def headers(self) -> dict[str, str]:
        resumed = {"Last-Event-ID": self.parser.last_id} if self.parser.last_id else {}
        return {"Accept": "text/event-stream", **resumed}

    def feed(self, line: str) -> StreamEvent | None:
        event = self.parser.feed(line)
        if event is not None:
            self.failures, self.is_complete = 0, event.is_last
        return event

    def wait_after(self, error: ServerError) -> float:
        """Return how many seconds to wait before the stream is connected again; raise the error where it is not."""
        self.failures += 1
        self.parser.restart()
        if not error.is_temporary or self.failures >= ATTEMPTS:
            raise error
        return min(MAX_WAIT, error.retry_after or 0.2 * 2**self.failures)


def _wait_before_next(error: Exception) -> bool | float:
    """Tell stamina whether, or after how many seconds, a call is sent again."""
    if not isinstance(error, ServerError) or not error.is_temporary:
        return False
    return True if error.retry_after is None else min(MAX_WAIT, error.retry_after)


def _headers(api_key: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {api_key}",
        "Accept": "application/json",
        "Content-Type": "application/json",
    }

"""Sends calls to a server, synchronously or not: both clients are made of the same calls."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Generic, Self, TypeVar
from uuid import UUID

import httpx
import stamina

from lightwell.domain.questions import Question
from lightwell.entrypoints.client.event_parser import (
    EventParser,
    Received,
    read_answer_event,
    read_job_event,
)
from lightwell.entrypoints.client.failures import (
    ServerError,
    raise_for_problem,
    read_reply,
    unreachable,
)
from lightwell.entrypoints.client.operations import Operations
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.operations.jobs import Job
from lightwell.entrypoints.operations.questions import DocumentFilters, StreamEvent, answer_question

ATTEMPTS = 4
"""How often a call that may be repeated is sent, and how often a stream is connected without a new event."""

MAX_WAIT = 30.0
"""The longest wait before the next attempt, in seconds, whatever the server asks for."""

_TIMEOUT = httpx.Timeout(120.0, connect=10.0)

T = TypeVar("T")


class Client(Operations):
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
            on=_wait_before_next(call), attempts=ATTEMPTS, timeout=None
        ):
            with attempt, ExitStack() as files:
                request = _make_request(self._http, call, files)
                try:
                    reply = self._http.send(request)
                except httpx.TransportError as error:
                    raise unreachable(error, self._url) from error
                raise_for_problem(reply)
                return read_reply(call, reply)
        raise AssertionError("the last attempt returns or raises")

    def stream(self, question: str | Question) -> Generator[StreamEvent, None, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        return self._follow(_answer_stream(question))

    def follow_job(self, job: UUID | str) -> Generator[Job, None, None]:
        """Yield a job whenever it has changed, until it has ended. Raise `ServerError`."""
        return self._follow(_job_stream(job))

    def wait_for_job(self, job: UUID | str) -> Job:
        """Return a job when it has ended, well or not. Raise `ServerError`."""
        *_, last = self.follow_job(job)
        return last

    def _follow(self, source: "_Stream[T]") -> Generator[T, None, None]:
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


class AsyncClient(Operations):
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
            on=_wait_before_next(call), attempts=ATTEMPTS, timeout=None
        ):
            with attempt, ExitStack() as files:
                request = _make_request(self._http, call, files)
                try:
                    reply = await self._http.send(request)
                except httpx.TransportError as error:
                    raise unreachable(error, self._url) from error
                raise_for_problem(reply)
                return read_reply(call, reply)
        raise AssertionError("the last attempt returns or raises")

    def stream(self, question: str | Question) -> AsyncGenerator[StreamEvent, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        return self._follow(_answer_stream(question))

    def follow_job(self, job: UUID | str) -> AsyncGenerator[Job, None]:
        """Yield a job whenever it has changed, until it has ended. Raise `ServerError`."""
        return self._follow(_job_stream(job))

    async def wait_for_job(self, job: UUID | str) -> Job:
        """Return a job when it has ended, well or not. Raise `ServerError`."""
        return [state async for state in self.follow_job(job)][-1]

    async def _follow(self, source: "_Stream[T]") -> AsyncGenerator[T, None]:
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
class _Stream(Generic[T]):
    """A request that is answered with events, and how each is read."""

    method: str
    path: str
    content: bytes | None
    read: Callable[[str, str], Received[T]]


def _answer_stream(question: str | Question) -> _Stream[StreamEvent]:
    if isinstance(question, str):
        call = answer_question.call(question)
    else:
        call = answer_question.call(
            question.text,
            session_id=question.session_id,
            top_k=question.limit,
            include_graph=question.include_graph,
            topic_filter=question.filters.topic,
            filters=DocumentFilters.of(question.filters),
            mode=question.mode,
        )
    path = "/v1/query/stream"
    return _Stream(method="POST", path=path, content=call.content, read=read_answer_event)


def _job_stream(job: UUID | str) -> _Stream[Job]:
    path = f"/v1/jobs/{UUID(str(job))}/events"
    return _Stream(method="GET", path=path, content=None, read=read_job_event)


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
        if not isinstance(error, ServerError):
            error = unreachable(error, url)
        if not error.is_temporary or self.failures >= ATTEMPTS:
            raise error
        return min(MAX_WAIT, error.retry_after or 0.2 * 2**self.failures)


def _wait_before_next(call: Call[object]) -> Callable[[Exception], bool | float]:
    """Return what tells stamina whether, or after how many seconds, a call is sent again."""

    def decide(error: Exception) -> bool | float:
        if not isinstance(error, ServerError) or not error.is_temporary:
            return False
        if not call.is_repeatable and error.status != HTTPStatus.TOO_MANY_REQUESTS:
            return False  # it may have had its effect; what is refused for its rate has had none
        return True if error.retry_after is None else min(MAX_WAIT, error.retry_after)

    return decide


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

"""Server-sent events as a response: with pings while nothing comes, and cancelled when the client leaves."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.http.slots import StreamSlots

PING_SECONDS = 15.0
_PING = b": ping\n\n"

LINES = "application/x-ndjson"
"""The media type of a stream of JSON documents, one in each line, in place of events."""

_Item = bytes | LightwellError


class EventStream(Response):
    """Sends events, or lines of another `media_type`, when they come. At most two wait in memory for a slow client, and what makes them waits, too.

    The caller's credential holds a slot meanwhile (`StreamSlots`). An error before the first event, within the time of a ping, is a problem document; a later one becomes an event by
    `render_error`. `on_ping` is called with each ping.
    """

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        *,
        render_error: Callable[[LightwellError], bytes],
        on_ping: Callable[[], Awaitable[None]] | None = None,
        ping: bytes = _PING,
        media_type: str = "text/event-stream",
    ) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._events = events
        self._render_error = render_error
        self._on_ping = on_ping
        self._ping = ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        slots: StreamSlots = request.app.state.stream_slots
        with slots.hold(request.state.principal.caller):
            await self._respond(receive, send)

    async def _respond(self, receive: Receive, send: Send) -> None:
        failure: LightwellError | None = None
        sender, receiver = anyio.create_memory_object_stream[_Item](1)
        async with receiver, anyio.create_task_group() as tasks:
            tasks.start_soon(self._produce, sender)
            tasks.start_soon(_wait_for_end, receive, tasks.cancel_scope)
            first = await _next_item(receiver)
            if isinstance(first, LightwellError):
                failure = first
            else:
                await self._send_all(first, receiver, send)
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _produce(self, sender: ObjectSendStream[_Item]) -> None:
        """Iterate in one task, so that what a model costs is counted where it is called."""
        async with sender, aclosing(self._events):
            try:
                async for event in self._events:
                    await sender.send(event)
            except LightwellError as error:
                await sender.send(error)

    async def _send_all(
        self, first: _Item | None, receiver: ObjectReceiveStream[_Item], send: Send
    ) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        item = first
        try:
            while True:
                await send(
                    {
                        "type": "http.response.body",
                        "body": await self._render(item),
                        "more_body": True,
                    }
                )
                item = await _next_item(receiver)
        except anyio.EndOfStream:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _render(self, item: _Item | None) -> bytes:
        if isinstance(item, LightwellError):
            return self._render_error(item)
        if item is None and self._on_ping is not None:
            await self._on_ping()
        return self._ping if item is None else item


def format_line(document: Mapping[str, object]) -> bytes:
    """Return a JSON document as a line of a stream of lines, whose media type is `LINES`."""
    return f"{json.dumps(document, ensure_ascii=False)}\n".encode()


def format_error_line(error: LightwellError) -> bytes:
    """Return a line that tells of an error, as LightRAG and Ollama do."""
    return format_line({"error": str(error)})


def format_event(*, kind: str, data: str, event_id: str = "") -> bytes:
    """Return one event; its data is JSON, which has no line breaks."""
    lines = [f"event: {kind}", f"data: {data}", *([f"id: {event_id}"] if event_id else [])]
    return ("\n".join(lines) + "\n\n").encode()


async def _next_item(receiver: ObjectReceiveStream[_Item]) -> _Item | None:
    """Return the next event or error; None where it is time for a ping."""
    with anyio.move_on_after(PING_SECONDS):
        return await receiver.receive()
    return None


async def _wait_for_end(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel everything when the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()

"""Answers as events that are kept for some minutes, so that a client that lost its connection can read the rest."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

import anyio

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.records import answer_streams
from lightwell.records.answer_streams import KeptEvent, StreamState
from lightwell.records.database import Database
from lightwell.text.regex import regex

_POLL_SECONDS = 0.5
_EVENT_ID = regex(r"([0-9a-f]{32}):(\d{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedEvent:
    """An event of a stream: what it is, and its JSON."""

    kind: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventId:
    """The place of an event in a stream; as text `<stream>:<number>`."""

    stream: UUID
    number: int

    def __str__(self) -> str:
        return f"{self.stream.hex}:{self.number}"


SentEvent = tuple[EventId | None, StreamedEvent]
"""An event with its id; None for one that is not kept."""


def parse_event_id(text: str) -> EventId:
    """Return the id that a client sent as `Last-Event-ID`; raise `Invalid`."""
    match = _EVENT_ID.fullmatch(text.strip())
    if match is None:
        raise Invalid("Last-Event-ID is not the id of an event of a stream")
    return EventId(stream=UUID(match[1]), number=int(match[2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswerStream:
    """A stream that is being sent."""

    database: Database
    id: UUID

    async def record(
        self, events: AsyncGenerator[StreamedEvent, None]
    ) -> AsyncGenerator[SentEvent, None]:
        """Yield the events, each when it is kept."""
        state, number = StreamState.INTERRUPTED, 0
        try:
            async with aclosing(events):
                async for event in events:
                    number += 1
                    kept = KeptEvent(number=number, kind=event.kind, data=event.data)
                    await answer_streams.append(self.database, self.id, kept)
                    yield EventId(stream=self.id, number=number), event
            state = StreamState.FINISHED
        finally:
            # Whoever waits for more must know also where the client has left and this task is cancelled.
            with anyio.CancelScope(shield=True):
                await answer_streams.end(self.database, self.id, state)

    async def touch(self) -> None:
        """Say that the stream goes on, while nothing comes."""
        await answer_streams.touch(self.database, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStreams:
    """Streams by their owner: only with the same credential, for the same person and with the same access tags, a stream can be resumed."""

    database: Database

    async def open(self, reader: Reader, credential: str) -> KeptAnswerStream:
        """Begin to keep a stream for the reader with this credential."""
        stream = await answer_streams.open_stream(self.database, reader, _owner(reader, credential))
        return KeptAnswerStream(database=self.database, id=stream)

    async def resume(
        self, reader: Reader, credential: str, last: EventId, *, interrupted: StreamedEvent
    ) -> AsyncGenerator[SentEvent, None]:
        """Yield what follows the event `last`, and `interrupted` at the end of a stream that was not finished.

        Raises `NotFound` where there is no such stream of the reader, it is too old, or something that the reader saw when it
        began was withdrawn since.
        """
        owner, number = _owner(reader, credential), last.number
        while True:
            kept = await answer_streams.find(
                self.database, reader, owner, last.stream, after=number
            )
            if kept is None:
                raise NotFound("There is no stream with this Last-Event-ID; ask the question again")
            for event in kept.events:
                number = event.number
                sent = StreamedEvent(kind=event.kind, data=event.data)
                yield EventId(stream=last.stream, number=number), sent
            if kept.state is StreamState.FINISHED:
                return
            if kept.state is StreamState.INTERRUPTED:
                yield None, interrupted
                return
            await asyncio.sleep(_POLL_SECONDS)


def _owner(reader: Reader, credential: str) -> str:
    return "\n".join((credential, reader.user, *sorted(reader.tags)))

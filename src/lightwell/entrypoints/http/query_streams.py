"""Answers as events that come as they are made, and that a client which lost its connection can read on."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Header

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.answers import StreamChunk, StreamType
from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.http.authentication import Reading, projects_of
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.schemas.questions import StreamBody
from lightwell.knowledge_base.answer_streams import (
    AnswerStreams,
    SentEvent,
    StreamedEvent,
    parse_event_id,
)

router = APIRouter(prefix="/v1", tags=["questions"])

LastEventId = Annotated[
    str,
    Header(
        alias="Last-Event-ID",
        max_length=100,
        description="The id of the last event that you got of a stream, to get the rest of it.",
    ),
]


def streams_of(projects: Annotated[Projects, Depends(projects_of)]) -> AnswerStreams:
    """Return the streams that are kept in the database."""
    return AnswerStreams(database=projects.keys.database)


@router.post("/query/stream", response_class=EventStream, status_code=200)
async def stream_answer(
    body: StreamBody,
    caller: Reading,
    streams: Annotated[AnswerStreams, Depends(streams_of)],
    last_event_id: LastEventId = "",
) -> EventStream:
    """Answer a question as events: `token`, `citation`, `metadata`, `done`, or `error`; each sentence when it is checked.

    With `Last-Event-ID`, the rest of an earlier stream is sent instead; with the same key, within five minutes.
    """
    credential = caller.principal.credential
    if last_event_id:
        last = parse_event_id(last_event_id)
        rest = streams.resume(caller.reader, credential, last, interrupted=_INTERRUPTED)
        return EventStream(_format(rest), render_error=_render_error)
    answered = caller.knowledge_base.questions.stream(body.to_request(), caller.reader)
    kept = await streams.open(caller.reader, credential)
    events = _format(kept.record(_events(answered)))
    return EventStream(events, render_error=_render_error, on_ping=kept.touch)


async def _events(
    answered: AsyncGenerator[StreamChunk, None],
) -> AsyncGenerator[StreamedEvent, None]:
    async with aclosing(answered):
        async for event in answered:
            data = json.dumps(json_output.event(event), ensure_ascii=False)
            yield StreamedEvent(kind=event.type.value, data=data)


async def _format(sent: AsyncGenerator[SentEvent, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(sent):
        async for event_id, event in sent:
            place = str(event_id) if event_id else ""
            yield format_event(kind=event.kind, data=event.data, event_id=place)


def _error_event(message: str) -> StreamedEvent:
    kind = StreamType.ERROR.value
    data = json.dumps({"type": kind, "error": message}, ensure_ascii=False)
    return StreamedEvent(kind=kind, data=data)


def _render_error(error: LightwellError) -> bytes:
    event = _error_event(str(error))
    return format_event(kind=event.kind, data=event.data)


_INTERRUPTED = _error_event("The answer was interrupted before its end; ask the question again")

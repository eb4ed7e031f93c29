"""Answers as events that come as they are made, and that a client which lost its connection can read on."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Header
from pydantic import Field, create_model

from lightwell.domain.answers import StreamChunk, StreamType
from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.http.authentication import Reading, projects_of
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.questions import StreamEvent, answer_question, asked_question
from lightwell.entrypoints.operations.replies import Schema
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

if TYPE_CHECKING:
    StreamBody = Schema
else:
    StreamBody = create_model(
        "StreamBody",
        __base__=answer_question.request,
        __doc__="A question whose answer is streamed: the specification's StreamQueryRequest.",
        stream=(
            Annotated[Literal[True], Field(description="Always true, with or without this field.")],
            True,
        ),
    )


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
    fields = {name: getattr(body, name) for name in answer_question.request_names}
    answered = caller.knowledge_base.questions.stream(asked_question(**fields), caller.reader)
    kept = await streams.open(caller.reader, credential)
    events = _format(kept.record(_events(answered)))
    return EventStream(events, render_error=_render_error, on_ping=kept.touch)


async def _events(
    answered: AsyncGenerator[StreamChunk, None],
) -> AsyncGenerator[StreamedEvent, None]:
    async with aclosing(answered):
        async for event in answered:
            yield _streamed(StreamEvent.model_validate(event))


async def _format(sent: AsyncGenerator[SentEvent, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(sent):
        async for event_id, event in sent:
            place = str(event_id) if event_id else ""
            yield format_event(kind=event.kind, data=event.data, event_id=place)


def _streamed(event: StreamEvent) -> StreamedEvent:
    return StreamedEvent(kind=event.type.value, data=event.data)


def _error_event(message: str) -> StreamedEvent:
    return _streamed(StreamEvent(type=StreamType.ERROR, error=message))


def _render_error(error: LightwellError) -> bytes:
    event = _error_event(str(error))
    return format_event(kind=event.kind, data=event.data)


_INTERRUPTED = _error_event("The answer was interrupted before its end; ask the question again")

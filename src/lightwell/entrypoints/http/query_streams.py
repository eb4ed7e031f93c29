"""Answers as events that come as they are made, and that a client which lost its connection can read on."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header
from pydantic import Field, create_model

from lightwell.domain.answers import StreamChunk, StreamType
from lightwell.domain.chat import Thread
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.ids import ConversationId
from lightwell.entrypoints.http.authentication import Caller, Reading, projects_of
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.questions import (
    DocumentFilters,
    StreamEvent,
    answer_question,
    asked_question,
)
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

    class StreamBody(Schema):
        steps: bool
        remember: bool
        conversation_id: UUID | None
        replaces: int | None
        filters: DocumentFilters

else:
    StreamBody = create_model(
        "StreamBody",
        __base__=answer_question.request,
        __doc__="A question whose answer is streamed: the specification's StreamQueryRequest.",
        stream=(
            Annotated[Literal[True], Field(description="Always true, with or without this field.")],
            True,
        ),
        steps=(
            Annotated[
                bool,
                Field(
                    description="Whether `step` events say what is done before the first sentence."
                ),
            ],
            False,
        ),
        remember=(
            Annotated[
                bool,
                Field(
                    description="Whether question and answer are kept in a conversation, a new one without `conversationId`."
                ),
            ],
            False,
        ),
        conversation_id=(
            Annotated[
                UUID | None,
                Field(
                    description="Your conversation that the question goes on with, and is kept in."
                ),
            ],
            None,
        ),
        replaces=(
            Annotated[
                int | None,
                Field(
                    ge=0,
                    description="The `place` in the conversation from which on the question takes the place of what was said.",
                ),
            ],
            None,
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

    With `steps`, events say first what is done; an error is an `error` event then. In a conversation, the question may refer to what was said before.
    With `Last-Event-ID`, the rest of an earlier stream is sent instead; with the same key, within five minutes.
    """
    credential = caller.principal.credential
    if last_event_id:
        last = parse_event_id(last_event_id)
        rest = streams.resume(caller.reader, credential, last, interrupted=_INTERRUPTED)
        return EventStream(_format(rest), render_error=_render_error)
    fields = {name: getattr(body, name) for name in answer_question.request_names}
    fields["filters"] = body.filters.with_topic(fields.pop("topic_filter"))
    answered = caller.knowledge_base.questions.show(
        asked_question(**fields), caller.reader, thread=_thread(body), with_steps=body.steps
    )
    kept = await streams.open(caller.reader, credential)
    events = _format(kept.record(_events(answered, caller)))
    return EventStream(events, render_error=_render_error, on_ping=kept.touch)


def _thread(body: "StreamBody") -> Thread | None:
    """Return where the exchange belongs, None where it is not kept; raise `Invalid`."""
    conversation, replaces = body.conversation_id, body.replaces
    if conversation is None:
        if replaces is not None:
            raise Invalid("replaces needs a conversationId")
        return Thread() if body.remember else None
    return Thread(conversation=ConversationId(conversation), replaces=replaces)


async def _events(
    answered: AsyncGenerator[StreamChunk, None], caller: Caller
) -> AsyncGenerator[StreamedEvent, None]:
    async with aclosing(answered):
        async for event in answered:
            yield _streamed(caller.reply(StreamEvent, event))


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

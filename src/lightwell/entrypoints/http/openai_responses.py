"""`POST /v1/responses` of OpenAI's API: the same answers as `POST /v1/chat/completions`, in the other form.

Nothing is stored: `previous_response_id` is refused, so a client sends the conversation with each request.
"""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import count
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from lightwell.domain.answers import Answer, StreamType
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.usage import OperationType, TokenSummary
from lightwell.entrypoints.http.authentication import Caller, Reading
from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.event_streams import EventStream, format_event
from lightwell.entrypoints.http.openai_api import (
    MAX_MESSAGES,
    MODEL,
    OPENAI,
    Conversation,
    Outcome,
    UrlCitation,
    annotations,
    parse_conversation,
)
from lightwell.entrypoints.http.usage import add_usage_headers
from lightwell.entrypoints.markdown import render_answer, render_rest, render_token
from lightwell.metering import record_usage

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=speaking(OPENAI))


class InputPart(BaseModel):
    """A part of a message, by the user or by the model; only text is understood."""

    type: Literal["input_text", "output_text"]
    text: str


class InputMessage(BaseModel):
    """A message; OpenAI's other fields are ignored."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputPart]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class ResponseRequest(BaseModel):
    """OpenAI's request. What would change the answer's style, such as `instructions`, is ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(examples=[MODEL])]
    input: Annotated[
        str | Annotated[list[InputMessage], Field(min_length=1, max_length=MAX_MESSAGES)],
        Field(examples=["What discount does Nordwind Energie receive?"]),
    ]
    stream: bool = False
    previous_response_id: Annotated[
        str | None, Field(description="Refused: no response is stored.")
    ] = None

    def parse(self) -> Conversation:
        """Return what is asked; raise `NotFound` for another model, `Invalid` for a response that would be stored here."""
        if self.previous_response_id:
            raise Invalid("No response is stored here: send the messages of the conversation")
        if isinstance(self.input, str):
            return parse_conversation(self.model, [("user", self.input)])
        messages = [(message.role, message.text) for message in self.input]
        return parse_conversation(self.model, messages)


class UrlAnnotation(UrlCitation):
    """The document that a part of the text rests on."""

    type: Literal["url_citation"] = "url_citation"


class OutputText(BaseModel):
    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[UrlAnnotation]


class OutputMessage(BaseModel):
    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed"] = "completed"
    content: list[OutputText]


class TokenDetails(BaseModel):
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputDetails(BaseModel):
    reasoning_tokens: int = 0


class ResponseUsage(BaseModel):
    """Tokens of chat models; 0 without one."""

    input_tokens: int
    input_tokens_details: TokenDetails = TokenDetails()
    output_tokens: int
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int


class ResponseObject(BaseModel):
    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed"] = "completed"
    model: str = MODEL
    output: list[OutputMessage]
    usage: ResponseUsage | None = None
    error: None = None
    incomplete_details: None = None
    instructions: None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = False
    previous_response_id: None = None
    store: bool = False
    temperature: None = None
    tool_choice: Literal["none"] = "none"
    tools: list[str] = []
    top_p: None = None
    lightwell: Outcome | None = None


@router.post("/responses", response_model=ResponseObject)
async def create_response(
    body: ResponseRequest, caller: Reading, response: Response
) -> ResponseObject | EventStream:
    """Answer the last message with citations, or say that the evidence is insufficient."""
    conversation = body.parse()
    if body.stream:
        return EventStream(_stream(conversation, caller), render_error=_render_error)
    with record_usage(OperationType.QUERY) as spent:
        answer = await conversation.answer(caller)
    add_usage_headers(response, spent.summary)
    return _complete(_begin(), answer, caller.server, spent.summary)


async def _stream(conversation: Conversation, caller: Caller) -> AsyncGenerator[bytes, None]:
    """Yield OpenAI's events of a response with one message of one part; an error is an event, never a part of the text."""
    numbers, begun = count(), _begin()
    message = OutputMessage(id=_message_id(begun), status="in_progress", content=[])
    place = {"item_id": message.id, "output_index": 0, "content_index": 0}

    def event(kind: str, **fields: object) -> bytes:
        data = {"type": f"response.{kind}", "sequence_number": next(numbers), **fields}
        return format_event(kind=f"response.{kind}", data=json.dumps(data, ensure_ascii=False))

    yield event("created", response=begun.model_dump())
    yield event("in_progress", response=begun.model_dump())
    yield event("output_item.added", output_index=0, item=message.model_dump())
    yield event(
        "content_part.added", **place, part=OutputText(text="", annotations=[]).model_dump()
    )
    async with aclosing(conversation.stream(caller)) as chunks:
        async for chunk in chunks:
            if chunk.type is StreamType.TOKEN:
                yield event("output_text.delta", **place, delta=render_token(chunk), logprobs=[])
            elif chunk.type is StreamType.ERROR:
                yield _error_event(chunk.error, "model_failed", next(numbers))
                return
            elif chunk.answer is not None:
                part = _output(chunk.answer, caller.server)
                if footnotes := render_rest(chunk.answer, caller.server):
                    yield event("output_text.delta", **place, delta=footnotes, logprobs=[])
                for index, annotation in enumerate(part.annotations):
                    cited = {"annotation_index": index, "annotation": annotation.model_dump()}
                    yield event("output_text.annotation.added", **place, **cited)
                yield event("output_text.done", **place, text=part.text, logprobs=[])
                yield event("content_part.done", **place, part=part.model_dump())
                done = _complete(begun, chunk.answer, caller.server, chunk.answer.usage)
                yield event("output_item.done", output_index=0, item=done.output[0].model_dump())
                yield event("completed", response=done.model_dump())


def _begin() -> ResponseObject:
    name = f"resp_{uuid4().hex}"
    return ResponseObject(id=name, created_at=int(time.time()), status="in_progress", output=[])


def _complete(
    begun: ResponseObject, answer: Answer, server: str, spent: TokenSummary
) -> ResponseObject:
    message = OutputMessage(id=_message_id(begun), content=[_output(answer, server)])
    usage = ResponseUsage(
        input_tokens=spent.total_input_tokens,
        output_tokens=spent.total_output_tokens,
        total_tokens=spent.total_input_tokens + spent.total_output_tokens,
    )
    return begun.model_copy(
        update={
            "status": "completed",
            "output": [message],
            "usage": usage,
            "lightwell": Outcome.model_validate(answer),
        }
    )


def _message_id(begun: ResponseObject) -> str:
    return f"msg_{begun.id.removeprefix('resp_')}"


def _output(answer: Answer, server: str) -> OutputText:
    cited = [
        UrlAnnotation.model_validate(annotation.url_citation.model_dump())
        for annotation in annotations(answer, server)
    ]
    return OutputText(text=render_answer(answer, server), annotations=cited)


def _error_event(message: str, code: str, number: int = 0) -> bytes:
    data = {"type": "error", "code": code, "message": message, "param": None}
    return format_event(kind="error", data=json.dumps({**data, "sequence_number": number}))


def _render_error(error: LightwellError) -> bytes:
    return _error_event(str(error), error.code)

"""The part of OpenAI's API that chat clients need: `GET /v1/models` and `POST /v1/chat/completions`.

The last message is the question, and the messages before it are its conversation. A prompt by which a client wants a title, tags or the like is no
question (`answer/client_tasks.py`). Citations come twice: as `annotations`
(`url_citation`), and as link definitions at the end of the text, which markdown turns the marks `[1]` into links with.
"""

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from lightwell.answer.chat import courteous_answer
from lightwell.answer.client_tasks import ClientTask, find_task
from lightwell.domain.answers import Answer, AnswerState, Confidence, StreamChunk, StreamType
from lightwell.domain.chat import ChatMessage, Role
from lightwell.domain.errors import Invalid, LightwellError, NotFound
from lightwell.domain.questions import Mode, Question
from lightwell.domain.usage import OperationType, TokenSummary
from lightwell.entrypoints.http.authentication import Caller, Listing, Reading, projects_of
from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.event_streams import EventStream
from lightwell.entrypoints.http.problems import Dialect, Problem
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.http.usage import add_usage_headers
from lightwell.entrypoints.markdown import (
    citation_title,
    may_be_linked,
    render_answer,
    render_rest,
    render_token,
    sentence_spans,
)
from lightwell.entrypoints.operations.replies import Rounded
from lightwell.metering import record_usage


def _problem_fields(_: Request, problem: Problem) -> Mapping[str, object]:
    error = {"message": problem.detail, "type": problem.code, "code": problem.code, "param": None}
    return {"error": error}


OPENAI = Dialect(fields=_problem_fields)
"""Clients of OpenAI look for the message in `error`."""

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=speaking(OPENAI))

MODEL, LOOKING_TWICE = "lightwell", "lightwell-look-twice"
"""The names of the one model: the second lets the chat model search again before it answers, and is there only with one."""

MAX_MESSAGES = 200


class TextPart(BaseModel):
    """A part of a message's content; only text is understood."""

    type: Literal["text"]
    text: str


class Message(BaseModel):
    """A message; OpenAI's other fields are ignored."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """OpenAI's request. What would change the answer's style, such as `temperature`, is ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(examples=[MODEL])]
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None


class UrlCitation(BaseModel):
    """The document that a part of the text, `content[start_index:end_index]`, rests on."""

    url: str
    title: str
    start_index: int
    end_index: int


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class Reply(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    annotations: list[Annotation]


class Choice(BaseModel):
    index: int = 0
    message: Reply
    finish_reason: Literal["stop"] = "stop"


class Usage(BaseModel):
    """Tokens of chat models; 0 without one."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Outcome(BaseModel):
    """What became of the question, in the words of `/v1/query`: OpenAI has none for it."""

    model_config = ConfigDict(from_attributes=True)

    state: AnswerState
    confidence: Confidence
    relevance: Rounded
    threshold: float


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = MODEL
    choices: list[Choice]
    usage: Usage
    lightwell: Outcome | None


class ModelCard(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "lightwell"


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]


@router.get("/models")
async def list_models(request: Request, _: Listing) -> ModelList:
    """List the one model, the project that the key opens, and with a chat model its name for looking twice."""
    names = model_names(projects_of(request))
    return ModelList(data=[ModelCard(id=name) for name in names])


def model_names(projects: Projects) -> list[str]:
    """Return the names of the one model."""
    return [MODEL, *([LOOKING_TWICE] if projects.has_chat_model else [])]


@router.post("/chat/completions", response_model=Completion)
async def complete_chat(
    body: CompletionRequest, caller: Reading, response: Response
) -> Completion | EventStream:
    """Answer the last message with citations, or say that the evidence is insufficient."""
    task = find_task([message.text for message in body.messages if message.role == "user"])
    if task is not None:
        require_model(body.model)
        return await _perform(task, caller, response, body)
    conversation = parse_conversation(
        body.model, [(message.role, message.text) for message in body.messages]
    )
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = _stream(conversation, caller, with_usage=with_usage)
        return EventStream(chunks, render_error=_render_error)
    with record_usage(OperationType.QUERY) as spent:
        answer = await conversation.answer(caller)
    add_usage_headers(response, spent.summary)
    reply = Reply(
        content=render_answer(answer, caller.server), annotations=annotations(answer, caller.server)
    )
    outcome = Outcome.model_validate(answer)
    return _completion(answer.query_id.hex, reply, spent.summary, outcome)


async def _perform(
    task: ClientTask, caller: Caller, response: Response, body: CompletionRequest
) -> Completion | EventStream:
    """Return what a client asks for beside its questions, in one chunk where it wants a stream."""
    with record_usage(OperationType.QUERY) as spent:
        text = await caller.knowledge_base.questions.perform(task)
    if body.stream:
        return EventStream(_stream_text(text), render_error=_render_error)
    add_usage_headers(response, spent.summary)
    return _completion(uuid4().hex, Reply(content=text, annotations=[]), spent.summary)


def _completion(
    name: str, reply: Reply, spent: TokenSummary, outcome: Outcome | None = None
) -> Completion:
    return Completion(
        id=f"chatcmpl-{name}",
        created=int(time.time()),
        choices=[Choice(message=reply)],
        usage=_usage(spent),
        lightwell=outcome,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The last message, and the conversation before it, the oldest message first."""

    text: str
    history: Sequence[ChatMessage]
    look_twice: bool = False
    mode: Mode = Mode.MIX

    async def answer(self, caller: Caller) -> Answer:
        """Return the answer, or a reply to a greeting; a model may be called."""
        if courtesy := courteous_answer(self.text):
            return courtesy
        return await caller.knowledge_base.questions.ask(await self._rewrite(caller), caller.reader)

    async def stream(self, caller: Caller) -> AsyncGenerator[StreamChunk, None]:
        """Yield what `answer` returns as events."""
        if courtesy := courteous_answer(self.text):
            yield StreamChunk(type=StreamType.TOKEN, content=courtesy.text)
            yield StreamChunk(type=StreamType.DONE, answer=courtesy)
            return
        request = await self._rewrite(caller)
        async with aclosing(
            caller.knowledge_base.questions.stream(request, caller.reader)
        ) as events:
            async for event in events:
                yield event

    async def _rewrite(self, caller: Caller) -> Question:
        """Return the question so that it stands alone; a model may be called."""
        questions = caller.knowledge_base.questions
        alone = await questions.rewrite_followup(self.text, self.history)
        return Question(
            text=alone.text, subject=alone.subject, mode=self.mode, look_twice=self.look_twice
        )


def require_model(model: str) -> None:
    """Raise `NotFound` for another model than the one that there is, under its two names."""
    if model not in (MODEL, LOOKING_TWICE):
        raise NotFound(f"There is no model {model!r}; the model is {MODEL!r}")


def parse_conversation(model: str, messages: Sequence[tuple[str, str]]) -> Conversation:
    """Return what these messages, each a role and a text, ask; the last is the question.

    Raises `NotFound` for another model, `Invalid` for a last message by others.
    """
    require_model(model)
    *before, (role, text) = messages
    if role != "user":
        raise Invalid("The last message must be the user's")
    history = [
        ChatMessage(role=Role(role), content=content)
        for role, content in before
        if role in (Role.USER, Role.ASSISTANT)
    ]
    Question(text=text)  # raises `Invalid` before a model is called
    return Conversation(text=text, history=history, look_twice=model == LOOKING_TWICE)


async def _stream_text(text: str) -> AsyncGenerator[bytes, None]:
    """Yield a text that is no answer as the chunks of a completion."""
    created, name = int(time.time()), f"chatcmpl-{uuid4().hex}"
    yield _event(_chunk(name, created, choices=[_choice({"role": "assistant", "content": text})]))
    yield _event(_chunk(name, created, choices=[_choice({}, "stop")]))
    yield b"data: [DONE]\n\n"


async def _stream(
    conversation: Conversation, caller: Caller, *, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a completion as server-sent events; an error is an event, never a part of the text."""
    created, name = int(time.time()), f"chatcmpl-{uuid4().hex}"

    def chunk(delta: dict[str, object]) -> bytes:
        return _event(_chunk(name, created, choices=[_choice(delta)]))

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(conversation.stream(caller)) as events:
        async for event in events:
            if event.type is StreamType.TOKEN:
                yield chunk({"content": render_token(event)})
            elif event.type is StreamType.ERROR:
                yield _error_event(event.error)
                return
            elif event.answer is not None:
                answer = event.answer
                cited = [
                    annotation.model_dump() for annotation in annotations(answer, caller.server)
                ]
                yield chunk({"content": render_rest(answer, caller.server), "annotations": cited})
                outcome = Outcome.model_validate(answer).model_dump(mode="json")
                ended = _choice({}, "stop")
                yield _event(_chunk(name, created, choices=[ended], lightwell=outcome))
                if with_usage:
                    usage = _usage(answer.usage).model_dump()
                    yield _event(_chunk(name, created, choices=[], usage=usage))
    yield b"data: [DONE]\n\n"


def _error_event(message: str) -> bytes:
    return _event({"error": {"message": message, "type": "model_failed"}})


def _render_error(error: LightwellError) -> bytes:
    return _event({"error": {"message": str(error), "type": error.code}})


def _chunk(name: str, created: int, **more: object) -> dict[str, object]:
    return {
        "id": name,
        "object": "chat.completion.chunk",
        "created": created,
        "model": MODEL,
    } | more


def _choice(delta: Mapping[str, object], finish_reason: str | None = None) -> dict[str, object]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _event(data: dict[str, object]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def annotations(answer: Answer, server: str) -> list[Annotation]:
    """Return a citation for each sentence and each document that supports it, with the sentence's place in the text.

    It leads to the page of the server with this address, which marks the quotation.
    """
    return [
        Annotation(
            url_citation=UrlCitation(
                url=citation.link_from(server),
                title=citation_title(citation),
                start_index=start,
                end_index=end,
            )
        )
        for sentence, (start, end) in zip(answer.sentences, sentence_spans(answer), strict=True)
        for citation in sentence.citations
        if may_be_linked(citation, server)
    ]


def _usage(spent: TokenSummary) -> Usage:
    return Usage(
        prompt_tokens=spent.total_input_tokens,
        completion_tokens=spent.total_output_tokens,
        total_tokens=spent.total_input_tokens + spent.total_output_tokens,
    )

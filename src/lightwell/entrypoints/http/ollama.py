"""Ollama's API, as far as clients that chat need it: `/api/version`, `/api/tags`, `/api/ps`, `/api/show`, `/api/generate` and `/api/chat`.

The model is the same as under OpenAI's API, and answers alike; Ollama has no place for citations, so they are links in the text alone. A message may
begin with a mode, as LightRAG's do: `/local`, `/naive`, …, `/bypass`, and `/context` for the passages in place of an answer. What follows a mode in
brackets would change the answer's style, and is ignored, as options are. There are no embeddings, which would read no document.
"""

import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from lightwell.answer.client_tasks import find_task
from lightwell.domain.answers import StreamType
from lightwell.domain.errors import ModelFailed
from lightwell.domain.questions import Mode
from lightwell.domain.usage import NO_USAGE, OperationType, TokenSummary
from lightwell.entrypoints.http.authentication import Caller, Listing, Reading, projects_of
from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.event_streams import (
    LINES,
    EventStream,
    format_error_line,
    format_line,
)
from lightwell.entrypoints.http.openai_api import (
    MAX_MESSAGES,
    MODEL,
    Conversation,
    model_names,
    parse_conversation,
    require_model,
)
from lightwell.entrypoints.http.problems import Dialect, Problem
from lightwell.entrypoints.markdown import escape, render_rest, render_token
from lightwell.metering import record_usage
from lightwell.text.regex import regex

Body = TypeVar("Body", bound=BaseModel)
Parts = AsyncGenerator[str | TokenSummary, None]
"""An answer's text, piece by piece, and what it cost."""

VERSION: Final = "0.12.0"
"""The version of Ollama whose API this is; clients ask for it before they use what is newer."""

_TAG: Final = ":latest"
_CONTEXT_LENGTH: Final = 8192
_MODIFIED: Final = "2026-01-01T00:00:00Z"
_DETAILS: Final = {
    "parent_model": "",
    "format": "",
    "family": MODEL,
    "families": [MODEL],
    "parameter_size": "",
    "quantization_level": "",
}
_PREFIX: Final = regex(
    r"/(?=[a-z\[])(?P<mode>local|global|naive|hybrid|mix|bypass)?(?P<context>context)?(?:\[[^\]\n]{0,2000}\])?(?:\s+|$)(?P<question>.*)",
    re.DOTALL,
)


def _problem_fields(_: Request, problem: Problem) -> Mapping[str, object]:
    return {"error": problem.detail}


OLLAMA: Final = Dialect(fields=_problem_fields)

router = APIRouter(prefix="/api", tags=["Ollama"], route_class=speaking(OLLAMA))


class Message(BaseModel):
    """A message; pictures and calls of tools are ignored."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = ""


class ModelRequest(BaseModel):
    """What names a model; Ollama's other fields, such as `options`, are ignored."""

    model: str = ""
    name: str = ""
    """What older clients call the model."""


class ChatRequest(ModelRequest):
    messages: Annotated[Sequence[Message], Field(max_length=MAX_MESSAGES)] = ()
    stream: bool | None = True


class GenerateRequest(ModelRequest):
    prompt: str = ""
    stream: bool | None = True


def _body_of(kind: type[Body]) -> Callable[[Request], Awaitable[Body]]:
    """Return a dependency that reads a body as JSON, whatever type the client says: `curl -d` says that it is a form."""

    async def read(request: Request) -> Body:
        try:
            return kind.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None

    return read


@router.get("/version")
async def tell_version(_: Listing) -> dict[str, str]:
    """Return the version of Ollama whose API this is."""
    return {"version": VERSION}


@router.get("/tags")
async def list_models(request: Request, _: Listing) -> dict[str, object]:
    """List the one model under its names."""
    return {"models": _models(request)}


@router.get("/ps")
async def list_running(request: Request, _: Listing) -> dict[str, object]:
    """List the models that need no loading: all."""
    running = {
        "expires_at": "2999-01-01T00:00:00Z",
        "size_vram": 0,
        "context_length": _CONTEXT_LENGTH,
    }
    return {"models": [model | running for model in _models(request)]}


@router.post("/show")
async def show_model(
    _: Listing, body: Annotated[ModelRequest, Depends(_body_of(ModelRequest))]
) -> dict[str, object]:
    """Describe a model; raise `NotFound`."""
    _model_of(body)
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _DETAILS,
        "model_info": {"general.architecture": MODEL, f"{MODEL}.context_length": _CONTEXT_LENGTH},
        "capabilities": ["completion"],
        "modified_at": _MODIFIED,
    }


@router.post("/chat", response_model=None)
async def chat(
    caller: Reading, body: Annotated[ChatRequest, Depends(_body_of(ChatRequest))]
) -> dict[str, object] | EventStream:
    """Answer the last message with citations, or say that the evidence is insufficient; without messages, say that the model is loaded."""
    messages = [(message.role, message.content or "") for message in body.messages]
    form = _Form(model=body.model or body.name, is_chat=True)
    return await _reply(form, _model_of(body), messages, caller, is_stream=body.stream is not False)


@router.post("/generate", response_model=None)
async def generate(
    caller: Reading, body: Annotated[GenerateRequest, Depends(_body_of(GenerateRequest))]
) -> dict[str, object] | EventStream:
    """Answer a prompt as `/api/chat` answers a message."""
    messages = [("user", body.prompt)] if body.prompt else []
    form = _Form(model=body.model or body.name, is_chat=False)
    return await _reply(form, _model_of(body), messages, caller, is_stream=body.stream is not False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How texts are put, in one form for chats and in another for prompts; durations are in nanoseconds."""

    model: str
    is_chat: bool
    began: int = field(default_factory=time.perf_counter_ns)

    def part(self, text: str) -> dict[str, object]:
        placed = (
            {"message": {"role": "assistant", "content": text}}
            if self.is_chat
            else {"response": text}
        )
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.model, "created_at": now, **placed, "done": False}

    def end(
        self, text: str, spent: TokenSummary, begun: int, reason: str = "stop"
    ) -> dict[str, object]:
        """Return the last part: when the answer's text had `begun`, and what it cost."""
        now = time.perf_counter_ns()
        return self.part(text) | {
            "done": True,
            "done_reason": reason,
            "total_duration": now - self.began,
            "load_duration": 0,
            "prompt_eval_count": spent.total_input_tokens,
            "prompt_eval_duration": begun - self.began,
            "eval_count": spent.total_output_tokens,
            "eval_duration": now - begun,
        }


async def _reply(
    form: _Form, model: str, messages: Sequence[tuple[str, str]], caller: Caller, *, is_stream: bool
) -> dict[str, object] | EventStream:
    if not messages:
        return form.end("", NO_USAGE, form.began, "load")
    parts = _parts(model, messages, caller)
    if is_stream:
        return EventStream(
            _stream(form, parts),
            render_error=format_error_line,
            ping=format_line(form.part("")),
            media_type=LINES,
        )
    texts: list[str] = []
    spent = NO_USAGE
    async with aclosing(parts):
        async for part in parts:
            if isinstance(part, TokenSummary):
                spent = part
            else:
                texts.append(part)
    return form.end("".join(texts), spent, time.perf_counter_ns())


async def _stream(form: _Form, parts: Parts) -> AsyncGenerator[bytes, None]:
    spent, begun = NO_USAGE, 0
    async with aclosing(parts):
        async for part in parts:
            if isinstance(part, TokenSummary):
                spent = part
            else:
                begun = begun or time.perf_counter_ns()
                yield format_line(form.part(part))
    yield format_line(form.end("", spent, begun or time.perf_counter_ns()))


async def _parts(model: str, messages: Sequence[tuple[str, str]], caller: Caller) -> Parts:
    """Yield what answers the last message: a task of the client, passages, or an answer; raise `ModelFailed` where it breaks off."""
    task = find_task([text for role, text in messages if role == "user"])
    if task is not None:
        with record_usage(OperationType.QUERY) as usage:
            yield await caller.knowledge_base.questions.perform(task)
        yield usage.summary
        return
    prefix = _PREFIX.fullmatch(messages[-1][1])
    plain = [(role, _without_prefix(text) if role == "user" else text) for role, text in messages]
    mode = Mode((prefix and prefix["mode"]) or Mode.MIX)
    conversation = replace(parse_conversation(model, plain), mode=mode)
    if prefix and prefix["context"]:
        yield await _passages(conversation, caller)
        return
    async with aclosing(conversation.stream(caller)) as events:
        async for event in events:
            if event.type is StreamType.TOKEN:
                yield render_token(event)
            elif event.type is StreamType.ERROR:
                raise ModelFailed(event.error)
            elif event.answer is not None:
                yield render_rest(event.answer, caller.server)
                yield event.answer.usage


def _without_prefix(text: str) -> str:
    prefix = _PREFIX.fullmatch(text)
    return prefix["question"] if prefix else text


async def _passages(conversation: Conversation, caller: Caller) -> str:
    """Return the passages for the question as markdown in which nothing of theirs is a link."""
    retrieval = await caller.knowledge_base.questions.search(
        conversation.text, caller.reader, mode=conversation.mode
    )
    texts: list[str] = []
    for number, passage in enumerate(retrieval.evidence, start=1):
        chunk = passage.chunk
        heading = f"[{number}] {escape(chunk.heading_path)}: {caller.server}{chunk.address}"
        texts.append(f"{heading}\n\n{escape(chunk.text)}")
    return "\n\n".join(texts)


def _models(request: Request) -> list[dict[str, object]]:
    return [
        {
            "name": name + _TAG,
            "model": name + _TAG,
            "modified_at": _MODIFIED,
            "size": 0,
            "digest": "",
            "details": _DETAILS,
        }
        for name in model_names(projects_of(request))
    ]


def _model_of(body: ModelRequest) -> str:
    """Return the name of the model without its tag; raise `NotFound` for another one."""
    model = (body.model or body.name).removesuffix(_TAG)
    require_model(model)
    return model

"""Replies from an OpenAI-compatible `/chat/completions` endpoint."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, cast

import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
from pydantic import BaseModel, Field

from lightwell.domain.errors import ModelFailed, ModelRefused, SchemaUnsupported
from lightwell.models import failures
from lightwell.models.endpoint import Connection
from lightwell.models.limiter import Priority
from lightwell.ports import Message, Reply, Usage
from lightwell.text.tokens import token_count

Option = Literal["response_format", "temperature", "max_tokens"]
_OPTION_NAMES: Mapping[Option, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}
"""The options that an endpoint may reject, and the words by which its error message may name them."""


class OpenAIChat:
    """A chat model as `ChatModel`; all its calls have one priority.

    An option that the endpoint rejects is omitted from then on: `declined` lists them. With `requires_schema`,
    a schema is never omitted: the call raises `SchemaUnsupported`, so that the caller can ask in another form.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        priority: Priority,
        temperature: float = 0,
        requires_schema: bool = False,
    ) -> None:
        self._connection = connection
        self._priority = priority
        self._temperature = temperature
        self._requires_schema = requires_schema
        self._declined: frozenset[Option] = frozenset()

    @property
    def model(self) -> str:
        return self._connection.endpoint.model

    @property
    def declined(self) -> frozenset[Option]:
        return self._declined

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the reply, as JSON by `schema` where the endpoint supports it; raise `ModelFailed`.

        A refusal and an empty reply cost tokens too: `ModelRefused` carries the number.
        """
        if self._is_schema_unsupported(schema):
            raise self._schema_error()
        input_tokens = sum(token_count(message.content) for message in messages)
        completion = await self._connection.send(
            lambda: self._ask(messages, max_tokens, schema),
            priority=self._priority,
            tokens=input_tokens + max_tokens,
            cost=_cost,
        )
        if completion is None:
            raise self._schema_error()
        choice = completion.choices[0]
        text = choice.message.content or ""
        spent = completion.usage or _UsageBody(
            prompt_tokens=input_tokens, completion_tokens=token_count(text)
        )
        self._check(choice.message.refusal, choice.finish_reason, spent)
        if not text and choice.finish_reason != "length":
            raise self._refused("sent an empty reply", "", spent)
        return Reply(
            text=text,
            complete=choice.finish_reason != "length",
            usage=Usage(
                model=self.model,
                input_tokens=spent.prompt_tokens,
                output_tokens=spent.completion_tokens,
            ),
        )

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the parts of the reply as they arrive, as JSON by `schema` where supported; raise `ModelFailed`, possibly midway.

        A failure before the first part is retried, as for a whole reply.
        """
        input_tokens = sum(token_count(message.content) for message in messages)
        async with self._connection.stream(
            lambda: self._ask_in_parts(messages, max_tokens, schema),
            priority=self._priority,
            tokens=input_tokens + max_tokens,
        ) as parts:
            ended = False
            async for part in parts:
                for choice in _Part.model_validate(part.to_dict()).choices[:1]:
                    self._check(choice.delta.refusal, choice.finish_reason, _NO_USAGE)
                    ended = ended or choice.finish_reason is not None
                    if choice.delta.content:
                        yield choice.delta.content
            if not ended:
                raise self._failed("the stream ended early")

    async def _ask(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, object] | None
    ) -> "_Completion | None":
        """Return the completion, None where the endpoint rejects a schema that must not be omitted."""
        while not self._is_schema_unsupported(schema):
            options = self._options(max_tokens, schema)
            body = {"model": self.model, "messages": _message_params(messages), **options}
            try:
                # The SDK's own method for this goes through every word of the messages, for 0.6 ms a call.
                raw = await self._connection.client.post(
                    "/chat/completions", cast_to=bytes, body=body
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self._drop_unsupported_option(error, options):
                    raise
            else:
                return _Completion.model_validate_json(raw)
        return None

    async def _ask_in_parts(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, object] | None
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        while True:
            options = self._options(max_tokens, schema)
            try:
                return await self._connection.client.chat.completions.create(
                    model=self.model,
                    messages=_message_params(messages),
                    extra_body=options,
                    stream=True,
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self._drop_unsupported_option(error, options):
                    raise

    def _options(self, max_tokens: int, schema: Mapping[str, object] | None) -> dict[str, object]:
        limit = "max_completion_tokens" if "max_tokens" in self._declined else "max_tokens"
        options: dict[str, object] = {limit: max_tokens}
        if "temperature" not in self._declined:
            options["temperature"] = self._temperature
        if schema is not None and "response_format" not in self._declined:
            named = {"name": "reply", "strict": True, "schema": dict(schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        return options

    def _drop_unsupported_option(
        self, error: openai.APIStatusError, sent: Mapping[str, object]
    ) -> bool:
        """Remember the option that the endpoint rejects; return false when its message names none of those sent."""
        complaint = f"{error.param} {error.message}"
        blamed: set[Option] = {
            option
            for option, names in _OPTION_NAMES.items()
            if option in sent and any(name in complaint for name in names)
        }
        self._declined |= blamed
        return bool(blamed)

    def _is_schema_unsupported(self, schema: Mapping[str, object] | None) -> bool:
        declined = schema is not None and "response_format" in self._declined
        return declined and self._requires_schema

    def _schema_error(self) -> SchemaUnsupported:
        where = self._connection.endpoint.address
        return SchemaUnsupported(
            f"the model {where.model!r} at {where.url} does not support JSON schemas"
        )

    def _check(self, refusal: str | None, finish_reason: str | None, spent: "_UsageBody") -> None:
        if refusal or finish_reason == "content_filter":
            raise self._refused("refused to answer", refusal or "", spent)

    def _refused(self, what: str, text: str, spent: "_UsageBody") -> ModelRefused:
        where = self._connection.endpoint.address
        return ModelRefused(
            f"the model {where.model!r} at {where.url} {what}",
            response_text=text,
            input_tokens=spent.prompt_tokens,
            output_tokens=spent.completion_tokens,
        )

    def _failed(self, what: str) -> ModelFailed:
        return failures.malformed_reply_failure(self._connection.endpoint.address, what).error


def _message_params(messages: Sequence[Message]) -> list[ChatCompletionMessageParam]:
    params = [{"role": message.role, "content": message.content} for message in messages]
    return cast("list[ChatCompletionMessageParam]", params)


class _MessageBody(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _MessageBody
    finish_reason: str | None = None


class _UsageBody(BaseModel):
    prompt_tokens: int
    completion_tokens: int


_NO_USAGE = _UsageBody(prompt_tokens=0, completion_tokens=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _UsageBody | None = None


def _cost(completion: _Completion | None) -> int | None:
    if completion is None:
        return 0
    return completion.usage and completion.usage.prompt_tokens + completion.usage.completion_tokens


class _PartOfChoice(BaseModel):
    delta: _MessageBody = _MessageBody()
    finish_reason: str | None = None


class _Part(BaseModel):
    choices: list[_PartOfChoice] = []

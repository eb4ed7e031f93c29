"""Fake models for tests: deterministic and local."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.errors import ModelFailed
from lightwell.ports import Message, Reply, Usage, Vectors
from lightwell.text.terms import terms
from lightwell.text.tokens import token_count


class HashEmbedder:
    """An embedder by hashed words: texts with common words have similar vectors. Deterministic."""

    model = "hashed-stems"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (1, dimension)."""
        return self._vector(text)[np.newaxis]

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dimension, np.float64)
        for term, count in sorted(Counter(terms(text)).items()):
            digest = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest())
            sign = 1 if digest & 1 else -1
            vector[(digest >> 1) % self.dimension] += sign * np.sqrt(count)
        length = np.linalg.norm(vector)
        if length == 0:
            vector[0] = length = 1
        return (vector / length).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """One call of a `ScriptedModel`."""

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, object] | None


ScriptedReply = str | ModelFailed
"""What a scripted model replies, or how it fails."""


class ScriptedModel:
    """A chat model with scripted replies; `sent` records its calls.

    `replies` are either the replies in order, after which it fails, or a function of the messages. A reply longer
    than `max_tokens` is cut like a real one. `latency` seconds pass before each reply, by `sleep`.
    """

    model = "scripted"

    def __init__(
        self,
        replies: Sequence[ScriptedReply] | Callable[[Sequence[Message]], ScriptedReply],
        *,
        latency: float = 0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._replies = replies if callable(replies) else _reply_in_order(replies)
        self._latency = latency
        self._sleep = sleep
        self.sent: list[SentRequest] = []

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the scripted reply; raise the scripted `ModelFailed`."""
        self.sent.append(
            SentRequest(messages=tuple(messages), max_tokens=max_tokens, schema=schema)
        )
        if self._latency:
            await self._sleep(self._latency)
        whole = self._replies(messages)
        if isinstance(whole, ModelFailed):
            raise whole
        text = _truncate(whole, max_tokens)
        usage = Usage(
            model=self.model,
            input_tokens=sum(token_count(message.content) for message in messages),
            output_tokens=token_count(text),
        )
        return Reply(text=text, complete=text == whole, usage=usage)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        """Yield the scripted reply word by word; raise the scripted `ModelFailed`."""
        text = (await self.reply(messages, max_tokens=max_tokens, schema=schema)).text
        for word in re.findall(r"\S+\s*|\s+", text):
            yield word


def _reply_in_order(
    replies: Sequence[ScriptedReply],
) -> Callable[[Sequence[Message]], ScriptedReply]:
    remaining = iter(replies)
    return lambda _: next(remaining, ModelFailed("the script of this test has no further reply"))


def _truncate(text: str, max_tokens: int) -> str:
    while token_count(text) > max_tokens:
        text = text[: len(text) * 9 // 10]
    return text

"""Vectors from an OpenAI-compatible `/embeddings` endpoint."""

import asyncio
import base64
import binascii
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import openai
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from lightwell.domain.errors import ModelFailed
from lightwell.models import failures
from lightwell.models.endpoint import Connection, gather_or_cancel
from lightwell.models.limiter import Priority
from lightwell.models.meter import Meter
from lightwell.ports import Vectors
from lightwell.text.tokens import token_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """How an endpoint's vectors are asked for.

    `shortened` asks for `dimension` numbers of a model that gives more (Matryoshka). Longer texts are cut at
    `max_tokens`, counted as cl100k. The prefixes are what some models want before a text.
    """

    dimension: int
    shortened: bool = False
    batch: int = 32
    max_tokens: int = 8000
    document_prefix: str = ""
    query_prefix: str = ""


async def dimension_of(connection: Connection) -> int:
    """Return how many numbers the endpoint's vectors have when it is not asked for fewer; raise `ModelFailed`."""
    raw = await connection.send(
        lambda: connection.client.embeddings.with_raw_response.create(
            model=connection.endpoint.model, input=["dimension"], encoding_format="float"
        ),
        priority=Priority.QUESTION,
        tokens=1,
    )
    answer = await asyncio.to_thread(_Answer.model_validate_json, raw.content)
    return len(answer.data[0].embedding)


class OpenAIEmbedder:
    """An embedding model behind the `Embedder` seam; its questions go before its documents.

    `meter` notes what requests cost: the tokens that the endpoint tells of, or those of what it was sent.
    """

    def __init__(self, connection: Connection, space: Space, meter: Meter | None = None) -> None:
        self._connection = connection
        self._space = space
        self._meter = meter or Meter()

    @property
    def model(self) -> str:
        return self._connection.endpoint.model

    @property
    def dimension(self) -> int:
        return self._space.dimension

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        ready = [self._ready(self._space.document_prefix, text) for text in texts]
        return await self._vectors(ready, Priority.INGESTION)

    async def query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (1, dimension); raise `ModelFailed`."""
        ready = self._ready(self._space.query_prefix, text)
        return await self._vectors([ready], Priority.QUESTION)

    def _ready(self, prefix: str, text: str) -> str:
        # Endpoints refuse an empty text, and with it the whole batch.
        return truncate_to_tokens(prefix + text, self._space.max_tokens) or " "

    async def _vectors(self, texts: list[str], priority: Priority) -> Vectors:
        size = self._space.batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        vectors = await gather_or_cancel(self._whole(batch, priority) for batch in batches)
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    async def _whole(self, texts: list[str], priority: Priority) -> Vectors:
        """Ask for the batch, then again for what was left out, until nothing is."""
        vectors: dict[int, NDArray[np.float32]] = {}
        while left := [place for place in range(len(texts)) if place not in vectors]:
            given = await self._embed_batch([texts[place] for place in left], priority)
            if not given:
                raise self._malformed("it gave no vectors")
            vectors |= {left[index]: vector for index, vector in given.items()}
        return np.stack([vectors[place] for place in range(len(texts))])

    async def _embed_batch(
        self, texts: list[str], priority: Priority
    ) -> dict[int, NDArray[np.float32]]:
        tokens = sum(token_count(text) for text in texts)
        answer = await self._connection.send(
            lambda: self._ask(texts),
            priority=priority,
            tokens=tokens,
            cost=lambda answer: answer.usage.total_tokens if answer.usage else None,
        )
        told = answer.usage.total_tokens if answer.usage else 0
        self._meter.record_embeddings(self.model, told or tokens)
        if any(not 0 <= given.index < len(texts) for given in answer.data):
            raise self._malformed("it gave vectors for texts it was not sent")
        return {given.index: self._unit(given.embedding) for given in answer.data}

    async def _ask(self, texts: list[str]) -> "_Answer":
        raw = await self._connection.client.embeddings.with_raw_response.create(
            model=self.model,
            input=texts,
            dimensions=self.dimension if self._space.shortened else openai.omit,
            encoding_format="base64",
        )
        return _Answer.model_validate_json(raw.content)

    def _unit(self, embedding: list[float] | str) -> NDArray[np.float32]:
        vector = self._numbers(embedding)
        if len(vector) != self.dimension:
            raise self._malformed(
                f"its vectors have {len(vector)} numbers and {self.dimension} were expected; set"
                f" {self._connection.endpoint.setting}_DIMENSION to what the model gives"
            )
        length = np.linalg.norm(vector.astype(np.float64))
        if not np.isfinite(length) or length == 0:
            raise self._malformed("it gave a vector without a direction")
        return (vector / length).astype(np.float32)

    def _numbers(self, embedding: list[float] | str) -> NDArray[np.float32]:
        if not isinstance(embedding, str):
            return np.array(embedding, np.float32)
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
        except (binascii.Error, ValueError):
            pass
        raise self._malformed("its vectors are neither numbers nor base64")

    def _malformed(self, what: str) -> ModelFailed:
        return failures.malformed_reply(self._connection.endpoint.address, what).error


def truncate_to_tokens(text: str, max_tokens: int) -> str:
    """Return the text, or its longest beginning of at most so many tokens."""
    if len(text.encode()) <= max_tokens or token_count(text) <= max_tokens:
        return text
    fits = bisect_right(range(len(text)), max_tokens, key=lambda length: token_count(text[:length]))
    return text[: max(0, fits - 1)]


class _Given(BaseModel):
    index: int
    embedding: list[float] | str


class _Cost(BaseModel):
    total_tokens: Annotated[int, Field(ge=0)]


class _Answer(BaseModel):
    data: list[_Given]
    usage: _Cost | None = None

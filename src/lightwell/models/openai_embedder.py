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
from lightwell.models.endpoint import Connection
from lightwell.models.limiter import Priority
from lightwell.models.meter import Meter
from lightwell.ports import Vectors
from lightwell.tasks import gather_or_cancel
from lightwell.text.tokens import token_count


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """How embeddings are requested from an endpoint.

    `is_shortened` requests `dimension` numbers from a model that has more (Matryoshka). `is_cut` requests all of them, and
    keeps the first `dimension`: for endpoints that refuse that request. Texts are truncated to
    `max_tokens`, counted as cl100k. Some models need the prefixes before a text.
    """

    dimension: int
    is_shortened: bool = False
    is_cut: bool = False
    batch: int = 32
    max_tokens: int = 8000
    document_prefix: str = ""
    query_prefix: str = ""


async def detect_dimension(connection: Connection) -> int:
    """Return the dimension of the endpoint's vectors when none is requested; raise `ModelFailed`."""
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
    """An embedding model as `Embedder`; its questions go before its documents.

    `meter` records usage: the tokens that the endpoint reports, else those of the texts.
    """

    def __init__(
        self, connection: Connection, space: EmbeddingOptions, meter: Meter | None = None
    ) -> None:
        self._connection = connection
        self._space = space
        self._meter = meter or Meter()

    @property
    def model(self) -> str:
        return self._connection.endpoint.model

    @property
    def dimension(self) -> int:
        return self._space.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        prepared = [self._prepare(self._space.document_prefix, text) for text in texts]
        return await self._vectors(prepared, Priority.INGESTION)

    async def embed_query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (1, dimension); raise `ModelFailed`."""
        prepared = self._prepare(self._space.query_prefix, text)
        return await self._vectors([prepared], Priority.QUESTION)

    def _prepare(self, prefix: str, text: str) -> str:
        # Endpoints refuse an empty text, and with it the whole batch.
        return truncate_to_tokens(prefix + text, self._space.max_tokens) or " "

    async def _vectors(self, texts: list[str], priority: Priority) -> Vectors:
        size = self._space.batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        vectors = await gather_or_cancel(self._embed_all(batch, priority) for batch in batches)
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    async def _embed_all(self, texts: list[str], priority: Priority) -> Vectors:
        """Request vectors for the batch, then again for texts that the reply left out, until none is missing."""
        vectors: dict[int, NDArray[np.float32]] = {}
        while left := [place for place in range(len(texts)) if place not in vectors]:
            embedded = await self._embed_batch([texts[place] for place in left], priority)
            if not embedded:
                raise self._malformed("it gave no vectors")
            vectors |= {left[index]: vector for index, vector in embedded.items()}
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
        reported = answer.usage.total_tokens if answer.usage else 0
        self._meter.record_embeddings(self.model, reported or tokens)
        if any(not 0 <= item.index < len(texts) for item in answer.data):
            raise self._malformed("it returned vectors for texts that were not in the request")
        return {item.index: self._unit(item.embedding) for item in answer.data}

    async def _ask(self, texts: list[str]) -> "_Answer":
        raw = await self._connection.client.embeddings.with_raw_response.create(
            model=self.model,
            input=texts,
            dimensions=self.dimension if self._space.is_shortened else openai.omit,
            encoding_format="base64",
        )
        return _Answer.model_validate_json(raw.content)

    def _unit(self, embedding: list[float] | str) -> NDArray[np.float32]:
        vector = self._numbers(embedding)
        if self._space.is_cut:
            vector = vector[: self.dimension]
        if len(vector) != self.dimension:
            raise self._malformed(
                f"its vectors have {len(vector)} numbers instead of {self.dimension}; set"
                f" {self._connection.endpoint.setting}_DIMENSION to the dimension of the model"
            )
        length = np.linalg.norm(vector.astype(np.float64))
        if not np.isfinite(length) or length == 0:
            raise self._malformed("it returned a vector that is all zeros or not finite")
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
        return failures.malformed_reply_failure(self._connection.endpoint.address, what).error


def truncate_to_tokens(text: str, max_tokens: int) -> str:
    """Return the text, or its longest prefix of at most this many tokens."""
    if len(text.encode()) <= max_tokens or token_count(text) <= max_tokens:
        return text
    fits = bisect_right(range(len(text)), max_tokens, key=lambda length: token_count(text[:length]))
    return text[: max(0, fits - 1)]


class _EmbeddingBody(BaseModel):
    index: int
    embedding: list[float] | str


class _UsageBody(BaseModel):
    total_tokens: Annotated[int, Field(ge=0)]


class _Answer(BaseModel):
    data: list[_EmbeddingBody]
    usage: _UsageBody | None = None

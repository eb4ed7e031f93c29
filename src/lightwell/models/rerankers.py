"""Relevance from a `/rerank` endpoint: Cohere, Jina, vLLM, Infinity, TEI."""

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

import httpx
from pydantic import AliasChoices, BaseModel, Field, SecretStr, TypeAdapter, ValidationError

from lightwell.domain.errors import Invalid
from lightwell.models import failures
from lightwell.models.clock import Clock
from lightwell.models.endpoint import shown, together
from lightwell.models.failures import Address, Failure
from lightwell.models.limiter import Limiter, Limits, Priority, Slot
from lightwell.ports import Reranked

_NEARLY_SURE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = sigmoid(a * logit(score) + b), with a > 0, so that 0.6 means the same for each reranker."""

    a: float = 1.0
    b: float = 0.0

    def __post_init__(self) -> None:
        if self.a <= 0:
            raise Invalid(f"a calibration's slope must be above 0, not {self.a}")

    def relevance(self, score: float) -> float:
        """Return the relevance in (0, 1) of a score in [0, 1]."""
        inner = min(max(score, _NEARLY_SURE), 1 - _NEARLY_SURE)
        return _sigmoid(self.a * math.log(inner / (1 - inner)) + self.b)


class Dialect(Enum):
    """The path of the endpoint, what it calls the passages, and how many it takes at once."""

    COHERE = ("/v2/rerank", "documents", 1000)
    JINA = ("/v1/rerank", "documents", 1000)
    PLAIN = ("/rerank", "documents", 1000)
    TEI = ("/rerank", "texts", 32)

    @property
    def path(self) -> str:
        return self.value[0]

    @property
    def passages(self) -> Literal["documents", "texts"]:
        return "texts" if self is Dialect.TEI else "documents"

    @property
    def most(self) -> int:
        return self.value[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankEndpoint:
    """Where a reranker is; `timeout_seconds` is for the whole answer, waiting for a slot included."""

    base_url: str
    api_key: SecretStr
    model: str
    dialect: Dialect
    setting: str = "LIGHTWELL_RERANK"
    concurrency: int = 8
    timeout_seconds: float = 2.0

    @property
    def address(self) -> Address:
        return Address(url=shown(self.url), model=self.model, setting=self.setting)

    @property
    def url(self) -> str:
        """The URL to post to; a base URL may bring the path, or its version, along."""
        base = self.base_url.rstrip("/")
        path = self.dialect.path
        if base.endswith("/rerank"):
            return base
        version = path.removesuffix("/rerank")
        return base.removesuffix(version) + path if version else base + path


class RemoteReranker:
    """A rerank endpoint behind the `Reranker` seam. A call is made once: who asked has no time for more."""

    def __init__(
        self,
        endpoint: RerankEndpoint,
        client: httpx.AsyncClient,
        limiter: Limiter,
        calibration: Calibration,
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._limiter = limiter
        self._calibration = calibration

    async def rerank(self, question: str, passages: Sequence[str]) -> list[Reranked]:
        """Return every passage once, most relevant first, equal ones in their order; raise `ModelFailed`."""
        size = self._endpoint.dialect.most
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        deadline = asyncio.get_running_loop().time() + self._endpoint.timeout_seconds
        asked = await together(self._scores(question, batch, deadline) for batch in batches)
        scores = _within([score for scores in asked for score in scores])
        found = [
            Reranked(place=place, relevance=self._calibration.relevance(score))
            for place, score in enumerate(scores)
        ]
        return sorted(found, key=lambda one: (-one.relevance, one.place))

    async def _scores(self, question: str, passages: Sequence[str], deadline: float) -> list[float]:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout_at(deadline):
                    slot = await held.enter_async_context(
                        self._limiter.slot(priority=Priority.QUESTION)
                    )
            except TimeoutError:
                slot = None
            if slot is None:
                raise self._too_slow().error
            outcome = await self._outcome(question, passages, deadline)
            if isinstance(outcome, Failure):
                _note(slot, outcome)
                raise outcome.error
            slot.answered()
            return outcome

    async def _outcome(
        self, question: str, passages: Sequence[str], deadline: float
    ) -> list[float] | Failure:
        address = self._endpoint.address
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._client.post(
                    self._endpoint.url, json=self._asked(question, passages)
                )
        except (TimeoutError, httpx.TimeoutException):
            return self._too_slow()
        except httpx.HTTPError:
            return failures.unreachable(address)
        if not response.is_success:
            return failures.refused(address, response.status_code, response.headers, None)
        try:
            scored = _ANSWER.validate_json(response.content)
        except ValidationError:
            return failures.garbled(address, "not the JSON it should be")
        scores = {one.index: one.score for one in _results(scored)}
        if sorted(scores) != list(range(len(passages))):
            return failures.garbled(address, "not one score for each passage")
        return [scores[place] for place in range(len(passages))]

    def _asked(self, question: str, passages: Sequence[str]) -> dict[str, object]:
        dialect = self._endpoint.dialect
        asked: dict[str, object] = {"query": question, dialect.passages: list(passages)}
        if dialect is Dialect.TEI:
            return asked | {"truncate": True}
        return asked | {"model": self._endpoint.model, "top_n": len(passages)}

    def _too_slow(self) -> Failure:
        return failures.too_slow(self._endpoint.address, self._endpoint.timeout_seconds)


@asynccontextmanager
async def reranking(
    endpoint: RerankEndpoint,
    *,
    calibration: Calibration | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[RemoteReranker]:
    """Open a rerank endpoint behind its own gate."""
    key = endpoint.api_key.get_secret_value()
    limits = Limits(concurrency=endpoint.concurrency)
    async with httpx.AsyncClient(
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=endpoint.timeout_seconds,
    ) as client:
        limiter = Limiter(endpoint.address.url, limits, clock=clock)
        yield RemoteReranker(endpoint, client, limiter, calibration or Calibration())


def _note(slot: Slot, failure: Failure) -> None:
    if failure.wait is not None:
        slot.told_to_wait(failure.wait)
    elif failure.alive:
        slot.answered()
    else:
        slot.failed(failure.reason)


def _within(scores: Sequence[float]) -> list[float]:
    """Return scores in [0, 1]; when one is outside, they are raw and all become probabilities."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [_sigmoid(score) for score in scores]


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else 1 - 1 / (1 + math.exp(value))


class _Scored(BaseModel):
    index: int
    score: Annotated[
        float, Field(validation_alias=AliasChoices("relevance_score", "score"), allow_inf_nan=False)
    ]


class _Results(BaseModel):
    results: list[_Scored]


_ANSWER: TypeAdapter[list[_Scored] | _Results] = TypeAdapter(list[_Scored] | _Results)


def _results(answer: list[_Scored] | _Results) -> list[_Scored]:
    return answer.results if isinstance(answer, _Results) else answer

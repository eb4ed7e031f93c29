"""Rerankers behind a `/rerank` endpoint: Cohere, Jina, vLLM, Infinity, SGLang, llama.cpp, TEI.

vLLM scores a Qwen3-Reranker by the probability of "yes" only when it is served with its score template
(`--chat-template`); without it the scores are meaningless.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Annotated, Literal

import httpx
from pydantic import AliasChoices, BaseModel, Field, SecretStr, TypeAdapter, ValidationError

from lightwell.domain.calibration import Calibration, sigmoid
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.reranking import RerankedPassage
from lightwell.domain.usage import OperationType
from lightwell.models import failures
from lightwell.models.clock import Clock
from lightwell.models.endpoint import without_secrets
from lightwell.models.failures import Address, Failure
from lightwell.models.limiter import Limiter, Limits, Priority
from lightwell.models.meter import Meter
from lightwell.tasks import gather_or_cancel
from lightwell.text.tokens import token_count


class Scores(StrEnum):
    """The kind of an endpoint's scores: most return probabilities; llama.cpp returns logits for some models.

    Probabilities below 0 are cosines (jina-reranker-v3); a calibration counts them as 0.
    """

    PROBABILITY = "probability"
    LOGIT = "logit"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestFormat:
    """One request takes up to `max_passages`; `default_url` and `model` are the provider's own, "" where there is none."""

    path: str
    passages: Literal["documents", "texts"] = "documents"
    max_passages: int = 1000
    default_url: str = ""
    model: str = ""
    needs_key: bool = False
    options: Mapping[str, object] = field(default_factory=dict[str, object])


class Dialect(Enum):
    """The request format of an endpoint. PLAIN is what vLLM, Infinity, SGLang and llama.cpp understand."""

    COHERE = _RequestFormat(
        path="/v2/rerank", default_url="https://api.cohere.com", model="rerank-v3.5", needs_key=True
    )
    JINA = _RequestFormat(
        path="/v1/rerank",
        default_url="https://api.jina.ai",
        model="jina-reranker-v2-base-multilingual",
        needs_key=True,
        options={"return_documents": False},
    )
    PLAIN = _RequestFormat(path="/rerank", options={"return_documents": False})
    TEI = _RequestFormat(
        path="/rerank", passages="texts", max_passages=32, options={"truncate": True}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankEndpoint:
    """A reranker's endpoint; `timeout_seconds` is for the whole request, including the wait for a slot.

    The provider's own URL and model apply where `base_url` and `model` are "". Raises `Invalid`.
    """

    dialect: Dialect
    api_key: SecretStr
    base_url: str = ""
    model: str = ""
    setting: str = "LIGHTWELL_RERANK"
    scores: Scores = Scores.PROBABILITY
    concurrency: int = 8
    timeout_seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.dialect.value.needs_key and not self.api_key.get_secret_value():
            raise Invalid(f"API key must be configured: set {self.setting}_API_KEY")
        if not self.base_url and not self.dialect.value.default_url:
            raise Invalid(f"A reranker's URL must be configured: set {self.setting}_URL")
        if self.timeout_seconds <= 0:
            raise Invalid("Timeout must be positive")

    @property
    def address(self) -> Address:
        return Address(url=without_secrets(self.url), model=self.model_name, setting=self.setting)

    @property
    def model_name(self) -> str:
        """The model to request; "" leaves it to the endpoint."""
        return self.model or self.dialect.value.model

    @property
    def url(self) -> str:
        """The URL to post to; a base URL may already contain the path or its version."""
        base = (self.base_url or self.dialect.value.default_url).rstrip("/")
        path = self.dialect.value.path
        if base.endswith("/rerank"):
            return base
        version = path.removesuffix("/rerank")
        return base.removesuffix(version) + path if version else base + path


class RemoteReranker:
    """A rerank endpoint as `Reranker`. Calls are not retried, because a person waits for the answer.

    `meter` records usage: the tokens that the endpoint reports, else those of the texts.
    """

    def __init__(
        self,
        endpoint: RerankEndpoint,
        client: httpx.AsyncClient,
        limiter: Limiter,
        calibration: Calibration,
        meter: Meter,
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._limiter = limiter
        self._calibration = calibration
        self._meter = meter

    async def rerank(self, question: str, passages: Sequence[str]) -> list[RerankedPassage]:
        """Return every passage once, most relevant first, equal ones in input order; raise `ModelFailed`."""
        size = self._endpoint.dialect.value.max_passages
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        deadline = asyncio.get_running_loop().time() + self._endpoint.timeout_seconds
        batch_scores = await gather_or_cancel(
            self._scores(question, batch, deadline) for batch in batches
        )
        reranked = [
            RerankedPassage(index=place, relevance=self._calibration.relevance(score))
            for place, score in enumerate(score for scores in batch_scores for score in scores)
        ]
        return sorted(reranked, key=lambda passage: (-passage.relevance, passage.index))

    async def _scores(self, question: str, passages: Sequence[str], deadline: float) -> list[float]:
        async with AsyncExitStack() as slot_scope:
            try:
                async with asyncio.timeout_at(deadline):
                    slot = await slot_scope.enter_async_context(
                        self._limiter.slot(priority=Priority.QUESTION)
                    )
            except TimeoutError:
                slot = None
            if slot is None:
                raise self._too_slow().error
            outcome = await self._outcome(question, passages, deadline)
            if isinstance(outcome, Failure):
                if outcome.wait is not None:
                    slot.record_pause(outcome.wait)
                elif outcome.is_alive:
                    slot.record_success()
                else:
                    slot.record_failure(outcome.reason)
                raise outcome.error
            slot.record_success()
            return outcome

    async def _outcome(
        self, question: str, passages: Sequence[str], deadline: float
    ) -> list[float] | Failure:
        address = self._endpoint.address
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._client.post(
                    self._endpoint.url, json=self._request_body(question, passages)
                )
        except (TimeoutError, httpx.TimeoutException):
            return self._too_slow()
        except httpx.HTTPError:
            return failures.connection_failure(address)
        if not response.is_success:
            return failures.http_failure(address, response.status_code, response.headers, None)
        try:
            answer = _ANSWER.validate_json(response.content)
        except ValidationError:
            return failures.malformed_reply_failure(address, "not the expected JSON")
        scored = _Results(results=answer) if isinstance(answer, list) else answer
        # A reranker reads the question once per passage.
        cost = scored.cost or (
            token_count(question) * len(passages) + sum(map(token_count, passages))
        )
        self._meter.record(OperationType.RERANK, self._endpoint.model_name, cost, 0)
        return self._parse_scores(scored.results, len(passages))

    def _parse_scores(self, scored: Sequence["_Scored"], passages: int) -> list[float] | Failure:
        """Return the scores, at most 1, in the order of the passages."""
        address = self._endpoint.address
        scores = {result.index: result.score for result in scored}
        if sorted(scores) != list(range(passages)):
            return failures.malformed_reply_failure(address, "not one score for each passage")
        ordered = [scores[place] for place in range(passages)]
        if self._endpoint.scores is Scores.LOGIT:
            return [sigmoid(score) for score in ordered]
        if any(abs(score) > 1 for score in ordered):
            fix = f"scores outside 0 to 1: if they are logits, set {address.setting}_SCORES=logit"
            return failures.malformed_reply_failure(address, fix)
        return ordered

    def _request_body(self, question: str, passages: Sequence[str]) -> dict[str, object]:
        form = self._endpoint.dialect.value
        batch_scores: dict[str, object] = {"query": question, form.passages: list(passages)}
        if form.passages == "documents":
            named = {"model": self._endpoint.model_name} if self._endpoint.model_name else {}
            batch_scores |= {"top_n": len(passages), **named}
        return batch_scores | dict(form.options)

    def _too_slow(self) -> Failure:
        address, seconds = self._endpoint.address, self._endpoint.timeout_seconds
        slow = f"{address.url} did not answer within {seconds:g} s"
        return Failure(
            error=ModelFailed(f"{slow}: if it is slow, raise {address.setting}_TIMEOUT_MS"),
            reason=f"it did not answer within {seconds:g} s",
            is_retryable=True,
            is_alive=False,
        )


@asynccontextmanager
async def open_reranker(
    endpoint: RerankEndpoint,
    *,
    calibration: Calibration | None = None,
    meter: Meter | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[RemoteReranker]:
    """Open a rerank endpoint with a limiter of its own."""
    key = endpoint.api_key.get_secret_value()
    limits = Limits(concurrency=endpoint.concurrency)
    async with httpx.AsyncClient(
        headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=endpoint.timeout_seconds
    ) as client:
        limiter = Limiter(endpoint.address.url, limits, clock=clock)
        yield RemoteReranker(
            endpoint, client, limiter, calibration or Calibration(), meter or Meter()
        )


class _Scored(BaseModel):
    index: int
    score: Annotated[
        float, Field(validation_alias=AliasChoices("relevance_score", "score"), allow_inf_nan=False)
    ]


class _Usage(BaseModel):
    total_tokens: Annotated[int, Field(ge=0)] | None = None


class _Results(BaseModel):
    results: list[_Scored]
    usage: _Usage | None = None

    @property
    def cost(self) -> int:
        """Tokens read; 0 when the endpoint does not report them."""
        return (self.usage and self.usage.total_tokens) or 0


_ANSWER: TypeAdapter[list[_Scored] | _Results] = TypeAdapter(list[_Scored] | _Results)

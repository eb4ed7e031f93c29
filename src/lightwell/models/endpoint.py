"""A connection to an OpenAI-compatible endpoint, with retries and a limiter."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from json import JSONDecodeError
from typing import TypeVar
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI
from pydantic import SecretStr, ValidationError

from lightwell.domain.errors import ModelFailed
from lightwell.models import failures
from lightwell.models.clock import Clock, LoopClock
from lightwell.models.failures import Address, Failure
from lightwell.models.limiter import Limiter, Limits, Priority, Slot

T = TypeVar("T")

CONNECT_SECONDS = 10.0
ENDPOINT_ERRORS = (openai.OpenAIError, ValidationError, JSONDecodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a call is tried, and the waits between tries in seconds, doubling from the first.

    A 429 ("come back later") is not a failure and is retried more often.
    """

    attempts: int = 5
    busy_attempts: int = 20
    first_wait: float = 0.5
    max_wait: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model's endpoint and its limits; `setting` is the prefix of its settings, for messages."""

    base_url: str
    api_key: SecretStr
    model: str
    setting: str = "LIGHTWELL_CHAT"
    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_seconds: float = 120.0
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def limits(self) -> Limits:
        return Limits(
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
        )

    @property
    def address(self) -> Address:
        return Address(url=without_secrets(self.base_url), model=self.model, setting=self.setting)


def without_secrets(url: str) -> str:
    """Return the URL without user, password and query, which may be secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


class Connection:
    """An endpoint's client and limiter; several models may share it."""

    def __init__(
        self, endpoint: Endpoint, client: AsyncOpenAI, limiter: Limiter, clock: Clock
    ) -> None:
        self.endpoint = endpoint
        self.client = client
        self.limiter = limiter
        self._clock = clock

    async def send(
        self,
        request: Callable[[], Awaitable[T]],
        *,
        priority: Priority,
        tokens: int,
        cost: Callable[[T], int | None] = lambda _: None,
    ) -> T:
        """Return the result of `request`, retried while that may help; raise `ModelFailed`.

        `tokens` is the most that the call may cost and `cost` what it did cost, for the limit of tokens per
        minute.
        """
        answer, slot, slot_scope = await self._call(request, priority, tokens)
        async with slot_scope:
            slot.record_success(tokens=cost(answer))
        return answer

    @asynccontextmanager
    async def stream(
        self, request: Callable[[], Awaitable[T]], *, priority: Priority, tokens: int
    ) -> AsyncGenerator[T]:
        """Hold the slot while a reply arrives in parts. Opening is retried; later failures are not."""
        parts, slot, slot_scope = await self._call(request, priority, tokens)
        failure = None
        async with slot_scope:
            try:
                yield parts
                slot.record_success()
            except ENDPOINT_ERRORS as error:
                failure = self.translate_errors(error)
                RetryState(self.endpoint.retry_policy, self._clock).record_failure(slot, failure)
        if failure is not None:
            raise failure.error from None

    async def _call(
        self, request: Callable[[], Awaitable[T]], priority: Priority, tokens: int
    ) -> tuple[T, Slot, AsyncExitStack]:
        async def send() -> T | Failure:
            try:
                return await request()
            except ENDPOINT_ERRORS as error:
                return self.translate_errors(error)

        tries = RetryState(self.endpoint.retry_policy, self._clock)
        return await tries.call(send, self.limiter, priority=priority, tokens=tokens)

    def translate_errors(
        self, error: openai.OpenAIError | ValidationError | JSONDecodeError
    ) -> Failure:
        """Return the library's error as a `Failure`."""
        address = self.endpoint.address
        match error:
            case openai.APIStatusError():
                return failures.http_failure(
                    address, error.status_code, error.response.headers, error.code
                )
            case openai.APITimeoutError():
                return failures.timeout_failure(address, self.endpoint.timeout_seconds)
            case openai.APIConnectionError():
                return failures.connection_failure(address)
            case ValidationError() | JSONDecodeError():
                return failures.malformed_reply_failure(address, "not the expected JSON")
            case _:
                return failures.malformed_reply_failure(address, type(error).__name__)


class RetryState:
    """The attempts of one call."""

    def __init__(self, policy: RetryPolicy, clock: Clock) -> None:
        self._policy = policy
        self._clock = clock
        self._failed = 0
        self._busy = 0
        self._queue_position: int | None = None
        self._last_error: ModelFailed | None = None

    async def call(
        self,
        request: Callable[[], Awaitable[T | Failure]],
        limiter: Limiter,
        *,
        priority: Priority,
        tokens: int = 0,
    ) -> tuple[T, Slot, AsyncExitStack]:
        """Return the first answer that is no failure, and its slot, which the returned stack still holds.

        If the call is cancelled, the `CancelledError` has the last failed attempt as its cause, so that whoever
        limits the time can report why it was used up.
        """
        try:
            while True:
                async with AsyncExitStack() as attempt:
                    slot = await attempt.enter_async_context(
                        limiter.slot(
                            priority=priority, tokens=tokens, queue_position=self._queue_position
                        )
                    )
                    answer = await request()
                    if not isinstance(answer, Failure):
                        return answer, slot, attempt.pop_all()
                    self.record_failure(slot, answer)
                await self._wait_or_raise(answer)
        except asyncio.CancelledError as cancelled:
            raise cancelled from self._last_error

    def record_failure(self, slot: Slot, failure: Failure) -> None:
        """Report the failure to the limiter."""
        self._queue_position = slot.queue_position
        self._last_error = failure.error
        if failure.wait:
            slot.record_pause(failure.wait)
        elif failure.is_alive and failure.is_retryable:
            slot.record_pause(self._pause(self._busy))
        elif failure.is_alive:
            slot.record_success()
        else:
            slot.record_failure(failure.reason)

    async def _wait_or_raise(self, failure: Failure) -> None:
        """Wait until the call may be retried; raise the failure if it must not be."""
        if failure.is_alive:
            self._busy += 1
        else:
            self._failed += 1
        if (
            not failure.is_retryable
            or self._failed >= self._policy.attempts
            or self._busy >= self._policy.busy_attempts
        ):
            raise failure.error
        if not failure.wait and not failure.is_alive:
            await self._clock.sleep(self._pause(self._failed - 1))

    def _pause(self, earlier_tries: int) -> float:
        longest = min(self._policy.max_wait, self._policy.first_wait * 2**earlier_tries)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads callers, hides nothing


@asynccontextmanager
async def connect(
    endpoint: Endpoint, *, limiter: Limiter | None = None, clock: Clock | None = None
) -> AsyncGenerator[Connection]:
    """Open a connection. Pass the limiter of another connection to the same machine to share its limits."""
    time_source = clock or LoopClock()
    async with AsyncOpenAI(
        api_key=endpoint.api_key.get_secret_value() or "none",
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=openai.Timeout(endpoint.timeout_seconds, connect=CONNECT_SECONDS),
    ) as client:
        # The SDK takes these from the environment, where they are meant for another endpoint.
        client.organization = client.project = None
        shared_limiter = limiter or Limiter(
            endpoint.address.url, endpoint.limits, clock=time_source
        )
        yield Connection(endpoint, client, shared_limiter, time_source)

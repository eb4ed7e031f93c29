"""An OpenAI-compatible endpoint, called with patience."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
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
MISUNDERSTANDINGS = (openai.OpenAIError, ValidationError, JSONDecodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a call is tried and how long it waits between, in seconds, doubling from the first.

    Being told to come back later (429) is not a failure and is borne more often.
    """

    attempts: int = 5
    busy_attempts: int = 20
    first_wait: float = 0.5
    longest_wait: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is and what it bears; `setting` is the prefix of its settings, for messages."""

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
    """Return the URL without a user, a password or a query, which may be secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


class Connection:
    """An endpoint's client and its one gate; several models may share it."""

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
        """Return what `request` gives, tried again while that may help; raise `ModelFailed`.

        `tokens` is what the call will cost at most and `cost` what it did, for the allowance per minute.
        """
        answer, slot, held = await self._call(request, priority, tokens)
        async with held:
            slot.record_success(tokens=cost(answer))
        return answer

    @asynccontextmanager
    async def stream(
        self, request: Callable[[], Awaitable[T]], *, priority: Priority, tokens: int
    ) -> AsyncGenerator[T]:
        """Hold the slot while a reply comes in parts. Opening it is tried again; what fails later is not."""
        parts, slot, held = await self._call(request, priority, tokens)
        failure = None
        async with held:
            try:
                yield parts
                slot.record_success()
            except MISUNDERSTANDINGS as error:
                failure = self.translate_errors(error)
                RetryState(self.endpoint.retry_policy, self._clock).record_failure(slot, failure)
        if failure is not None:
            raise failure.error from None

    async def _call(
        self, request: Callable[[], Awaitable[T]], priority: Priority, tokens: int
    ) -> tuple[T, Slot, AsyncExitStack]:
        """Return the answer with the slot it came through, still held by the stack.

        A cancelled call has the last failed attempt as the cause of its `CancelledError`, so that whoever limits the
        time can say why it was used up.
        """
        tries = RetryState(self.endpoint.retry_policy, self._clock)
        try:
            return await self._tried(request, priority, tokens, tries)
        except asyncio.CancelledError as cancelled:
            raise cancelled from tries.last_error

    async def _tried(
        self,
        request: Callable[[], Awaitable[T]],
        priority: Priority,
        tokens: int,
        tries: "RetryState",
    ) -> tuple[T, Slot, AsyncExitStack]:
        while True:
            async with AsyncExitStack() as attempt:
                slot = await attempt.enter_async_context(
                    self.limiter.slot(priority=priority, tokens=tokens, place=tries.place)
                )
                try:
                    answer = await request()
                except MISUNDERSTANDINGS as error:
                    failure = self.translate_errors(error)
                    tries.record_failure(slot, failure)
                else:
                    return answer, slot, attempt.pop_all()
            await tries.again(failure)

    def translate_errors(
        self, error: openai.OpenAIError | ValidationError | JSONDecodeError
    ) -> Failure:
        """Put a library's error into words of ours."""
        address = self.endpoint.address
        match error:
            case openai.APIStatusError():
                return failures.refused(
                    address, error.status_code, error.response.headers, error.code
                )
            case openai.APITimeoutError():
                return failures.too_slow(address, self.endpoint.timeout_seconds)
            case openai.APIConnectionError():
                return failures.unreachable(address)
            case ValidationError() | JSONDecodeError():
                return failures.malformed_reply(address, "not the JSON it should be")
            case _:
                return failures.malformed_reply(address, type(error).__name__)


class RetryState:
    """One call's failed attempts so far."""

    def __init__(self, patience: RetryPolicy, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._failed = 0
        self._busy = 0
        self.place: int | None = None
        self.last_error: ModelFailed | None = None

    def record_failure(self, slot: Slot, failure: Failure) -> None:
        """Tell the gate what happened."""
        self.place = slot.place
        self.last_error = failure.error
        if failure.wait:
            slot.paused(failure.wait)
        elif failure.alive and failure.passing:
            slot.paused(self._pause(self._busy))
        elif failure.alive:
            slot.record_success()
        else:
            slot.record_failure(failure.reason)

    async def again(self, failure: Failure) -> None:
        """Return when the call may be tried again; raise the failure when it had better not be."""
        if failure.alive:
            self._busy += 1
        else:
            self._failed += 1
        if (
            not failure.passing
            or self._failed >= self._patience.attempts
            or self._busy >= self._patience.busy_attempts
        ):
            raise failure.error
        if not failure.wait and not failure.alive:
            await self._clock.sleep(self._pause(self._failed - 1))

    def _pause(self, before: int) -> float:
        longest = min(self._patience.longest_wait, self._patience.first_wait * 2**before)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads callers, hides nothing


@asynccontextmanager
async def connect(
    endpoint: Endpoint, *, limiter: Limiter | None = None, clock: Clock | None = None
) -> AsyncGenerator[Connection]:
    """Open an endpoint; hand in the limiter of another connection to the same machine to share its gate."""
    ticking = clock or LoopClock()
    async with AsyncOpenAI(
        api_key=endpoint.api_key.get_secret_value() or "none",
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=openai.Timeout(endpoint.timeout_seconds, connect=CONNECT_SECONDS),
    ) as client:
        # The SDK takes these from the environment, where they are meant for another endpoint.
        client.organization = client.project = None
        gate = limiter or Limiter(endpoint.address.url, endpoint.limits, clock=ticking)
        yield Connection(endpoint, client, gate, ticking)


async def gather_or_cancel(calls: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Return what each call gives, in order; the first that fails ends the others with its `ModelFailed`."""
    asked: list[asyncio.Task[T]] = []
    failed: ModelFailed | None = None
    try:
        async with asyncio.TaskGroup() as group:
            asked += [group.create_task(call) for call in calls]
    except* ModelFailed as several:
        failed = _first(several)
    if failed is not None:
        raise failed from None
    return [task.result() for task in asked]


def _first(group: BaseExceptionGroup[ModelFailed]) -> ModelFailed:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first

"""Calls of a vendor's HTTP API, repeated while the vendor asks for patience or fails for a moment."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx
import stamina

from lightwell.domain.errors import SourceFailed

ATTEMPTS = 8
_MAX_WAIT_SECONDS = 300.0
_TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS

WaitAsked = Callable[[httpx.Response], float | None]
"""From a response to the seconds that the vendor asks to wait; 0 for "later", None where it asks for nothing."""


class _TryAgain(Exception):
    """The call may succeed later; `seconds` is 0 where the vendor does not say when."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiClient:
    """A vendor's API. `client` has the base URL, the credentials and the timeout; `name` is for messages.

    `wait_asked` recognises the vendor's own form of a rate limit.
    """

    name: str
    client: httpx.AsyncClient
    wait_asked: WaitAsked

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Return the response to a request that `client.build_request` made, whatever its status.

        It is repeated while the vendor is busy or fails by itself. Raises `SourceFailed` when no attempt got an answer.
        """
        try:
            async for attempt in stamina.retry_context(
                on=_seconds_to_wait, attempts=ATTEMPTS, timeout=None, wait_max=30.0
            ):
                with attempt:
                    return await self._send_once(request)
        except _TryAgain as error:
            raise SourceFailed(f"{self.name}: {error}; the next sync goes on from here") from error
        raise AssertionError("unreachable")

    async def _send_once(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self.client.send(request)
        except httpx.TransportError as error:
            raise _TryAgain(f"no answer ({type(error).__name__})") from error
        seconds = self.wait_asked(response)
        if seconds is None and response.status_code == _TOO_MANY:
            seconds = 0.0
        if seconds is not None:
            if seconds > _MAX_WAIT_SECONDS:
                raise SourceFailed(
                    f"{self.name} asks to wait {seconds:,.0f} seconds; the next sync goes on from here"
                )
            raise _TryAgain("it refuses calls because there were too many", seconds)
        if response.is_server_error:
            raise _TryAgain(f"it failed with status {response.status_code}")
        return response


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or a date; None without a readable one."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    now = server_time(response)
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())


def server_time(response: httpx.Response) -> datetime:
    """Return the vendor's clock where it tells the time, because ours may differ."""
    try:
        told = parsedate_to_datetime(response.headers.get("date", ""))
    except ValueError:
        return datetime.now(UTC)
    return told.replace(tzinfo=told.tzinfo or UTC)


def _seconds_to_wait(error: Exception) -> bool | float:
    """Tell stamina whether, or after how many seconds, to try again."""
    if not isinstance(error, _TryAgain):
        return False
    return error.seconds or True

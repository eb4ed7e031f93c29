"""Calls of a vendor's HTTP API, repeated while the vendor asks for patience or fails for a moment.

What a vendor sends is read within limits of bytes and of time, and it is unpacked here, so that a small answer does not
become a large one before anybody looks.
"""

import asyncio
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx
import stamina

from lightwell.domain.errors import SourceFailed

ATTEMPTS = 8
ACCEPT_ENCODING = "gzip"
_MAX_WAIT_SECONDS = 300.0
_MAX_SECONDS = 300.0
"""For one answer: the largest arrive at 200 KB a second. A server that sends a byte now and then would hold a sync for ever."""

_MAX_BYTES = 64 * 1000**2
"""Unpacked. The largest honest answers, 500 records of Attio's with many attributes, have about 25 MB."""

_GZIP_WINDOW = zlib.MAX_WBITS | 16
_UNPACKED_HEADERS = ("content-encoding", "content-length", "transfer-encoding")
_TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS

RateLimitWait = Callable[[httpx.Response], float | None]
"""From a response to the seconds that the vendor asks to wait; 0 for "later", None where it asks for nothing."""


class _TryAgain(Exception):
    """The call may succeed later; `seconds` is 0 where the vendor does not say when."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class ResponseTooLarge(SourceFailed):
    """An answer has more bytes than are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiClient:
    """A vendor's API. `client` has the base URL, the credentials and the timeout; `name` is for messages.

    `rate_limit_wait` recognises the vendor's own form of a rate limit. An answer has at most `max_bytes`, and takes at most
    `max_seconds` from the request to its last byte.
    """

    name: str
    client: httpx.AsyncClient
    rate_limit_wait: RateLimitWait
    max_bytes: int = _MAX_BYTES
    max_seconds: float = _MAX_SECONDS

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Return the response to a request that `client.build_request` made, whatever its status.

        It is repeated while the vendor is busy or fails by itself. Raises `ResponseTooLarge`, or `SourceFailed` when no
        attempt got an answer in time.
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
            async with asyncio.timeout(self.max_seconds):
                response = await self._receive(request)
        except TimeoutError as error:
            raise SourceFailed(
                f"{self.name} took longer than {self.max_seconds:g} seconds for one answer; the next sync goes on from here"
            ) from error
        except httpx.TransportError as error:
            raise _TryAgain(f"no answer ({type(error).__name__})") from error
        seconds = self.rate_limit_wait(response)
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

    async def _receive(self, request: httpx.Request) -> httpx.Response:
        """Return the response with its whole body, unpacked."""
        response = await self.client.send(request, stream=True)
        try:
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding not in ("identity", ACCEPT_ENCODING):
                raise SourceFailed(
                    f"{self.name} sent a body in a packing that it was not asked for"
                )
            body = await self._read(response, is_packed=encoding == ACCEPT_ENCODING)
        finally:
            await response.aclose()
        headers = [
            header
            for header in response.headers.multi_items()
            if header[0] not in _UNPACKED_HEADERS
        ]
        return httpx.Response(response.status_code, headers=headers, content=body, request=request)

    async def _read(self, response: httpx.Response, *, is_packed: bool) -> bytes:
        body, received = bytearray(), 0
        unpacker = zlib.decompressobj(_GZIP_WINDOW) if is_packed else None
        async for part in response.aiter_raw():
            received += len(part)
            try:
                left = self.max_bytes - len(body) + 1
                body += part if unpacker is None else unpacker.decompress(part, left)
            except zlib.error as error:
                raise _TryAgain("its answer is damaged") from error
            if max(len(body), received) > self.max_bytes:
                raise ResponseTooLarge(
                    f"{self.name} sent more than {self.max_bytes / 1000**2:,.0f} MB in one answer"
                )
        if unpacker is not None and body and not unpacker.eof:
            raise _TryAgain("its answer ends in the middle")
        return bytes(body)


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or a date; None without a readable one."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    until = parse_date(text)
    return None if until is None else max(0.0, (until - server_time(response)).total_seconds())


def usual_wait(response: httpx.Response) -> float | None:
    """Return the seconds that a vendor asks to wait who refuses with status 429, with or without saying for how long."""
    if response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    return retry_after(response) or 0.0


def server_time(response: httpx.Response) -> datetime:
    """Return the vendor's clock where it tells the time, because ours may differ."""
    return parse_date(response.headers.get("date", "")) or datetime.now(UTC)


def parse_date(text: str) -> datetime | None:
    """Return the date of an HTTP header, None for a text that is none."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=date.tzinfo or UTC)


def _seconds_to_wait(error: Exception) -> bool | float:
    """Tell stamina whether, or after how many seconds, to try again."""
    if not isinstance(error, _TryAgain):
        return False
    return error.seconds or True

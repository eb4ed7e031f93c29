"""A parser of files elsewhere, for formats that Lightwell does not read: docling-serve, Apache Tika or Unstructured.

It is sent the file's bytes under a name that only has the extension. What it replies is as untrusted as the file, and is
parsed as such (`ingest/parse/foreign.py`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from lightwell.domain.errors import Invalid, ModelFailed, Unreadable
from lightwell.models import failures
from lightwell.models.clock import Clock, LoopClock
from lightwell.models.endpoint import CONNECT_SECONDS, RetryPolicy, RetryState, without_secrets
from lightwell.models.failures import Address, Failure
from lightwell.models.limiter import Limiter, Limits, Priority
from lightwell.text.regex import regex

MAX_REPLY_BYTES = 64_000_000
_SECONDS = 600.0
"""Of one file: reading the pictures of a long scan takes minutes."""

_SETTING = "LIGHTWELL_PARSER"
_EXTENSION = regex(r"\.[a-z0-9]{1,10}")
_OF_ONE_FILE = frozenset(
    (
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
)
"""What these programs answer for a file that they cannot read; other files are not concerned."""


class Kind(Enum):
    """The programs, by how the path of their address ends."""

    DOCLING = "/convert/file"
    TIKA = "/tika"
    UNSTRUCTURED = "/general/v0/general"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserAddress:
    """Where the program is; raise `Invalid` for an address that is none of the three."""

    url: str
    api_key: SecretStr
    concurrency: int = 8
    seconds: float = _SECONDS
    max_reply_bytes: int = MAX_REPLY_BYTES
    retry_policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(attempts=3))

    @property
    def kind(self) -> Kind:
        path = urlsplit(self.url).path.rstrip("/")
        for kind in Kind:
            if path.endswith(kind.value):
                return kind
        raise Invalid(
            f"{_SETTING}_URL is no address of a parser: it ends with /v1/convert/file (docling-serve), /tika (Apache Tika)"
            " or /general/v0/general (Unstructured), such as http://localhost:9998/tika"
        )

    @property
    def address(self) -> Address:
        return Address(url=without_secrets(self.url), model="", setting=_SETTING)

    @property
    def headers(self) -> dict[str, str]:
        key = self.api_key.get_secret_value()
        match self.kind:
            case Kind.DOCLING:
                return {"Accept": "application/json"} | ({"X-Api-Key": key} if key else {})
            case Kind.TIKA:
                credentials = {"Authorization": f"Bearer {key}"} if key else {}
                return {"Accept": "text/html"} | credentials
            case Kind.UNSTRUCTURED:
                credentials = {"unstructured-api-key": key} if key else {}
                return {"Accept": "application/json"} | credentials


class FileParser:
    """Sends files to the program; calls share a limiter, and are retried while that may help."""

    def __init__(
        self, address: ParserAddress, client: httpx.AsyncClient, limiter: Limiter, clock: Clock
    ) -> None:
        self._address = address
        self._client = client
        self._limiter = limiter
        self._clock = clock

    async def convert(self, content: bytes, name: str) -> bytes:
        """Return the program's reply for a file; raise `Unreadable` for a file that it cannot read, else `ModelFailed`."""
        request = self._request(content, name)
        tries = RetryState(self._address.retry_policy, self._clock)
        outcome, slot, slot_scope = await tries.call(
            lambda: self._outcome(request), self._limiter, priority=Priority.INGESTION
        )
        async with slot_scope:
            slot.record_success()
        if isinstance(outcome, Unreadable):
            raise outcome
        return outcome

    def _request(self, content: bytes, name: str) -> httpx.Request:
        suffix = PurePosixPath(name).suffix.lower()
        neutral = f"document{suffix if _EXTENSION.fullmatch(suffix) else ''}"
        match self._address.kind:
            case Kind.TIKA:
                return self._client.build_request(
                    "PUT",
                    self._address.url,
                    content=content,
                    headers={
                        "Content-Type": "application/octet-stream",
                        "Content-Disposition": f'attachment; filename="{neutral}"',
                    },
                )
            case Kind.DOCLING:
                options = {"to_formats": "md", "image_export_mode": "placeholder"}
            case Kind.UNSTRUCTURED:
                options = {"output_format": "application/json"}
        files = {"files": (neutral, content)}
        return self._client.build_request("POST", self._address.url, data=options, files=files)

    async def _outcome(self, request: httpx.Request) -> bytes | Failure | Unreadable:
        try:
            async with asyncio.timeout(self._address.seconds):
                response = await self._client.send(request, stream=True)
                try:
                    return await self._read(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout):
            return Unreadable(
                "too_slow",
                f"{self._address.address.url} did not read it within {self._address.seconds:g} s; split it",
            )
        except httpx.HTTPError:
            return failures.connection_failure(self._address.address)

    async def _read(self, response: httpx.Response) -> bytes | Failure | Unreadable:
        where = self._address.address.url
        if response.status_code in _OF_ONE_FILE:
            return Unreadable(
                "unsupported",
                f"{where} cannot read it (status {response.status_code}); open it in its own program and save it as .docx or .pdf",
            )
        if response.status_code == HTTPStatus.NOT_FOUND:
            error = ModelFailed(
                f"{where} answered 404: check that {_SETTING}_URL is the program's whole address"
            )
            reason = "it answered 404"
            return Failure(error=error, reason=reason, is_retryable=False, is_alive=True)
        if not response.is_success:
            address = self._address.address
            return failures.http_failure(address, response.status_code, response.headers, None)
        reply = bytearray()
        async for part in response.aiter_bytes():
            reply += part
            if len(reply) > self._address.max_reply_bytes:
                limit = f"{self._address.max_reply_bytes / 1000**2:,.0f} MB"
                return Unreadable("too_large", f"{where} made more than {limit} of it; split it")
        return bytes(reply)


@asynccontextmanager
async def open_file_parser(
    address: ParserAddress,
    *,
    clock: Clock | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[FileParser]:
    """Open the program with a limiter of its own; raise `Invalid` for an address that is none of a parser."""
    time_source = clock or LoopClock()
    timeout = httpx.Timeout(address.seconds, connect=CONNECT_SECONDS)
    limits = Limits(concurrency=address.concurrency)
    async with httpx.AsyncClient(
        headers=address.headers, timeout=timeout, transport=transport
    ) as client:
        limiter = Limiter(address.address.url, limits, clock=time_source)
        yield FileParser(address, client, limiter, time_source)

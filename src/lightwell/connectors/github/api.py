"""Calls of GitHub's REST API."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from lightwell.connectors.api_client import ApiClient, retry_after, server_time
from lightwell.connectors.rows import Json, Wire, parse_row
from lightwell.domain.errors import SourceFailed

BASE_URL = "https://api.github.com"
HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
PAGE_ROWS = 100
_MAX_PAGES = 1_000
"""GitHub ends listings far earlier; a server that repeats one page for ever must not hold a sync."""

_RAW = {"accept": "application/vnd.github.raw+json"}
_SECONDARY_WAIT_SECONDS = 60.0
_MAX_DIGITS = 16
_LIMITED = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
_GONE = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.GONE,
    HTTPStatus.MOVED_PERMANENTLY,
    HTTPStatus.CONFLICT,  # an empty repository has no commits
)
_OBJECT = TypeAdapter[Json](Json)
_ROWS = TypeAdapter[list[Json]](list[Json])

Params = Mapping[str, str | int]
T = TypeVar("T", bound=Wire)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The answer to a conditional call: nothing differs from what the ETag stands for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response's body, and the ETag that asks for changes of it."""

    content: bytes
    etag: str

    @property
    def object(self) -> Json:
        return _validate(_OBJECT, self.content)

    @property
    def rows(self) -> list[Json]:
        return _validate(_ROWS, self.content)


@dataclass(frozen=True, slots=True)
class GithubApi:
    """GitHub's API with one token. Each method raises `SourceFailed` when GitHub refuses or fails for good."""

    client: ApiClient

    async def get(self, path: str, params: Params | None = None) -> Answer | None:
        """Return the answer, None for what does not exist, has moved, or is hidden from the token."""
        response = await self._send(path, params, {})
        return None if response.status_code in _GONE else _read(response)

    async def get_changed(self, path: str, params: Params, etag: str) -> Answer | Unchanged | None:
        """Return the answer where it differs from that with the ETag; such a call costs nothing of the rate limit."""
        headers = {"if-none-match": etag} if etag else {}
        response = await self._send(path, params, headers)
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            return Unchanged()
        return None if response.status_code in _GONE else _read(response)

    async def get_raw(self, path: str) -> bytes | None:
        """Return a file's content."""
        response = await self._send(path, None, _RAW)
        return None if response.status_code in _GONE else _read(response).content

    async def find_moved(self, path: str) -> Answer | None:
        """Return the answer for a repository, also where it was renamed: GitHub leads from the old name to the new one."""
        response = await self._send(path, None, {})
        if response.status_code == HTTPStatus.MOVED_PERMANENTLY:
            target = _join(response.request.url, response.headers.get("location", ""))
            if target.netloc != response.request.url.netloc or target.scheme != response.url.scheme:
                raise SourceFailed(f"GitHub leads from {path} to another server")
            response = await self._send(str(target), None, {})
        return None if response.status_code in _GONE else _read(response)

    async def list_all(self, path: str, params: Params | None = None) -> AsyncIterator[list[Json]]:
        """Yield the pages of a listing; nothing where it does not exist."""
        for page in range(1, _MAX_PAGES + 1):
            query = {**(params or {}), "per_page": PAGE_ROWS, "page": page}
            answer = await self.get(path, query)
            if answer is None:
                return
            yield answer.rows
            if len(answer.rows) < PAGE_ROWS:
                return
        raise _endless(path)

    async def list_allowed(self, path: str) -> list[Json] | None:
        """Return all rows of a short listing, None where the token may not ask for it."""
        rows: list[Json] = []
        for page in range(1, _MAX_PAGES + 1):
            response = await self._send(path, {"per_page": PAGE_ROWS, "page": page}, {})
            if response.status_code in (*_GONE, HTTPStatus.FORBIDDEN):
                return None
            page_rows = _read(response).rows
            rows += page_rows
            if len(page_rows) < PAGE_ROWS:
                return rows
        raise _endless(path)

    async def _send(
        self, path: str, params: Params | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        client = self.client.client
        request = client.build_request("GET", path, params=params, headers=dict(headers))
        return await self.client.send(request)


def path_of(full_name: str, *parts: str) -> str:
    """Return the path of something in a repository; a part may contain anything."""
    return "/".join(("/repos", full_name, *(quote(part, safe="") for part in parts)))


def parse(model: type[T], row: Json) -> T:
    """Return the row as a value; raise `SourceFailed` where it does not fit."""
    return parse_row("GitHub", model, row)


def rate_limit_wait(response: httpx.Response) -> float | None:
    """Return the seconds that GitHub asks to wait: it refuses with 403 or 429, and headers say until when.

    A secondary limit may come without any of these headers; then GitHub asks for a minute.
    """
    if response.status_code not in _LIMITED:
        return None
    if (seconds := retry_after(response)) is not None:
        return seconds
    reset = response.headers.get("x-ratelimit-reset", "")
    if (
        response.headers.get("x-ratelimit-remaining") == "0"
        and reset.isdecimal()
        and len(reset) < _MAX_DIGITS
    ):
        return max(1.0, int(reset) - server_time(response).timestamp())
    is_limit = response.status_code == HTTPStatus.TOO_MANY_REQUESTS
    if is_limit or b"rate limit" in response.content[:2_000].lower():
        return _SECONDARY_WAIT_SECONDS
    return None


def _endless(path: str) -> SourceFailed:
    return SourceFailed(f"GitHub lists more than {_MAX_PAGES:,} pages at {path}")


def _join(url: httpx.URL, location: str) -> httpx.URL:
    try:
        return url.join(location)
    except httpx.InvalidURL as error:
        raise SourceFailed(f"GitHub leads from {url.path} to no address") from error


def _read(response: httpx.Response) -> Answer:
    path, status = response.request.url.path, response.status_code
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise SourceFailed(
            f"GitHub refuses {path} with status {status}: check the token and its permissions"
        )
    if status != HTTPStatus.OK:
        raise SourceFailed(f"GitHub answered {path} with status {status}")
    return Answer(content=response.content, etag=response.headers.get("etag", ""))


def _validate(adapter: TypeAdapter[V], content: bytes) -> V:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        raise SourceFailed("GitHub sent an answer in a form that is not known") from error

"""Calls of Attio's REST API, version 2."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from lightwell.connectors.api_client import ApiClient, retry_after
from lightwell.connectors.attio.models import Json, Wire
from lightwell.domain.errors import SourceFailed

BASE_URL = "https://api.attio.com"
_ANSWER = TypeAdapter[Json](Json)
_ROWS = TypeAdapter[list[Json]](list[Json])
_MAX_RETURNS = 3

T = TypeVar("T", bound=Wire)


@dataclass(frozen=True, slots=True)
class AttioApi:
    """Attio's API with one workspace's token. Each method raises `SourceFailed` when Attio refuses or fails for good."""

    client: ApiClient

    async def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Json | None:
        """Return the answer, None for what does not exist."""
        return await self._send(self.client.client.build_request("GET", path, params=params))

    async def require(self, path: str, params: Mapping[str, str | int] | None = None) -> Json:
        """Return the answer; raise `SourceFailed` for what does not exist."""
        found = await self.get(path, params)
        if found is None:
            raise SourceFailed(f"Attio has no {path}; check the address of its API")
        return found

    async def query(self, path: str, body: Mapping[str, object]) -> list[Json] | None:
        """Return the rows that a query finds, None where what it queries does not exist."""
        request = self.client.client.build_request("POST", path, json=body)
        found = await self._send(request)
        return None if found is None else rows_of(found)

    async def list_all(self, path: str, *, limit: int | None = None) -> list[Json]:
        """Return all rows of a short list, such as that of lists or members."""
        rows: list[Json] = []
        while True:
            params = {} if limit is None else {"limit": limit, "offset": len(rows)}
            page = rows_of(await self.require(path, params))
            rows += page
            if limit is None or len(page) < limit:
                return rows

    async def _send(self, request: httpx.Request) -> Json | None:
        response = await self.client.send(request)
        if response.status_code == HTTPStatus.NOT_FOUND:
            return None
        try:
            answer = _ANSWER.validate_json(response.content)
        except ValidationError:
            answer = {}
        if response.status_code != HTTPStatus.OK or not answer:
            raise SourceFailed(_describe_refusal(response.status_code, request.url.path, answer))
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPosition:
    """Where a listing by offset goes on: after `offset` rows, the last of which is `last`."""

    offset: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPage:
    rows: Sequence[Json]
    next: OffsetPosition


async def list_by_offset(
    api: AttioApi, path: str, limit: int, position: OffsetPosition, params: Mapping[str, str | int]
) -> AsyncIterator[OffsetPage]:
    """Yield the rows after a position, although rows come and go meanwhile.

    Each page begins with the last row of the page before. Where it does not, rows have moved: the listing goes back by a page.
    """
    returns = 0
    while True:
        overlap = 1 if position.last else 0
        start = position.offset - overlap
        rows = rows_of(await api.require(path, {**params, "limit": limit, "offset": start}))
        if overlap and (not rows or row_key(rows[0]) != position.last) and returns < _MAX_RETURNS:
            returns += 1
            position = OffsetPosition(offset=max(0, start - limit))
            continue
        returns = returns if not overlap else 0
        if not rows:
            return
        position = OffsetPosition(offset=start + len(rows), last=row_key(rows[-1]))
        yield OffsetPage(rows=rows[overlap:], next=position)
        if len(rows) < limit:
            return


def rows_of(answer: Json) -> list[Json]:
    """Return the list that an answer holds; raise `SourceFailed` where it holds none."""
    try:
        return _ROWS.validate_python(answer.get("data"))
    except ValidationError as error:
        raise SourceFailed("Attio sent a list in a form that is not known") from error


def row_key(row: Json) -> str:
    """Return the most specific id of a row: that of the note, not that of its workspace."""
    ids = cast("Mapping[str, object]", row.get("id") or {})
    names = [
        name for name in ids if name not in ("workspace_id", "object_id", "list_id", "meeting_id")
    ]
    return str(ids[names[0]]) if names else str(ids.get("meeting_id", ""))


def parse(model: type[T], row: Json) -> T:
    """Return the row as a value; raise `SourceFailed` where it does not fit."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        raise SourceFailed(f"Attio sent a {model.__name__} in a form that is not known") from error


def path_of(*parts: str) -> str:
    """Return the path of an address whose parts may contain anything."""
    return "/v2/" + "/".join(quote(part, safe="") for part in parts)


def wait_asked(response: httpx.Response) -> float | None:
    """Return the seconds that Attio asks to wait: `Retry-After` is the date of the next second, as a rule."""
    if response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    return retry_after(response) or 0.0


def _describe_refusal(status: int, path: str, answer: Json) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return (
            f"Attio refuses {path} with status {status}: check the token and its scopes"
            " (docs/connectors/attio.md lists them)"
        )
    code = answer.get("code")
    return f"Attio answered {path} with status {status}" + (f" ({code})" if code else "")

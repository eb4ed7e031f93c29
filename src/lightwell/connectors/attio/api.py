"""Calls of Attio's REST API, version 2."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from lightwell.connectors.api_client import ApiClient, ResponseTooLarge
from lightwell.connectors.attio.models import CursorAnswer
from lightwell.connectors.rows import Json, Wire, parse_row
from lightwell.domain.errors import SourceFailed

BASE_URL = "https://api.attio.com"
_ANSWER = TypeAdapter[Json](Json)
_ROWS = TypeAdapter[list[Json]](list[Json])
_OVERLAP, _MAX_RETURNS = 10, 100
_MAX_ITEM_PAGES = 200
"""Of a listing that belongs to one item, such as a transcript, and is held in memory as a whole."""

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
        answer = await self.get(path, params)
        if answer is None:
            raise SourceFailed(f"Attio has no {path}; check the address of its API")
        return answer

    async def query(self, path: str, body: Mapping[str, object]) -> list[Json] | None:
        """Return the rows that a query finds, None where what it queries does not exist."""
        request = self.client.client.build_request("POST", path, json=body)
        answer = await self._send(request)
        return None if answer is None else rows_of(answer)

    async def list_all(self, path: str, *, limit: int | None = None) -> list[Json]:
        """Return all rows of a short list, such as that of lists or members."""
        rows: list[Json] = []
        while True:
            params = {} if limit is None else {"limit": limit, "offset": len(rows)}
            page = rows_of(await self.require(path, params))
            rows += page
            if limit is None or len(page) < limit:
                return rows

    async def list_by_cursor(
        self, path: str, params: Mapping[str, str | int]
    ) -> AsyncIterator[Json]:
        """Yield the answers of a listing that belongs to one item; none for what does not exist.

        Raises `ResponseTooLarge` for more than is held in memory.
        """
        cursor, seen = "", set[str]()
        while answer := await self.get(path, {**params, **({"cursor": cursor} if cursor else {})}):
            yield answer
            cursor = next_cursor(answer)
            if not cursor:
                return
            if cursor in seen or len(seen) == _MAX_ITEM_PAGES:
                raise ResponseTooLarge(f"Attio lists more than {len(seen):,} pages at {path}")
            seen.add(cursor)

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
    """Where a listing by offset goes on: after `offset` rows, of which the last ones are `seen`."""

    offset: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPage:
    rows: Sequence[Json]
    next: OffsetPosition


async def list_by_offset(
    api: AttioApi, path: str, limit: int, position: OffsetPosition, params: Mapping[str, str | int]
) -> AsyncIterator[OffsetPage]:
    """Yield the rows after a position, although rows come and go meanwhile.

    Each page begins with the last rows of the page before. Where it has none of them, rows were deleted and others moved up:
    the listing goes back until it meets one. Raises `SourceFailed` where that happens too often.
    """
    start, returns = max(0, position.offset - len(position.seen)), 0
    while True:
        rows = rows_of(await api.require(path, {**params, "limit": limit, "offset": start}))
        met = [place for place, row in enumerate(rows) if row_key(row) in position.seen]
        if position.seen and not met and start > 0:
            returns += 1
            if returns > _MAX_RETURNS:
                raise SourceFailed(
                    f"So much of {path} was deleted while it was listed that it was not read in full"
                )
            start = max(0, start - limit // 2)
            continue
        new = rows[met[-1] + 1 :] if met else rows
        if new:
            seen = tuple(row_key(row) for row in rows[-_OVERLAP:])
            position = OffsetPosition(offset=start + len(rows), seen=seen)
            yield OffsetPage(rows=new, next=position)
        if len(rows) < limit:
            return
        start = start + limit - _OVERLAP


def rows_of(answer: Json) -> list[Json]:
    """Return the list that an answer holds; raise `SourceFailed` where it holds none."""
    try:
        return _ROWS.validate_python(answer.get("data"))
    except ValidationError as error:
        raise SourceFailed("Attio sent a list in a form that is not known") from error


def next_cursor(answer: Json) -> str:
    """Return where a listing with cursors goes on, "" at its end."""
    return parse(CursorAnswer, answer).pagination.next_cursor or ""


def row_key(row: Json) -> str:
    """Return the most specific id of a row: that of the note, not that of its workspace."""
    ids = cast("Mapping[str, object]", row.get("id") or {})
    names = [
        name for name in ids if name not in ("workspace_id", "object_id", "list_id", "meeting_id")
    ]
    return str(ids[names[0]]) if names else str(ids.get("meeting_id", ""))


def parse(model: type[T], row: Json) -> T:
    """Return the row as a value; raise `SourceFailed` where it does not fit."""
    return parse_row("Attio", model, row)


def path_of(*parts: str) -> str:
    """Return the path of an address whose parts may contain anything."""
    return "/v2/" + "/".join(quote(part, safe="") for part in parts)


def _describe_refusal(status: int, path: str, answer: Json) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return (
            f"Attio refuses {path} with status {status}: check the token and its scopes"
            " (docs/connectors/attio.md lists them)"
        )
    code = answer.get("code")
    return f"Attio answered {path} with status {status}" + (f" ({code})" if code else "")

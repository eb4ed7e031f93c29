"""Calls of Chatwoot's REST API, version 1, for one account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from lightwell.connectors.api_client import ApiClient, ResponseTooLarge, parse_date
from lightwell.connectors.chatwoot.models import Wire
from lightwell.connectors.rows import Json, parse_row
from lightwell.domain.errors import SourceFailed

_ANSWER = TypeAdapter[Json | list[Json]](Json | list[Json])
_ROWS = TypeAdapter[list[Json]](list[Json])
_OPTIONAL = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN, HTTPStatus.PAYMENT_REQUIRED))
_LAST_ID = 2**31 - 1
_SHORTEST_PAGE = 100
_MAX_THREAD_BYTES = 128 * 1000**2
"""Of JSON; a conversation is held in memory as a whole."""

Params = Mapping[str, str | int]
T = TypeVar("T", bound=Wire)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response of `size` bytes; `at` is the server's clock, None where it does not tell the time."""

    body: Json | list[Json]
    at: datetime | None
    size: int = 0

    @property
    def object(self) -> Json:
        return {"payload": self.body} if isinstance(self.body, list) else self.body

    @property
    def rows(self) -> list[Json]:
        """Return the rows, which are the whole answer, or its `payload`; raise `SourceFailed` where there are none."""
        try:
            return _ROWS.validate_python(self.object.get("payload"))
        except ValidationError as error:
            raise SourceFailed("Chatwoot sent a list in a form that is not known") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatwootApi:
    """The API of one account. Each method raises `SourceFailed` when Chatwoot refuses or fails for good."""

    client: ApiClient
    account: int

    async def get(self, path: str, params: Params | None = None) -> Answer | None:
        """Return the answer, None for what does not exist; `path` is below that of the account."""
        response = await self._send(path, params)
        return None if response.status_code == HTTPStatus.NOT_FOUND else _answer(response)

    async def get_optional(self, path: str, params: Params | None = None) -> Answer | None:
        """Return the answer, None where this server has no such feature, or not for this account."""
        response = await self._send(path, params)
        return None if response.status_code in _OPTIONAL else _answer(response)

    async def require(self, path: str, params: Params | None = None) -> Answer:
        """Return the answer; raise `SourceFailed` for what does not exist."""
        answer = await self.get(path, params)
        if answer is None:
            raise SourceFailed(
                f"Chatwoot has no {path}; check the address of the server and the number of the account"
            )
        return answer

    async def messages(self, display_id: int) -> list[Json] | None:
        """Return all messages of a conversation, the oldest first; None where it does not exist.

        Raises `ResponseTooLarge` for more than is held in memory.
        """
        messages: dict[int, Json] = {}
        size = 0
        while True:
            answer = await self._read_messages(display_id, max(messages, default=0))
            if answer is None:
                return None
            size += answer.size
            if size > _MAX_THREAD_BYTES:
                raise ResponseTooLarge("The messages of the conversation are too large to be read")
            new = {_id(row): row for row in answer.rows if _id(row) not in messages}
            messages |= new
            if len(new) < _SHORTEST_PAGE:
                return [messages[id_] for id_ in sorted(messages)]

    async def _read_messages(self, display_id: int, last: int) -> Answer | None:
        """Return the messages behind the last one: up to 1,000, and only 100 where these have too many bytes."""
        path = f"conversations/{display_id}/messages"
        try:
            return await self.get(path, {"after": last + 1, "before": _LAST_ID})
        except ResponseTooLarge:
            return await self.get(path, {"after": last})

    async def _send(self, path: str, params: Params | None) -> httpx.Response:
        client = self.client.client
        url = f"/api/v1/accounts/{self.account}/{path}"
        return await self.client.send(client.build_request("GET", url, params=params))


def list_in(answer: Answer) -> tuple[Sequence[Json], int]:
    """Return the conversations that an answer lists, and how many there are in all."""
    data = answer.object.get("data")
    body: Json = data if isinstance(data, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    meta = body.get("meta")
    count = meta.get("all_count") if isinstance(meta, dict) else 0  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    rows = Answer(body={"payload": body.get("payload")}, at=None).rows
    return rows, count if isinstance(count, int) else 0


def parse(model: type[T], row: Json) -> T:
    """Return the row as a value; raise `SourceFailed` where it does not fit."""
    return parse_row("Chatwoot", model, row)


def _answer(response: httpx.Response) -> Answer:
    path = response.request.url.path
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise SourceFailed(
            f"Chatwoot refuses {path} with status {response.status_code}: check the token; it must be that of an"
            " administrator of the account"
        )
    if response.status_code != HTTPStatus.OK:
        raise SourceFailed(f"Chatwoot answered {path} with status {response.status_code}")
    try:
        body = _ANSWER.validate_json(response.content)
    except ValidationError as error:
        raise SourceFailed(f"Chatwoot sent {path} in a form that is not known") from error
    return Answer(
        body=body, size=len(response.content), at=parse_date(response.headers.get("date", ""))
    )


def _id(row: Json) -> int:
    id_ = row.get("id")
    if not isinstance(id_, int):
        raise SourceFailed("Chatwoot sent a message without a number")
    return id_

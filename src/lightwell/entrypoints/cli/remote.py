"""Questions to a server: what commands do with `--server` or a saved login."""

import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Group
from rich.text import Text

from lightwell.domain.answers import StreamType
from lightwell.domain.errors import Invalid, ModelFailed, NotFound
from lightwell.domain.questions import Mode, QueryRequest
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import (
    Login,
    find_login,
    has_login,
)
from lightwell.entrypoints.cli.store import settings

if TYPE_CHECKING:
    from lightwell.entrypoints.operations.calls import Call
    from lightwell.entrypoints.operations.replies import Schema

T = TypeVar("T")


def choose_server(server: str | None, who: object) -> Login | None:
    """Return the login of the server to ask, None for the store here, which `--as` asks; raise `Invalid` for both."""
    if server and who:
        raise Invalid(
            "--as asks the store here, --server a server, whose key says who asks: leave one out"
        )
    if server is None and (who or not has_login()):
        return None
    return find_login(server, settings().api_key)


async def send(call: "Call[T]", at: Login) -> T:
    """Return a server's reply to a call; raise `NotFound` and `Invalid` as for the store here, else `ServerError`."""
    from lightwell.entrypoints.client import AsyncClient, ServerError

    async with AsyncClient(at.url, api_key=at.api_key.get_secret_value()) as client:
        try:
            return await client.send(call)
        except ServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise NotFound(str(error)) from error
            if error.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                raise Invalid(str(error)) from error
            raise


def require_server(server: str | None) -> Login:
    """Return the login of the server that a command without a form for the store here needs; raise `NotFound`."""
    return find_login(server, settings().api_key)


def dump(sent: "Schema") -> Mapping[str, object]:
    """Return what a server sends, or would send, as JSON."""
    return sent.model_dump(mode="json", by_alias=True)


async def ask_server(asked: QueryRequest, at: Login) -> Report:
    """Report a server's answer."""
    from lightwell.entrypoints.cli import server_output
    from lightwell.entrypoints.client import AsyncClient

    async with AsyncClient(at.url, api_key=at.api_key.get_secret_value()) as client:
        reply = await client.query(
            asked.query,
            top_k=asked.top_k,
            mode=asked.mode,
            topic=asked.topic_filter,
            session=asked.session_id,
        )
    return Report(
        document=reply.model_dump(mode="json", by_alias=True), text=server_output.answer(reply)
    )


async def list_statements_of_server(asked: QueryRequest, at: Login) -> Report:
    """Report what the documents of a server state."""
    from lightwell.entrypoints.cli import server_output
    from lightwell.entrypoints.client import question_calls

    call = question_calls.statements(
        asked.query, top_k=asked.top_k, mode=asked.mode, topic=asked.topic_filter
    )
    reply = await send(call, at)
    return Report(document=dump(reply), text=server_output.statements(reply))


async def stream_from_server(asked: QueryRequest, at: Login, *, as_json: bool) -> Report:
    """Print a server's answer sentence by sentence, then report its citations; raise `ModelFailed`."""
    from lightwell.entrypoints.cli import server_output
    from lightwell.entrypoints.client import AsyncClient, StreamEvent

    events: list[StreamEvent] = []
    async with AsyncClient(at.url, api_key=at.api_key.get_secret_value()) as client:
        async for event in client.stream(
            asked.query, top_k=asked.top_k, mode=asked.mode, topic=asked.topic_filter
        ):
            events.append(event)
            if as_json:
                sent = event.model_dump(mode="json", by_alias=True, exclude_defaults=True)
                typer.echo(json.dumps(sent))
            else:
                sys.stdout.write(clean(event.content))
            sys.stdout.flush()
    last = events[-1]
    if last.type is StreamType.ERROR:
        raise ModelFailed(last.error)
    citations = [event.citation for event in events if event.citation]
    confidence = next((each.metadata.confidence for each in events if each.metadata), "")
    text = Group(Text("\n"), server_output.below(citations, last.nearest, last.notes, confidence))
    return Report(document={}, text=text, printed=as_json)


async def search_server(question: str, at: Login, *, topic: str, limit: int, mode: Mode) -> Report:
    """Report the passages that a server finds."""
    from lightwell.entrypoints.cli import server_output
    from lightwell.entrypoints.client import AsyncClient

    async with AsyncClient(at.url, api_key=at.api_key.get_secret_value()) as client:
        reply = await client.search(question, top_k=limit, mode=mode, topic=topic)
    return Report(
        document=reply.model_dump(mode="json", by_alias=True), text=server_output.passages(reply)
    )

"""`chat` with a server: its replies as text and as JSON."""

from collections.abc import AsyncIterator
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.server_output as server_output
import lightwell.entrypoints.cli.text_output as text_output
from lightwell.domain.chat import parse_conversation_id, user_message
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.console import clean, dim
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.remote import dump, send
from lightwell.entrypoints.client import question_calls
from lightwell.entrypoints.client.question_calls import ChatReply

_TEXT_ONLY = ("citations", "nearest", "notes")
"""What `chat` shows as text; its JSON has the keys of the specification."""


async def send_to_server(
    message: str, conversation: str, topic: str, mode: Mode, at: Login
) -> Report:
    """Report a server's response to one message, with the conversation it belongs to."""
    user_message(message)
    reply = await _reply(message, _parse(conversation), topic, mode, at)
    document = {
        "conversationId": str(reply.conversation_id),
        "queryId": str(reply.query_id),
        **{key: value for key, value in dump(reply.response).items() if key not in _TEXT_ONLY},
    }
    last = dim(f"conversation: {reply.conversation_id}")
    return Report(document=document, text=Group(*_lines(reply), last))


async def chat_with_server(
    lines: AsyncIterator[str], conversation: str, topic: str, mode: Mode, at: Login
) -> Report:
    """Have a server answer each line until the input ends, and report the id of the conversation."""
    own = _parse(conversation)
    async for line in lines:
        if line.strip():
            reply = await _reply(line, own, topic, mode, at)
            own = reply.conversation_id
            typer.echo(clean("\n".join(each.plain for each in _lines(reply))))
    ended = f"conversation: {own}" if own else "No message was sent."
    return Report(document={"conversationId": str(own or "")}, text=Text(ended))


async def _reply(message: str, own: UUID | None, topic: str, mode: Mode, at: Login) -> ChatReply:
    return await send(question_calls.chat(message, conversation=own, topic=topic, mode=mode), at)


def _parse(conversation: str) -> UUID | None:
    return parse_conversation_id(conversation) if conversation else None


def _lines(reply: ChatReply) -> list[Text]:
    said = reply.response
    for note in said.notes:
        typer.echo(clean(f"Note: {note}"), err=True)
    return text_output.chat_response(
        said.response,
        [server_output.citation(each) for each in said.citations],
        [server_output.citation(each) for each in said.nearest],
        [each.id is None for each in said.sources],
        [server_output.candidates(each) for each in said.ambiguous_names],
    )

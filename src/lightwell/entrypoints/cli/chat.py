"""`chat`: answers in a conversation; `conversations`: lists, shows and deletes them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_conversations as json_conversations
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.access import Reader
from lightwell.domain.chat import (
    ChatMessage,
    ChatTurn,
    chat_response_json,
    parse_conversation_id,
    user_message,
)
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.console import clean, dim, new_table
from lightwell.entrypoints.cli.costs import report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, Json, Rows, Server, Topic, Where, Yes
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group, single_command
from lightwell.entrypoints.cli.remote import choose_server
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase


chat = single_command()
conversations = new_group(
    "List, show and delete your own conversations.", "lightwell conversations list --as team:us"
)


_MAX_READ = 65536


Message = Annotated[
    str | None,
    typer.Argument(
        metavar="MESSAGE",
        help="Your message. Without it, the command reads one line after another.",
    ),
]


Ongoing = Annotated[
    str,
    typer.Option("--conversation", metavar="ID", help="Continue this conversation."),
]


Own = Annotated[
    str, typer.Argument(metavar="CONVERSATION", help="Its id, as `conversations list` shows.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """The options of a chat; `conversation` is "" for a new one."""

    conversation: str
    topic: str
    mode: Mode


@command(
    chat,
    "chat",
    'lightwell chat "What discount does Nordwind receive?" --as team:sales',
    'lightwell chat "And who agreed to it?" --as team:sales --conversation 0198…',
    "lightwell chat --as team:sales",
)
def answer_message(  # noqa: PLR0913 - the options of a command are its arguments
    message: Message = None,
    *,
    conversation: Ongoing = "",
    who: As = None,
    topic: Topic = "",
    mode: Where = Mode.MIX,
    as_json: Json = False,
    server: Server = None,
) -> Work:
    """Answer a message with its sources, and remember it for the next one.

    A conversation belongs to exactly the access tags that began it. Messages that cite documents which you may no
    longer see are left out.
    """
    options = ChatOptions(conversation=conversation, topic=topic, mode=mode)
    if message is None and as_json:
        raise typer.BadParameter("give a message: --json answers one message", param_hint="MESSAGE")
    if at := choose_server(server, who):
        return _ask_server(message, options, at)
    return (
        _send_message(message, options, who)
        if message is not None
        else _chat_interactively(options, who)
    )


@command(conversations, "list", "lightwell conversations list --as team:us --limit 10")
async def list_conversations(
    *,
    who: As = None,
    limit: Rows = 100,
) -> Report:
    """List your own conversations, the latest first."""
    async with open_as(who) as (kb, reader):
        held = await kb.conversations.list(reader, limit=limit)
    table = new_table("conversation", "last", "messages", "about")
    for each in held:
        last = f"{each.updated_at:%Y-%m-%d %H:%M}"
        table.add_row(str(each.id), last, str(each.messages), clean(each.title))
    found = [json_conversations.conversation(each) for each in held]
    return Report(
        document={"conversations": found},
        text=table if held else Text("You have no conversations."),
    )


@command(conversations, "show", "lightwell conversations show 0198… --as team:us")
async def show_conversation(
    conversation: Own,
    *,
    who: As = None,
) -> Report:
    """Show the latest messages of one of your conversations."""
    async with open_as(who) as (kb, reader):
        held = await kb.conversations.messages(reader, parse_conversation_id(conversation))
    messages = [{"role": each.role.value, "content": each.content} for each in held]
    return Report(
        document={"conversationId": conversation, "messages": messages},
        text=Group(*(_message(each) for each in held))
        if held
        else Text("This conversation has no readable messages."),
    )


@command(conversations, "forget", "lightwell conversations forget 0198… --as team:us --yes")
def forget_conversation(
    conversation: Own,
    *,
    who: As = None,
    yes: Yes = False,
) -> Work:
    """Delete one of your conversations; this cannot be undone."""
    confirm(f"Delete the conversation {conversation}?", yes=yes)
    return _delete(conversation, who)


async def _ask_server(message: str | None, options: ChatOptions, at: Login) -> Report:
    """Send one message to a server, or one line after another."""
    from lightwell.entrypoints.cli.chat_remote import chat_with_server, send_to_server

    own, topic, mode = options.conversation, options.topic, options.mode
    if message is None:
        return await chat_with_server(_lines(), own, topic, mode, at)
    return await send_to_server(message, own, topic, mode, at)


async def _send_message(message: str, options: ChatOptions, who: Sequence[str] | None) -> Report:
    """Report the response to one message, with the conversation it belongs to."""
    user_message(message)
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        turn = await _turn(kb, reader, message, options)
    document = {
        "conversationId": str(turn.conversation_id),
        "queryId": str(turn.query_id),
        **chat_response_json(turn.response),
        "ambiguousNames": json_output.ambiguous_names(turn.ambiguous_names),
    }
    last = dim(f"conversation: {turn.conversation_id}")
    return report_with_costs(meter, document, Group(*_response(turn), last))


async def _chat_interactively(options: ChatOptions, who: Sequence[str] | None) -> Report:
    """Answer each line until the input ends, and report the id of the conversation."""
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        async for line in _lines():
            if line.strip():
                turn = await _turn(kb, reader, line, options)
                options = replace(options, conversation=str(turn.conversation_id))
                typer.echo(clean("\n".join(each.plain for each in _response(turn))))
    ended = (
        f"conversation: {options.conversation}" if options.conversation else "No message was sent."
    )
    return report_with_costs(meter, {"conversationId": options.conversation}, Text(ended))


async def _delete(name: str, who: Sequence[str] | None) -> Report:
    """Delete one conversation."""
    async with open_as(who) as (kb, reader):
        await kb.conversations.delete(reader, parse_conversation_id(name))
    return Report(document={"forgotten": name}, text=Text(f"Deleted the conversation {name}."))


async def _turn(
    kb: "KnowledgeBase", reader: Reader, message: str, options: ChatOptions
) -> ChatTurn:
    """Return the response; print its notes on stderr, since the keys of a chat response have no place for them."""
    own = parse_conversation_id(options.conversation) if options.conversation else None
    turn = await kb.questions.chat(
        message, reader, conversation=own, topic=options.topic, mode=options.mode
    )
    for note in turn.notes:
        typer.echo(clean(f"Note: {note}"), err=True)
    return turn


async def _lines() -> AsyncIterator[str]:
    """Yield the lines that a person types, or the lines of a pipe."""
    if not sys.stdin.isatty():
        for line in sys.stdin.read().splitlines():
            yield line
        return
    while typed := await _read_lines():
        for line in typed.splitlines():
            yield line


async def _read_lines() -> str:
    """Wait for a line without blocking the event loop, so that Ctrl-C works; return "" at the end of the input."""
    typer.echo("> ", nl=False, err=True)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return os.read(sys.stdin.fileno(), _MAX_READ).decode(errors="replace")


def _response(turn: ChatTurn) -> list[Text]:
    return text_output.chat_response(
        turn.response.response,
        turn.citations,
        turn.nearest,
        [each.id is None for each in turn.response.sources],
        turn.ambiguous_names,
    )


def _message(message: ChatMessage) -> Text:
    return Text.assemble((f"{message.role.value}: ", "bold"), clean(message.content))

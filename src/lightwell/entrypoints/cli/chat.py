"""`chat`: answers in a conversation; `conversations`: lists, shows and deletes them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, cast
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.operations.conversations as operations
from lightwell.domain.chat import parse_conversation_id, user_message
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, dim, minute, new_table, page_text
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import (
    AllNearest,
    Json,
    LookTwice,
    PageSize,
    Topic,
    Where,
    WithContext,
    Yes,
)
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group, single_command
from lightwell.entrypoints.cli.text_output import Shown
from lightwell.entrypoints.operations.conversations import CitedChatReply
from lightwell.entrypoints.operations.questions import ANY_DOCUMENT, DocumentFilters

chat = single_command()
conversations = new_group(
    "List, show and delete your own conversations.", "lightwell conversations list --as team:us"
)

_MAX_READ = 65536
_TEXT_ONLY = ("sentences", "context", "citations", "nearest", "notes")
"""What `chat` shows as text only; its JSON has the keys of the specification, and how sure the response is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """What each message of a conversation is asked of, and whether a model looks twice."""

    topic: str
    only: DocumentFilters
    mode: Mode
    look_twice: bool


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


@command(
    chat,
    "chat",
    'lightwell chat "What discount does Nordwind receive?" --as team:sales',
    'lightwell chat "And who agreed to it?" --as team:sales --conversation 0198…',
    "lightwell chat --as team:sales",
    "lightwell chat --as team:sales --system linear --system chatwoot",
)
async def answer_message(  # noqa: PLR0913 - the options of a command are its arguments
    message: Message = None,
    *,
    asker: Asker,
    conversation: Ongoing = "",
    topic: Topic = "",
    only: DocumentFilters = ANY_DOCUMENT,
    mode: Where = Mode.MIX,
    look_twice: LookTwice = False,
    context: WithContext = False,
    nearest: AllNearest = False,
    as_json: Json = False,
) -> Report:
    """Answer a message with its sources, and remember it for the next one.

    A conversation belongs to exactly the access tags that began it. Messages that cite documents which you may no
    longer see are left out.
    """
    if message is None and as_json:
        raise typer.BadParameter("give a message: --json answers one message", param_hint="MESSAGE")
    ongoing = parse_conversation_id(conversation) if conversation else None
    where = _Where(topic=topic, only=only, mode=mode, look_twice=look_twice)
    shown = Shown(context=context, nearest=nearest)
    if message is None:
        return await _chat(asker, ongoing, where, shown)
    user_message(message)  # raises `Invalid` before anything is opened
    reply = await _send(asker, message, ongoing, where)
    ids = {"conversationId": str(reply.conversation_id), "queryId": str(reply.query_id)}
    document = reply.model_dump(mode="json", by_alias=True, exclude=set(_TEXT_ONLY))
    last = dim(f"conversation: {reply.conversation_id}")
    return Report(
        document={**ids, **document}, text=Group(*text_output.chat_reply(reply, shown), last)
    )


@command(
    conversations,
    "list",
    "lightwell conversations list --as team:us --limit 10",
    "lightwell conversations list --server http://127.0.0.1:8000",
)
async def list_conversations(
    *,
    asker: Asker,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="CURSOR", help="Only conversations after this place.")
    ] = "",
) -> Report:
    """List your own conversations, the latest first."""
    page = await asker(operations.list_conversations, limit=limit, after=after)
    table = new_table("conversation", "last", "messages", "about")
    for listed in page.conversations:
        table.add_row(
            str(listed.conversation_id),
            minute(listed.updated_at),
            str(listed.messages),
            clean(listed.title),
        )
    text = page_text(table, page.next_after, nothing="You have no conversations.")
    return Report(document=page, text=text)


@command(conversations, "show", "lightwell conversations show 0198… --as team:us")
async def show_conversation(conversation: Own, *, asker: Asker) -> Report:
    """Show the latest messages of one of your conversations."""
    shown = await asker(operations.get_conversation, parse_conversation_id(conversation))
    lines = [
        Text.assemble((f"{message.role}: ", "bold"), clean(message.content))
        for message in shown.messages
    ]
    nothing = Text("This conversation has no readable messages.")
    return Report(document=shown, text=Group(*lines) if lines else nothing)


@command(conversations, "forget", "lightwell conversations forget 0198… --as team:us --yes")
def forget_conversation(conversation: Own, *, asker: Asker, yes: Yes = False) -> Work:
    """Delete one of your conversations; this cannot be undone."""
    confirm(f"Delete the conversation {conversation}?", yes=yes)
    return _forget(conversation, asker)


async def _forget(conversation: str, asker: Asker) -> Report:
    await asker(operations.delete_conversation, parse_conversation_id(conversation))
    text = Text(f"Deleted the conversation {conversation}.")
    return Report(document={"forgotten": conversation}, text=text)


async def _chat(asker: Asker, ongoing: UUID | None, where: _Where, shown: Shown) -> Report:
    """Answer each line until the input ends, and report the id of the conversation."""
    async for line in _lines():
        if line.strip():
            reply = await _send(asker, line, ongoing, where)
            ongoing = reply.conversation_id
            lines = text_output.chat_reply(reply, shown)
            typer.echo(clean("\n".join(line.plain for line in lines)))
    text = Text(f"conversation: {ongoing}" if ongoing else "No message was sent.")
    return Report(document={"conversationId": str(ongoing or "")}, text=text)


async def _send(asker: Asker, message: str, ongoing: UUID | None, where: _Where) -> CitedChatReply:
    """Return the response; print its notes on stderr, since the keys of a chat response have no place for them."""
    reply = await asker(
        operations.answer_message,
        message,
        conversation_id=ongoing,
        topic_filter=where.topic,
        filters=where.only,
        mode=where.mode,
        look_twice=where.look_twice,
        with_citations=True,
    )
    cited = cast("CitedChatReply", reply)
    for note in cited.notes:
        typer.echo(clean(f"Note: {note}"), err=True)
    return cited


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

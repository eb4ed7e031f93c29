"""What `chat` and `conversations` do."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.access import Reader
from lightwell.domain.chat import (
    GRAPH_SOURCE,
    ChatMessage,
    ChatTurn,
    chat_response_json,
    conversation_id,
    user_message,
)
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean
from lightwell.entrypoints.cli.waiting import question_meter
from lightwell.knowledge_base import KnowledgeBase
from lightwell.wiring import open_knowledge_base

_MAX_READ = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How somebody talks; `conversation` is "" for a new one."""

    conversation: str
    topic: str
    mode: Mode


async def send_message(message: str, options: ChatOptions, who: Sequence[str]) -> Report:
    """Report the response to one message, with the conversation it belongs to."""
    user_message(message)
    tags, chosen, meter = people.tags(who), settings_of_store(), question_meter()
    async with open_knowledge_base(chosen, meter) as kb:
        turn = await _turn(kb, await people.reader(kb, tags), message, options)
    said = Text(f"conversation: {turn.conversation_id}", style="dim")
    paid = costs.actual_costs(meter.usages, chosen)
    return Report(
        document={
            "conversationId": str(turn.conversation_id),
            "queryId": str(turn.query_id),
            **chat_response_json(turn.response),
            "ambiguousNames": shapes.ambiguous_names(turn.ambiguous_names),
            "usage": paid.document(),
        },
        text=Group(*_response(turn), said, *paid.lines()),
    )


async def chat_interactively(options: ChatOptions, who: Sequence[str]) -> Report:
    """Answer line by line until the input ends, and report which conversation it was."""
    tags, chosen, meter = people.tags(who), settings_of_store(), question_meter()
    async with open_knowledge_base(chosen, meter) as kb:
        reader = await people.reader(kb, tags)
        async for line in _lines():
            if line.strip():
                turn = await _turn(kb, reader, line, options)
                options = replace(options, conversation=str(turn.conversation_id))
                typer.echo("\n".join(each.plain for each in _response(turn)))
    paid = costs.actual_costs(meter.usages, chosen)
    ended = (
        f"conversation: {options.conversation}" if options.conversation else "No message was sent."
    )
    return Report(
        document={"conversationId": options.conversation, "usage": paid.document()},
        text=Group(Text(ended), *paid.lines()),
    )


async def conversations(who: Sequence[str], *, limit: int) -> Report:
    """Report the reader's own conversations."""
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        held = await kb.conversations(await kb.reader(tags), limit=limit)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("conversation", "last", "messages", "about"):
        table.add_column(column, overflow="fold")
    for each in held:
        last = f"{each.updated_at:%Y-%m-%d %H:%M}"
        table.add_row(str(each.id), last, str(each.messages), clean(each.title))
    found = [
        {
            "conversationId": str(each.id),
            "title": each.title,
            "messages": each.messages,
            "createdAt": each.created_at.isoformat(),
            "updatedAt": each.updated_at.isoformat(),
        }
        for each in held
    ]
    return Report(
        document={"conversations": found},
        text=table if held else Text("You have no conversations."),
    )


async def conversation(name: str, who: Sequence[str]) -> Report:
    """Report the latest messages of one conversation."""
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        held = await kb.conversation(await kb.reader(tags), conversation_id(name))
    messages = [{"role": each.role.value, "content": each.content} for each in held]
    return Report(
        document={"conversationId": name, "messages": messages},
        text=Group(*(_message(each) for each in held))
        if held
        else Text("This conversation has no readable messages."),
    )


async def delete_conversation(name: str, who: Sequence[str]) -> Report:
    """Delete one conversation."""
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        await kb.forget(await kb.reader(tags), conversation_id(name))
    return Report(document={"forgotten": name}, text=Text(f"Forgotten: {name}"))


async def _turn(kb: KnowledgeBase, reader: Reader, message: str, options: ChatOptions) -> ChatTurn:
    """Return the response, once what did not go as it should is told on stderr: S4's keys have no place for it."""
    own = conversation_id(options.conversation) if options.conversation else None
    turn = await kb.chat(message, reader, conversation=own, topic=options.topic, mode=options.mode)
    for note in turn.notes:
        typer.echo(clean(f"Note: {note}"), err=True)
    return turn


async def _lines() -> AsyncIterator[str]:
    """Yield what is typed, line by line, or what a pipe holds."""
    if not sys.stdin.isatty():
        for line in sys.stdin.read().splitlines():
            yield line
        return
    while typed := await _read_lines():
        for line in typed.splitlines():
            yield line


async def _read_lines() -> str:
    """Wait for a line without holding the loop, so that Ctrl-C is heard; "" is the end."""
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
    """Return a response and below it its sources, or what came nearest; the last line is empty."""
    lines = [Text(clean(turn.response.response)), *show.nearest(turn.nearest), Text()]
    for cited in turn.citations:
        lines += show.citation(cited)
    for place, source in enumerate(turn.response.sources, start=1):
        if source.id is None:
            lines += [Text.assemble((f"[{place}]", "bold"), f" {GRAPH_SOURCE}"), Text()]
    if turn.ambiguous_names:
        lines += [*show.ambiguous_names(turn.ambiguous_names), Text()]
    return lines


def _message(message: ChatMessage) -> Text:
    return Text.assemble((f"{message.role.value}: ", "bold"), clean(message.content))

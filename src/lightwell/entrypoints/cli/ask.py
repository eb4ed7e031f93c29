"""`ask`: answers a question at once, sentence by sentence, or as a list of statements."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.answers import StreamChunk
from lightwell.domain.errors import ModelFailed
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import Mode, QueryRequest
from lightwell.entrypoints.cli.console import clean, milliseconds_since
from lightwell.entrypoints.cli.costs import costs_of, report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As, Json, Question, Server, Topic, Where
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import QuestionCommand, Work, command, single_command
from lightwell.entrypoints.cli.remote import (
    ask_server,
    choose_server,
    list_statements_of_server,
    stream_from_server,
)
from lightwell.entrypoints.cli.store import open_as

ask = single_command()


Passages = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        max=20,
        help="How many passages, at most: 5 by default, 20 with --statements. Without it, a question that asks several things has as many for each.",
    ),
]


AsStatements = Annotated[
    bool,
    typer.Option(
        "--statements", help="List statements of the documents with their dates, the newest first."
    ),
]


AsItComes = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Print each sentence as soon as it is checked; with --json, one event per line.",
    ),
]


InSession = Annotated[
    UUID | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="The open session of yours to which the question belongs (`lightwell analytics begin`).",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """A question and its options, as typed."""

    text: str
    topic: str
    limit: int
    mode: Mode
    session: SessionId | None = None

    @property
    def request(self) -> QueryRequest:
        return QueryRequest(
            query=self.text,
            session_id=self.session,
            top_k=self.limit,
            topic_filter=self.topic,
            mode=self.mode,
        )


@command(
    ask,
    "ask",
    'lightwell ask "What discount does Nordwind receive?" --as team:sales',
    'lightwell ask "What discount does Nordwind receive?" --as team:sales --json',
    'lightwell ask "What discount does Nordwind receive?" --server http://127.0.0.1:8000',
    'lightwell ask "Who works with Nordwind?" --as user:ada --mode local',
    'lightwell ask "What did we promise about deadlines?" --as user:ada --statements',
    cls=QuestionCommand,
)
def answer_question(  # noqa: PLR0913 - the options of a command are its arguments
    question: Question,
    *,
    who: As = None,
    server: Server = None,
    topic: Topic = "",
    limit: Passages = None,
    mode: Where = Mode.MIX,
    statements: AsStatements = False,
    stream: AsItComes = False,
    session: InSession = None,
    as_json: Json = False,
) -> Work:
    """Answer a question with citations, or say that the evidence is insufficient (exit code 0 too)."""
    if statements and stream:
        raise typer.BadParameter("a list is not streamed; leave one out", param_hint="--stream")
    if statements and session:
        raise typer.BadParameter("a list belongs to no session", param_hint="--session")
    options = AskOptions(
        text=question,
        topic=topic,
        limit=(20 if statements else 5) if limit is None else limit,
        mode=mode,
        session=SessionId(session) if session else None,
    )
    if statements:
        return _list_statements(options, who, server)
    if stream:
        return _stream(options, who, server, as_json=as_json)
    return _ask(options, who, server)


async def _ask(options: AskOptions, who: Sequence[str] | None, server: str | None) -> Report:
    """Report the answer of a server, or of the store here."""
    login = choose_server(server, who)
    return await (ask_server(options.request, login) if login else _answer(options, who))


async def _stream(
    options: AskOptions, who: Sequence[str] | None, server: str | None, *, as_json: bool
) -> Report:
    """Print the answer of a server, or of the store here, sentence by sentence; raise `ModelFailed`."""
    if login := choose_server(server, who):
        return await stream_from_server(options.request, login, as_json=as_json)
    return await _stream_answer(options, who, as_json=as_json)


async def _answer(options: AskOptions, who: Sequence[str] | None) -> Report:
    """Report the answer; insufficient evidence is an answer too."""
    options.request.to_question()  # raises `Invalid` before anything is opened
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        began = time.perf_counter()
        answer = await kb.questions.ask(options.request, reader)
        took = milliseconds_since(began)
    document = partial(json_output.answer, answer, milliseconds=took)
    return report_with_costs(meter, document, text_output.answer(answer))


async def _list_statements(
    options: AskOptions, who: Sequence[str] | None, server: str | None
) -> Report:
    """Report what the documents of a server, or of the store here, state, each with its citations and dates."""
    if login := choose_server(server, who):
        return await list_statements_of_server(options.request, login)
    options.request.to_question()
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        began = time.perf_counter()
        listed = await kb.questions.statements(
            options.text, reader, topic=options.topic, limit=options.limit, mode=options.mode
        )
        took = milliseconds_since(began)
    document = partial(json_output.statements, listed, milliseconds=took)
    return report_with_costs(meter, document, text_output.statements(listed))


async def _stream_answer(
    options: AskOptions, who: Sequence[str] | None, *, as_json: bool
) -> Report:
    """Print the answer sentence by sentence, then report the rest; raise `ModelFailed`."""
    options.request.to_question()
    last: StreamChunk | None = None
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        events = kb.questions.stream(options.request, reader)
        async for event in events:
            last = event
            if as_json:
                typer.echo(json.dumps(json_output.event(event)))
            else:
                sys.stdout.write(clean(event.content))
            sys.stdout.flush()
    if last is not None and last.error:
        raise ModelFailed(last.error)
    answer = None if last is None else last.answer
    if answer is None:
        return Report(document={}, text=Text(), printed=True)
    return Report(
        document={},
        text=Group(Text("\n"), text_output.citations_and_notes(answer), *costs_of(meter).lines()),
        printed=as_json,
    )

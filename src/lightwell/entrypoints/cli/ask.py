"""`ask`: answers a question at once, sentence by sentence, or as a list of statements."""

import json
import sys
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.operations.questions as operations
from lightwell.domain import questions
from lightwell.domain.answers import StreamType
from lightwell.domain.errors import ModelFailed
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import DEFAULT_LIMIT, Mode
from lightwell.entrypoints import wording
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import (
    AllNearest,
    Json,
    LookTwice,
    Question,
    Topic,
    Where,
    WithContext,
)
from lightwell.entrypoints.cli.registration import QuestionCommand, command, single_command
from lightwell.entrypoints.cli.text_output import Shown

if TYPE_CHECKING:
    from lightwell.entrypoints.operations.questions import DocumentFilters, StreamEvent

ask = single_command()

_STATEMENTS = 20

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


@command(
    ask,
    "ask",
    'lightwell ask "What discount does Nordwind receive?" --as team:sales',
    'lightwell ask "What discount does Nordwind receive?" --as team:sales --json',
    'lightwell ask "What discount does Nordwind receive?" --server http://127.0.0.1:8000',
    'lightwell ask "Who works with Nordwind?" --as user:ada --mode local',
    'lightwell ask "Who approves what Nordwind is offered?" --as user:ada --look-twice --stream',
    'lightwell ask "What did we promise about deadlines?" --as user:ada --statements',
    cls=QuestionCommand,
)
async def answer_question(  # noqa: PLR0913 - the options of a command are its arguments
    question: Question,
    *,
    asker: Asker,
    topic: Topic = "",
    only: "DocumentFilters" = operations.ANY_DOCUMENT,
    limit: Passages = None,
    mode: Where = Mode.MIX,
    look_twice: LookTwice = False,
    statements: AsStatements = False,
    stream: AsItComes = False,
    context: WithContext = False,
    nearest: AllNearest = False,
    session: InSession = None,
    as_json: Json = False,
) -> Report:
    """Answer a question with citations, or say that the evidence is insufficient (exit code 0 too)."""
    if statements and stream:
        raise typer.BadParameter("a list is not streamed; leave one out", param_hint="--stream")
    if statements and look_twice:
        raise typer.BadParameter("a list is read once; leave one out", param_hint="--look-twice")
    if statements and session:
        raise typer.BadParameter("a list belongs to no session", param_hint="--session")
    checked = questions.Question(  # raises `Invalid` before anything is opened
        text=question,
        session_id=SessionId(session) if session else None,
        limit=limit or (_STATEMENTS if statements else DEFAULT_LIMIT),
        filters=only.with_topic(topic),
        mode=mode,
        look_twice=look_twice,
    )
    shown = Shown(context=context, nearest=nearest)
    if stream:
        return await _print_stream(asker.stream(checked), shown, as_json=as_json)
    if statements:
        listed = await asker(
            operations.list_statements,
            question,
            top_k=checked.limit,
            topic_filter=topic,
            filters=only,
            mode=mode,
        )
        return Report(document=listed, text=lambda: text_output.statements(listed, shown))
    answer = await asker(
        operations.answer_question,
        question,
        session_id=session,
        top_k=checked.limit,
        topic_filter=topic,
        filters=only,
        mode=mode,
        look_twice=look_twice,
    )
    return Report(document=answer, text=lambda: text_output.answer(answer, shown))


async def _print_stream(
    events: "AsyncGenerator[StreamEvent]", shown: Shown, *, as_json: bool
) -> Report:
    """Print the answer sentence by sentence, then report the rest; raise `ModelFailed`."""
    received: list[StreamEvent] = []
    async for event in events:
        received.append(event)
        if as_json:
            typer.echo(json.dumps(json.loads(event.data)))  # in ASCII, whatever stdout is
        elif event.step is not None:
            typer.echo(clean(wording.step_line(event.step)), err=True)
        else:
            sys.stdout.write(clean(event.content))
        sys.stdout.flush()
    last = received[-1]
    if last.type is StreamType.ERROR:
        raise ModelFailed(last.error)
    citations = [event.citation for event in received if event.citation]
    above = "".join(event.content for event in received)
    rest = text_output.below(citations, last, shown, above=above)
    return Report(document={}, text=Group(Text("\n"), rest), printed=as_json)

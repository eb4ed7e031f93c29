"""What can be said to `ask` and `search`; what they do stands in `answering` and `reading`."""

from typing import Annotated
from uuid import UUID

import typer

from lightwell.domain.ids import SessionId
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.commands import (
    As,
    Json,
    Limit,
    Question,
    SearchMode,
    SearchWhere,
    Topic,
    Verbose,
    Where,
)
from lightwell.entrypoints.cli.parsing import QuestionCommand

asking = typer.Typer()

Passages = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        max=20,
        help="How many passages, at most; 5 by default, 20 with --statements.",
    ),
]
AsStatements = Annotated[
    bool,
    typer.Option(
        "--statements", help="List what the documents state, each with its dates, newest first."
    ),
]
AsItComes = Annotated[
    bool,
    typer.Option(
        "--stream", help="Print each sentence when it is checked; with --json, a line an event."
    ),
]

InSession = Annotated[
    UUID | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Your open session to which the question belongs (`lightwell analytics begin`).",
    ),
]


@asking.command(
    cls=QuestionCommand,
    epilog='\b\nExamples:\n  lightwell ask "What discount does Nordwind receive?" --as team:sales\n'
    '  lightwell ask "What discount does Nordwind receive?" --as team:sales --json\n'
    '  lightwell ask "Who works with Nordwind?" --as user:ada --mode local\n'
    '  lightwell ask "What did we promise about deadlines?" --as user:ada --statements',
)
def ask(  # noqa: PLR0913 - the options of a command are its arguments
    question: Question,
    *,
    who: As = None,
    topic: Topic = "",
    limit: Passages = None,
    mode: Where = Mode.MIX,
    statements: AsStatements = False,
    stream: AsItComes = False,
    session: InSession = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Answer a question with citations, or say that the evidence is insufficient (exit code 0 too)."""
    import lightwell.entrypoints.cli.answering as answering
    from lightwell.entrypoints.cli.edge import run

    if statements and stream:
        raise typer.BadParameter("a list is not streamed; leave one out", param_hint="--stream")
    if statements and session:
        raise typer.BadParameter("a list belongs to no session", param_hint="--session")
    asked = answering.AskOptions(
        text=question,
        topic=topic,
        limit=(20 if statements else 5) if limit is None else limit,
        mode=mode,
        session=SessionId(session) if session else None,
    )
    if statements:
        run(answering.statements(asked, who or []), as_json=as_json, verbose=verbose)
    elif stream:
        told = answering.stream(asked, who or [], as_json=as_json)
        run(told, as_json=as_json, verbose=verbose)
    else:
        run(answering.ask(asked, who or []), as_json=as_json, verbose=verbose)


@asking.command(
    cls=QuestionCommand,
    epilog='\b\nExamples:\n  lightwell search "discount" --as team:sales\n'
    '  lightwell search "discount" --as team:sales --topic contracts --limit 10',
)
def search(  # noqa: PLR0913 - the options of a command are its arguments
    question: Question,
    *,
    who: As = None,
    topic: Topic = "",
    limit: Limit = 5,
    mode: SearchWhere = SearchMode.MIX,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the passages that are relevant to a question, best first."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    command = reading.search(question, who or [], topic=topic, limit=limit, mode=mode.mode)
    run(command, as_json=as_json, verbose=verbose)


@asking.command(
    cls=QuestionCommand,
    epilog='\b\nExamples:\n  lightwell keywords "What discount does Nordwind receive?"\n'
    '  lightwell keywords "What discount does Nordwind receive?" --json',
)
def keywords(question: Question, *, as_json: Json = False, verbose: Verbose = False) -> None:
    """Show a question's keywords: themes lead to relations, names and terms to entities."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    run(reading.keywords(question), as_json=as_json, verbose=verbose)

"""What can be said to `brief`, `chat` and `conversations`; what they do stands in `briefing` and `chatting`."""

import sys
from typing import Annotated

import typer

from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.commands import As, Json, Topic, Verbose, Where

talk = typer.Typer()
conversations = typer.Typer(
    help="List, show and forget your own conversations.",
    epilog="\b\nExamples:\n  lightwell conversations list --as team:us",
    no_args_is_help=True,
    rich_markup_mode=None,
)
talk.add_typer(conversations, name="conversations")

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A company, deal, person, project: its name, reference or id."
    ),
]
Message = Annotated[
    str | None,
    typer.Argument(metavar="MESSAGE", help="What you say; without it you talk line by line."),
]
Ongoing = Annotated[
    str,
    typer.Option("--conversation", metavar="ID", help="Continue this conversation."),
]
Own = Annotated[
    str, typer.Argument(metavar="CONVERSATION", help="Its id, as `conversations list` shows.")
]


@talk.command(
    epilog='\b\nExamples:\n  lightwell brief "Nordwind Energie" --as team:sales\n'
    "  lightwell brief ENG-42 --as team:engineering --json"
)
def brief(name: Named, *, who: As = None, as_json: Json = False, verbose: Verbose = False) -> None:
    """Say what something is, what happened lately, what is open, who and what is tied to it, with citations.

    A name that fits several things lists them, with what tells them apart; a reference picks one.
    """
    import lightwell.entrypoints.cli.briefing as briefing
    from lightwell.entrypoints.cli.edge import run

    run(briefing.brief(name, who or []), as_json=as_json, verbose=verbose)


@talk.command(
    epilog='\b\nExamples:\n  lightwell chat "What discount does Nordwind receive?" --as team:sales\n'
    '  lightwell chat "And who agreed to it?" --as team:sales --conversation 0198…\n'
    "  lightwell chat --as team:sales"
)
def chat(  # noqa: PLR0913 - the options of a command are its arguments
    message: Message = None,
    *,
    conversation: Ongoing = "",
    who: As = None,
    topic: Topic = "",
    mode: Where = Mode.MIX,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Answer a message with its sources, and remember it for the next one.

    A conversation belongs to exactly the tags that began it, and forgets what they may no longer see.
    """
    import lightwell.entrypoints.cli.chatting as chatting
    from lightwell.entrypoints.cli.edge import run

    how = chatting.ChatOptions(conversation=conversation, topic=topic, mode=mode)
    if message is not None:
        command = chatting.send_message(message, how, who or [])
    elif as_json:
        raise typer.BadParameter("say something: --json answers one message", param_hint="MESSAGE")
    else:
        command = chatting.chat_interactively(how, who or [])
    run(command, as_json=as_json, verbose=verbose)


@conversations.command(
    "list", epilog="\b\nExamples:\n  lightwell conversations list --as team:us --limit 10"
)
def list_conversations(
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")] = 100,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List your own conversations, the latest first."""
    import lightwell.entrypoints.cli.chatting as chatting
    from lightwell.entrypoints.cli.edge import run

    run(chatting.conversations(who or [], limit=limit), as_json=as_json, verbose=verbose)


@conversations.command(
    "show", epilog="\b\nExamples:\n  lightwell conversations show 0198… --as team:us"
)
def show_conversation(
    conversation: Own, *, who: As = None, as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show the latest messages of one of your conversations."""
    import lightwell.entrypoints.cli.chatting as chatting
    from lightwell.entrypoints.cli.edge import run

    run(chatting.conversation(conversation, who or []), as_json=as_json, verbose=verbose)


@conversations.command(
    "forget", epilog="\b\nExamples:\n  lightwell conversations forget 0198… --as team:us --yes"
)
def forget_conversation(
    conversation: Own,
    *,
    who: As = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Delete one of your conversations for good."""
    import lightwell.entrypoints.cli.chatting as chatting
    from lightwell.entrypoints.cli.edge import run

    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    if not yes:
        typer.confirm(f"Forget the conversation {conversation}?", abort=True, err=True)
    run(chatting.delete_conversation(conversation, who or []), as_json=as_json, verbose=verbose)

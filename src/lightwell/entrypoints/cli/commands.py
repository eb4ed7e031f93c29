"""Every command, the module that holds it, and its summary.

A module is imported when its command is called, so that `--help` and `--version` need none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter  # Typer does not export them


@dataclass(frozen=True, slots=True)
class Entry:
    """The location of a command, `module:attribute` of a `typer.Typer` in this package, and its summary in one sentence."""

    target: str
    summary: str
    also: tuple[str, ...] = ()
    """More modules that hold commands of the same group, in the order of use."""


COMMANDS: Mapping[str, Entry] = {
    "demo": Entry(
        "demo:demo",
        "Ingest an example company's documents, sync its business systems, and ask four questions as two people each.",
    ),
    "ingest": Entry(
        "ingest:ingest",
        "Ingest documents; later runs process only what is new, changed or deleted.",
    ),
    "push": Entry(
        "push:push",
        "Push a folder, or lines of JSON, into a source of a server, and say what failed.",
    ),
    "import": Entry(
        "imports:imports", "Read what another program has collected: LightRAG's working directory."
    ),
    "ask": Entry(
        "ask:ask",
        "Answer a question with citations, or say that the evidence is insufficient (exit code 0 too).",
    ),
    "search": Entry(
        "search:search", "List the passages that are relevant to a question, best first."
    ),
    "brief": Entry(
        "brief:brief",
        "Summarise an entity with citations: what it is, recent events, open points, people and links.",
    ),
    "chat": Entry(
        "chat:chat", "Answer a message with its sources, and remember it for the next one."
    ),
    "conversations": Entry("chat:conversations", "List, show and delete your own conversations."),
    "documents": Entry(
        "documents:documents",
        "List, show, add, re-extract and delete documents.",
        ("documents_add", "documents_original", "documents_reread"),
    ),
    "graph": Entry(
        "graph:graph",
        "List, show, merge and correct entities and their relations.",
        ("graph_merges", "graph_edits"),
    ),
    "links": Entry(
        "links:links",
        "List, show, confirm, reject, add and remove links between entities of several systems.",
    ),
    "export": Entry(
        "export:export",
        "Write the entities and relations that the reader may see to files; optionally passages and vectors.",
    ),
    "status": Entry(
        "status:status",
        "Count the documents, passages, entities and relations that the reader may see, and the waiting documents.",
    ),
    "setup": Entry(
        "setup:setup",
        "Find a chat model, try it with one question, and write it into `.env` in the current folder.",
    ),
    "doctor": Entry(
        "doctor:doctor",
        "Check settings, database and models, and report problems and how to fix them.",
    ),
    "worker": Entry(
        "worker:worker", "Process enqueued documents until SIGINT (Ctrl-C) or SIGTERM."
    ),
    "backfill": Entry(
        "backfill:backfill",
        "Process all enqueued documents on the hosts of a Ray cluster, or on the cores of this one.",
    ),
    "serve": Entry("serve:serve", "Serve questions over HTTP until SIGINT (Ctrl-C) or SIGTERM."),
    "mcp": Entry(
        "mcp:mcp",
        "Serve the tools `search`, `fetch` and `ask` to an MCP client on stdin and stdout, until stdin ends.",
    ),
    "login": Entry("login:login", "Save an API key for a server, for commands without --as."),
    "logout": Entry("login:logout", "Forget the API key of a server."),
    "keys": Entry("keys:keys", "Create, list, rotate and revoke API keys."),
    "people": Entry(
        "people:people", "Add, list, change and delete the people who have access tags."
    ),
    "groups": Entry(
        "people:groups", "Save, list and delete groups, whose members have their access tags."
    ),
    "channels": Entry(
        "channels:channels",
        "Show and check the bots of Telegram and Slack, link accounts to people, and bind groups to access tags.",
    ),
    "sources": Entry(
        "sources:sources",
        "Add, sync, show and remove sources: Linear, Attio, Chatwoot, GitHub, web sites, buckets, mailboxes, pushes.",
    ),
    "jobs": Entry("jobs:jobs", "List, show, retry and cancel ingestion jobs."),
    "runs": Entry("jobs:runs", "List and show ingestion runs, and the cursor of each source."),
    "keywords": Entry(
        "search:keywords",
        "Show a question's keywords: themes find relations, names and terms find entities.",
    ),
    "feedback": Entry("analytics:feedback", "Rate an answer to one of your questions."),
    "analytics": Entry(
        "analytics:analytics", "List your own sessions, questions with their metrics, and feedback."
    ),
    "eval": Entry(
        "evaluate:evaluation",
        "Ask questions whose answers are known, and report how many are answered correctly and where answers are lost.",
    ),
    "backup": Entry(
        "backup:backup",
        "Write the whole store, all projects, to a new file that only you may read; the store may be in use.",
    ),
    "restore": Entry(
        "backup:restore",
        "Restore a backup into an empty store; an existing one is never changed.",
    ),
    "migrate": Entry(
        "backup:migrate",
        "Apply the migrations that the store lacks; any command that opens the store does so, too.",
    ),
    "copy-vectors": Entry(
        "copy_vectors:copy_vectors",
        "Copy the project's vectors into another store, without a model; then set LIGHTWELL_VECTOR_STORE and restart.",
    ),
    "embeddings": Entry(
        "embeddings:embeddings",
        "Show the project's embedding model, and change it while questions go on.",
    ),
    "project": Entry("project:project", "Delete a whole project."),
}

SECTIONS: Mapping[str, str] = {
    "Ingest and ask": "ingest ask search brief chat conversations demo",
    "Documents and the graph": "documents graph links export sources push import jobs runs",
    "Servers, and who may use them": "serve channels mcp login logout keys people groups",
    "Keep it running": "setup status doctor worker backfill backup restore migrate embeddings copy-vectors project",
    "Measure": "keywords feedback analytics eval",
}
"""The commands as `--help` lists them: by what they are for, in the order in which people need them."""


class Commands(TyperGroup):
    """The commands of `COMMANDS`; each module is imported when its command is needed."""

    def list_commands(self, ctx: "Context") -> list[str]:
        """Return the names in the order of the sections."""
        return [name for names in SECTIONS.values() for name in names.split()]

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Return the command; None where there is none of this name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        holder, *_ = [_import(name) for name in (module, *entry.also)]
        return typer.main.get_command(cast("typer.Typer", getattr(holder, attribute)))

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """Return the command that the arguments name; its nearest names where there is none."""
        self.commands = {name: _summary(name) for name in COMMANDS}
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the names with their whole summaries; import no command."""
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name].summary) for name in names.split()])


def _import(name: str) -> ModuleType:
    return import_module(f"lightwell.entrypoints.cli.{name}")


def _summary(name: str) -> TyperCommand:
    return TyperCommand(name, help=COMMANDS[name].summary)


app = typer.Typer(
    name="lightwell",
    cls=Commands,
    help="Answer questions with citations, only from documents that the reader may see.",
    epilog="\b\nExamples:\n  lightwell demo\n  lightwell ingest ./notes\n"
    '  lightwell ask "How many days of leave do we have?"\n\n'
    "\b\nExit codes: 0 success, 1 incomplete, 2 invalid input, 3 not found,\n"
    "4 a model, a database or a source failed, 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def lightwell(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    if show_version:
        from importlib.metadata import version

        typer.echo(version("lightwell"))
        raise typer.Exit

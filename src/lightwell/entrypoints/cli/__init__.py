"""The command line: what can be said is in `analytics`, `commands`, `ask`, `chat`, `documents`, `evaluate`, `graph` and `jobs`, what it does in the files beside them.

They import the rest inside their functions, so that `--help` and a mistyped option need no model and no database.
"""

import inspect

import typer

from lightwell.entrypoints.cli.adding import documents
from lightwell.entrypoints.cli.analytics import analytics, rating
from lightwell.entrypoints.cli.ask import asking
from lightwell.entrypoints.cli.chat import talk
from lightwell.entrypoints.cli.commands import app
from lightwell.entrypoints.cli.evaluate import evaluation
from lightwell.entrypoints.cli.jobs import jobs, runs
from lightwell.entrypoints.cli.project import project
from lightwell.entrypoints.cli.splits import graph

__all__ = ["main"]

app.add_typer(asking)
app.add_typer(talk)
app.add_typer(evaluation)
app.add_typer(rating)
app.add_typer(documents, name="documents")
app.add_typer(graph, name="graph")
app.add_typer(jobs, name="jobs")
app.add_typer(runs, name="runs")
app.add_typer(analytics, name="analytics")
app.add_typer(project, name="project")


def _show_whole_summaries(group: typer.Typer) -> None:
    """Let `--help` show the first paragraph of each command, where it would cut a long one."""
    for command in group.registered_commands:
        text = inspect.getdoc(command.callback) or ""
        command.short_help = " ".join(text.split("\n\n")[0].split())
    for below in group.registered_groups:
        if below.typer_instance is not None:
            below.short_help = below.typer_instance.info.help
            _show_whole_summaries(below.typer_instance)


_show_whole_summaries(app)


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    app()

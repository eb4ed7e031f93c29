"""The command line: what can be said is in `commands`, `ask`, `chat`, `documents`, `evaluate` and `graph`, what it does in the files beside them.

They import the rest inside their functions, so that `--help` and a mistyped option need no model and no database.
"""

from lightwell.entrypoints.cli.ask import asking
from lightwell.entrypoints.cli.chat import talk
from lightwell.entrypoints.cli.commands import app
from lightwell.entrypoints.cli.documents import documents
from lightwell.entrypoints.cli.evaluate import evaluation
from lightwell.entrypoints.cli.graph import graph

__all__ = ["main"]

app.add_typer(asking)
app.add_typer(talk)
app.add_typer(evaluation)
app.add_typer(documents, name="documents")
app.add_typer(graph, name="graph")


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    app()

"""The command line: what can be said is in `commands`, what it does in the files beside it.

`commands` imports the rest inside its functions, so that `--help` and a mistyped option need no model and no database.
"""

from lightwell.entrypoints.cli.commands import app

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    app()

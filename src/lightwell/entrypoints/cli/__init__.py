"""The command line. `commands` lists every command with its module; one module holds a command group and its work.

| shared module | what it holds |
|---|---|
| `registration` | registers functions as commands |
| `options` | options and arguments that several commands have |
| `execution` | runs a command, prints its report, logs |
| `errors` | exit codes, and errors as messages |
| `asking` | runs an operation on the store here, or sends it to a server |
| `store` | opens the store for a reader: `open_as` |
| `remote`, `logins` | which server a command asks, and with which key |
| `owner_door` | asks the server that has the store here open, if one runs |
| `console` | text that is safe to print, tables, fields |
| `text_output` | answers, passages and candidates as text; as JSON they are the replies of `entrypoints/operations/` |
| `costs`, `progress` | the cost of model calls; the progress of an operation |
"""

from lightwell.entrypoints.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    app()

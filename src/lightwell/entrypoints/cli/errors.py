"""Exit codes, and the table that maps Lightwell's errors to exit codes and hints."""

import json
from collections.abc import Mapping
from enum import IntEnum

import typer

from lightwell.domain.errors import (
    BudgetSpent,
    Invalid,
    LightwellError,
    ModelFailed,
    NotFound,
    SourceFailed,
    StoreFailed,
    Unreadable,
)
from lightwell.entrypoints.cli.console import clean


class Exit(IntEnum):
    """The exit codes of the command line."""

    FINE = 0
    INCOMPLETE = 1
    INVALID = 2
    NOT_FOUND = 3
    FAILED = 4
    INTERRUPTED = 130


_EXITS: tuple[tuple[type[LightwellError], Exit, str], ...] = (
    (Invalid, Exit.INVALID, ""),
    (NotFound, Exit.NOT_FOUND, ""),
    (Unreadable, Exit.INCOMPLETE, ""),
    (SourceFailed, Exit.FAILED, ""),
    (
        BudgetSpent,
        Exit.INCOMPLETE,
        "`lightwell ingest` continues with the rest; --budget TOKENS allows more.",
    ),
    (ModelFailed, Exit.FAILED, "Finished work is kept. `lightwell doctor` tests the models."),
    (StoreFailed, Exit.FAILED, "`lightwell doctor` checks the database."),
    (LightwellError, Exit.FAILED, "`lightwell doctor` may find the cause."),
)
"""Maps an error to its exit code and a hint for people; the first matching class counts."""

_OTHER_KEY = "`lightwell login URL` saves another key; whoever runs the server makes one with `lightwell keys create`."
_SERVER_HINTS: Mapping[str, str] = {
    "unauthenticated": _OTHER_KEY,
    "missing_scope": _OTHER_KEY,
    "too_many_requests": "",
    "busy": "",
    "stopping": "",
    "unreachable": "Check the URL, and that the server runs: its /health/live needs no key.",
}
"""Maps the codes of a server's problems to hints: the doctor of this machine knows nothing of them."""


def report_error(error: LightwellError, *, as_json: bool) -> Exit:
    """Print the error on stderr, and return its exit code."""
    code, hint = next((code, hint) for kind, code, hint in _EXITS if isinstance(error, kind))
    hint = _SERVER_HINTS.get(error.code, hint)
    if as_json:
        typer.echo(json.dumps({"code": error.code, "detail": str(error)}), err=True)
    else:
        typer.echo(clean(f"Error: {error}"), err=True)
        if hint:
            typer.echo(hint, err=True)
    return code

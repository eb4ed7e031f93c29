"""The edge of the program: a command's outcome becomes output and an exit code, our errors become messages."""

import asyncio
import io
import json
import logging
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from enum import IntEnum

import structlog
import typer
from rich.console import Console, RenderableType

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
from lightwell.entrypoints.cli.show import clean
from lightwell.settings import Settings, settings_from_environment

_WIDTH_OF_A_FILE = 10_000
"""Columns: what goes to a file or a program is not wrapped."""


class Exit(IntEnum):
    """What a shell is told."""

    FINE = 0
    INCOMPLETE = 1
    INVALID = 2
    NOT_FOUND = 3
    FAILED = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a command has to say, to programs and to people; when it is `printed`, all is said already."""

    document: Mapping[str, object]
    text: RenderableType
    code: Exit = Exit.FINE
    printed: bool = False


_EXITS: tuple[tuple[type[LightwellError], Exit, str], ...] = (
    (Invalid, Exit.INVALID, ""),
    (NotFound, Exit.NOT_FOUND, ""),
    (Unreadable, Exit.INCOMPLETE, ""),
    (SourceFailed, Exit.FAILED, ""),
    (
        BudgetSpent,
        Exit.INCOMPLETE,
        "`lightwell ingest` goes on with the rest; --budget TOKENS allows more.",
    ),
    (ModelFailed, Exit.FAILED, "Finished work is kept. `lightwell doctor` tests the models."),
    (StoreFailed, Exit.FAILED, "`lightwell doctor` says how the database is."),
    (LightwellError, Exit.FAILED, "`lightwell doctor` may say more."),
)
"""The one table from our errors to exit codes, the nearest class first, with what else to tell people."""


def settings() -> Settings:
    """Return the settings; raise `Invalid` naming the variable that is wrong, never its value."""
    return settings_from_environment()


def settings_of_store() -> Settings:
    """Return the settings of a command that needs an existing store; raise `NotFound` where there is none.

    Only commands that bring documents in create a store.
    """
    from lightwell.wiring.database import has_store

    chosen = settings()
    if not has_store(chosen):
        raise NotFound(
            f"There is no Lightwell store in {chosen.data.expanduser().resolve()}: name its data directory in"
            " LIGHTWELL_DATA, or create a store with `lightwell ingest PATH --acl TAG`"
        )
    return chosen


def run(command: Coroutine[None, None, Report], *, as_json: bool, verbose: bool) -> None:
    """Carry a command out, print what it reports on stdout, and leave with its exit code.

    SIGTERM stops a command as Ctrl-C does: what it opened is closed.
    """
    _log(logging.INFO if verbose else logging.WARNING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        report = asyncio.run(_execute(command))
    except LightwellError as error:
        raise typer.Exit(_print_error(error, as_json=as_json)) from error
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        raise typer.Exit(Exit.INTERRUPTED) from error
    if report.printed:
        raise typer.Exit(report.code)
    if as_json:
        is_utf8 = sys.stdout.encoding.lower() == "utf-8"
        typer.echo(json.dumps(report.document, ensure_ascii=not is_utf8, indent=2))
    else:
        _print(report.text)
    raise typer.Exit(report.code)


def errors_console() -> Console:
    """Return where progress goes: stderr, so that stdout holds the report alone."""
    return _console(stderr=True)


async def _execute(command: Coroutine[None, None, Report]) -> Report:
    task = asyncio.ensure_future(command)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _print(text: RenderableType) -> None:
    console = _console(stderr=False)
    if console.is_terminal:
        console.print(text, crop=False)
        return
    with console.capture() as captured:
        console.print(text)
    lines = captured.get().rstrip("\n").split("\n")
    typer.echo("\n".join(line.rstrip() for line in lines))  # Rich fills lines up with blanks


def _print_error(error: LightwellError, *, as_json: bool) -> Exit:
    code, hint = next((code, hint) for kind, code, hint in _EXITS if isinstance(error, kind))
    if as_json:
        typer.echo(json.dumps({"code": error.code, "detail": str(error)}), err=True)
    else:
        typer.echo(clean(f"Error: {error}"), err=True)
        if hint:
            typer.echo(hint, err=True)
    return code


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        width=None if stream.isatty() else _WIDTH_OF_A_FILE,
    )


def _log(level: int) -> None:
    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )

"""Runs a command: its report becomes output and an exit code, an error becomes a message."""

import asyncio
import io
import json
import logging
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass

import typer
from rich.console import RenderableType

from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.cli.console import print_report
from lightwell.entrypoints.cli.errors import Exit, report_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A command's result, as JSON and as text; `printed` means that the command has printed it already."""

    document: Mapping[str, object]
    text: RenderableType
    code: Exit = Exit.FINE
    printed: bool = False


def run(command: Coroutine[None, None, Report], *, as_json: bool, verbose: bool) -> None:
    """Run a command, print its report on stdout, and exit with its exit code.

    SIGTERM stops a command as Ctrl-C does: the command closes what it opened.
    """
    _log(logging.INFO if verbose else logging.WARNING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        report = asyncio.run(_execute(command))
    except LightwellError as error:
        raise typer.Exit(report_error(error, as_json=as_json)) from error
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        raise typer.Exit(Exit.INTERRUPTED) from error
    if report.printed:
        raise typer.Exit(report.code)
    if as_json:
        is_utf8 = sys.stdout.encoding.lower() == "utf-8"
        typer.echo(json.dumps(report.document, ensure_ascii=not is_utf8, indent=2))
    else:
        print_report(report.text)
    raise typer.Exit(report.code)


async def _execute(command: Coroutine[None, None, Report]) -> Report:
    task = asyncio.ensure_future(command)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _log(level: int) -> None:
    import structlog

    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )

"""Runs a command: its report becomes output and an exit code, an error becomes a message."""

import asyncio
import io
import json
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

import typer
from pydantic import ValidationError
from rich.console import RenderableType

from lightwell.domain.errors import Invalid, LightwellError
from lightwell.entrypoints.cli.console import print_report
from lightwell.entrypoints.cli.errors import Exit, report_error
from lightwell.entrypoints.operations.replies import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A command's result, as JSON and as text; `printed` means that the command has printed it already.

    `document` is the reply of an operation, or JSON, or a function, which is called only where the JSON is wanted; so may `text` be.
    """

    document: Schema | Mapping[str, object] | Callable[[], Mapping[str, object]]
    text: RenderableType | Callable[[], RenderableType]
    code: Exit = Exit.FINE
    printed: bool = False

    def as_text(self) -> RenderableType:
        """Return the text."""
        return self.text() if callable(self.text) else self.text

    def as_json(self) -> Mapping[str, object]:
        """Return the document."""
        if isinstance(self.document, Schema):
            return self.document.to_document()
        return self.document() if callable(self.document) else self.document


def run(
    command: Coroutine[None, None, Report],
    *,
    as_json: bool,
    verbose: bool,
    audited: str = "",
    opens_here: bool = True,
) -> None:
    """Run a command, print its report on stdout, and exit with its exit code.

    SIGTERM stops a command as Ctrl-C does: the command closes what it opened. `audited` is the name under which the audit
    log has a line of the command, "" for none. One that does not open the store at once has `configure_own` called when it does.
    """
    configure_libraries(logging.INFO if verbose else logging.WARNING)
    if opens_here:
        configure_own()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    report, code = _end(command, as_json=as_json, audited=audited)
    if report is None or report.printed:
        raise typer.Exit(code)
    if as_json:
        is_utf8 = sys.stdout.encoding.lower() == "utf-8"
        typer.echo(json.dumps(report.as_json(), ensure_ascii=not is_utf8, indent=2))
    else:
        print_report(report.as_text())
    raise typer.Exit(code)


def _end(
    command: Coroutine[None, None, Report], *, as_json: bool, audited: str
) -> tuple[Report | None, Exit]:
    """Run the command to its end, if its audit log can be written; report an error on stderr, and return its exit code."""
    if not audited:
        return _work(command, as_json=as_json)
    from lightwell.entrypoints.cli.audit import open_audit

    try:
        with open_audit(audited) as write:
            report, code = _work(command, as_json=as_json)
            write({} if report is None else report.as_json(), code)
    except Invalid as error:
        return None, report_error(error, as_json=as_json)
    finally:
        command.close()  # it has not run where there is no log
    return report, code


def _work(command: Coroutine[None, None, Report], *, as_json: bool) -> tuple[Report | None, Exit]:
    try:
        report = asyncio.run(_execute(command))
    except LightwellError as error:
        return None, report_error(error, as_json=as_json)
    except ValidationError as error:
        return None, report_error(_as_invalid(error), as_json=as_json)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return None, Exit.INTERRUPTED
    return report, report.code


def _as_invalid(error: ValidationError) -> Invalid:
    """Return the first argument that is outside of what the interface declares, without its value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return Invalid(
        f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
    )


async def _execute(command: Coroutine[None, None, Report]) -> Report:
    task = asyncio.ensure_future(command)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def configure_logging(level: int = logging.WARNING) -> None:
    """Write the log to stderr."""
    configure_libraries(level)
    configure_own()


def configure_libraries(level: int) -> None:
    """Write the log of the standard library's loggers to stderr, from this level on."""
    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")


def configure_own() -> None:
    """Write what Lightwell's own modules log to stderr, from the level of `configure_libraries` on."""
    import structlog

    level = logging.getLogger().level
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )

"""Text that is safe to print, tables and fields, and the consoles of stdout and stderr.

Every text of a document, of a business system and of a server passes through `clean` before it is printed, so that
none can control the terminal. The consoles see to it for whatever they print; what `typer.echo` prints is cleaned by its caller.
"""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from lightwell.text.printable import clean as clean
from lightwell.text.regex import regex

_LINE_BREAK = regex(r"[\n\r\t\v\f\x85\u2028\u2029]")
_WIDTH_OF_A_FILE = 10_000
"""Columns; so that output to a file or a program is not wrapped."""


def file_name(url: str) -> str:
    """Return a short name of a document on one line: its file's path, relative if it is below the working directory, or its URL."""
    if not url.startswith("file://"):
        return _on_one_line(url)
    path = Path(unquote(url.removeprefix("file://")))
    here = Path.cwd()
    return _on_one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _on_one_line(name: str) -> str:
    """Return the name with a question mark for each line break, as `ls` shows it: a name must not write lines of its own."""
    return clean(_LINE_BREAK.sub("?", name))


def count_of(count: int, what: str) -> str:
    """Return `1 passage` or `2 passages`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def minute(moment: datetime | str | None) -> str:
    """Return a moment, or one of JSON, to the minute; "" for none."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment) if moment else None
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def unwrapped_line(*parts: str | tuple[str, str]) -> Text:
    """Return a line that is never broken, so that a URL in it can be clicked and copied; styled parts are pairs."""
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")


def describe_seconds(seconds: float) -> str:
    """Return a duration in words that a person reads at a glance: `40 s`, `12 min`, `3 h`."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def describe_wait(seconds: float) -> str:
    """Return a time to wait for in words: machines and documents differ, so no part of a minute is told."""
    return "less than a minute" if seconds < 60 else f"about {describe_seconds(seconds)}"


def describe_bytes(count: int) -> str:
    """Return a size in words: `300 bytes`, `12 kB`, `1.4 GB`, a kB being 1,000 bytes."""
    for unit, length in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= length:
            number = count / length
            return f"{number:.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return count_of(count, "byte")


def fields(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Return a list of names and values, without the rows that have no value."""
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        if value:
            table.add_row(dim(name), Text(clean(value), overflow="fold"))
    return table


def new_table(*columns: str) -> Table:
    """Return a table without lines, whose long cells are folded."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def page_text(table: Table, next_after: str | None, *, nothing: str) -> RenderableType:
    """Return a page of a list, and where it continues; `nothing` is said of an empty one."""
    if not table.row_count:
        return Text(nothing)
    return (
        Group(table, dim(f"There are more: --after {clean(next_after)}")) if next_after else table
    )


def dim(text: str) -> Text:
    """Return a line in dim style."""
    return Text(text, style="dim", overflow="fold")


def errors_console() -> Console:
    """Return the console for progress: stderr, so that stdout has only the report."""
    return _console(stderr=True)


def print_report(text: RenderableType) -> None:
    """Print on stdout; without a terminal, do not wrap lines, and strip blanks at their ends."""
    console = _console(stderr=False)
    if console.is_terminal:
        console.print(text, crop=False)
        return
    with console.capture() as captured:
        console.print(text)
    lines = captured.get().rstrip("\n").split("\n")
    typer.echo("\n".join(line.rstrip() for line in lines))  # Rich fills lines up with blanks


class _SafeConsole(Console):
    """A console that prints no control character of any text, whoever wrote it; styles are added afterwards."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(clean(segment.text), segment.style)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return _SafeConsole(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        width=None if stream.isatty() else _WIDTH_OF_A_FILE,
    )

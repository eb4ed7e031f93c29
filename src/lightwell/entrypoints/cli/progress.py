"""Progress of an operation: a bar or lines for an ingestion, a spinner while a chat model is called."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.status import Status
from rich.text import Text

from lightwell.entrypoints.cli.console import (
    clean,
    count_of,
    describe_wait,
    errors_console,
    file_name,
)

if TYPE_CHECKING:
    from lightwell.ingest.progress import DocumentOutcome, IngestPace
    from lightwell.ingest.progress import Progress as Moved
    from lightwell.ingest.sync import SyncResult
    from lightwell.models.meter import Meter

_WIDTH = 60
"""Characters beside the bar at most: the last ones of a path, because its end says more than its beginning."""

_BAR = 20
_BESIDE = 52
"""Columns of the bar, and of it with description, counts, time and the spaces between: what follows shares the rest of a line."""

WAITING = "Waiting for the model (Ctrl-C stops)"

_LONGEST_PATH = 100

_SEARCHABLE = "All can be searched by words and names. Now the passages are read for their meaning."

_TENTHS = 10
_UNTIL = "until all can be searched"

_LARGE = 200
"""Passages from which on a document's own progress is shown."""


@dataclass(slots=True)
class IngestProgress:
    """Shows the progress of `Ingestion.ingest`: pass it `start`, `advance` and `progress` as callbacks."""

    console: Console
    bar: Progress
    pace: "IngestPace"
    done: int = 0
    failed: int = 0
    total: int = 0
    shown: tuple[str, str, int] = ("", "", 0)
    tenth: int = -1

    def start(self, result: "SyncResult", open_jobs: int) -> None:
        """Set the number of documents to ingest."""
        del result
        self.total += open_jobs
        self.bar.update(self.bar.task_ids[0], description="Searchable", total=self.total)

    def progress(self, progress: "Moved") -> None:
        """Show the progress within one document; without a terminal only for a large one, at each tenth."""
        self.pace.note(progress, time.monotonic())
        if self.pace.read is not None:
            return self._show_second_stage(*self.pace.read, has_moved=progress.moved > 0)
        name = file_name(progress.url)
        share = f" {progress.done:,} of {progress.total:,} passages" if progress.total else ""
        line = f"{name}: {progress.step}{share}"
        self._update(line)
        tenth = (progress.url, progress.step, _TENTHS * progress.done // max(progress.total, 1))
        is_news = progress.total >= _LARGE and tenth != self.shown
        if is_news and not self.console.is_terminal:
            self.console.print(Text(f"{line}{_in_brackets(self._left(_UNTIL))}"))
            self.shown = tenth

    def advance(self, outcome: "DocumentOutcome") -> None:
        """Show that one document is done."""
        self.done += 1
        self.failed += bool(outcome.error)
        self.total = max(self.total, self.done)
        name = file_name(outcome.url)
        self._update(name, completed=self.done, total=self.total)
        if not self.console.is_terminal:
            end = (
                f"failed: {clean(outcome.error)}"
                if outcome.error
                else count_of(outcome.chunks, "passage")
            )
            if outcome.omitted:
                end += f", {outcome.omitted:,} left out"
            tenth, before = (_TENTHS * done // self.total for done in (self.done, self.done - 1))
            if before < tenth < _TENTHS:
                end += _in_brackets(self._left(_UNTIL))
            self.console.print(Text(f"[{self.done}/{self.total}] {_shorten(name)}: {end}"))

    def _show_second_stage(self, done: int, total: int, *, has_moved: bool) -> None:
        """Show how many passages have been read, without a terminal at each tenth; say once what can be done meanwhile."""
        if self.tenth < 0:
            self.console.print(Text(_SEARCHABLE))
            self.tenth = 0
        tenth = _TENTHS * done // total
        self._update("", description="Passages", completed=done, total=total)
        if has_moved and tenth != self.tenth and not self.console.is_terminal:
            left = _in_brackets(self._left() if done < total else "")
            self.console.print(Text(f"{done:,} of {count_of(total, 'passage')} read{left}"))
            self.tenth = tenth

    def _update(
        self,
        line: str,
        *,
        completed: int | None = None,
        total: int | None = None,
        description: str | None = None,
    ) -> None:
        """Show the remaining time beside the bar, and this stage's rate and as much of the line's end as there is room for."""
        left, room = self._left(), self.console.width - _BESIDE
        if len(left) > room:
            left = left.rpartition(", ")[2]
        end = min(_WIDTH, room - len(left))
        self.bar.update(
            self.bar.task_ids[0],
            completed=completed,
            total=total,
            description=description,
            left=left,
            at=line[-end:] if end > 0 else "",
        )

    def _left(self, end: str = "left") -> str:
        """Return the rate and the remaining time of this stage, "" as long as they are unknown."""
        now, read = time.monotonic(), self.total - self.failed
        return describe_pace(
            self.pace.per_minute(read, now), self.pace.seconds_left(read, now), end
        )

    def end(self) -> None:
        """Say where the rest is: another process works on the same documents."""
        if rest := self.total - self.done:
            elsewhere = "ended in another process, which ingests at the same time."
            self.console.print(Text(f"{count_of(rest, 'document')} {elsewhere}"))


def describe_pace(per_minute: float | None, seconds_left: float | None, end: str = "left") -> str:
    """Return a rate and a remaining time in words, "" where they are unknown."""
    if per_minute is None or seconds_left is None:
        return ""
    return f"{per_minute:,.0f} passages a minute, {describe_left(seconds_left, end)}"


def describe_left(seconds: float | None, end: str = "left") -> str:
    """Return a remaining time in words, up to this end; "" where it is unknown."""
    return "" if seconds is None else f"{describe_wait(seconds)} {end}"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _shorten(name: str) -> str:
    """Return the last folders and the name of a file whose whole path says little: that of an installed package."""
    if len(name) <= _LONGEST_PATH:
        return name
    parts = name.split("/")
    return "…/" + "/".join(parts[-3:])


def progress_bar(console: Console) -> Progress:
    """Return a bar with counts, time and, in the fields `left` and `at` of its task, how long the rest takes and where the work is.

    Without a terminal it shows nothing.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=_BAR),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[at]}", markup=False),
        console=console,
        disable=not console.is_terminal,
    )


@contextmanager
def show_progress(console: Console) -> Generator[IngestProgress]:
    """Show progress on the console until the end of the block."""
    from lightwell.ingest.progress import IngestPace

    bar = progress_bar(console)
    with bar:
        bar.add_task("Looking for changes", total=None, left="", at="")
        yield IngestProgress(console, bar, IngestPace())


class WaitingLine:
    """A line with a spinner on stderr while at least one call runs; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._calls = 0
        self._status: Status | None = None

    @contextmanager
    def show(self) -> Generator[None]:
        """Show the line until the end of the block; concurrent blocks share one line."""
        self._calls += 1
        if self._calls == 1:
            self._begin()
        try:
            yield
        finally:
            self._calls -= 1
            if self._calls == 0:
                self._end()

    def _begin(self) -> None:
        console = errors_console()
        if console.is_terminal:
            self._status = Status(WAITING, console=console)
            self._status.start()

    def _end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def question_meter() -> "Meter":
    """Return a meter that shows the waiting line, for commands that a person waits for."""
    from lightwell.models.meter import Meter

    return Meter(waiting=WaitingLine().show)

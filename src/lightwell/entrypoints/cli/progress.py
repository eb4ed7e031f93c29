"""How far an operation is: a bar or lines for an ingestion, a spinner while a chat model is asked."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.status import Status
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, errors_console, file_name

if TYPE_CHECKING:
    from lightwell.ingest.context import Outcome
    from lightwell.ingest.context import Progress as Moved
    from lightwell.ingest.sync import SyncResult
    from lightwell.models.meter import Meter

_WIDTH = 60
"""Characters beside the bar: the end of a path tells more than its beginning."""

WAITING = "Waiting for the model (Ctrl-C stops)"

_LARGE = 200
"""Passages of a document that is worth lines of its own."""


@dataclass(slots=True)
class IngestProgress:
    """What `KnowledgeBase.ingest` tells: pass `begun`, `tell` and `progress`."""

    console: Console
    bar: Progress
    done: int = 0
    total: int = 0
    shown: tuple[str, str, int] = ("", "", 0)

    def start(self, result: "SyncResult", open_jobs: int) -> None:
        """Take note of how many documents are to be read."""
        del result
        self.total += open_jobs
        self.bar.update(self.bar.task_ids[0], description="Reading", total=self.total)

    def progress(self, progress: "Moved") -> None:
        """Show how far a step has come within one document; without a terminal only of a large one, at each tenth."""
        name = file_name(progress.url)
        share = f" {progress.done:,} of {progress.total:,} passages" if progress.total else ""
        line = f"{name}: {progress.step}{share}"
        self.bar.update(self.bar.task_ids[0], document=line[-_WIDTH:])
        tenth = (progress.url, progress.step, 10 * progress.done // max(progress.total, 1))
        is_news = progress.total >= _LARGE and tenth != self.shown
        if is_news and not self.console.is_terminal:
            self.console.print(Text(line))
            self.shown = tenth

    def advance(self, outcome: "Outcome") -> None:
        """Show that one document has come to its end."""
        self.done += 1
        self.total = max(self.total, self.done)
        name = file_name(outcome.url)
        self.bar.update(
            self.bar.task_ids[0], completed=self.done, total=self.total, document=name[-_WIDTH:]
        )
        if not self.console.is_terminal:
            end = (
                f"failed: {clean(outcome.error)}"
                if outcome.error
                else count_of(outcome.chunks, "passage")
            )
            if outcome.omitted:
                end += f", {outcome.omitted:,} left out"
            self.console.print(Text(f"[{self.done}/{self.total}] {name}: {end}"))


@contextmanager
def show_progress(console: Console) -> Generator[IngestProgress]:
    """Show progress on the console until the end of the block."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[document]}", markup=False),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        bar.add_task("Looking for changes", total=None, document="")
        yield IngestProgress(console, bar)


class WaitingLine:
    """A line with a spinner on stderr while at least one call is under way; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._calls = 0
        self._status: Status | None = None

    @contextmanager
    def show(self) -> Generator[None]:
        """Show the line until the end of the block, once for all blocks that run side by side."""
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
    """Return a meter for a command that answers somebody who waits for it."""
    from lightwell.models.meter import Meter

    return Meter(waiting=WaitingLine().show)

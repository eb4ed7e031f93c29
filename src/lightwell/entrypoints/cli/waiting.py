"""What a person sees while a chat model is asked."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.status import Status

from lightwell.entrypoints.cli.edge import errors_console
from lightwell.models.meter import Meter

WAITING = "Waiting for the model (Ctrl-C stops)"


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


def question_meter() -> Meter:
    """Return a meter for a command that answers somebody who waits for it."""
    return Meter(waiting=WaitingLine().show)

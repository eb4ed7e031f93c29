"""Server-sent events, line by line, as typed values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Received(Generic[T]):
    """An event; after one that `is_last` none comes."""

    value: T
    is_last: bool


@dataclass(slots=True)
class EventParser(Generic[T]):
    """Makes events of the lines of a stream. `last_id` is the id of the last whole event, "" before the first.

    `read` makes an event of its kind and its data.
    """

    read: Callable[[str, str], Received[T]]
    last_id: str = ""
    _data: list[str] = field(default_factory=list[str])
    _id: str = ""
    _kind: str = ""

    def feed(self, line: str) -> Received[T] | None:
        """Return the event that this line ends; None for a line within one, and for a ping."""
        if line.startswith("data:"):
            self._data.append(line.removeprefix("data:").removeprefix(" "))
        elif line.startswith("id:"):
            self._id = line.removeprefix("id:").removeprefix(" ")
        elif line.startswith("event:"):
            self._kind = line.removeprefix("event:").removeprefix(" ")
        elif not line and self._data:
            event = self.read(self._kind, "\n".join(self._data))
            self.last_id = self._id or self.last_id
            self.restart()
            return event
        return None

    def restart(self) -> None:
        """Forget the event that a lost connection left incomplete."""
        self._data, self._id, self._kind = [], "", ""

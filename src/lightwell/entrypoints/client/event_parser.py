"""Server-sent events, line by line, as typed values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Generic, TypeVar

from pydantic import ConfigDict

from lightwell.domain.answers import StreamType
from lightwell.entrypoints.client.failures import ServerError
from lightwell.entrypoints.operations.jobs import Job
from lightwell.entrypoints.operations.questions import StreamEvent
from lightwell.entrypoints.operations.replies import Schema

T = TypeVar("T")


class _JobError(Schema):
    model_config = ConfigDict(extra="ignore")

    code: str
    error: str


@dataclass(frozen=True, slots=True)
class Received(Generic[T]):
    """An event; after one that `is_last` none comes."""

    value: T
    is_last: bool


def read_answer_event(_: str, data: str) -> Received[StreamEvent]:
    """Return an event of an answer."""
    event = StreamEvent.model_validate_json(data, extra="ignore")
    return Received(event, event.type in (StreamType.DONE, StreamType.ERROR))


def read_job_event(kind: str, data: str) -> Received[Job]:
    """Return a job as it is now; raise `ServerError` where it is gone."""
    if kind == "error":
        gone = _JobError.model_validate_json(data)
        raise ServerError(gone.error, status=HTTPStatus.NOT_FOUND, code=gone.code)
    return Received(Job.model_validate_json(data, extra="ignore"), kind == "done")


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

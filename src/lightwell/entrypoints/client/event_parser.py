"""Server-sent events, line by line, as typed values."""

from dataclasses import dataclass, field

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from lightwell.domain.answers import StreamType
from lightwell.entrypoints.schemas import Schema
from lightwell.entrypoints.schemas.questions import (
    AmbiguousName,
    AnswerMetadata,
    CitationSchema,
    UsageSchema,
)


class StreamEvent(Schema):
    """A piece of an answer: the specification's StreamChunk.

    `content` belongs to `token`, `citation` and `metadata` to the events of these names, `error` to `error`; the others to `done`.
    """

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)

    type: StreamType
    content: str = ""
    citation: CitationSchema | None = None
    metadata: AnswerMetadata | None = None
    error: str = ""
    nearest: tuple[CitationSchema, ...] = ()
    notes: tuple[str, ...] = ()
    ambiguous_names: tuple[AmbiguousName, ...] = ()
    usage: UsageSchema | None = None

    @property
    def is_last(self) -> bool:
        return self.type in (StreamType.DONE, StreamType.ERROR)


@dataclass(slots=True)
class EventParser:
    """Makes events of the lines of a stream. `last_id` is the id of the last whole event, "" before the first."""

    last_id: str = ""
    _data: list[str] = field(default_factory=list[str])
    _id: str = ""

    def feed(self, line: str) -> StreamEvent | None:
        """Return the event that this line ends; None for a line within one, and for a ping."""
        if line.startswith("data:"):
            self._data.append(line.removeprefix("data:").removeprefix(" "))
        elif line.startswith("id:"):
            self._id = line.removeprefix("id:").removeprefix(" ")
        elif not line and self._data:
            event = StreamEvent.model_validate_json("\n".join(self._data), extra="ignore")
            self.last_id = self._id or self.last_id
            self.restart()
            return event
        return None

    def restart(self) -> None:
        """Forget the event that a lost connection left incomplete."""
        self._data, self._id = [], ""

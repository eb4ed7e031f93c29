"""Streams of answers, kept for some minutes for the reader who asked. Another transaction deletes them with what they quote."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.ids import new_id
from lightwell.records.database import Database

KEPT_SECONDS = 300
"""How long a stream is kept after it began."""

SILENT_SECONDS = 45
"""A stream without an event or a ping for so long has lost the process that wrote it."""


class StreamState(StrEnum):
    """Whether more events will come: `interrupted` where the process ended, or its client left."""

    OPEN = "open"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEvent:
    """An event as it was sent; `number` counts from 1."""

    number: int
    kind: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStream:
    """What is left of a stream, and whether more will come."""

    state: StreamState
    events: Sequence[KeptEvent]


_EXPIRE = """
DELETE FROM answer_streams WHERE stream_id IN (
    SELECT stream_id FROM answer_streams WHERE created_at < now() - make_interval(secs => %(kept)s)
    FOR UPDATE SKIP LOCKED
)
"""

_OPEN = """
INSERT INTO answer_streams (stream_id, project_id, owner, classes)
VALUES (%(id)s, %(project_id)s, keyed_hash(%(project_id)s, %(owner)s), class_ids(%(classes)s))
"""

# A stream that is gone meanwhile, because something was withdrawn, is not kept further.
_APPEND = """
WITH kept AS (
    UPDATE answer_streams SET touched_at = now() WHERE stream_id = %(id)s RETURNING stream_id
)
INSERT INTO answer_stream_events (stream_id, number, kind, data)
SELECT stream_id, %(number)s, %(kind)s, %(data)s FROM kept
"""

_TOUCH = "UPDATE answer_streams SET touched_at = now() WHERE stream_id = %(id)s"

_END = "UPDATE answer_streams SET state = %(state)s WHERE stream_id = %(id)s"

_FIND = """
SELECT CASE WHEN stream.state = 'open' AND stream.touched_at < now() - make_interval(secs => %(silent)s)
            THEN 'interrupted' ELSE stream.state END,
       event.number, event.kind, event.data
FROM answer_streams AS stream
LEFT JOIN answer_stream_events AS event ON event.stream_id = stream.stream_id AND event.number > %(after)s
WHERE stream.stream_id = %(id)s AND stream.project_id = %(project_id)s
  AND stream.owner = keyed_hash(%(project_id)s, %(owner)s) AND stream.classes <@ class_ids(%(classes)s)
  AND stream.created_at >= now() - make_interval(secs => %(kept)s)
ORDER BY event.number
"""


async def open_stream(database: Database, reader: Reader, owner: str) -> UUID:
    """Begin to keep a stream of the reader, and return its id; delete streams that are too old."""
    stream = new_id()
    await database.execute(_EXPIRE, {"kept": KEPT_SECONDS})
    await database.execute(_OPEN, {**reader.parameters, "id": stream, "owner": owner})
    return stream


async def append(database: Database, stream: UUID, event: KeptEvent) -> None:
    """Keep an event, unless its stream is gone."""
    row = {"id": stream, "number": event.number, "kind": event.kind, "data": event.data}
    await database.execute(_APPEND, row)


async def touch(database: Database, stream: UUID) -> None:
    """Say that the process that writes the stream is alive."""
    await database.execute(_TOUCH, {"id": stream})


async def end(database: Database, stream: UUID, state: StreamState) -> None:
    """Say that no more events will come."""
    await database.execute(_END, {"id": stream, "state": state.value})


async def find(
    database: Database, reader: Reader, owner: str, stream: UUID, *, after: int
) -> KeptStream | None:
    """Return what follows event `after` of the reader's own stream; None where nothing of it may be read."""
    parameters = {
        **reader.parameters,
        "id": stream,
        "owner": owner,
        "after": after,
        "kept": KEPT_SECONDS,
        "silent": SILENT_SECONDS,
    }
    rows = await database.rows(_FIND, parameters)
    if not rows:
        return None
    events = [
        KeptEvent(number=number, kind=kind, data=data)
        for _, number, kind, data in rows
        if number is not None
    ]
    state, *_ = rows[0]
    return KeptStream(state=StreamState(state), events=events)

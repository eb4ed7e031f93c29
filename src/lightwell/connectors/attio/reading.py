"""Reads rows of Attio's into items, with the names of what they refer to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import ValidationError

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.connectors.attio.api import AttioApi, parse, path_of, row_key, rows_of
from lightwell.connectors.attio.calls import RecordedCall, make_meeting
from lightwell.connectors.attio.documents import ItemMaker, entry_ref, references
from lightwell.connectors.attio.models import (
    Call,
    Comment,
    Entry,
    Meeting,
    Note,
    Record,
    RecordKey,
    Segment,
    Task,
    TranscriptAnswer,
    Value,
    Wire,
)
from lightwell.connectors.attio.workspace import SYSTEM, ListType, ObjectType, Workspace
from lightwell.connectors.rows import Json, make_too_large, make_unreadable, read_at_once
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import SourceItem, UnreadableItem

_AT_ONCE = 8
_THREADS_PER_PAGE = 50
_CALLS_PER_PAGE = 200

T = TypeVar("T", bound=Wire)
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What rows were read into."""

    items: tuple[SourceItem, ...] = ()
    unreadable: tuple[UnreadableItem, ...] = ()

    def __add__(self, other: "Batch") -> "Batch":
        return Batch(items=self.items + other.items, unreadable=self.unreadable + other.unreadable)


EMPTY = Batch()


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of one workspace."""

    workspace: Workspace
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    @property
    def api(self) -> AttioApi:
        return self.workspace.api

    async def records(
        self, type_: ObjectType, rows: Sequence[Json], former_ids: Sequence[str] = ()
    ) -> Batch:
        parsed = _parse_rows(Record, rows, lambda row: type_.ref(row_key(row)))
        for record, _ in parsed.values:
            self.workspace.note_record(type_, record)
        return await self._make(
            parsed,
            lambda record: _references(type_, record.values),
            lambda maker, record, raw: maker.record(type_, record, raw, former_ids),
        )

    async def entries(self, type_: ListType, rows: Sequence[Json]) -> Batch:
        return await self._make(
            _parse_rows(Entry, rows, lambda row: entry_ref(type_.id, row_key(row))),
            lambda entry: [entry.parent, *_references(type_, entry.entry_values)],
            lambda maker, entry, raw: maker.entry(type_, entry, raw),
        )

    async def notes(self, rows: Sequence[Json]) -> Batch:
        parsed = _parse_rows(Note, rows, _ref_maker("note"))
        return await self._make(parsed, lambda note: [note.parent], ItemMaker.note)

    async def tasks(self, rows: Sequence[Json]) -> Batch:
        parsed = _parse_rows(Task, rows, _ref_maker("task"))
        return await self._make(
            parsed, lambda task: [linked.record for linked in task.linked_records], ItemMaker.task
        )

    async def comments(self, rows: Sequence[Json]) -> Batch:
        parsed = _parse_rows(Comment, rows, _ref_maker("comment"))
        return await self._make(parsed, lambda comment: [comment.record.record], ItemMaker.comment)

    async def meetings(self, rows: Sequence[Json]) -> Batch:
        parsed = _parse_rows(Meeting, rows, _ref_maker("meeting"))
        maker = await self._maker(
            linked.record for meeting, _ in parsed.values for linked in meeting.linked_records
        )
        read = await self.at_once(lambda row: self._meeting(maker, *row), parsed.values)
        items = tuple(result for result in read if isinstance(result, SourceItem))
        unreadable = tuple(result for result in read if isinstance(result, UnreadableItem))
        return Batch(items=items, unreadable=parsed.unreadable + unreadable)

    async def comments_below(self, targets: Sequence[dict[str, str]]) -> list[Json]:
        """Return the comments on records or entries; each target has the parameters that name one of them."""
        threads = await self.at_once(self._comments_on, targets)
        return [comment for comments in threads for comment in comments]

    async def at_once(self, call: Callable[[R], Awaitable[S]], arguments: Sequence[R]) -> list[S]:
        """Return the results of a call for each argument; a few run at the same time."""
        return await read_at_once(self._limit, call, arguments)

    async def _make(
        self,
        parsed: "_Parsed[T]",
        named: Callable[[T], Iterable[RecordKey | None]],
        make: Callable[[ItemMaker, T, Json], SourceItem],
    ) -> Batch:
        """Return the items of rows; `named` tells which records a row names."""
        maker = await self._maker(key for value, _ in parsed.values for key in named(value))
        items = tuple(make(maker, value, raw) for value, raw in parsed.values)
        return Batch(items=items, unreadable=parsed.unreadable)

    async def _maker(self, keys: Iterable[RecordKey | None]) -> ItemMaker:
        named = await self.workspace.name_records(key for key in keys if key)
        return ItemMaker(self.workspace, named)

    async def _comments_on(self, target: dict[str, str]) -> list[Json]:
        comments: list[Json] = []
        offset = 0
        while True:
            params = {**target, "limit": _THREADS_PER_PAGE, "offset": offset}
            answer = await self.api.get("/v2/threads", params)
            threads = [] if answer is None else rows_of(answer)
            for thread in threads:
                comments += rows_of({"data": thread.get("comments")})
            offset += len(threads)
            if len(threads) < _THREADS_PER_PAGE:
                return comments

    async def _meeting(
        self, maker: ItemMaker, meeting: Meeting, raw: Json
    ) -> SourceItem | UnreadableItem:
        try:
            calls = await self._calls(meeting.key)
        except ResponseTooLarge as error:
            return make_too_large(global_ref(SYSTEM, "meeting", meeting.key), error)
        return make_meeting(maker, meeting, raw, calls)

    async def _calls(self, meeting_id: str) -> list[RecordedCall]:
        path = path_of("meetings", meeting_id, "call_recordings")
        rows = list[Json]()
        async for answer in self.api.list_by_cursor(path, {"limit": _CALLS_PER_PAGE}):
            rows += rows_of(answer)
        calls = [(parse(Call, row), row) for row in rows]
        return [
            await self._recorded(call, row) for call, row in calls if call.status == "completed"
        ]

    async def _recorded(self, call: Call, raw: Json) -> RecordedCall:
        path = path_of("meetings", call.meeting_id, "call_recordings", call.key, "transcript")
        segments, text = list[Segment](), ""
        async for answer in self.api.list_by_cursor(path, {}):
            part = parse(TranscriptAnswer, answer).data
            segments += part.transcript
            text = text or part.raw_transcript
        return RecordedCall(call=call, raw=raw, segments=tuple(segments), text=text)


@dataclass(frozen=True, slots=True)
class _Parsed(Generic[T]):
    values: list[tuple[T, Json]]
    unreadable: tuple[UnreadableItem, ...]


def _parse_rows(
    model: type[T], rows: Iterable[Json], ref_of: Callable[[Json], GlobalRef]
) -> _Parsed[T]:
    """Return the rows as values; those that do not fit are unreadable, and say which fields do not."""
    values: list[tuple[T, Json]] = []
    unreadable: list[UnreadableItem] = []
    for row in rows:
        try:
            values.append((model.model_validate(row), row))
        except ValidationError as error:
            unreadable.append(make_unreadable("Attio", ref_of(row), error))
    return _Parsed(values, tuple(unreadable))


def _ref_maker(kind: str) -> Callable[[Json], GlobalRef]:
    return lambda row: global_ref(SYSTEM, kind, row_key(row))


def _references(
    type_: ObjectType | ListType, values: Mapping[str, Sequence[Value]]
) -> list[RecordKey | None]:
    return [reference.record for reference in references(type_.attributes, values)]

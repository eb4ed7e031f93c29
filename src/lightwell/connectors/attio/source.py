"""An Attio workspace as a source of items."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import httpx

from lightwell.connectors.attio.api import (
    BASE_URL,
    AttioApi,
    OffsetPosition,
    list_by_offset,
    next_cursor,
    path_of,
    row_key,
    rows_of,
)
from lightwell.connectors.attio.cursors import StreamCursor
from lightwell.connectors.attio.directory import CallReaders, make_directory
from lightwell.connectors.attio.documents import entry_ref
from lightwell.connectors.attio.fetching import fetch_items
from lightwell.connectors.attio.reading import Batch, RowReader
from lightwell.connectors.attio.webhooks import read_webhook
from lightwell.connectors.attio.workspace import (
    SYSTEM,
    ListType,
    ObjectType,
    Workspace,
    load_workspace,
)
from lightwell.connectors.opening import Api, check_options, open_api, parse_seconds
from lightwell.connectors.rows import Json, parse_cursor
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import ItemPage, SourceDirectory, WebhookHint

RECORD, ENTRY, NOTE, TASK, COMMENT, MEETING = (
    "record",
    "list-entry",
    "note",
    "task",
    "comment",
    "meeting",
)
_OPTIONS = ("base_url", "relist_seconds", "relist_comments_seconds", "call_readers")
_PAGE_ITEMS = 50
_NOTE_ROWS, _TASK_ROWS, _MEETING_ROWS = 50, 500, 50
_MEETING_OVERLAP = timedelta(days=2)
"""A recording is ready some time after its meeting."""


Container = ObjectType | ListType
"""What holds rows that are listed by the time of their creation: an object its records, a list its entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttioOptions:
    """How to read a workspace. `relist` is the time between two full listings, by which changes without a webhook are found.

    Comments have no listing of their own, so all records are asked for theirs each `relist_comments`. `query_rows` is the
    number of rows that one query asks for, 500 at most.
    """

    relist: timedelta = timedelta(minutes=30)
    relist_comments: timedelta = timedelta(days=1)
    call_readers: CallReaders = CallReaders.ADMINISTRATORS
    query_rows: int = 500


@dataclass(slots=True, kw_only=True)
class AttioSource:
    """One workspace of Attio; an `ItemSource`. `now` is the clock.

    What was listed before `asked_at`, when a person asked for a sync, is listed in full again; comments are not, since each record is asked for its own.
    """

    api: AttioApi
    webhook_secret: str
    options: AttioOptions
    now: Callable[[], datetime]
    asked_at: datetime | None = None
    _reader: RowReader | None = field(default=None)

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def streams(self) -> tuple[str, ...]:
        return (RECORD, ENTRY, NOTE, TASK, COMMENT, MEETING)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        reader = await self._open()
        relist = self.options.relist_comments if stream == COMMENT else self.options.relist
        asked_at = None if stream == COMMENT else self.asked_at
        begun = parse_cursor(StreamCursor, cursor).begin(self.now(), relist, asked_at)
        if not begun.is_full and stream in (NOTE, COMMENT):
            return  # what is new cannot be asked for; webhooks name it until the next full listing
        done = begun
        async for batch, done in self._batches(reader, stream, begun):
            yield ItemPage(
                items=batch.items,
                cursor=done.model_dump_json(exclude_defaults=True),
                unreadable=batch.unreadable,
            )
        yield ItemPage(items=(), cursor=done.finish().to_text())

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        reader = await self._open()
        cursor = StreamCursor().begin(self.now(), timedelta())
        match stream:
            case "record" | "list-entry":
                async for container, rows, _ in self._walk(reader, stream, cursor):
                    yield [_row_ref(container, row) for row in rows]
            case "comment":
                for kind in (RECORD, ENTRY):
                    async for container, rows, _ in self._walk(reader, kind, cursor):
                        comments = await reader.comments_below(_thread_targets(container, rows))
                        yield [global_ref(SYSTEM, COMMENT, row_key(row)) for row in comments]
            case _:
                async for rows, _ in self._listings(reader, stream, cursor):
                    yield [global_ref(SYSTEM, stream, row_key(row)) for row in rows]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        return await fetch_items(await self._open(), refs)

    async def directory(self) -> SourceDirectory:
        workspace = await load_workspace(self.api)
        self._reader = RowReader(workspace)
        return make_directory(workspace, self.options.call_readers)

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        return read_webhook(self.webhook_secret, headers, body)

    async def _open(self) -> RowReader:
        if self._reader is None:
            self._reader = RowReader(await load_workspace(self.api))
        return self._reader

    async def _batches(
        self, reader: RowReader, stream: str, cursor: StreamCursor
    ) -> AsyncIterator[tuple[Batch, StreamCursor]]:
        match stream:
            case "record" | "list-entry":
                async for container, rows, after in self._walk(reader, stream, cursor):
                    yield await _read(reader, container, rows), after
            case "comment":
                async for container, rows, after in self._walk(reader, COMMENT, cursor):
                    comments = await reader.comments_below(_thread_targets(container, rows))
                    for start in range(0, max(1, len(comments)), _PAGE_ITEMS):
                        part = comments[start : start + _PAGE_ITEMS]
                        is_last = start + _PAGE_ITEMS >= len(comments)
                        yield await reader.comments(part), after if is_last else cursor
                    cursor = after
            case _:
                read = {NOTE: reader.notes, TASK: reader.tasks, MEETING: reader.meetings}[stream]
                async for rows, after in self._listings(reader, stream, cursor):
                    for start in range(0, max(1, len(rows)), _PAGE_ITEMS):
                        is_last = start + _PAGE_ITEMS >= len(rows)
                        batch = await read(rows[start : start + _PAGE_ITEMS])
                        yield batch, after if is_last else cursor
                    cursor = after

    async def _listings(
        self, reader: RowReader, stream: str, cursor: StreamCursor
    ) -> AsyncIterator[tuple[Sequence[Json], StreamCursor]]:
        if stream == MEETING:
            async for rows, after in self._meetings(reader, cursor):
                yield rows, after
            return
        path, limit = ("/v2/notes", _NOTE_ROWS) if stream == NOTE else ("/v2/tasks", _TASK_ROWS)
        params = {"sort": "created_at:asc"} if stream == TASK else {}
        position = OffsetPosition(offset=cursor.offset, seen=cursor.seen)
        async for page in list_by_offset(reader.api, path, limit, position, params):
            yield page.rows, cursor.change(offset=page.next.offset, seen=page.next.seen)

    async def _meetings(
        self, reader: RowReader, cursor: StreamCursor
    ) -> AsyncIterator[tuple[Sequence[Json], StreamCursor]]:
        params: dict[str, str | int] = {"limit": _MEETING_ROWS}
        if cursor.at:
            since = datetime.fromisoformat(cursor.at) - _MEETING_OVERLAP
            params["ends_from"] = since.isoformat()
        while True:
            page = {"cursor": cursor.page} if cursor.page else {}
            answer = await reader.api.require("/v2/meetings", {**params, **page})
            cursor = cursor.change(page=next_cursor(answer))
            yield rows_of(answer), cursor
            if not cursor.page:
                return

    async def _walk(
        self, reader: RowReader, stream: str, cursor: StreamCursor
    ) -> AsyncIterator[tuple[Container, list[Json], StreamCursor]]:
        """Yield the rows of all objects or lists (for comments, of both) from the cursor on, in the order of their creation.

        Each page begins where the last one ended in time, so what is created or deleted meanwhile moves nothing.
        """
        containers = sorted(_containers(reader.workspace, stream), key=_container_key)
        for container in containers:
            key = _container_key(container)
            if key < cursor.container:
                continue
            cursor = cursor.enter(key)
            while rows := await self._query(reader.api, container, cursor):
                for start in range(0, len(rows), _PAGE_ITEMS):
                    part = rows[start : start + _PAGE_ITEMS]
                    cursor = cursor.advance(part)
                    yield container, part, cursor
                if len(rows) < self.options.query_rows:
                    break

    async def _query(self, api: AttioApi, container: Container, cursor: StreamCursor) -> list[Json]:
        if isinstance(container, ObjectType):
            path = path_of("objects", container.slug, "records", "query")
        else:
            path = path_of("lists", container.id, "entries", "query")
        body: dict[str, object] = {
            "sorts": [{"attribute": "created_at", "direction": "asc"}],
            "limit": self.options.query_rows,
            "offset": cursor.skip,
        }
        if cursor.at:
            body["filter"] = {"created_at": {"$gte": cursor.at}}
        return await api.query(path, body) or []


def _containers(workspace: Workspace, stream: str) -> Iterable[Container]:
    if stream != ENTRY:
        yield from workspace.objects
    if stream != RECORD:
        yield from workspace.lists


def _container_key(container: Container) -> str:
    kind = "object" if isinstance(container, ObjectType) else "list"
    return f"{kind}:{container.id}"


async def _read(reader: RowReader, container: Container, rows: Sequence[Json]) -> Batch:
    if isinstance(container, ObjectType):
        return await reader.records(container, rows)
    return await reader.entries(container, rows)


def _row_ref(container: Container, row: Json) -> GlobalRef:
    if isinstance(container, ObjectType):
        return container.ref(row_key(row))
    return entry_ref(container.id, row_key(row))


def _thread_targets(container: Container, rows: Sequence[Json]) -> list[dict[str, str]]:
    if isinstance(container, ObjectType):
        return [{"object": container.slug, "record_id": row_key(row)} for row in rows]
    return [{"list": container.id, "entry_id": row_key(row)} for row in rows]


@asynccontextmanager
async def open_attio(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    asked_at: datetime | None = None,
) -> AsyncGenerator[AttioSource]:
    """Open the workspace of a token; raise `Invalid` for an option that is not known or has a wrong value.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network. What was
    listed before `asked_at`, when a person asked for a sync, is listed in full again.
    """
    parsed = parse_options(options)
    api = Api(
        name="Attio",
        base_url=options.get("base_url", BASE_URL),
        headers={"authorization": f"Bearer {token}"},
    )
    async with open_api(api, transport) as client:
        yield AttioSource(
            api=AttioApi(client),
            webhook_secret=webhook_secret,
            options=parsed,
            asked_at=asked_at,
            now=lambda: datetime.now(UTC),
        )


def parse_options(options: Mapping[str, str]) -> AttioOptions:
    """Return the options of a source; raise `Invalid`."""
    check_options("attio", options, _OPTIONS)
    readers = options.get("call_readers", CallReaders.ADMINISTRATORS)
    if readers not in list(CallReaders):
        raise Invalid(f"call_readers is one of: {', '.join(CallReaders)}")
    relist = parse_seconds(options, "relist_seconds", 1800)
    comments = parse_seconds(options, "relist_comments_seconds", 86_400)
    return AttioOptions(
        relist=timedelta(seconds=relist),
        relist_comments=timedelta(seconds=comments),
        call_readers=CallReaders(readers),
    )

"""What programs push into a source: lines of JSON, read and stored as they arrive. What is answered with 200 is stored."""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from lightwell.domain.api_keys import Scope
from lightwell.domain.business_systems import Source
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import GlobalRef
from lightwell.domain.pushes import (
    KeptItem,
    LineFailure,
    PushBatch,
    PushedLine,
    PushResult,
    make_item_ref,
)
from lightwell.entrypoints.http.authentication import (
    Caller,
    caller_with,
    projects_of,
    recheck_caller,
)
from lightwell.entrypoints.http.lines import read_lines
from lightwell.entrypoints.http.multipart import read_form
from lightwell.entrypoints.http.problems import Overloaded
from lightwell.entrypoints.http.push_lines import MAX_LINE_BYTES, LineReader, read_item
from lightwell.entrypoints.http.slots import IntakeSlots
from lightwell.entrypoints.operations.pushes import PushFailure, PushReport
from lightwell.ingest.pushing import Push, SourceBusy
from lightwell.knowledge_base.pushes import Pushes

router = APIRouter(prefix="/v1/sources", tags=["sources"])

BATCH_LINES, BATCH_BYTES = 100, 8_000_000
"""Lines and bytes that are stored in one transaction, and held in memory meanwhile."""

_MAX_FAILURES = 1000
_RETRY_SECONDS = 5
_EXAMPLE = (
    '{"kind": "group", "id": "sales", "members": ["ada@halden.example"]}\n'
    '{"id": "offer/7", "version": 3, "title": "Offer 7", "content": "Two pumps.", "allow": {"groups": ["sales"]}}\n'
    '{"kind": "delete", "id": "offer/6"}\n'
)
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {
                    "type": "string",
                    "description": "A JSON object a line, of the kind item, delete, keep, group or complete.",
                    "examples": [_EXAMPLE],
                }
            }
        },
    }
}

_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["item", "files"],
                    "additionalProperties": False,
                    "properties": {
                        "item": {
                            "type": "string",
                            "description": "The item as a line has it, without content and file.",
                        },
                        "files": {"type": "string", "format": "binary"},
                    },
                }
            }
        },
    }
}
_PARTS = 2

Pushing = Annotated[Caller, Depends(caller_with(Scope.PUSH))]
SyncName = Annotated[
    str,
    Query(
        max_length=100,
        pattern=r"^[\x21-\x7e]*$",
        description="The name of a sync of everything, which may take several requests: a line `complete` ends it, and removes what"
        " none of its lines has named.",
    ),
]


async def hold_slot(request: Request, caller: Pushing) -> AsyncGenerator[None]:
    """Hold one of the slots for pushes until the response is sent; they take none from people who upload."""
    slots: IntakeSlots = request.app.state.push_slots
    async with slots.take(caller.principal.caller):
        yield


@router.put("/{source}/items", openapi_extra=_BODY, dependencies=[Depends(hold_slot)])
async def push_items(
    request: Request,
    source: str,
    caller: Pushing,
    *,
    sync: SyncName = "",
    allow_mass_deletion: Annotated[
        bool,
        Query(
            alias="allowMassDeletion",
            description="Let `complete` remove any number of items: confirms its `warning`.",
        ),
    ] = False,
) -> PushReport:
    """Store items, groups and deletions, one JSON object a line, in batches as they arrive; a line that fails fails alone.

    What was stored before a break stays. To send all again is right: what is the same changes nothing.
    """
    stored = await find_source(caller, source)
    pushes = caller.knowledge_base.pushes
    async with pushes.open(stored, sync) as push:
        reading = _Reading(
            request=request, pushes=pushes, push=push, allows_mass_deletion=allow_mass_deletion
        )
        try:
            with _told_when_busy():
                await reading.read_all()
        finally:
            projects_of(request).has_work.set()
    return reading.report()


@router.put("/{source}/items/file", openapi_extra=_FORM, dependencies=[Depends(hold_slot)])
async def push_file(request: Request, source: str, caller: Pushing) -> PushReport:
    """Store one item with its file, which may be larger than a line.

    A file that cannot be read is refused, and the item stays as it is stored.
    """
    stored = await find_source(caller, source)
    async with read_form(request, request.app.state.upload_limits) as form:
        caller = await recheck_caller(request, Scope.PUSH)
        text, file = form.get("item"), form.get("files")
        if (
            not isinstance(text, str)
            or not isinstance(file, UploadFile)
            or len(form.multi_items()) > _PARTS
        ):
            raise Invalid("Send an item, as a line has it, and its file in a field `files`")
        item = read_item(text)
        if not item.file_name:
            item = item.model_copy(update={"file_name": file.filename or ""})
        content = await file.read()
    max_bytes = request.app.state.upload_limits.file_bytes
    line = await run_in_threadpool(item.with_content, stored.name, 1, content, max_bytes)
    async with caller.knowledge_base.pushes.open(stored) as push:
        reading = _Reading(request=request, pushes=caller.knowledge_base.pushes, push=push, lines=1)
        with _told_when_busy():
            await reading.take(line, len(content))
            await reading.flush()
    projects_of(request).has_work.set()
    return reading.report()


@contextmanager
def _told_when_busy() -> Generator[None]:
    """Raise `Overloaded` where another push into the source does not end in time."""
    try:
        yield
    except SourceBusy:
        raise Overloaded(
            "Another push into this source goes on; send this one again later",
            retry_seconds=_RETRY_SECONDS,
        ) from None


async def find_source(caller: Caller, name: str) -> Source:
    """Return the source that the caller may push into; raise `NotFound`, in the same words for one that does not exist."""
    missing = NotFound("There is no such source, or this key is not for it")
    if caller.principal.source is None and not caller.allows(Scope.ADMIN):
        raise missing
    try:
        source = await caller.knowledge_base.pushes.find_source(
            name if caller.principal.source is None else str(caller.principal.source)
        )
    except NotFound:
        raise missing from None
    if name not in (source.name, str(source.id)):
        raise missing
    return source


@dataclass(kw_only=True)
class _Reading:
    """A push that is read: what is waiting to be stored, and what was."""

    request: Request
    pushes: Pushes
    push: Push
    allows_mass_deletion: bool = False
    lines: int = 0
    waiting: list[PushedLine] = field(default_factory=list[PushedLine])
    waiting_lines: int = 0
    waiting_bytes: int = 0
    kept: set[GlobalRef] = field(default_factory=set[GlobalRef])
    refused: list[LineFailure] = field(default_factory=list[LineFailure])
    failed: int = 0
    result: PushResult = field(default_factory=PushResult)
    warning: str = ""

    async def read_all(self) -> None:
        max_file_bytes = self.request.app.state.upload_limits.file_bytes
        reader = LineReader(source_name=self.push.source.name, max_bytes=max_file_bytes)
        async for number, line in read_lines(self.request.stream(), MAX_LINE_BYTES):
            if line is None:
                self.lines += 1
                message = f"It has more than {MAX_LINE_BYTES:,} bytes; send its file by itself"
                await self.take(LineFailure(number=number, id="", message=message), 0)
                continue
            parsed = await run_in_threadpool(reader.read, number, line)
            if parsed is None:
                await self.flush()
                await self.complete(number)
                continue
            self.lines += 1
            await self.take(parsed, len(line))
        await self.flush()

    async def take(self, line: PushedLine | KeptItem | LineFailure, size: int) -> None:
        """Keep a line until its batch is stored."""
        match line:
            case LineFailure(id=item):
                self.refused.append(line)
                if item:
                    self.kept.add(make_item_ref(self.push.source.name, item))
            case KeptItem(ref=ref):
                self.kept.add(ref)
            case _:
                self.waiting.append(line)
        self.waiting_lines += 1
        self.waiting_bytes += size
        if self.waiting_lines >= BATCH_LINES or self.waiting_bytes >= BATCH_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Store what is waiting, as whoever still may."""
        if not self.waiting_lines:
            return
        await recheck_caller(self.request, Scope.PUSH)
        batch = PushBatch(
            lines=tuple(self.waiting),
            kept=frozenset(self.kept),
            unread=sum(1 for failure in self.refused if not failure.id),
        )
        stored = await self.pushes.store(self.push, batch)
        self.note((*stored.failures, *self.refused))
        self.result += replace(stored, failures=())
        self.waiting, self.kept, self.refused = [], set(), []
        self.waiting_lines = self.waiting_bytes = 0

    def note(self, failures: Sequence[LineFailure]) -> None:
        """Keep the first failures to report, and count all."""
        in_order = sorted(failures, key=lambda failure: failure.number)
        shown = in_order[: max(_MAX_FAILURES - self.failed, 0)]
        self.result += PushResult(failures=tuple(shown))
        self.failed += len(failures)

    async def complete(self, number: int) -> None:
        """End the sync of everything, as the line with this number says."""
        if not self.push.sync:
            message = "`complete` ends a sync: name it in the address, as ?sync=NAME"
            self.note([LineFailure(number=number, id="", message=message)])
            return
        ended = await self.pushes.complete(
            self.push, allows_mass_deletion=self.allows_mass_deletion
        )
        self.result += PushResult(counts=ended.counts)
        self.warning = ended.warning

    def report(self) -> PushReport:
        counts = self.result.counts
        return PushReport(
            lines=self.lines,
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=counts.deleted,
            unchanged=counts.unchanged,
            outdated=self.result.outdated,
            groups=self.result.groups,
            failed=self.failed,
            failures=[PushFailure.model_validate(failure) for failure in self.result.failures],
            warning=self.warning,
        )

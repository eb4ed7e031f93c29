"""Fetches single items of Attio's by their references."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lightwell.connectors.attio.api import path_of
from lightwell.connectors.attio.reading import EMPTY, Batch, RowReader
from lightwell.connectors.attio.webhooks import MERGE_HINT, RECORD_HINT
from lightwell.connectors.attio.workspace import ObjectType
from lightwell.connectors.rows import Json
from lightwell.domain.errors import SourceFailed
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetched:
    batch: Batch = EMPTY
    removed: tuple[GlobalRef, ...] = ()
    merged: dict[GlobalRef, GlobalRef] = field(default_factory=dict[GlobalRef, GlobalRef])


async def fetch_items(reader: RowReader, refs: Sequence[GlobalRef]) -> ItemPage:
    """Return these items as they are now.

    A reference that only webhooks name (with the id of a record's object) is removed, and its record takes its place.
    """
    fetched = await reader.at_once(lambda ref: _fetch(reader, ref), list(dict.fromkeys(refs)))
    batch = sum((part.batch for part in fetched), EMPTY)
    present = {item.ref for item in batch.items} | {item.ref for item in batch.unreadable}
    removed = (ref for part in fetched for ref in part.removed if ref not in present)
    return ItemPage(
        items=batch.items,
        cursor="",
        removed=tuple(dict.fromkeys(removed)),
        unreadable=batch.unreadable,
        merged={old: new for part in fetched for old, new in part.merged.items()},
    )


async def _fetch(reader: RowReader, ref: GlobalRef) -> _Fetched:
    _, kind, source_id = ref.split(":", 2)
    match kind:
        case "record" | "merge":
            return await _fetch_hinted(reader, ref)
        case "list-entry":
            batch = await _fetch_entry(reader, source_id)
        case "note":
            batch = await reader.notes(await _row(reader, path_of("notes", source_id)))
        case "task":
            batch = await reader.tasks(await _row(reader, path_of("tasks", source_id)))
        case "comment":
            batch = await reader.comments(await _row(reader, path_of("comments", source_id)))
        case "meeting":
            batch = await reader.meetings(await _row(reader, path_of("meetings", source_id)))
        case _:
            type_ = reader.workspace.object(kind)
            batch = await _fetch_record(reader, type_, source_id) if type_ else EMPTY
    return _Fetched(batch=batch, removed=(ref,))


async def _fetch_hinted(reader: RowReader, hint: GlobalRef) -> _Fetched:
    """Fetch the record that a webhook names by the ids of its object and itself, and of the one that was merged into it."""
    _, kind, ids = hint.split(":", 2)
    object_id, _, rest = ids.partition(".")
    record_id, _, former_id = rest.partition(".")
    type_ = reader.workspace.object(object_id)
    if type_ is None or kind not in (RECORD_HINT, MERGE_HINT):
        return _Fetched(removed=(hint,))
    record = type_.ref(record_id)
    former_ids = [former_id] if former_id else []
    batch = await _fetch_record(reader, type_, record_id, former_ids)
    former = [type_.ref(former_id) for former_id in former_ids]
    return _Fetched(
        batch=batch, removed=(hint, record, *former), merged=dict.fromkeys(former, record)
    )


async def _fetch_record(
    reader: RowReader, type_: ObjectType, record_id: str, former_ids: Sequence[str] = ()
) -> Batch:
    path = path_of("objects", type_.slug, "records", record_id)
    return await reader.records(type_, await _row(reader, path), former_ids)


async def _fetch_entry(reader: RowReader, source_id: str) -> Batch:
    list_id, _, entry_id = source_id.partition(".")
    type_ = reader.workspace.list(list_id)
    if type_ is None:
        return EMPTY
    return await reader.entries(
        type_, await _row(reader, path_of("lists", list_id, "entries", entry_id))
    )


async def _row(reader: RowReader, path: str) -> list[Json]:
    """Return the one row at a path, none where it does not exist."""
    answer = await reader.api.get(path)
    if answer is None:
        return []
    row = answer.get("data")
    if not isinstance(row, dict):
        raise SourceFailed(f"Attio sent {path} in a form that is not known")
    return [row]

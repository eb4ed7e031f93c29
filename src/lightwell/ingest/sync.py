"""Following a source: what is new is enqueued, what changed hands moves, what vanished becomes a tombstone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.ingest.isolation import document_failure
from lightwell.ports import Broken, Change, Changed, Connector, Gone, Unchanged
from lightwell.records import documents, runs
from lightwell.records.database import Database
from lightwell.records.documents import Known

_AT_ONCE = 50
_LARGEST_BATCH = 16_000_000
"""Bytes of documents that are held before they are written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A document the source could not hand over, or that could not be read; `message` says how to mend it."""

    url: str
    message: str


class DocumentChange(StrEnum):
    """What a sync did with a document that its source could hand over."""

    NEW = "new"
    CHANGED = "changed"
    RETAGGED = "retagged"
    UNCHANGED = "unchanged"


@dataclass(slots=True, kw_only=True)
class Sync:
    """What a sync found so far; `documents` says it of each URL, and counts what is retagged once."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    retagged: int = 0
    gone: int = 0
    documents: dict[str, DocumentChange] = field(default_factory=dict[str, DocumentChange])
    troubles: list[Trouble] = field(default_factory=list["Trouble"])


async def sync(
    database: Database, project_id: ProjectId, connector: Connector, system: str
) -> Sync:
    """Follow the source to its end; work for each new or changed document is enqueued, not done.

    Narrowed access and deletions hold when this returns. A crash loses nothing: what was written down stays, and
    the next sync finds the rest.
    """
    run = await runs.begin(database, project_id, system)
    known = await documents.known(database, project_id, system, connector.scope)
    found = Sync()
    try:
        await _follow(database, project_id, connector, known, found)
    except LightwellError as error:
        await _end(database, run, found, str(error))
        raise
    await _end(database, run, found, "")
    return found


async def _follow(
    database: Database,
    project_id: ProjectId,
    connector: Connector,
    known: Mapping[str, Known],
    found: Sync,
) -> None:
    waiting: list[NewDocument] = []
    gone: list[DocumentId] = []
    hashes = {url: entry.content_hash for url, entry in known.items()}
    async for change in connector.changes(hashes):
        match change:
            case Changed(document=document):
                waiting.append(document)
                if (
                    len(waiting) >= _AT_ONCE
                    or sum(len(one.content) for one in waiting) > _LARGEST_BATCH
                ):
                    await _register(database, project_id, waiting, found)
                    waiting = []
            case Gone(url=url):
                gone.append(known[url].id)
            case _:
                await _apply(database, project_id, change, known, found)
    if waiting:
        await _register(database, project_id, waiting, found)
    found.gone += len(gone)
    for start in range(0, len(gone), _AT_ONCE):
        await remove(database, project_id, gone[start : start + _AT_ONCE])


async def _apply(
    database: Database,
    project_id: ProjectId,
    change: Change,
    known: Mapping[str, Known],
    found: Sync,
) -> None:
    match change:
        case Unchanged(url=url, document=document):
            found.unchanged += 1
            found.documents[url] = DocumentChange.UNCHANGED
            if known[url].error:
                found.troubles.append(Trouble(url=url, message=known[url].error))
            if known[url].acl_tags != document.acl_tags:
                found.retagged += 1
                found.documents[url] = DocumentChange.RETAGGED
                async with database.transaction() as connection:
                    await documents.retag(connection, project_id, known[url].id, document.acl_tags)
        case Broken(url=url, message=message):
            found.troubles.append(Trouble(url=url, message=message))
            if url in known:
                await documents.broken(database, known[url].id, message)
        case Changed() | Gone():
            return


async def remove(database: Database, project_id: ProjectId, gone: Sequence[DocumentId]) -> None:
    """Turn documents into tombstones; no read finds them once this returns."""
    async with database.transaction() as connection:
        await documents.tombstone(connection, project_id, gone)


async def _register(
    database: Database, project_id: ProjectId, waiting: Sequence[NewDocument], found: Sync
) -> None:
    """Write the documents down together; where that fails for what one of them holds, each by itself."""
    try:
        async with database.transaction() as connection:
            registered = await documents.register(connection, project_id, waiting)
    except Exception as error:
        failure = document_failure(error, waiting[0].url)
        if failure is None:
            raise
        if len(waiting) == 1:
            found.troubles.append(Trouble(url=waiting[0].url, message=failure.message))
        else:
            for document in waiting:
                await _register(database, project_id, [document], found)
        return
    found.new += registered.inserted
    found.changed += registered.updated
    for document, id_ in zip(waiting, registered.documents, strict=True):
        is_new = id_ in registered.new
        found.documents[document.url] = DocumentChange.NEW if is_new else DocumentChange.CHANGED


async def _end(database: Database, run: runs.RunId, found: Sync, errors: str) -> None:
    await runs.end(
        database,
        run,
        inserted=found.new,
        updated=found.changed + found.retagged,
        deleted=found.gone,
        errors=errors,
    )

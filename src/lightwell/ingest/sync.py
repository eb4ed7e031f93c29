"""Syncs a source: enqueues new and changed documents, applies new access tags, turns missing documents into tombstones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lightwell.domain.access import Tags
from lightwell.domain.documents import MAX_DOCUMENT_CHUNKS, NewDocument
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import DocumentId, ProjectId, RunId
from lightwell.domain.jobs import QueuedJob, RunChange
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.titles import title_from_url
from lightwell.ports import (
    ChangedDocument,
    Connector,
    RemovedDocument,
    SkippedFiles,
    UnchangedDocument,
    UnreadableDocument,
)
from lightwell.records.database import Database, repeatable
from lightwell.records.documents import documents, registered, registration, renames
from lightwell.records.documents.registered import UpToDateDocument
from lightwell.records.jobs import runs

_DOCUMENTS_PER_BATCH = 50
_MAX_BATCH_BYTES = 16_000_000
"""Bytes of documents in memory before they are written to the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProblem:
    """A document that the source could not deliver or that could not be parsed; `message` says how to fix it."""

    url: str
    message: str


class DocumentChange(StrEnum):
    """What a sync did with a document."""

    NEW = "new"
    CHANGED = "changed"
    RETAGGED = "retagged"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"


@dataclass(slots=True, kw_only=True)
class SyncResult:
    """Counts of a sync so far. `documents` has one entry per URL; a retagged document counts as unchanged, too.

    `warnings` name unchanged documents that are in the store only in part.

    `skipped` counts files of each kind that are no documents.

    `jobs` are the jobs of new and changed documents, in the order of discovery.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    retagged: int = 0
    renamed: int = 0
    removed: int = 0
    documents: dict[str, DocumentChange] = field(default_factory=dict[str, DocumentChange])
    problems: list[DocumentProblem] = field(default_factory=list["DocumentProblem"])
    warnings: list[DocumentProblem] = field(default_factory=list["DocumentProblem"])
    skipped: Counter[str] = field(default_factory=Counter[str])
    jobs: list[QueuedJob] = field(default_factory=list[QueuedJob])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a sync writes. `retags` holds the new access tags of documents until enough of them are written together."""

    database: Database
    project_id: ProjectId
    run: RunId
    retags: dict[DocumentId, Tags] = field(default_factory=dict[DocumentId, Tags])


class _GoneDocuments:
    """Known documents that the source no longer has, by URL and by content with access tags (to detect renames)."""

    def __init__(self) -> None:
        self._by_url: dict[str, UpToDateDocument] = {}
        self._by_content: dict[tuple[str, Tags], set[str]] = {}

    def add(self, url: str, document: UpToDateDocument | None) -> None:
        """Remember a missing document; None stands for an unknown URL."""
        if document is None:
            return
        self._by_url[url] = document
        self._by_content.setdefault((document.content_hash, document.acl_tags), set()).add(url)

    def pop(self, url: str) -> None:
        document = self._by_url.pop(url, None)
        if document is not None:
            self._by_content[document.content_hash, document.acl_tags].discard(url)

    def same_as(self, document: NewDocument) -> str | None:
        """Return the URL of a missing document with equal content and tags, preferably with the same file name, else None."""
        same = self._by_content.get((document.content_hash, document.acl_tags), set())
        name = _file_name(document.url)
        return min(same, key=lambda url: (_file_name(url) != name, url), default=None)

    @property
    def ids(self) -> list[DocumentId]:
        return [document.id for document in self._by_url.values()]

    def __getitem__(self, url: str) -> DocumentId:
        return self._by_url[url].id


async def sync(
    database: Database,
    project_id: ProjectId,
    connector: Connector,
    system: str,
    max_chunks: int = MAX_DOCUMENT_CHUNKS,
) -> SyncResult:
    """Read all changes of the source. New and changed documents are enqueued; workers ingest them.

    A document of which chunks were left out counts as changed when `max_chunks` has been raised since.

    Changed access tags and deletions are in force when this returns. After a crash, committed changes stay and the
    next sync finds the rest.
    """
    run, started_at = await runs.begin(database, project_id, system, connector.scope)
    up_to_date = await registered.list_up_to_date(
        database, project_id, system, connector.scope, max_chunks=max_chunks
    )
    result = SyncResult()
    try:
        target = _Target(database=database, project_id=project_id, run=run)
        try:
            await _consume_changes(target, connector, up_to_date, result)
        finally:
            await _retag(target)
    except LightwellError as error:
        await _end(database, run, result, str(error))
        raise
    await _end(database, run, result, "")
    await runs.store_cursor(database, project_id, system, connector.scope, started_at.isoformat())
    return result


async def _consume_changes(
    target: _Target,
    connector: Connector,
    up_to_date: Mapping[str, UpToDateDocument],
    result: SyncResult,
) -> None:
    pending: dict[str, NewDocument] = {}
    gone = _GoneDocuments()
    hashes = {url: entry.content_hash for url, entry in up_to_date.items()}
    async for change in connector.changes(hashes):
        match change:
            case ChangedDocument(document=document):
                gone.pop(document.url)
                if await _must_ingest(target, document, (up_to_date, gone), result):
                    pending[document.url] = document
            case RemovedDocument(url=url):
                pending.pop(url, None)
                gone.add(url, up_to_date.get(url))
            case UnchangedDocument(url=url) | UnreadableDocument(url=url):
                # keep the order of changes of one URL: register the earlier change first
                if url in pending:
                    await _register(target, pending, result)
                gone.pop(url)
                await _apply(target, change, up_to_date, result)
            case SkippedFiles(kinds=kinds):
                result.skipped.update(kinds)
        size = sum(len(document.content) for document in pending.values())
        if len(pending) >= _DOCUMENTS_PER_BATCH or size > _MAX_BATCH_BYTES:
            await _register(target, pending, result)
    await _register(target, pending, result)
    result.removed += len(gone.ids)
    for start in range(0, len(gone.ids), _DOCUMENTS_PER_BATCH):
        await _remove(target, gone.ids[start : start + _DOCUMENTS_PER_BATCH])


async def _must_ingest(
    target: _Target,
    document: NewDocument,
    known_and_gone: tuple[Mapping[str, UpToDateDocument], _GoneDocuments],
    result: SyncResult,
) -> bool:
    """Return whether a document must be ingested, given the known documents and the missing ones.

    A document with the content and access tags of a missing one is renamed instead. It is ingested again only if its
    title came from its old file name.
    """
    up_to_date, gone = known_and_gone
    if document.url in up_to_date:
        target.retags.pop(up_to_date[document.url].id, None)  # its new version has tags of its own
        return True
    old_url = gone.same_as(document)
    if old_url is None:
        return True
    title = await _rename(target, gone[old_url], document)
    if title is None:
        return True
    gone.pop(old_url)
    result.renamed += 1
    result.documents[document.url] = DocumentChange.RENAMED
    return not document.title and title == title_from_url(old_url)


@repeatable
async def _rename(target: _Target, document_id: DocumentId, document: NewDocument) -> str | None:
    """Give a document the new URL and return its title; None if the document has changed meanwhile."""
    async with target.database.transaction() as connection:
        title = await renames.rename(connection, target.project_id, document_id, document)
        if title is not None:
            await runs.record_changes(connection, target.run, [document_id], RunChange.UPDATED)
    return title


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


async def _apply(
    target: _Target,
    change: UnchangedDocument | UnreadableDocument,
    up_to_date: Mapping[str, UpToDateDocument],
    result: SyncResult,
) -> None:
    url = change.url
    if isinstance(change, UnreadableDocument):
        result.problems.append(DocumentProblem(url=url, message=change.message))
        old = up_to_date.get(url)
        if old and old.awaits_parser and change.reason == "unsupported":
            await _remove(target, [old.id])  # there is no parser any more, so it is no document
            result.removed += 1
        elif old:
            await documents.mark_unavailable(target.database, old.id, change.message)
        return
    old, document = up_to_date[url], change.document
    result.unchanged += 1
    result.documents[url] = DocumentChange.UNCHANGED
    if old.error:
        result.problems.append(DocumentProblem(url=url, message=old.error))
    if old.warning:
        result.warnings.append(DocumentProblem(url=url, message=old.warning))
    if old.acl_tags != document.acl_tags:
        result.retagged += 1
        result.documents[url] = DocumentChange.RETAGGED
        target.retags[old.id] = document.acl_tags
        if len(target.retags) >= _DOCUMENTS_PER_BATCH:
            await _retag(target)
    else:
        target.retags.pop(old.id, None)
    if old.metadata != document.metadata:
        await _update_metadata(target, old.id, document)


@repeatable
async def _retag(target: _Target) -> None:
    """Write the access tags that wait, and empty the list."""
    if not target.retags:
        return
    async with target.database.transaction() as connection:
        await documents.change_access(connection, target.project_id, target.retags)
        await runs.record_changes(connection, target.run, list(target.retags), RunChange.UPDATED)
    target.retags.clear()


@repeatable
async def _update_metadata(target: _Target, document_id: DocumentId, document: NewDocument) -> None:
    async with target.database.transaction() as connection:
        await registration.update_metadata(connection, target.project_id, document_id, document)


@repeatable
async def _remove(target: _Target, document_ids: Sequence[DocumentId]) -> None:
    """Turn documents into tombstones. Afterwards no read finds them."""
    async with target.database.transaction() as connection:
        await documents.tombstone(connection, target.project_id, document_ids)
        await runs.record_changes(connection, target.run, document_ids, RunChange.DELETED)


async def _register(target: _Target, pending: dict[str, NewDocument], result: SyncResult) -> None:
    """Write the pending documents to the database and empty the list."""
    if pending:
        await _enqueue(target, list(pending.values()), result)
        pending.clear()


async def _enqueue(target: _Target, pending: Sequence[NewDocument], result: SyncResult) -> None:
    """Write the documents in one transaction; if one of them makes that fail, write each in its own."""
    try:
        registered = await _register_batch(target, pending)
    except Exception as error:
        failure = document_failure(error, pending[0].url)
        if failure is None:
            raise
        if len(pending) == 1:
            result.problems.append(DocumentProblem(url=pending[0].url, message=failure.message))
        else:
            for document in pending:
                await _enqueue(target, [document], result)
        return
    result.jobs += registered
    for job in registered:
        result.new += job.is_new
        if result.documents.get(job.url) is not DocumentChange.RENAMED:
            result.changed += not job.is_new
            change = DocumentChange.NEW if job.is_new else DocumentChange.CHANGED
            result.documents[job.url] = change


@repeatable
async def _register_batch(target: _Target, pending: Sequence[NewDocument]) -> list[QueuedJob]:
    async with target.database.transaction() as connection:
        registered = await registration.register(connection, target.project_id, pending)
        new = [job.document_id for job in registered if job.is_new]
        changed = [job.document_id for job in registered if not job.is_new]
        await runs.record_changes(connection, target.run, new, RunChange.INSERTED)
        await runs.record_changes(connection, target.run, changed, RunChange.UPDATED)
    return registered


async def _end(database: Database, run: RunId, result: SyncResult, error: str) -> None:
    await runs.end(
        database,
        run,
        inserted=result.new,
        updated=result.changed + result.retagged + result.renamed,
        deleted=result.removed,
        errors=error,
    )

"""Stores a page of items in one transaction: what changed gets jobs, what is unchanged costs a comparison of hashes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlsplit

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.business_systems import Source, SourceCounts
from lightwell.domain.documents import ADDRESS_SCHEMES, PUSHED, Format, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId, GlobalRef, RunId
from lightwell.domain.jobs import RunChange
from lightwell.domain.source_items import AttachedFile, ItemPage, SourceItem, UnreadableItem
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.item_files import has_file, is_same, read_files
from lightwell.ingest.pipeline import REEXTRACT
from lightwell.records import item_fetches, source_runs, sources
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.documents import documents, item_merges, items, registration
from lightwell.records.documents.items import KnownDocument
from lightwell.records.documents.registered import check_url, document_ref
from lightwell.records.documents.registration import ItemOrigin
from lightwell.records.jobs import runs
from lightwell.records.locks import LeaseHolder, lock_project
from lightwell.text.regex import regex

_BREAKS_LINKS = regex(r"[\s<>\"`\\\x00-\x1f\x7f]")
_YEARS = range(1970, 2101)
"""Other dates would make a document the first or the last of all for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTarget:
    """Where the sync of a source writes, under the lease that `worker` holds."""

    database: Database
    source: Source
    worker: LeaseHolder
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePosition:
    """`asked_at` is when the source was asked for the page, by the database's clock; `stream` is "" for fetched items."""

    asked_at: datetime
    stream: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChanges:
    """What storing a page changes. `unreadable` are items that contradict what others have; `retagged` are all documents with other access tags,
    those among them that are registered included.
    """

    register: tuple[NewDocument, ...]
    retag: Mapping[DocumentId, Tags]
    remove: tuple[DocumentId, ...]
    unchanged: int
    unreadable: tuple[UnreadableItem, ...] = ()
    retagged: Mapping[DocumentId, Tags] = field(default_factory=dict[DocumentId, Tags])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """What storing a page did: counts of documents, the items that could not be stored, and the documents that are gone or have other access tags."""

    counts: SourceCounts = field(default_factory=SourceCounts)
    unreadable: tuple[UnreadableItem, ...] = ()
    removed: tuple[DocumentId, ...] = ()
    retagged: Mapping[DocumentId, Tags] = field(default_factory=dict[DocumentId, Tags])

    def __add__(self, other: "StoredPage") -> "StoredPage":
        return StoredPage(
            counts=self.counts + other.counts,
            unreadable=self.unreadable + other.unreadable,
            removed=self.removed + other.removed,
            retagged={**self.retagged, **other.retagged},
        )


async def store_page(target: SyncTarget, page: ItemPage, position: PagePosition) -> StoredPage:
    """Store the page with its cursor, and return what it did.

    An item that is malformed, or that makes the transaction fail by itself, is kept as unreadable; the others are
    stored. A page with many files is stored in parts, the last one with the cursor. Raises `LeaseLost` when another
    process syncs the source now.
    """
    stored = StoredPage()
    async for part, is_last in read_files(
        target.database, target.source, check_page(target.source, page)
    ):
        part_position = position if is_last else replace(position, stream="")
        try:
            stored += await _store(target, part, part_position)
        except Exception as error:
            if document_failure(error, target.source.name) is None or not part.items:
                raise
            stored += await _store_one_by_one(target, part, part_position)
    return stored


async def _store_one_by_one(
    target: SyncTarget, page: ItemPage, position: PagePosition
) -> StoredPage:
    stored, failed = StoredPage(), list(page.unreadable)
    for item in page.items:
        single = ItemPage(items=(item,), cursor="")
        try:
            stored += await _store(target, single, replace(position, stream=""))
        except Exception as error:
            failure = document_failure(error, item.ref)
            if failure is None:
                raise
            failed.append(UnreadableItem(ref=item.ref, reason="invalid", message=failure.message))
    rest = replace(page, items=(), unreadable=tuple(failed))
    return stored + await _store(target, rest, position)


@repeatable
async def _store(target: SyncTarget, page: ItemPage, position: PagePosition) -> StoredPage:
    source, project_id = target.source, target.source.project_id
    async with target.database.transaction() as connection:
        await lock_project(connection, project_id)
        await sources.renew_or_raise(connection, source.id, target.worker)
        changes = await _compare(connection, source, page)
        delivered = [item.ref for item in page.items]
        separated = await item_merges.separate(connection, project_id, delivered)
        merged = await item_merges.store(connection, project_id, source.id, page.merged)
        counts = await _apply(connection, target, changes)
        registered = {document.item_ref for document in changes.register if document.item_ref}
        seen = await item_merges.list_affected(
            connection, project_id, registered, [*changes.retag, *changes.remove]
        )
        await registration.restate(connection, sorted({*separated, *merged, *seen}), REEXTRACT)
        unreadable = (*page.unreadable, *changes.unreadable)
        failed = {item.ref for item in unreadable}
        answered = [*(item.ref for item in page.items if item.ref not in failed), *page.removed]
        await item_fetches.resolve(connection, source.id, answered, position.asked_at)
        if source.system != PUSHED:  # who pushes is told, and nothing is fetched again
            await item_fetches.record_failures(connection, source.id, unreadable)
        counts = replace(counts, unreadable=len(failed))
        await source_runs.add_counts(connection, target.run, counts)
        if position.stream:
            await sources.store_cursor(connection, source.id, position.stream, page.cursor)
    return StoredPage(
        counts=counts,
        unreadable=unreadable,
        removed=changes.remove,
        retagged=changes.retagged,
    )


async def _compare(connection: Connection, source: Source, page: ItemPage) -> PageChanges:
    """Return what the page changes; URLs of deleted documents are free for its documents afterwards."""
    delivered = [document for item in page.items for document in item.documents]
    refs = [document_ref(document) for document in delivered]
    urls = [document.url for document in delivered]
    named = [*(item.ref for item in page.items), *page.removed]
    project_id = source.project_id
    stored = await items.list_known(connection, project_id, source.id, named, refs)
    taken = await items.list_taken_urls(connection, project_id, urls, refs)
    await items.release_urls(connection, project_id, urls, refs)
    return plan_changes(source, page, stored, taken)


def plan_changes(
    source: Source,
    page: ItemPage,
    stored: Mapping[GlobalRef, KnownDocument],
    taken_urls: Iterable[str],
) -> PageChanges:
    """Return what to store of a page, given what is stored of its items, and the URLs that other documents have."""
    urls = set(taken_urls)
    plan = _Plan()
    for item in page.items:
        if message := _find_conflict(source, item, stored, urls):
            plan.unreadable.append(UnreadableItem(ref=item.ref, reason="conflict", message=message))
            continue
        urls.update(document.url for document in item.documents)
        for document in item.documents:
            plan.add(source, document, stored.get(document_ref(document)))
    kept = {item.ref for item in plan.unreadable}
    delivered = {document_ref(document) for item in page.items for document in item.documents}
    named = {*(item.ref for item in page.items), *page.removed} - kept
    remove = sorted(
        document.id
        for document in stored.values()
        if document.source == source.id
        and not document.is_deleted
        and document.item_ref in named
        and document.ref not in delivered
    )
    return PageChanges(
        register=tuple(plan.register),
        retag=plan.retag,
        remove=tuple(remove),
        unchanged=plan.unchanged,
        unreadable=tuple(plan.unreadable),
        retagged=plan.retagged,
    )


@dataclass(slots=True)
class _Plan:
    register: list[NewDocument] = field(default_factory=list[NewDocument])
    retag: dict[DocumentId, Tags] = field(default_factory=dict[DocumentId, Tags])
    retagged: dict[DocumentId, Tags] = field(default_factory=dict[DocumentId, Tags])
    unchanged: int = 0
    unreadable: list[UnreadableItem] = field(default_factory=list[UnreadableItem])

    def add(self, source: Source, document: NewDocument, old: KnownDocument | None) -> None:
        if old and old.acl_tags != document.acl_tags:
            self.retagged[old.id] = document.acl_tags
        if old is None or not is_same(source, document, old):
            self.register.append(document)
        elif old.acl_tags != document.acl_tags:
            self.retag[old.id] = document.acl_tags
        else:
            self.unchanged += 1


def _find_conflict(
    source: Source, item: SourceItem, stored: Mapping[GlobalRef, KnownDocument], urls: set[str]
) -> str:
    """Return why the item cannot be stored beside what others have, "" if it can."""
    for document in item.documents:
        old = stored.get(document_ref(document))
        if old and not old.is_deleted and old.source not in (None, source.id):
            return "another source of this project has this item already"
        if document.url in urls:
            return "another document has its URL"
        if not document.has_content and not (old and has_file(source, document, old)):
            return "a file of it has changed meanwhile, and is read again"
    return ""


async def _apply(connection: Connection, target: SyncTarget, changes: PageChanges) -> SourceCounts:
    source, project_id = target.source, target.source.project_id
    origin = ItemOrigin(source=source.id, restate_step=REEXTRACT)
    queued = (
        await registration.register(connection, project_id, changes.register, origin)
        if changes.register
        else []
    )
    if changes.retag:
        await documents.change_access(connection, project_id, changes.retag)
    if changes.remove:
        await documents.tombstone(connection, project_id, changes.remove)
    new = [job.document_id for job in queued if job.is_new]
    changed = [job.document_id for job in queued if not job.is_new] + list(changes.retag)
    for ids, change in (
        (new, RunChange.INSERTED),
        (changed, RunChange.UPDATED),
        (changes.remove, RunChange.DELETED),
    ):
        await runs.record_changes(connection, target.run, ids, change)
    return SourceCounts(
        inserted=len(new),
        updated=len(changed),
        deleted=len(changes.remove),
        unchanged=changes.unchanged,
    )


def check_page(source: Source, page: ItemPage) -> ItemPage:
    """Return the page with each item once, and malformed ones among the unreadable.

    Of an item that comes twice the last version counts; one that is also removed is gone.
    """
    latest = {item.ref: item for item in page.items}
    removed = tuple(dict.fromkeys(page.removed))
    good: list[SourceItem] = []
    unreadable = {item.ref: item for item in page.unreadable}
    for ref, item in latest.items():
        if ref in removed or ref in unreadable:
            continue
        try:
            good.append(_check_item(source, item))
        except Invalid as error:
            unreadable[ref] = UnreadableItem(ref=ref, reason="invalid", message=str(error))
    prefix = f"{source.system}:"
    merged = {
        former: survivor
        for former, survivor in page.merged.items()
        if former in removed and former.startswith(prefix) and survivor.startswith(prefix)
    }
    return replace(
        page,
        items=tuple(good),
        removed=removed,
        unreadable=tuple(unreadable.values()),
        merged=merged,
    )


def _check_item(source: Source, item: SourceItem) -> SourceItem:
    """Return the item with documents that can be stored; raise `Invalid` where the connector breaks its contract."""
    described = [*item.documents, *(file.document for file in item.files)]
    if len({document_ref(document) for document in described}) < len(described):
        raise Invalid("two of its documents have one reference")
    return replace(
        item,
        documents=tuple(_check_document(source, item, text) for text in item.documents),
        files=tuple(_check_file(source, item, file) for file in item.files),
    )


def _check_file(source: Source, item: SourceItem, file: AttachedFile) -> AttachedFile:
    """Return the file whose document is checked, as described and as read."""

    async def read() -> NewDocument:
        document = await file.read()
        if document_ref(document) != document_ref(file.document):
            raise Invalid("a file of it is read as another document")
        return _check_document(source, item, document)

    document = _check_document(source, item, file.document)
    if not document.file_version or document.has_content:
        raise Invalid("a file of it has no version, or comes with its content")
    return AttachedFile(document=document, read=read)


def _check_document(source: Source, item: SourceItem, document: NewDocument) -> NewDocument:
    """Return what is stored of a document: without addresses of entities that nobody should follow, and without dates that
    cannot be true. One without a text gets its title, so that it is found, too. Raises `Invalid`.
    """
    prefix = f"{source.system}:"
    if (
        document.system != source.system
        or document.item_ref != item.ref
        or not item.ref.startswith(prefix)
    ):
        raise Invalid(f"its documents do not belong to it, or not to {source.system}")
    unstated = parse_tags(document.acl_tags) - source.stated_tags
    if foreign := sorted(tag for tag in unstated if not tag.startswith(prefix)):
        raise Invalid(f"its access tag {foreign[0]!r} does not begin with {prefix}")
    check_url(document)
    if document.url and not (
        document.system == PUSHED or is_harmless(document.url, ADDRESS_SCHEMES)
    ):  # what is pushed has no address of its own making
        raise Invalid("its address is not one of the web, or contains a password or a blank")
    ends = {entity.ref for entity in document.structure.entities}
    if any(not {link.source, link.target} <= ends for link in document.structure.links):
        raise Invalid("one of its links has an end that is not among its entities")
    entities = tuple(
        entity if not entity.url or is_harmless(entity.url) else replace(entity, url="")
        for entity in document.structure.entities
    )
    checked = replace(
        document,
        acl_tags=frozenset(source.scope_tag(tag) for tag in document.acl_tags),
        structure=replace(document.structure, entities=entities),
        created_at=_plausible(document.created_at),
        updated_at=_plausible(document.updated_at),
    )
    if document.content.strip() or not document.has_content:
        return checked
    text = document.title.strip() or document.url
    return replace(checked, content=text.encode(), format=Format.TEXT)


def is_harmless(url: str, schemes: Collection[str] = ("https", "http")) -> bool:
    """Return whether people may follow the address: one of these schemes, without credentials, that ends where it seems to end."""
    if _BREAKS_LINKS.search(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc


def _plausible(moment: datetime | None) -> datetime | None:
    return moment if moment and moment.year in _YEARS else None

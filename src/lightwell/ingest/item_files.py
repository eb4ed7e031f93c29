"""Files that items carry: only those are downloaded that the store does not have in this version."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from lightwell.domain.business_systems import Source
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceItem, UnreadableItem
from lightwell.records.database import Database
from lightwell.records.documents import items
from lightwell.records.documents.items import KnownDocument
from lightwell.records.documents.registered import document_ref
from lightwell.records.documents.registration import body_hash

_MAX_ITEM_BYTES = 64 * 1000**2
"""Of all files of one item that are new at the same time; they are held in memory together."""

_PART_BYTES = 16 * 1000**2


async def read_files(
    database: Database, source: Source, page: ItemPage
) -> AsyncGenerator[tuple[ItemPage, bool]]:
    """Yield the page with its files as documents, and whether this part is the last one.

    A page whose files are large is divided. All but the items is in the last part. A file that is stored already comes
    without its content. An item whose files do not fit into memory is unreadable.
    """
    refs = [document_ref(file.document) for item in page.items for file in item.files]
    stored = await items.list_stored(database, source.project_id, refs) if refs else {}
    read: list[SourceItem] = []
    unreadable: list[UnreadableItem] = []
    size = 0
    for item in page.items:
        if size > _PART_BYTES:
            yield ItemPage(items=tuple(read), cursor=""), False
            read, size = [], 0
        result = await _read_item(source, item, stored)
        if isinstance(result, UnreadableItem):
            unreadable.append(result)
            continue
        read.append(result)
        size += sum(len(document.content) for document in result.documents)
    failed = (*page.unreadable, *unreadable)
    yield replace(page, items=tuple(read), unreadable=failed), True


def is_same(source: Source, document: NewDocument, old: KnownDocument) -> bool:
    """Return whether a document is stored as it is delivered, apart from its access tags."""
    return (
        not old.is_deleted
        and old.is_complete
        and old.source == source.id
        and old.item_ref == document.item_ref
        and old.content_hash == document.content_hash
    )


def has_file(source: Source, document: NewDocument, old: KnownDocument) -> bool:
    """Return whether the content of a file is stored in the version that is delivered."""
    is_stored = not old.is_deleted and old.body_hash == body_hash(document)
    return is_stored or is_same(source, document, old)


async def _read_item(
    source: Source, item: SourceItem, stored: Mapping[GlobalRef, KnownDocument]
) -> SourceItem | UnreadableItem:
    documents = list(item.documents)
    size = 0
    for file in item.files:
        old = stored.get(document_ref(file.document))
        if old and has_file(source, file.document, old):
            documents.append(file.document)
            continue
        try:
            document = await file.read()
        except Invalid as error:
            return UnreadableItem(ref=item.ref, reason="invalid", message=str(error))
        documents.append(document)
        size += len(document.content)
        if size > _MAX_ITEM_BYTES:
            message = f"its files have more than {_MAX_ITEM_BYTES / 1000**2:,.0f} MB"
            return UnreadableItem(ref=item.ref, reason="too_large", message=message)
    return replace(item, documents=tuple(documents), files=())

"""Documents that someone hands in, and the access tags that someone changes: what the store holds already."""

from collections.abc import Sequence

from lightwell.domain.access import ClassSet, Reader, Tags
from lightwell.domain.errors import NotFound
from lightwell.domain.folder_tags import NO_FILE
from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId
from lightwell.records import access_classes
from lightwell.records.database import Connection
from lightwell.records.rows import Row, fetch, fetch_values

# Deleted ones, too: a page that is handed in again with the same access tags is the same document.
_PAGE = """
SELECT source_id FROM source_documents
WHERE project_id = %(project_id)s AND source_system = 'web' AND source_url = %(url)s
  AND sees(%(classes)s, class_id)
ORDER BY document_id LIMIT 1
"""

# Deleted ones, too: who could not see a document does not get it back by naming its file.
_FILE = """
SELECT sees(%(classes)s, class_id), acl_tags, is_deleted FROM source_documents
WHERE project_id = %(project_id)s AND source_url = %(url)s
ORDER BY is_deleted, sees(%(classes)s, class_id), document_id LIMIT 1
"""

# Deleted ones, too: who could not see a document does not get it back by its external id.
_UPLOAD = """
SELECT sees(%(classes)s, class_id), acl_tags, is_deleted FROM source_documents
WHERE project_id = %(project_id)s AND global_ref = %(ref)s
"""

_TAGS = """
SELECT document_id, acl_tags FROM source_documents
WHERE project_id = %(project_id)s AND document_id = ANY(%(documents)s) AND sees(%(classes)s, class_id)
  AND NOT is_deleted
ORDER BY document_id FOR NO KEY UPDATE
"""

# Parts of a file have its URL with a fragment. Those that other people see than the file stay as they are.
_PARTS = """
SELECT part.document_id
FROM source_documents AS whole
JOIN source_documents AS part
  ON part.project_id = whole.project_id AND part.source_system = whole.source_system AND part.class_id = whole.class_id
  AND starts_with(part.source_url, whole.source_url || '#')
  AND part.source_url >= whole.source_url || '#' AND part.source_url < whole.source_url || '#' || chr(1114111)
WHERE whole.project_id = %(project_id)s AND (whole.document_id = ANY(%(documents)s) OR whole.source_url = %(url)s)
  AND sees(%(classes)s, whole.class_id) AND whole.source_system = 'file' AND NOT part.is_deleted
ORDER BY part.document_id
"""


async def find_page(
    connection: Connection, project_id: ProjectId, url: str, tags: Tags
) -> str | None:
    """Return the source id of the page of the web with this URL and exactly these tags, None where there is none."""
    class_id = await access_classes.get_or_create_class(connection, project_id, tags)
    names = {"project_id": project_id, "url": url, "classes": ClassSet([class_id])}
    source_ids = await fetch_values(connection, _PAGE, names)
    return source_ids[0] if source_ids else None


async def find_file_tags(connection: Connection, reader: Reader, url: str) -> Tags | None:
    """Return the tags of the file's document, None where there is none or it is deleted; raise `NotFound` where the reader may not see it."""
    rows = await fetch(connection, _FILE, {"url": url, **reader.parameters})
    return _visible_tags(rows, NO_FILE)


async def find_upload_tags(connection: Connection, reader: Reader, ref: GlobalRef) -> Tags | None:
    """Return the tags of what was uploaded before as this document, None where nothing was or it is deleted; raise `NotFound` where the reader may not see it any more."""
    rows = await fetch(connection, _UPLOAD, {"ref": ref, **reader.parameters})
    return _visible_tags(rows, "You do not see the document of this externalId any more")


def _visible_tags(rows: Sequence[Row], missing: str) -> Tags | None:
    """Return the tags of the document of the row; raise `NotFound` where the reader may not see it."""
    if not rows:
        return None
    is_visible, tags, is_deleted = rows[0]
    if not is_visible:
        raise NotFound(missing)
    return None if is_deleted else frozenset(tags)


async def add_parts(
    connection: Connection, reader: Reader, documents: Sequence[DocumentId]
) -> list[DocumentId]:
    """Return the documents, and after them the parts of those that are files, as far as the same people see them."""
    names = {"documents": list(documents), "url": None, **reader.parameters}
    parts = [DocumentId(part) for part in await fetch_values(connection, _PARTS, names)]
    return list(dict.fromkeys([*documents, *parts]))


async def list_parts(connection: Connection, reader: Reader, url: str) -> list[DocumentId]:
    """Return the parts of the file with this URL, as far as the same people see them."""
    names = {"documents": list[DocumentId](), "url": url, **reader.parameters}
    return await fetch_values(connection, _PARTS, names)


async def lock_tags(
    connection: Connection, reader: Reader, documents: Sequence[DocumentId]
) -> dict[DocumentId, Tags]:
    """Lock those of the documents that the reader sees, and return their tags."""
    names = {"documents": list(documents), **reader.parameters}
    return {document: frozenset(tags) for document, tags in await fetch(connection, _TAGS, names)}

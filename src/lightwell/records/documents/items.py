"""What the system of record knows of the items of a source, to compare a page with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.access import Tags
from lightwell.domain.business_systems import SourceId
from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch, fetch_values

_COLUMNS = """
global_ref AS ref, document_id AS id, source_key AS source, item_ref, content_hash, acl_tags, is_deleted,
status <> 'failed' OR error_code = 'unreadable_document' AS is_complete,
CASE status WHEN 'active' THEN body_hash ELSE '' END AS body_hash
"""

_STORED = f"""
SELECT {_COLUMNS} FROM source_documents
WHERE project_id = %(project_id)s AND global_ref = ANY(%(refs)s)
"""  # noqa: S608 - only our own words

_KNOWN = f"""
{_STORED}
UNION
SELECT {_COLUMNS} FROM source_documents
WHERE project_id = %(project_id)s AND source_key = %(source)s AND item_ref = ANY(%(items)s)
"""  # noqa: S608 - only our own words

# A URL belongs to one document: another one's, or the name of a deleted one, which gives it up.
_TAKEN = """
SELECT source_url FROM source_documents
WHERE project_id = %(project_id)s AND source_url = ANY(%(urls)s) AND source_system <> 'web'
  AND NOT is_deleted AND global_ref <> ALL(%(refs)s)
"""

_RELEASE_URLS = """
UPDATE source_documents SET source_url = source_url || '#deleted-' || source_documents.document_id
FROM (SELECT document_id FROM source_documents
      WHERE project_id = %(project_id)s AND source_url = ANY(%(urls)s) AND source_system <> 'web'
        AND is_deleted AND global_ref <> ALL(%(refs)s)
      ORDER BY document_id FOR UPDATE) AS gone
WHERE source_documents.document_id = gone.document_id
"""

_OF_SOURCE = """
SELECT document_id FROM source_documents
WHERE source_key = %(source)s AND NOT is_deleted ORDER BY document_id LIMIT %(limit)s
"""

_COUNT = """
SELECT source_type, count(*) FROM source_documents
WHERE source_key = %(source)s AND NOT is_deleted GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDocument:
    """A registered document. `is_complete` is false where its ingestion failed for a reason other than its content.

    `body_hash` is that of the content of which it has chunks, "" where it has none.
    """

    ref: GlobalRef
    id: DocumentId
    source: SourceId | None
    item_ref: str
    content_hash: str
    acl_tags: Tags
    is_deleted: bool
    is_complete: bool
    body_hash: str = ""


async def list_known(
    connection: Connection,
    project_id: ProjectId,
    source: SourceId,
    items: Sequence[GlobalRef],
    refs: Sequence[GlobalRef],
) -> dict[GlobalRef, KnownDocument]:
    """Return by reference the documents with these references, and all documents of these items of the source."""
    fields = {
        "project_id": project_id,
        "source": source,
        "items": list(items),
        "refs": list(refs),
    }
    documents = await fetch(connection, _KNOWN, fields, into=KnownDocument)
    return {document.ref: document for document in documents}


async def list_stored(
    database: Database, project_id: ProjectId, refs: Sequence[GlobalRef]
) -> dict[GlobalRef, KnownDocument]:
    """Return by reference the documents with these references."""
    fields = {"project_id": project_id, "refs": list(refs)}
    documents = await database.rows(_STORED, fields, into=KnownDocument)
    return {document.ref: document for document in documents}


async def list_taken_urls(
    connection: Connection, project_id: ProjectId, urls: Sequence[str], refs: Sequence[GlobalRef]
) -> set[str]:
    """Return those of the URLs that documents other than these have."""
    fields = {"project_id": project_id, "urls": list(urls), "refs": list(refs)}
    return set(await fetch_values(connection, _TAKEN, fields))


async def release_urls(
    connection: Connection, project_id: ProjectId, urls: Sequence[str], refs: Sequence[GlobalRef]
) -> None:
    """Take these URLs from deleted documents other than these, so that they can be used again."""
    fields = {"project_id": project_id, "urls": list(urls), "refs": list(refs)}
    await connection.execute(_RELEASE_URLS, fields)


async def list_documents_of(
    database: Database, source: SourceId, *, limit: int
) -> list[DocumentId]:
    """Return up to `limit` documents of the source that are not deleted."""
    return await database.values(_OF_SOURCE, {"source": source, "limit": limit})


async def count_by_kind(database: Database, source: SourceId) -> dict[str, int]:
    """Return how many documents of each kind the source has. It is for administrators."""
    return {kind: count for kind, count in await database.rows(_COUNT, {"source": source})}

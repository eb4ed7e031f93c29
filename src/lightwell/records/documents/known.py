"""What the system of record knows of a source's documents, to compare the source with."""

from collections.abc import Mapping
from dataclasses import dataclass

from lightwell.domain.access import Tags
from lightwell.domain.documents import omission_warning
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Database

_KNOWN = """
SELECT source_url, document_id, content_hash, acl_tags, error_message, metadata, chunk_count, omitted_chunks
FROM source_documents
WHERE project_id = %(project_id)s AND source_system = %(system)s AND NOT is_deleted
  AND starts_with(source_url, %(scope)s) AND source_url >= %(scope)s AND source_url < %(beyond)s
  AND (status <> 'failed' OR error_code = 'unreadable_document')
  AND (omitted_chunks = 0 OR %(max_chunks)s::integer IS NULL OR chunk_count >= %(max_chunks)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDateDocument:
    """What a source delivered before; `error` says why it could not be read, "" if it could.

    `warning` says what of it was left out, "" if nothing.
    """

    id: DocumentId
    content_hash: str
    acl_tags: Tags
    error: str
    metadata: Mapping[str, str]
    warning: str = ""


async def list_up_to_date(
    database: Database,
    project_id: ProjectId,
    system: str,
    scope: str,
    *,
    max_chunks: int | None = None,
) -> dict[str, UpToDateDocument]:
    """Return by URL the documents under `scope` that need no new ingestion while their hash is the same.

    A document that failed for a reason other than its content is left out, so that it is tried again; so is one that
    lacks chunks although `max_chunks` allows more.
    """
    rows = await database.rows(
        _KNOWN,
        {
            "project_id": project_id,
            "system": system,
            "scope": scope,
            "beyond": scope + chr(0x10FFFF),
            "max_chunks": max_chunks,
        },
    )
    return {
        url: UpToDateDocument(
            id=DocumentId(id_),
            content_hash=hash_,
            acl_tags=frozenset(tags),
            error=error,
            metadata=metadata,
            warning=omission_warning(chunks, omitted),
        )
        for url, id_, hash_, tags, error, metadata, chunks, omitted in rows
    }

"""Registered documents, to compare a source with, and the check which source system owns a URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lightwell.domain.access import Tags
from lightwell.domain.documents import WEB, NewDocument, omission_warning
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId, global_ref
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch, make

MAX_URL_BYTES = 2000
"""PostgreSQL's B-tree indexes take 2,704 bytes for a whole entry."""

_FIND = """
SELECT source_url, global_ref, document_id AS id, source_system AS system, is_deleted, body_hash,
       status = 'active' AS is_published
FROM source_documents
WHERE project_id = %(project_id)s
  AND ((source_url = ANY(%(urls)s) AND source_system <> 'web') OR global_ref = ANY(%(refs)s))
"""


_UP_TO_DATE = """
SELECT source_url, document_id AS id, content_hash, acl_tags, error_message AS error, metadata, chunk_count, omitted_chunks,
       format = 'foreign' AND chunk_count = 0 AS awaits_parser
FROM source_documents
WHERE project_id = %(project_id)s AND source_system = %(system)s AND NOT is_deleted
  AND starts_with(source_url, %(scope)s) AND source_url >= %(scope)s AND source_url < %(beyond)s
  AND (status <> 'failed' OR error_code = 'unreadable_document')
  AND (omitted_chunks = 0 OR %(max_chunks)s::integer IS NULL OR chunk_count >= %(max_chunks)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDateDocument:
    """What a source delivered before; `error` says why it could not be read, "" if it could.

    `warning` says what of it was left out, "" if nothing. `awaits_parser`: only a parser elsewhere reads it, and none has.
    """

    id: DocumentId
    content_hash: str
    acl_tags: Tags
    error: str
    metadata: Mapping[str, str]
    awaits_parser: bool
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDocument:
    id: DocumentId
    system: str
    is_deleted: bool
    body_hash: str
    is_published: bool

    def has_body(self, body_hash: str) -> bool:
        """Return whether the published chunks are those of this body."""
        return self.is_published and not self.is_deleted and self.body_hash == body_hash


async def find_registered(
    connection: Connection, project_id: ProjectId, documents: Sequence[NewDocument]
) -> dict[str, RegisteredDocument]:
    """Return those of the documents that are registered, by URL and by reference; pages of the web by reference only."""
    names = {
        "project_id": project_id,
        "urls": [document.url for document in documents if document.system != WEB],
        "refs": [document_ref(document) for document in documents],
    }
    by_name: dict[str, RegisteredDocument] = {}
    for columns in await fetch(connection, _FIND, names, into=dict[str, Any]):
        url, ref = columns.pop("source_url"), columns.pop("global_ref")
        by_name[url] = by_name[ref] = RegisteredDocument(**columns)
    return by_name


def check_url(document: NewDocument) -> None:
    """Raise `Invalid` for a URL that is too long for the indexes on it."""
    size = len(document.url.encode())
    if size > MAX_URL_BYTES:
        raise Invalid(
            f"its URL has {size:,} bytes, and at most {MAX_URL_BYTES:,} are allowed; shorten its path"
        )


def check_url_owner(document: NewDocument, registered: Mapping[str, RegisteredDocument]) -> None:
    """Raise `Invalid` if another system has a document with this URL.

    The URL of another system's deleted document may be reused, unless the new document has a row of its own
    already.
    """
    owner = registered.get(document.url)
    if owner is None or owner.system == document.system:
        return
    if not owner.is_deleted or document_ref(document) in registered:
        raise Invalid(
            f"the source system {owner.system!r} already has a document with this URL, which stays as it is:"
            " delete that one, or give this one another URL"
        )


def document_ref(document: NewDocument, document_id: DocumentId | None = None) -> GlobalRef:
    """Return the document's reference. For a file it contains the document's id, so that two folders may hold one name."""
    source_id = document.source_id if document.system != "file" else str(document_id)
    return global_ref(document.system, document.kind, source_id)


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
    parameters = {
        "project_id": project_id,
        "system": system,
        "scope": scope,
        "beyond": scope + chr(0x10FFFF),
        "max_chunks": max_chunks,
    }
    by_url: dict[str, UpToDateDocument] = {}
    for columns in await database.rows(_UP_TO_DATE, parameters, into=dict[str, Any]):
        warning = omission_warning(columns.pop("chunk_count"), columns.pop("omitted_chunks"))
        url = columns.pop("source_url")
        by_url[url] = make(UpToDateDocument, warning=warning, **columns)
    return by_url

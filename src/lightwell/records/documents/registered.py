"""Lookup of registered documents, and the check which source system owns a URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.documents import WEB, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId, global_ref
from lightwell.records.database import Connection

MAX_URL_BYTES = 2000
"""PostgreSQL's B-tree indexes take 2,704 bytes for a whole entry."""

_FIND = """
SELECT document_id, source_url, global_ref, source_system, is_deleted, body_hash, status = 'active' FROM source_documents
WHERE project_id = %(project_id)s
  AND ((source_url = ANY(%(urls)s) AND source_system <> 'web') OR global_ref = ANY(%(refs)s))
"""


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
    rows = await (await connection.execute(_FIND, names)).fetchall()
    return {
        name: RegisteredDocument(
            id=DocumentId(id_),
            system=system,
            is_deleted=is_deleted,
            body_hash=body_hash,
            is_published=is_published,
        )
        for id_, url, ref, system, is_deleted, body_hash, is_published in rows
        for name in (url, ref)
    }


def check_url(document: NewDocument) -> None:
    """Raise `Invalid` for a URL that is too long for the indexes on it."""
    size = len(document.url.encode())
    if size > MAX_URL_BYTES:
        raise Invalid(
            f"its URL has {size:,} bytes, and at most {MAX_URL_BYTES:,} are allowed; shorten its path"
        )


def check_url_owner(document: NewDocument, known: Mapping[str, RegisteredDocument]) -> None:
    """Raise `Invalid` if another system has a document with this URL.

    The URL of another system's deleted document may be reused, unless the new document has a row of its own
    already.
    """
    owner = known.get(document.url)
    if owner is None or owner.system == document.system:
        return
    if not owner.is_deleted or document_ref(document) in known:
        raise Invalid(
            f"the source system {owner.system!r} already has a document with this URL, which stays as it is:"
            " delete that one, or give this one another URL"
        )


def document_ref(document: NewDocument, document_id: DocumentId | None = None) -> GlobalRef:
    """Return the document's reference. For a file it contains the document's id, so that two folders may hold one name."""
    own = document.source_id if document.system != "file" else str(document_id)
    return global_ref(document.system, document.kind, own)

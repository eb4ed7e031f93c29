"""Renamed files: a document that has another path now, and stays the same document."""

from psycopg.types.json import Jsonb

from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Connection
from lightwell.records.documents import index_descriptions
from lightwell.records.documents.publishing import mark_profiles_stale
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch_values

# Tags must be equal: nobody may get a document that they could not see before, or learn from its id that it existed.
_RENAME = """
UPDATE source_documents AS document
SET source_url = %(url)s, source_id = %(source_id)s, raw_payload = %(raw_payload)s
WHERE document.document_id = %(id)s
  AND document.project_id = %(project_id)s AND document.source_system = %(system)s
  AND document.status = 'active' AND NOT document.is_deleted
  AND document.content_hash = %(hash)s AND document.format = %(format)s AND document.acl_tags = %(tags)s
  AND NOT EXISTS (SELECT FROM source_documents AS other
                  WHERE other.project_id = document.project_id AND other.source_url = %(url)s)
RETURNING document.title
"""


async def rename(
    connection: Connection, project_id: ProjectId, document_id: DocumentId, document: NewDocument
) -> str | None:
    """Give a published document another URL, and return its title.

    Returns None and changes nothing unless system, content, format and access tags are equal and no other
    document, not even a deleted one, has or had the new URL.
    """
    await lock_project(connection, project_id)
    fields = {
        "id": document_id,
        "project_id": project_id,
        "url": document.url,
        "source_id": document.source_id,
        "raw_payload": Jsonb(dict(document.raw_payload)),
        "system": document.system,
        "hash": document.content_hash,
        "format": document.format.value,
        "tags": sorted(document.acl_tags),
    }
    titles = await fetch_values(connection, _RENAME, fields)
    if not titles:
        return None
    await mark_profiles_stale(connection, project_id, [document_id])
    await index_descriptions.note(connection, project_id, [document_id])
    return titles[0]

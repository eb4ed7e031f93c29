"""What decides who sees a document, for administrators."""

from lightwell.domain.access_explanations import DocumentAccess
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Database

_ACCESS = """
SELECT document_id, source_url, acl_tags, status, is_deleted FROM source_documents
WHERE project_id = %(project_id)s
  AND (document_id::text = %(name)s OR global_ref = %(name)s OR source_url = %(name)s)
"""


async def find_document_access(
    database: Database, project_id: ProjectId, name: str
) -> DocumentAccess | None:
    """Return the access of the document with this id, reference or URL, None for no document. It takes no reader."""
    rows = await database.rows(_ACCESS, {"project_id": project_id, "name": name})
    if not rows:
        return None
    document_id, url, tags, state, deleted = rows[0]
    return DocumentAccess(
        id=DocumentId(document_id),
        url=url,
        acl_tags=frozenset(tags),
        state=state,
        deleted=deleted,
    )

"""Documents of which an index of vectors must write again what it keeps beside their passages."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Connection, Database

_NOTE = """
INSERT INTO index_descriptions (document_id, project_id)
SELECT document_id, %(project_id)s FROM unnest(%(documents)s::uuid[]) AS given (document_id) ORDER BY document_id
ON CONFLICT (document_id) DO UPDATE SET change_id = DEFAULT
"""

_LIST = """
SELECT document_id, change_id AS change FROM index_descriptions WHERE project_id = %(project_id)s ORDER BY change_id LIMIT %(limit)s
"""

_DELETE = """
WITH done AS (
    SELECT change.document_id FROM index_descriptions AS change
    JOIN unnest(%(documents)s::uuid[], %(changes)s::bigint[]) AS given (document_id, change_id) USING (document_id, change_id)
    ORDER BY change.document_id FOR UPDATE OF change
)
DELETE FROM index_descriptions USING done WHERE index_descriptions.document_id = done.document_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDescription:
    """A document and the number of its change."""

    document_id: DocumentId
    change: int


async def note(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Record that what is said of these documents changed, and their passages stayed."""
    await connection.execute(_NOTE, {"project_id": project_id, "documents": list(documents)})


async def list_open(
    database: Database, project_id: ProjectId, *, limit: int
) -> list[ChangedDescription]:
    """Return up to `limit` changes that the index has not followed, the earliest first."""
    parameters = {"project_id": project_id, "limit": limit}
    return await database.rows(_LIST, parameters, into=ChangedDescription)


async def forget(database: Database, changes: Sequence[ChangedDescription]) -> None:
    """Delete changes that the index has followed; documents that changed again since stay open."""
    facts = {
        "documents": [change.document_id for change in changes],
        "changes": [change.change for change in changes],
    }
    await database.execute(_DELETE, facts)

"""Hard deletion: asked for with the tombstone, in one transaction, and carried out in a second one.

Whoever dies in between leaves the request, and the next ingestion, correction or worker carries it out.
"""

from collections.abc import Sequence

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records import conversations, statistics
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.documents import documents, purge
from lightwell.records.documents.publishing import retire
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.llm_cache import cache
from lightwell.records.locks import lock_project

_REQUEST = (
    "UPDATE source_documents SET erase_requested = true WHERE document_id = ANY(%(documents)s)"
)

_REQUESTED = """
SELECT EXISTS (SELECT FROM source_documents WHERE project_id = %(project_id)s AND erase_requested AND is_deleted)
"""

# One that was ingested again meanwhile is no tombstone any more.
_TOMBSTONES = """
SELECT document_id FROM source_documents WHERE project_id = %(project_id)s AND erase_requested AND is_deleted
ORDER BY document_id FOR UPDATE
"""

_ERASE = "DELETE FROM source_documents WHERE document_id = ANY(%(documents)s)"


async def tombstone(
    connection: Connection, project_id: ProjectId, document_ids: Sequence[DocumentId]
) -> None:
    """Empty these documents of all they said, and have their references and URLs erased, should they not come back."""
    await documents.tombstone(connection, project_id, document_ids)
    await connection.execute(_REQUEST, {"documents": list(document_ids)})


async def finish_requested(database: Database, project_id: ProjectId) -> None:
    """Remove the tombstones whose erasure was requested, with all that only they had: references, URLs, jobs, names."""
    if (await database.rows(_REQUESTED, {"project_id": project_id}))[0][0]:
        await _erase(database, project_id)
        await statistics.refresh(database)


@repeatable
async def _erase(database: Database, project_id: ProjectId) -> None:
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        rows = await (await connection.execute(_TOMBSTONES, {"project_id": project_id})).fetchall()
        gone = [DocumentId(row[0]) for row in rows]
        await conversations.forget_uncited(connection, project_id, gone)
        await cache.forget_questions(connection, project_id)
        await retire(connection, project_id, gone, staged=True)
        await purge.forget_splits(connection, project_id, gone)
        await connection.execute(_ERASE, {"documents": gone})
        await refresh_all(connection, project_id)
        await purge.delete_unused_names(connection, project_id)

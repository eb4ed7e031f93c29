"""Hard deletion: requested together with the tombstone in one transaction, and carried out in a second one.

If the process dies in between, the request remains, and the next ingestion, correction or worker carries it
out.
"""

from collections.abc import Sequence

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records import (
    channel_buttons,
    channel_chats,
    conversations,
    planner_statistics,
    pushes,
)
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.documents import documents, item_merges, purge
from lightwell.records.documents.publishing import unpublish
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.llm_cache import cache
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch_values

_REQUEST = (
    "UPDATE source_documents SET erase_requested = true WHERE document_id = ANY(%(documents)s)"
)

_REQUESTED = """
SELECT EXISTS (SELECT FROM source_documents WHERE project_id = %(project_id)s AND erase_requested AND is_deleted)
"""

# A document that was ingested again meanwhile is not a tombstone any more.
_TOMBSTONES = """
SELECT document_id FROM source_documents WHERE project_id = %(project_id)s AND erase_requested AND is_deleted
ORDER BY document_id FOR UPDATE
"""

# The tags that `--acl` gave to a single file are remembered by its URL.
_FORGET_TAGS = """
DELETE FROM folder_tags USING source_documents AS document
WHERE document.document_id = ANY(%(documents)s) AND folder_tags.project_id = document.project_id
  AND folder_tags.folder_url = document.source_url
"""

_ERASE = "DELETE FROM source_documents WHERE document_id = ANY(%(documents)s)"


async def request(
    connection: Connection, project_id: ProjectId, document_ids: Sequence[DocumentId]
) -> None:
    """Delete the content of these documents and request the erasure of their references and URLs."""
    await documents.tombstone(connection, project_id, document_ids)
    await connection.execute(_REQUEST, {"documents": list(document_ids)})


async def finish_requested(database: Database, project_id: ProjectId) -> None:
    """Remove the tombstones with a requested erasure and all that only they had: references, URLs, jobs, names."""
    if await database.value(_REQUESTED, {"project_id": project_id}):
        await _erase(database, project_id)
        await planner_statistics.clear(database)


@repeatable
async def _erase(database: Database, project_id: ProjectId) -> None:
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        tombstones: list[DocumentId] = await fetch_values(
            connection, _TOMBSTONES, {"project_id": project_id}
        )
        await conversations.delete_uncited_exchanges(connection, project_id, tombstones)
        await channel_buttons.delete_naming(connection, project_id, tombstones)
        await channel_chats.forget_picks(connection, project_id, tombstones)
        await cache.delete_keyword_replies(connection, project_id)
        await unpublish(connection, project_id, tombstones, staged=True)
        await purge.delete_splits_of(connection, project_id, tombstones)
        await item_merges.forget_names(connection, project_id, tombstones)
        await pushes.forget(connection, tombstones)
        await connection.execute(_FORGET_TAGS, {"documents": tombstones})
        await connection.execute(_ERASE, {"documents": tombstones})
        await refresh_all(connection, project_id)
        await purge.delete_unused_names(connection, project_id)

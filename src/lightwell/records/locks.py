"""The order in which transactions lock, so that no two wait for each other in a circle.

1. The project's publishing lock: for whatever registers, publishes, moves, deletes, refreshes, merges or edits. It
   keeps counts and graph exact (docs/decisions/0002), and which documents there are is decided under it alone.
2. `ingestion_jobs`: whoever writes for a job, or cancels it, locks the job before its document.
3. `source_documents`, then `document_chunks`, then what hangs on chunks: vectors, terms, mentions, cached replies.
4. The graph: entities, relations, `stale_profiles`, profiles, and the marks on profiles.

Several rows of one table are locked in the order of their keys. No transaction waits for a second connection, so none
asks an index or a model. `tests/flow/test_load.py` lets everything write at once and counts PostgreSQL's deadlocks.
"""

from typing import LiteralString

from lightwell.domain.ids import ProjectId
from lightwell.records.database import Connection

PUBLISHING_LOCK: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended('publish ' || %(project_id)s::text, 0))
"""
"""The first statement of a transaction that needs it, held to the transaction's end."""


async def lock_project(connection: Connection, project_id: ProjectId) -> None:
    """Hold the project's publishing lock to the end of the transaction that this begins."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})

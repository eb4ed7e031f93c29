"""The order in which transactions take locks, so that no two wait for each other in a cycle.

1. The project's publishing lock: for every transaction that registers, publishes, moves, deletes, refreshes, merges or edits.
   It keeps counts and graph exact (docs/decisions/0002), and only its holder adds or removes documents.
2. `ingestion_jobs`: a transaction that writes for a job, or cancels it, locks the job before its document.
3. `source_documents`, then `document_chunks`, then what depends on chunks: vectors, terms, mentions, cached replies.
4. The graph: entities, relations, `stale_profiles`, profiles, and the queues of profiles.

Rows of one table are locked in the order of their keys. No transaction waits for a second connection, so none
calls an index or a model. `tests/flow/test_load.py` runs all writers concurrently and counts PostgreSQL's
deadlocks.
"""

import os
import socket
from dataclasses import dataclass
from typing import LiteralString

from lightwell.domain.ids import ProjectId, new_id
from lightwell.records.database import Connection

LEASE_SECONDS = 30.0

PUBLISHING_LOCK: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended('publish ' || %(project_id)s::text, 0))
"""
"""The first statement of a transaction that needs the lock, which is held to the transaction's end."""


async def lock_project(connection: Connection, project_id: ProjectId) -> None:
    """Take the project's publishing lock, as the first statement of a transaction, until its end."""
    await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """A worker as the holder of leases, on jobs or on a source: after `seconds` without a heartbeat, other workers may take
    over what it holds.
    """

    name: str
    seconds: float


def new_lease_holder(seconds: float = LEASE_SECONDS) -> LeaseHolder:
    """Return a worker with a unique name. After `seconds` without a heartbeat, others may take over its jobs."""
    return LeaseHolder(name=f"{socket.gethostname()}:{os.getpid()}:{new_id()}", seconds=seconds)

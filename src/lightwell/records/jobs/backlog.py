"""The open jobs that nobody works on, page by page, for a backfill that hands them out."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Database

_PAGE = """
SELECT document_id, created_at, id FROM ingestion_jobs
WHERE project_id = %(project_id)s AND status IN ('queued', 'chunking', 'embedding', 'extracting')
  AND lease_is_over(leased_until)
  AND (%(id)s::uuid IS NULL OR (created_at, id) > (%(created_at)s::timestamptz, %(id)s::uuid))
ORDER BY created_at, id
LIMIT %(limit)s
"""

_ENDED = """
SELECT count(*) FILTER (WHERE status = 'complete') AS done, count(*) FILTER (WHERE status = 'failed') AS failed,
       coalesce(sum(total_chunks) FILTER (WHERE status = 'complete'), 0) AS chunks
FROM ingestion_jobs
WHERE project_id = %(project_id)s AND completed_at >= %(since)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a job in the backlog: jobs are listed from the oldest to the newest."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Documents with an open job whose lease is free or has expired; the next page begins after `last`."""

    documents: tuple[DocumentId, ...]
    last: Place


async def list_claimable(
    database: Database, project_id: ProjectId, after: Place | None, *, limit: int
) -> Page | None:
    """Return the next documents that a worker could claim, None where there are no more. It claims nothing."""
    parameters = {
        "project_id": project_id,
        "created_at": None if after is None else after.created_at,
        "id": None if after is None else after.id,
        "limit": limit,
    }
    rows = await database.rows(_PAGE, parameters)
    if not rows:
        return None
    _, created_at, job_id = rows[-1]
    documents = tuple(document_id for document_id, _, _ in rows)
    return Page(documents=documents, last=Place(created_at=created_at, id=job_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How many jobs ended well, how many failed, and how many chunks their documents have."""

    done: int
    failed: int
    chunks: int


async def count_ended(database: Database, project_id: ProjectId, since: datetime) -> Ended:
    """Count the jobs that have ended since then, whoever did them."""
    return (await database.rows(_ENDED, {"project_id": project_id, "since": since}, into=Ended))[0]

"""Ingestion runs: one sync of one source, from start to end."""

from lightwell.domain.ids import ProjectId, RunId, new_id
from lightwell.records.database import Database

_BEGIN = """
INSERT INTO ingestion_runs (run_id, project_id, source_system, status)
VALUES (%(run)s, %(project_id)s, %(system)s, 'running')
"""

_END = """
UPDATE ingestion_runs
SET finished_at = now(), status = %(status)s, inserted = %(inserted)s, updated = %(updated)s,
    deleted = %(deleted)s, error_summary = %(errors)s
WHERE run_id = %(run)s
"""


async def begin(database: Database, project_id: ProjectId, system: str) -> RunId:
    """Write down that a sync has begun."""
    run = RunId(new_id())
    await database.run(_BEGIN, {"run": run, "project_id": project_id, "system": system})
    return run


async def end(
    database: Database, run: RunId, *, inserted: int, updated: int, deleted: int, errors: str
) -> None:
    """Write down how a sync ended; `errors` is "" when it ended well."""
    await database.run(
        _END,
        {
            "run": run,
            "status": "failed" if errors else "complete",
            "inserted": inserted,
            "updated": updated,
            "deleted": deleted,
            "errors": errors,
        },
    )

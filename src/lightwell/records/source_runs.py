"""Runs of a source: one row per sync, whose counts grow with each page that is stored."""

from dataclasses import asdict

from lightwell.domain.business_systems import Source, SourceCounts, SourceId, SourceRun
from lightwell.domain.ids import RunId, new_id
from lightwell.records.database import Connection, Database, repeatable

# Whoever holds the lease is the only one that syncs: what still runs was interrupted.
_INTERRUPTED = """
UPDATE ingestion_runs SET status = 'failed', finished_at = now(), error_summary = 'the process that synced ended'
WHERE source_key = %(source)s AND status = 'running' AND (%(is_alone)s OR started_at < now() - interval '1 day')
"""

_BEGIN = """
INSERT INTO ingestion_runs (run_id, project_id, source_system, scope, status, source_key)
VALUES (%(run)s, %(project_id)s, %(system)s, %(name)s, 'running', %(source)s)
"""

_ADD = """
UPDATE ingestion_runs
SET inserted = inserted + %(inserted)s, updated = updated + %(updated)s, deleted = deleted + %(deleted)s,
    unchanged = unchanged + %(unchanged)s, unreadable = unreadable + %(unreadable)s
WHERE run_id = %(run)s
"""

_END = """
UPDATE ingestion_runs
SET finished_at = now(), status = CASE WHEN %(error)s::text = '' THEN 'complete' ELSE 'failed' END, error_summary = %(error)s
WHERE run_id = %(run)s
"""

_LIST = """
SELECT run_id AS id, status AS state, started_at, finished_at, error_summary AS error, inserted AS "counts.inserted",
       updated AS "counts.updated", deleted AS "counts.deleted", unchanged AS "counts.unchanged",
       unreadable AS "counts.unreadable"
FROM ingestion_runs WHERE source_key = %(source)s ORDER BY run_id DESC LIMIT %(limit)s
"""


@repeatable
async def begin(database: Database, source: Source, *, is_alone: bool = True) -> RunId:
    """Store the start of a sync, and the end of any that a crash interrupted; return the run's id.

    Pushes go on beside one another, and are not alone: of these, a crash has interrupted those of yesterday.
    """
    run = RunId(new_id())
    fields = {
        "run": run,
        "project_id": source.project_id,
        "system": source.system,
        "name": source.name,
        "source": source.id,
        "is_alone": is_alone,
    }
    async with database.transaction() as connection:
        await connection.execute(_INTERRUPTED, fields)
        await connection.execute(_BEGIN, fields)
    return run


async def add_counts(connection: Connection, run: RunId, counts: SourceCounts) -> None:
    """Add what a page did to the run, in the page's transaction."""
    await connection.execute(_ADD, {"run": run, **asdict(counts)})


async def end(database: Database, run: RunId, error: str) -> None:
    """Store the end of a sync; `error` is "" if it succeeded."""
    await database.execute(_END, {"run": run, "error": error})


async def list_latest(database: Database, source: SourceId, *, limit: int) -> list[SourceRun]:
    """Return the latest runs, the last one first. It is for administrators: the counts are of all documents."""
    return await database.rows(_LIST, {"source": source, "limit": limit}, into=SourceRun)

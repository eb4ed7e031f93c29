"""Ingestion runs: one sync of one source, the documents that it changed, and the cursor where it ended."""

from collections.abc import Sequence
from datetime import datetime

from lightwell.domain.access import Reader
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import DocumentId, ProjectId, RunId, new_id
from lightwell.domain.jobs import Cursor, Run, RunChange, RunState
from lightwell.records.database import Connection, Database

_BEGIN = """
INSERT INTO ingestion_runs (run_id, project_id, source_system, scope, status)
VALUES (%(run)s, %(project_id)s, %(system)s, %(scope)s, 'running')
RETURNING started_at
"""

_NOTE = """
INSERT INTO ingestion_run_documents (run_id, document_id, change)
SELECT %(run)s, document_id, %(change)s FROM unnest(%(documents)s::uuid[]) AS given (document_id)
ON CONFLICT (document_id, run_id) DO UPDATE SET change = excluded.change
"""

_END = """
UPDATE ingestion_runs
SET finished_at = now(), status = %(status)s, inserted = %(inserted)s, updated = %(updated)s,
    deleted = %(deleted)s, error_summary = %(errors)s
WHERE run_id = %(run)s
"""

_MOVE_CURSOR = """
INSERT INTO ingestion_cursors (project_id, source_system, cursor_key, cursor_value)
VALUES (%(project_id)s, %(system)s, %(key)s, %(value)s)
ON CONFLICT (project_id, source_system, cursor_key)
DO UPDATE SET cursor_value = excluded.cursor_value, updated_at = now()
"""

_RUNS = """
SELECT run.run_id AS id, run.source_system AS system, run.scope, run.status AS state, run.started_at, run.finished_at,
       count(*) FILTER (WHERE noted.change = 'inserted' AND document.status <> 'failed') AS inserted,
       count(*) FILTER (WHERE noted.change = 'updated' AND document.status <> 'failed') AS updated,
       count(*) FILTER (WHERE noted.change = 'deleted') AS deleted, run.error_summary AS error,
       count(*) FILTER (WHERE noted.change <> 'deleted' AND document.status = 'failed') AS failed
FROM ingestion_runs AS run
JOIN ingestion_run_documents AS noted USING (run_id)
JOIN source_documents AS document USING (document_id)
WHERE run.project_id = %(project_id)s AND sees(%(classes)s, document.class_id)
  AND (%(run)s::uuid IS NULL OR run.run_id = %(run)s) AND (%(before)s::uuid IS NULL OR run.run_id < %(before)s)
GROUP BY run.run_id
ORDER BY run.run_id DESC LIMIT %(limit)s
"""

# Where the streams of a business system stand tells of items that the reader does not see, so a source of one stands where the
# reader's own documents do.
_CURSORS = """
SELECT cursor.source_system AS system, cursor.cursor_key AS key, cursor.cursor_value AS value, cursor.updated_at
FROM ingestion_cursors AS cursor
WHERE cursor.project_id = %(project_id)s
  AND EXISTS (SELECT FROM source_documents AS document
              WHERE document.project_id = cursor.project_id AND document.source_system = cursor.source_system
                AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
                AND starts_with(document.source_url, cursor.cursor_key))
UNION ALL
SELECT source.system, source.name, to_char(max(document.updated_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
       max(document.ingested_at)
FROM sources AS source JOIN source_documents AS document ON document.source_key = source.source_id
WHERE source.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
  AND document.ingested_at IS NOT NULL
GROUP BY source.source_id
ORDER BY 1, 2
"""


async def begin(
    database: Database, project_id: ProjectId, system: str, scope: str
) -> tuple[RunId, datetime]:
    """Store the start of a sync; return the run's id and start time."""
    run = RunId(new_id())
    fields = {"run": run, "project_id": project_id, "system": system, "scope": scope}
    return run, await database.value(_BEGIN, fields)


async def record_changes(
    connection: Connection, run: RunId, documents: Sequence[DocumentId], change: RunChange
) -> None:
    """Store how a run changed these documents, in the transaction that changes them."""
    if documents:
        fields = {"run": run, "documents": list(documents), "change": change.value}
        await connection.execute(_NOTE, fields)


async def end(
    database: Database, run: RunId, *, inserted: int, updated: int, deleted: int, errors: str
) -> None:
    """Store the end of a sync; `errors` is "" if it succeeded."""
    await database.execute(
        _END,
        {
            "run": run,
            "status": RunState.FAILED.value if errors else RunState.COMPLETE.value,
            "inserted": inserted,
            "updated": updated,
            "deleted": deleted,
            "errors": errors,
        },
    )


async def store_cursor(
    database: Database, project_id: ProjectId, system: str, key: str, value: str
) -> None:
    """Store the position of the last complete sync of this part of a source."""
    fields = {"project_id": project_id, "system": system, "key": key, "value": value}
    await database.execute(_MOVE_CURSOR, fields)


async def list_page(
    database: Database, reader: Reader, *, before: RunId | None, limit: int
) -> list[Run]:
    """Return up to `limit` runs that changed documents which the reader sees, the latest first, those before `before`."""
    parameters = {**reader.parameters, "run": None, "before": before, "limit": limit}
    return await database.rows(_RUNS, parameters, into=Run)


async def get(database: Database, reader: Reader, run: RunId) -> Run:
    """Return a run that changed documents which the reader sees; raise `NotFound`."""
    parameters = {**reader.parameters, "run": run, "before": None, "limit": 1}
    stored = await database.row(_RUNS, parameters, into=Run)
    if stored is None:
        raise NotFound(f"There is no run {run} that you may see")
    return stored


async def list_cursors(database: Database, reader: Reader) -> list[Cursor]:
    """Return the cursors of sources of which the reader sees a document, by system and key."""
    return await database.rows(_CURSORS, reader.parameters, into=Cursor)

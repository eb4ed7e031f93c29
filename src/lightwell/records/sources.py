"""Business systems as sources: their rows, the lease under which one process syncs each, and their cursors."""

from typing import LiteralString

from psycopg.types.json import Jsonb

from lightwell.domain.business_systems import (
    NewSource,
    Source,
    SourceChange,
    SourceId,
    StreamPosition,
)
from lightwell.domain.errors import Invalid, LeaseLost, NotFound
from lightwell.domain.ids import ProjectId, new_id
from lightwell.records.database import Connection, Database
from lightwell.records.locks import LeaseHolder

_COLUMNS: LiteralString = """
source_id AS id, project_id, name, system, options, every_seconds, sweep_seconds, adds_people, next_sync_at, next_sweep_at,
next_sync_at <= now() AS is_sync_due, next_sweep_at <= now() AS is_sweep_due, directory_due AS is_directory_due, is_paused,
coalesce(leased_until > now(), false) AS is_running, last_error AS error, sweep_warning AS warning,
failures_in_row AS failures, created_at, allows_mass_deletion, tag_scope, asked_at
"""

_INSERT = f"""
INSERT INTO sources (source_id, project_id, name, system, options, every_seconds, sweep_seconds, adds_people, tag_scope)
SELECT %(id)s, %(project_id)s, %(name)s, %(system)s, %(options)s, %(every)s, %(sweep)s, %(adds_people)s,
       CASE WHEN EXISTS (SELECT FROM sources WHERE project_id = %(project_id)s AND system = %(system)s)
            THEN %(name)s ELSE '' END
ON CONFLICT (project_id, name) DO NOTHING
RETURNING {_COLUMNS}
"""  # noqa: S608 - only our own words

_LIST = f"SELECT {_COLUMNS} FROM sources WHERE project_id = %(project_id)s ORDER BY name"  # noqa: S608 - only our own words

_FIND = f"""
SELECT {_COLUMNS} FROM sources WHERE project_id = %(project_id)s AND (name = %(name)s OR source_id::text = %(name)s)
"""  # noqa: S608 - only our own words

_BY_ID = f"SELECT {_COLUMNS} FROM sources WHERE source_id = %(source)s"  # noqa: S608 - only our own words

# A source is due when its time has come, or when something is to be fetched at once. A paused one is never due, and one that programs push into.
_IS_DUE: LiteralString = """
NOT is_paused AND system <> 'push' AND lease_is_over(leased_until)
AND (next_sync_at <= now() OR (failures_in_row = 0 AND (directory_due OR EXISTS (
    SELECT FROM item_fetches AS wanted WHERE wanted.source_id = sources.source_id AND wanted.due_at <= now()))))
"""

_DUE = f"""
SELECT {_COLUMNS} FROM sources WHERE project_id = %(project_id)s AND {_IS_DUE} ORDER BY next_sync_at, source_id
"""  # noqa: S608 - only our own words

_DUE_PROJECTS = f"""
SELECT DISTINCT projects.name, projects.project_id
FROM sources JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s AND {_IS_DUE}
ORDER BY projects.name
"""  # noqa: S608 - only our own words

_SET_PAUSED = """
UPDATE sources SET is_paused = %(paused)s, next_sync_at = CASE WHEN %(paused)s THEN next_sync_at ELSE now() END
WHERE source_id = %(source)s
"""

_SYNC_NOW = """
UPDATE sources SET next_sync_at = now(), failures_in_row = 0, asked_at = now(),
    next_sweep_at = CASE WHEN %(sweep)s THEN now() ELSE next_sweep_at END,
    allows_mass_deletion = allows_mass_deletion OR %(mass_deletion)s
WHERE source_id = %(source)s
"""

_NOTE_ASKED = "UPDATE sources SET asked_at = now() WHERE source_id = %(source)s"

_CHANGE = """
UPDATE sources
SET options = coalesce(%(options)s, options), adds_people = coalesce(%(adds_people)s, adds_people),
    every_seconds = coalesce(%(every)s, every_seconds), sweep_seconds = coalesce(%(sweep)s, sweep_seconds),
    next_sync_at = least(next_sync_at, now() + make_interval(secs => coalesce(%(every)s, every_seconds))),
    next_sweep_at = least(next_sweep_at, now() + make_interval(secs => coalesce(%(sweep)s, sweep_seconds)))
WHERE source_id = %(source)s
"""

_COUNT_WEBHOOK = """
UPDATE sources
SET webhooks_taken = webhooks_taken + CASE WHEN %(is_new)s THEN 1 ELSE 0 END,
    webhooks_repeated = webhooks_repeated + CASE WHEN %(is_new)s THEN 0 ELSE 1 END
WHERE source_id = %(source)s
"""

_DELETE = "DELETE FROM sources WHERE source_id = %(source)s"

_ACQUIRE = f"""
UPDATE sources
SET leased_by = %(worker)s, leased_until = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE source_id = %(source)s AND lease_is_over(leased_until)
RETURNING {_COLUMNS}
"""  # noqa: S608 - only our own words

_RENEW = """
UPDATE sources SET leased_until = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE source_id = %(source)s AND leased_by = %(worker)s AND leased_until > now()
"""

_RELEASE = """
UPDATE sources SET leased_by = NULL, leased_until = NULL WHERE source_id = %(source)s AND leased_by = %(worker)s
"""

_SUCCEEDED = """
UPDATE sources
SET last_error = '', failures_in_row = 0,
    next_sync_at = CASE WHEN %(was_full)s THEN now() + make_interval(secs => every_seconds) ELSE next_sync_at END
WHERE source_id = %(source)s AND leased_by = %(worker)s
"""

# After a failure the next try waits twice as long each time, from a minute to an hour.
_FAILED = """
UPDATE sources
SET last_error = %(error)s, failures_in_row = failures_in_row + 1,
    next_sync_at = now() + make_interval(secs => least(3600, 60 * 2 ^ least(failures_in_row, 6)))
WHERE source_id = %(source)s AND leased_by = %(worker)s
"""

_SWEPT = """
UPDATE sources
SET sweep_warning = %(warning)s, allows_mass_deletion = false, next_sweep_at = now() + make_interval(secs => sweep_seconds)
WHERE source_id = %(source)s
"""

_REQUEST_DIRECTORY = "UPDATE sources SET directory_due = true WHERE source_id = %(source)s"

_DIRECTORY_READ = """
UPDATE sources SET directory_due = false WHERE source_id = %(source)s
"""

_CURSORS = """
SELECT stream, cursor, updated_at FROM source_cursors WHERE source_id = %(source)s ORDER BY stream
"""

_STORE_CURSOR = """
INSERT INTO source_cursors (source_id, stream, cursor) VALUES (%(source)s, %(stream)s, %(cursor)s)
ON CONFLICT (source_id, stream) DO UPDATE SET cursor = excluded.cursor, updated_at = now()
"""

_FORGET_CURSORS = "DELETE FROM source_cursors WHERE source_id = %(source)s"


async def create(database: Database, project_id: ProjectId, source: NewSource) -> Source:
    """Store a new source, which is due at once; raise `Invalid` where the project has one of this name."""
    fields: dict[str, object] = {
        "id": new_id(),
        "project_id": project_id,
        "name": source.name,
        "system": source.system,
        "options": Jsonb(dict(source.options)),
        "every": source.every_seconds,
        "sweep": source.sweep_seconds,
        "adds_people": source.adds_people,
    }
    stored = await database.row(_INSERT, fields, into=Source)
    if stored is None:
        raise Invalid(f"This project has a source {source.name!r} already; choose another name")
    return stored


async def list_all(database: Database, project_id: ProjectId) -> list[Source]:
    """Return the project's sources by name."""
    return await database.rows(_LIST, {"project_id": project_id}, into=Source)


async def get(database: Database, project_id: ProjectId, name: str) -> Source:
    """Return the project's source of this name or id; raise `NotFound`."""
    source = await database.row(_FIND, {"project_id": project_id, "name": name}, into=Source)
    if source is None:
        raise NotFound(f"There is no source {name!r}")
    return source


async def find_by_id(database: Database, source: SourceId) -> Source | None:
    """Return the source of any project, None where there is none."""
    return await database.row(_BY_ID, {"source": source}, into=Source)


async def list_due(database: Database, project_id: ProjectId) -> list[Source]:
    """Return the project's sources that should be synced now and that no process syncs, the longest due first."""
    return await database.rows(_DUE, {"project_id": project_id}, into=Source)


async def list_due_projects(database: Database, tenant: str) -> list[tuple[str, ProjectId]]:
    """Return the names and ids of the tenant's projects with a source that is due."""
    rows = await database.rows(_DUE_PROJECTS, {"tenant": tenant})
    return [(name, ProjectId(project_id)) for name, project_id in rows]


async def set_paused(database: Database, source: SourceId, *, is_paused: bool) -> None:
    """Pause a source, or go on; a source that goes on is due at once."""
    await database.execute(_SET_PAUSED, {"source": source, "paused": is_paused})


async def change(database: Database, source: SourceId, change: SourceChange) -> None:
    """Change a source; the next sync and sweep come no later than its new intervals say."""
    fields = {
        "source": source,
        "options": None if change.options is None else Jsonb(dict(change.options)),
        "every": change.every_seconds,
        "sweep": change.sweep_seconds,
        "adds_people": change.adds_people,
    }
    await database.execute(_CHANGE, fields)


async def request_sync(
    database: Database,
    source: SourceId,
    *,
    with_sweep: bool = False,
    allows_mass_deletion: bool = False,
) -> None:
    """Make a source due now, also after failures; `with_sweep` looks for deletions, too.

    With `allows_mass_deletion` the next sweep may remove any number of items.
    """
    fields = {
        "source": source,
        "sweep": with_sweep or allows_mass_deletion,
        "mass_deletion": allows_mass_deletion,
    }
    await database.execute(_SYNC_NOW, fields)


async def note_asked(database: Database, source: SourceId) -> None:
    """Record that a person asks for a sync now."""
    await database.execute(_NOTE_ASKED, {"source": source})


async def count_webhook(connection: Connection, source: SourceId, *, is_new: bool) -> None:
    """Count a genuine webhook, as taken or as a repetition."""
    await connection.execute(_COUNT_WEBHOOK, {"source": source, "is_new": is_new})


async def delete(database: Database, source: SourceId) -> None:
    """Delete the source's row with its groups, cursors and fetches; its documents stay, without a source."""
    await database.execute(_DELETE, {"source": source})


async def acquire(database: Database, source: SourceId, worker: LeaseHolder) -> Source | None:
    """Take the lease on a source and return it as it is now; None while another process has the lease."""
    return await database.row(_ACQUIRE, _lease(source, worker), into=Source)


async def renew(database: Database, source: SourceId, worker: LeaseHolder) -> None:
    """Renew the lease; whoever has lost it learns so from `renew_or_raise`."""
    await database.execute(_RENEW, _lease(source, worker))


async def release(database: Database, source: SourceId, worker: LeaseHolder) -> None:
    """Give the lease back, so that others may sync the source."""
    await database.execute(_RELEASE, _lease(source, worker))


async def renew_or_raise(connection: Connection, source: SourceId, worker: LeaseHolder) -> None:
    """Renew the lease within a transaction; raise `LeaseLost` where another process has it or the source is gone."""
    renewed = await connection.execute(_RENEW, _lease(source, worker))
    if not renewed.rowcount:
        raise LeaseLost("Another process syncs this source now")


async def record_success(
    database: Database, source: SourceId, worker: LeaseHolder, *, was_full: bool
) -> None:
    """Store that a sync has succeeded; after a full one, the next is due after the source's interval."""
    await database.execute(_SUCCEEDED, {**_lease(source, worker), "was_full": was_full})


async def record_failure(
    database: Database, source: SourceId, worker: LeaseHolder, error: str
) -> None:
    """Store why a sync failed, and when to try again."""
    await database.execute(_FAILED, {**_lease(source, worker), "error": error})


async def record_sweep(connection: Connection, source: SourceId, warning: str) -> None:
    """Store that a sweep has ended, and what it did not remove."""
    await connection.execute(_SWEPT, {"source": source, "warning": warning})


async def request_directory(connection: Connection, source: SourceId) -> None:
    """Remember that people or groups may have changed."""
    await connection.execute(_REQUEST_DIRECTORY, {"source": source})


async def note_directory_read(database: Database, source: SourceId) -> None:
    """Remember that people and groups are about to be read, so that a later change requests it again."""
    await database.execute(_DIRECTORY_READ, {"source": source})


async def list_cursors(database: Database, source: SourceId) -> list[StreamPosition]:
    """Return where each stream goes on."""
    return await database.rows(_CURSORS, {"source": source}, into=StreamPosition)


async def store_cursor(connection: Connection, source: SourceId, stream: str, cursor: str) -> None:
    """Store where a stream goes on, in the transaction that stores what came before."""
    fields = {"source": source, "stream": stream, "cursor": cursor}
    await connection.execute(_STORE_CURSOR, fields)


async def forget_cursors(database: Database, source: SourceId) -> None:
    """Let every stream begin anew; unchanged items then cost one comparison each."""
    await database.execute(_FORGET_CURSORS, {"source": source})


def _lease(source: SourceId, worker: LeaseHolder) -> dict[str, object]:
    return {"source": source, "worker": worker.name, "seconds": worker.seconds}

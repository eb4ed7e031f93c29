"""The number and choice of sources in a profile: one rule per project, so that every worker derives the same profiles."""

from typing import LiteralString

from lightwell.domain.graph import SourceRetention
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch

_READ = """
SELECT max_source_ids AS limit, source_id_strategy AS strategy FROM projects WHERE project_id = %(project_id)s
"""

_WRITE = """
UPDATE projects SET max_source_ids = %(limit)s, source_id_strategy = %(strategy)s
WHERE project_id = %(project_id)s AND (max_source_ids, source_id_strategy) IS DISTINCT FROM (%(limit)s, %(strategy)s)
RETURNING project_id
"""

_STALE = """
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT profile.subject_id, profile.class_id, class.project_id, profile.subject, 0
FROM profiles AS profile JOIN access_classes AS class USING (class_id)
WHERE class.project_id = %(project_id)s
ORDER BY profile.subject_id, profile.class_id
ON CONFLICT (project_id, subject_id, class_id) DO NOTHING
"""

LIMIT_OF_PROJECT: LiteralString = (
    "(SELECT max_source_ids FROM projects WHERE project_id = %(project_id)s)"
)
"""The project's limit, as SQL for a LIMIT; needs the parameter `project_id`."""

KEPT_FIRST: LiteralString = """
    CASE WHEN (SELECT source_id_strategy = 'KEEP' FROM projects WHERE project_id = %(project_id)s)
         THEN chunk.chunk_id END NULLS FIRST, chunk.chunk_id DESC
"""
"""The project's order of the sources `chunk`, those to keep first, as SQL for an ORDER BY."""


async def get(connection: Connection, project_id: ProjectId) -> SourceRetention:
    """Return the project's rule."""
    rows = await fetch(connection, _READ, {"project_id": project_id}, into=SourceRetention)
    return rows[0] if rows else SourceRetention()


@repeatable
async def store(database: Database, project_id: ProjectId, retention: SourceRetention) -> None:
    """Set the project's rule; if it changes, the next refresh recomputes all profiles."""
    facts = {
        "project_id": project_id,
        "limit": retention.limit,
        "strategy": retention.strategy.value,
    }
    async with database.transaction() as connection:
        if await get(connection, project_id) == retention:
            return
        await connection.execute(PUBLISHING_LOCK, facts)
        if (await connection.execute(_WRITE, facts)).rowcount:
            await connection.execute(_STALE, facts)

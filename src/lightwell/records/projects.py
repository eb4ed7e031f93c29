"""Projects: their names, which of them have work to do, and the deletion of one with all its rows.

The caller of a deletion then drops the vector tables.
"""

from datetime import datetime

from psycopg import sql

from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.records.database import Database, repeatable
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch_values

_FIND = """
SELECT project_id FROM projects JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s AND projects.name = %(name)s
"""

# A copy of a database has the ids of its projects, but it is another database.
_DATABASE = """
SELECT system_identifier::text || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
FROM pg_control_system()
"""

_LIST = """
SELECT projects.name, projects.created_at FROM projects JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s ORDER BY projects.name
"""

_WAITING = """
SELECT projects.name, projects.project_id FROM projects JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s
  AND (EXISTS (SELECT FROM ingestion_jobs AS job
               WHERE job.project_id = projects.project_id AND job.status IN ('queued', 'chunking', 'embedding', 'extracting')
                 AND lease_is_over(job.leased_until))
       OR EXISTS (SELECT FROM chunk_gaps AS gap JOIN embedding_spaces AS space USING (space_id)
                  WHERE space.project_id = projects.project_id AND space.status = 'active' AND lease_is_over(gap.taken_until)))
ORDER BY projects.name
"""

_CHANGING = """
SELECT projects.name, projects.project_id FROM projects JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s
  AND EXISTS (SELECT FROM embedding_spaces AS space WHERE space.project_id = projects.project_id AND space.status = 'building')
ORDER BY projects.name
"""

_OWNER = "SELECT owner_tag FROM projects WHERE project_id = %(project_id)s"

# A project that has documents, people or keys is in use already, by others or with tags of its own.
_CLAIM = """
UPDATE projects SET owner_tag = %(tag)s
WHERE project_id = %(project_id)s AND owner_tag = ''
  AND NOT EXISTS (SELECT FROM source_documents AS document WHERE document.project_id = projects.project_id)
  AND NOT EXISTS (SELECT FROM people AS person WHERE person.project_id = projects.project_id)
  AND NOT EXISTS (SELECT FROM api_keys AS key WHERE key.project_id = projects.project_id)
RETURNING project_id
"""

_SPACES = (
    "SELECT space_id FROM embedding_spaces WHERE project_id = %(project_id)s ORDER BY space_id"
)

# Jobs are locked before documents, here as by workers (records/locks.py).
_JOBS = "SELECT FROM ingestion_jobs WHERE project_id = %(project_id)s ORDER BY id FOR UPDATE"

# These tables refer to an access class, not to the project. All others are deleted by cascade.
_OF_ITS_CLASSES = sql.SQL("""
DELETE FROM {} WHERE class_id IN (SELECT class_id FROM access_classes WHERE project_id = %(project_id)s)
""")
_BY_CLASS = [
    _OF_ITS_CLASSES.format(sql.Identifier(table))
    for table in ("stale_profiles", "profiles", "term_counts", "class_totals")
]

_PROJECT = "DELETE FROM projects WHERE project_id = %(project_id)s"

_TENANT = """
DELETE FROM tenants WHERE name = %(tenant)s
  AND NOT EXISTS (SELECT FROM projects WHERE projects.tenant_id = tenants.tenant_id)
"""


async def find(database: Database, tenant: str, name: str) -> ProjectId:
    """Return the id of an existing project; raise `NotFound`."""
    project_id = await database.value(_FIND, {"tenant": tenant, "name": name})
    if project_id is None:
        raise NotFound(f"There is no project {name!r} of the tenant {tenant!r}")
    return project_id


async def identify_database(database: Database) -> str:
    """Return what tells this database from all others, also from its copies on other servers."""
    return await database.value(_DATABASE, {})


async def list_names(database: Database, tenant: str) -> list[tuple[str, datetime]]:
    """Return the names of the tenant's projects, in order, and when each was made."""
    return [(name, made) for name, made in await database.rows(_LIST, {"tenant": tenant})]


async def list_waiting(database: Database, tenant: str) -> list[tuple[str, ProjectId]]:
    """Return the tenant's projects with a job or a passage without a vector that a worker can claim, by name."""
    rows = await database.rows(_WAITING, {"tenant": tenant})
    return [(name, ProjectId(project_id)) for name, project_id in rows]


async def list_changing(database: Database, tenant: str) -> list[tuple[str, ProjectId]]:
    """Return the tenant's projects whose embedding model is being changed, by name."""
    rows = await database.rows(_CHANGING, {"tenant": tenant})
    return [(name, ProjectId(project_id)) for name, project_id in rows]


async def get_owner_tag(database: Database, project_id: ProjectId) -> str:
    """Return the access tag of the project's owner, "" where it has none."""
    return await database.value(_OWNER, {"project_id": project_id})


async def claim(database: Database, project_id: ProjectId, tag: str) -> bool:
    """Make this the tag of the owner of a project that nobody has used yet; return whether that was so."""
    return bool(await database.rows(_CLAIM, {"project_id": project_id, "tag": tag}))


@repeatable
async def delete(database: Database, tenant: str, name: str) -> list[SpaceId]:
    """Delete a project with all its rows; return the embedding spaces whose vectors are still to be dropped.
    Raises `NotFound`.
    """
    facts = {"tenant": tenant, "name": name, "project_id": await find(database, tenant, name)}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        spaces = await fetch_values(connection, _SPACES, facts)
        for statement in (_JOBS, *_BY_CLASS, _PROJECT, _TENANT):
            await connection.execute(statement, facts)
    return spaces

"""What the embedding spaces of all projects lack, for the server's monitoring and `lightwell doctor`."""

from dataclasses import dataclass

from lightwell.records.database import Connection, Database, Row
from lightwell.records.embedding_spaces import SpaceStatus

_GAPS = """
SELECT tenants.name, projects.name, space.model, space.dimension, space.status,
       (SELECT coalesce(sum(totals.chunks), 0)::bigint FROM class_totals AS totals
        JOIN access_classes USING (class_id) WHERE project_id = space.project_id),
       (SELECT count(*) FROM chunk_gaps AS gap WHERE gap.space_id = space.space_id),
       CASE WHEN status = 'active' THEN
           (SELECT count(*) FROM described_profiles AS described WHERE described.project_id = space.project_id AND changed)
       ELSE (SELECT count(*) FROM profile_gaps AS gap WHERE gap.space_id = space.space_id) END,
       coalesce(extract(epoch FROM now() - space.started_at), 0)::float
FROM embedding_spaces AS space JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
WHERE space.status IN ('active', 'building') ORDER BY tenants.name, projects.name, space.space_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceGaps:
    """A space that questions use or that is being filled: how many passages the project has, and what lacks a vector.

    `seconds` have passed since its filling began, 0 for a project's first space.
    """

    tenant: str
    project: str
    model: str
    dimension: int
    status: SpaceStatus
    chunks: int
    missing_chunks: int
    missing_profiles: int
    seconds: float


async def list_gaps(database: Database) -> list[SpaceGaps]:
    """Return what the spaces of all projects lack, by name."""
    return [_gaps(row) for row in await database.rows(_GAPS, {})]


async def list_gaps_on(connection: Connection) -> list[SpaceGaps]:
    """Return the same on a database whose migrations may not be applied yet."""
    cursor = await connection.execute("SELECT to_regclass('chunk_gaps') IS NOT NULL")
    if not (await cursor.fetchall())[0][0]:
        return []
    return [_gaps(row) for row in await (await connection.execute(_GAPS)).fetchall()]


def _gaps(row: Row) -> SpaceGaps:
    tenant, project, model, dimension, status, chunks, missing_chunks, missing_profiles, seconds = (
        row
    )
    return SpaceGaps(
        tenant=tenant,
        project=project,
        model=model,
        dimension=dimension,
        status=SpaceStatus(status),
        chunks=chunks,
        missing_chunks=missing_chunks,
        missing_profiles=missing_profiles,
        seconds=seconds,
    )

"""How far embedding spaces are filled: those of a project, and those of all projects for the server's monitoring and `lightwell doctor`."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from lightwell.domain.ids import ProjectId
from lightwell.records.database import Connection, Database
from lightwell.records.embedding_spaces import Space, SpaceStatus
from lightwell.records.rows import fetch, fetch_values

_CHUNKS: LiteralString = """
(SELECT coalesce(sum(totals.chunks), 0)::bigint FROM class_totals AS totals
 JOIN access_classes USING (class_id) WHERE project_id = space.project_id)
"""
_MISSING_CHUNKS: LiteralString = (
    "(SELECT count(*) FROM chunk_gaps AS gap WHERE gap.space_id = space.space_id)"
)
_MISSING_PROFILES: LiteralString = """
CASE WHEN status = 'active' THEN
    (SELECT count(*) FROM described_profiles AS described WHERE described.project_id = space.project_id AND changed)
ELSE (SELECT count(*) FROM profile_gaps AS gap WHERE gap.space_id = space.space_id) END
"""

_PROGRESS = f"""
SELECT space_id AS "space.id", model AS "space.model", dimension AS "space.dimension", status AS "space.status",
       is_queued, tokens, started_at, ended_at, total.chunks,
       CASE WHEN is_queued THEN {_MISSING_CHUNKS} ELSE total.chunks END AS missing_chunks, total.profiles,
       CASE WHEN is_queued THEN {_MISSING_PROFILES} ELSE total.profiles END AS missing_profiles,
       coalesce(extract(epoch FROM now() - started_at), 0)::float AS seconds
FROM embedding_spaces AS space
CROSS JOIN LATERAL (
    SELECT {_CHUNKS} AS chunks,
           (SELECT count(*) FROM described_profiles AS described WHERE described.project_id = space.project_id) AS profiles
) AS total
WHERE project_id = %(project_id)s ORDER BY space_id
"""  # noqa: S608 - only our own words

_GAPS = f"""
SELECT tenants.name AS tenant, projects.name AS project, space.model, space.dimension, space.status,
       {_CHUNKS} AS chunks, {_MISSING_CHUNKS} AS missing_chunks, {_MISSING_PROFILES} AS missing_profiles,
       coalesce(extract(epoch FROM now() - space.started_at), 0)::float AS seconds
FROM embedding_spaces AS space JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
WHERE space.status IN ('active', 'building') ORDER BY tenants.name, projects.name, space.space_id
"""  # noqa: S608 - only our own words


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceProgress:
    """A space, how many published chunks and described profiles the project has, and how many of them lack a vector in it.

    `is_queued` is false while it is still being found out what the space lacks. `tokens` counts what was embedded for the change,
    which began `seconds` ago.
    """

    space: Space
    chunks: int
    missing_chunks: int
    profiles: int
    missing_profiles: int
    is_queued: bool
    tokens: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float

    @property
    def percent(self) -> int:
        """How much of the space has its vectors, rounded down; 100 only where nothing is missing."""
        return 100 * self._done // self._all if self._all else 100

    @property
    def seconds_left(self) -> float | None:
        """How long the rest of the filling takes at its pace so far, None where it has no pace yet or is not under way."""
        if self.space.status is not SpaceStatus.BUILDING or not self._done:
            return None
        return self.seconds * (self._all - self._done) / self._done

    @property
    def _all(self) -> int:
        return self.chunks + self.profiles

    @property
    def _done(self) -> int:
        return max(0, self._all - self.missing_chunks - self.missing_profiles)


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


async def list_progress(database: Database, project_id: ProjectId) -> list[SpaceProgress]:
    """Return all spaces of the project, the oldest first."""
    return await database.rows(_PROGRESS, {"project_id": project_id}, into=SpaceProgress)


async def list_gaps(database: Database) -> list[SpaceGaps]:
    """Return what the spaces of all projects lack, by name."""
    return await database.rows(_GAPS, {}, into=SpaceGaps)


async def list_gaps_on(connection: Connection) -> list[SpaceGaps]:
    """Return the same on a database whose migrations may not be applied yet."""
    query = "SELECT to_regclass('chunk_gaps') IS NOT NULL"
    has_table = await fetch_values(connection, query, {})
    return await fetch(connection, _GAPS, {}, into=SpaceGaps) if has_table == [True] else []

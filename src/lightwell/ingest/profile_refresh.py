"""Recomputes the profiles whose mentions changed, once for all concurrent batches that ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.ids import ProjectId
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database, repeatable
from lightwell.records.graph import profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRequest:
    """A project whose profiles are to be refreshed, `batch_size` entities and relations per transaction."""

    database: Database
    project_id: ProjectId
    batch_size: int


RefreshQueue = Coalescer[RefreshRequest, None]
"""Combines concurrent requests of each project."""


async def refresh_all(requests: Sequence[RefreshRequest]) -> list[None]:
    """Refresh the profiles of each project once."""
    for request in {request.project_id: request for request in requests}.values():
        refreshed = request.batch_size
        while refreshed == request.batch_size:
            refreshed = await _refresh_some(request)
    return [None] * len(requests)


@repeatable
async def _refresh_some(request: RefreshRequest) -> int:
    async with request.database.transaction() as connection:
        return await profiles.refresh(connection, request.project_id, limit=request.batch_size)

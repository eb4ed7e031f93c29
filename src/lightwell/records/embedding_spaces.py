"""Embedding spaces: the model and dimension of a project's vectors. A project has one active space."""

from dataclasses import dataclass

from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """An embedding space; vectors of two spaces are never compared."""

    id: SpaceId
    model: str
    dimension: int


_ACTIVE = """
SELECT space_id, model, dimension FROM embedding_spaces
WHERE project_id = %(project_id)s AND status = 'active'
"""

_FIRST = """
INSERT INTO embedding_spaces (project_id, model, dimension, status)
VALUES (%(project_id)s, %(model)s, %(dimension)s, 'active')
ON CONFLICT (project_id) WHERE status = 'active' DO NOTHING
"""


async def get_or_create_active(
    database: Database, project_id: ProjectId, model: str, dimension: int
) -> Space:
    """Return the project's active space; a project without one gets one with this model and dimension."""
    found = await find_active(database, project_id)
    if found is None:
        key = {"project_id": project_id, "model": model, "dimension": dimension}
        await database.execute(_FIRST, key)
        found = await find_active(database, project_id)
    assert found is not None  # noqa: S101 - the statement above has just written it, or another process has
    return found


async def find_active(database: Database, project_id: ProjectId) -> Space | None:
    """Return the project's active space, None where nothing was embedded yet."""
    for space_id, model, dimension in await database.rows(_ACTIVE, {"project_id": project_id}):
        return Space(id=SpaceId(space_id), model=model, dimension=dimension)
    return None

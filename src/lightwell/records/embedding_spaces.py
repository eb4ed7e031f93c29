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
    key = {"project_id": project_id, "model": model, "dimension": dimension}
    rows = await database.rows(_ACTIVE, key)
    if not rows:
        await database.execute(_FIRST, key)
        rows = await database.rows(_ACTIVE, key)
    space_id, its_model, its_dimension = rows[0]
    return Space(id=SpaceId(space_id), model=its_model, dimension=its_dimension)

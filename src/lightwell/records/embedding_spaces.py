"""Embedding spaces: the model and dimension of a project's vectors. A project has one active space.

While its model is changed it has a second one; `embedding_space_changes` says how.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.ports import Embedder
from lightwell.records.database import Database


class SpaceStatus(StrEnum):
    """Where a space is between its making and its end; questions use the active one."""

    PREPARING = "preparing"
    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"
    DROPPING = "dropping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """An embedding space; vectors of two spaces are never compared."""

    id: SpaceId
    model: str
    dimension: int
    status: SpaceStatus = SpaceStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceModel:
    """An embedding model that this process can call.

    `sentences` is the same model for the sentences of passages, perhaps with a cache. `price` is for a million tokens, None
    if it is unknown. A bundled model costs nothing, and no budget applies to it.
    """

    embedder: Embedder
    sentences: Embedder
    price: float | None = None
    is_bundled: bool = False

    @property
    def name(self) -> str:
        """The model and its dimension, as messages and commands name them."""
        return f"{self.embedder.model} ({self.embedder.dimension})"

    def fits(self, space: Space) -> bool:
        """Return whether the vectors of this space are this model's."""
        return (self.embedder.model, self.embedder.dimension) == (space.model, space.dimension)


_SPACES = """
SELECT space_id AS id, model, dimension, status FROM embedding_spaces
WHERE project_id = %(project_id)s AND status IN ('building', 'active', 'retired')
ORDER BY space_id
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
    space = await find_active(database, project_id)
    if space is None:
        key = {"project_id": project_id, "model": model, "dimension": dimension}
        await database.execute(_FIRST, key)
        space = await find_active(database, project_id)
    assert space is not None  # noqa: S101 - the statement above has just written it, or another process has
    return space


async def find_active(database: Database, project_id: ProjectId) -> Space | None:
    """Return the project's active space, None where nothing was embedded yet."""
    spaces = await list_live(database, project_id)
    return next((space for space in spaces if space.status is SpaceStatus.ACTIVE), None)


async def list_live(database: Database, project_id: ProjectId) -> list[Space]:
    """Return the project's spaces that must follow deletions and changes of access, by id."""
    return await database.rows(_SPACES, {"project_id": project_id}, into=Space)


def find_model(models: Sequence[SpaceModel], space: Space) -> SpaceModel | None:
    """Return the model whose vectors this space holds, None where this process cannot call it."""
    return next((model for model in models if model.fits(space)), None)


def require_model(models: Sequence[SpaceModel], space: Space) -> SpaceModel:
    """Return the model whose vectors this space holds; raise `Invalid`, which says what to set."""
    model = find_model(models, space)
    if model is None:
        names = ", ".join(model.name for model in models)
        raise Invalid(
            f"This project's vectors were made by {space.model} with {space.dimension} dimensions, and the settings name"
            f" {names}: vectors of two models cannot be compared. Name {space.model} in LIGHTWELL_EMBEDDING_URL,"
            " LIGHTWELL_EMBEDDING_MODEL and LIGHTWELL_EMBEDDING_DIMENSION again. To change the model, name the new one in"
            " LIGHTWELL_NEXT_EMBEDDING_URL, _MODEL and _DIMENSION, then run `lightwell embeddings change`"
        )
    return model

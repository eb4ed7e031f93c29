"""Copies a project's vectors between the stores that the settings can choose."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from lightwell.domain.errors import Invalid, NotFound
from lightwell.ingest.vector_copy import copy_vectors
from lightwell.records import embedding_spaces, projects
from lightwell.settings import Settings
from lightwell.wiring.database import open_database
from lightwell.wiring.stores import open_milvus, vector_index

STORES = ("postgres", "milvus")


async def copy_vectors_to(
    settings: Settings, to: str, progress: Callable[[int], None]
) -> tuple[int, int]:
    """Copy the vectors of the settings' project to this store from the other; return how many, and how many were not found there.

    Raises `Invalid` for an unknown store, `NotFound` for a project without vectors, `StoreFailed`.
    """
    if to not in STORES:
        raise Invalid(f"{to!r} is no store of vectors; the stores are {' and '.join(STORES)}")
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(settings))
        chosen = settings.model_copy(update={"vector_store": "milvus"})
        milvus = await open_milvus(chosen, stack)
        project_id = await projects.find(database, settings.tenant, settings.project)
        space = await embedding_spaces.find_active(database, project_id)
        if space is None:
            raise NotFound(f"The project {settings.project!r} has no vectors yet")
        postgres = vector_index(database, project_id, None)
        other = vector_index(database, project_id, milvus)
        source_and_target = (postgres, other) if to == "milvus" else (other, postgres)
        return await copy_vectors(database, project_id, space, source_and_target, progress)

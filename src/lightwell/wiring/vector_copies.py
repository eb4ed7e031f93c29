"""Copies a project's vectors between the stores that the settings can choose."""

from contextlib import AsyncExitStack

from lightwell.domain.errors import Invalid, NotFound
from lightwell.ingest.vector_copy import CopiedVectors, Progress, VectorCopy
from lightwell.records import embedding_spaces, projects
from lightwell.settings import Settings
from lightwell.wiring.database import open_database
from lightwell.wiring.stores import open_milvus, profile_index, vector_index

STORES = ("postgres", "milvus")


async def copy_vectors_to(settings: Settings, to: str, progress: Progress) -> CopiedVectors:
    """Copy the vectors of the settings' project to this store from the other.

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
        copy = VectorCopy(database=database, project_id=project_id, space=space)
        servers = (None, milvus) if to == "milvus" else (milvus, None)
        source, target = (vector_index(database, project_id, each) for each in servers)
        chunks, missing = await copy.copy_chunks(source, target, progress)
        given, taken = (profile_index(database, project_id, each) for each in servers)
        profiles, lost = await copy.copy_profiles(given, taken, lambda n: progress(chunks + n))
        return CopiedVectors(
            chunks=chunks, missing=missing, profiles=profiles, missing_profiles=lost
        )

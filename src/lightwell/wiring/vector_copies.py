"""Copies a project's vectors between the stores that the settings can choose."""

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.ingest.vector_copy import CopiedVectors, Progress, VectorCopy
from lightwell.records import embedding_spaces, projects
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.wiring.database import open_database
from lightwell.wiring.stores import open_milvus, profile_index, vector_index

if TYPE_CHECKING:
    from lightwell.stores.milvus.collection import MilvusServer

STORES = ("postgres", "milvus")


async def copy_vectors_to(settings: Settings, to: str, progress: Progress) -> CopiedVectors:
    """Copy the vectors of the settings' project to this store from the other.

    Raises `Invalid` for an unknown store, `NotFound` for a project without vectors, `StoreFailed`.
    """
    if to not in STORES:
        raise Invalid(f"{to!r} is no store of vectors; the stores are {' and '.join(STORES)}")
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(settings))
        chosen = settings.with_values({"stores.vector_store": "milvus"})
        milvus = await open_milvus(chosen, stack)
        project_id = await projects.find(database, settings.tenant, settings.project)
        space = await embedding_spaces.find_active(database, project_id)
        if space is None:
            raise NotFound(f"The project {settings.project!r} has no vectors yet")
        copy = VectorCopy(database=database, project_id=project_id, space=space)
        servers = (None, milvus) if to == "milvus" else (milvus, None)
        replaced = await _replace_earlier(database, project_id, milvus, progress)
        if to == "milvus" and space.id in replaced:
            chunks, missing = replaced[space.id]
        else:
            source, target = (vector_index(database, project_id, server) for server in servers)
            chunks, missing = await copy.copy_chunks(source, target, progress)
        origin, taken = (profile_index(database, project_id, server) for server in servers)
        profiles, lost = await copy.copy_profiles(origin, taken, lambda n: progress(chunks + n))
        return CopiedVectors(
            chunks=chunks, missing=missing, profiles=profiles, missing_profiles=lost
        )


async def _replace_earlier(
    database: Database, project_id: ProjectId, milvus: "MilvusServer | None", progress: Progress
) -> dict[SpaceId, tuple[int, int]]:
    """Write anew what an earlier version wrote to Milvus; return by space how many vectors that were, and how many were missing.

    The earlier collection goes last, so that an interrupted command is simply run again.
    """
    if milvus is None:
        return {}
    from lightwell.stores.milvus.vectors import MilvusVectors

    index = MilvusVectors(database=database, server=milvus, project_id=project_id)
    replaced: dict[SpaceId, tuple[int, int]] = {}
    for space in await embedding_spaces.list_live(database, project_id):
        if await index.earlier(space.id).exists():
            copy = VectorCopy(database=database, project_id=project_id, space=space)
            replaced[space.id] = await copy.copy_chunks(
                replace(index, suffix=""), replace(index, is_replacing=True), progress
            )
            await index.earlier(space.id).drop()
    return replaced

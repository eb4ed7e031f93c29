"""Which stores keep vectors."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ProjectId
from lightwell.ports import VectorIndex
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.stores.postgres.vectors import PostgresVectors

if TYPE_CHECKING:
    from lightwell.stores.milvus.collection import MilvusServer
    from lightwell.stores.milvus.profiles import MilvusProfiles

_NEED_EXTRA = "LIGHTWELL_VECTOR_STORE=milvus needs packages that are not installed: in Lightwell's checkout, `uv tool install '.[milvus]'`"

MILVUS_SECONDS = 30.0
"""Most seconds of one call of Milvus, which takes some time for its first answer after a restart."""


async def open_milvus(settings: Settings, stack: AsyncExitStack) -> "MilvusServer | None":
    """Return a connection to the Milvus server if the settings choose it; raise `Invalid` without the extra."""
    if settings.stores.vector_store != "milvus":
        return None
    try:
        from lightwell.stores.milvus.collection import connect
    except ImportError:
        raise Invalid(_NEED_EXTRA) from None
    token = settings.stores.milvus_token.get_secret_value()
    return await stack.enter_async_context(
        connect(settings.stores.milvus_url, token, MILVUS_SECONDS)
    )


def vector_index(
    database: Database, project_id: ProjectId, milvus: "MilvusServer | None"
) -> VectorIndex:
    """Return the index of a project's vectors: in Milvus where a server is given, else in PostgreSQL."""
    if milvus is None:
        return PostgresVectors(database)
    from lightwell.stores.milvus.vectors import MilvusVectors

    return MilvusVectors(database=database, server=milvus, project_id=project_id)


def profile_index(
    database: Database, project_id: ProjectId, milvus: "MilvusServer | None"
) -> "PostgresProfiles | MilvusProfiles":
    """Return the index of a project's vectors of entities and relations: in Milvus where a server is given, else in PostgreSQL."""
    postgres = PostgresProfiles(database)
    if milvus is None:
        return postgres
    from lightwell.stores.milvus.profiles import MilvusProfiles

    return MilvusProfiles(
        database=database, server=milvus, project_id=project_id, postgres=postgres
    )

"""What is done to whole projects."""

from contextlib import AsyncExitStack

from lightwell.records import projects
from lightwell.records.database import connect
from lightwell.settings import Settings
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.stores.postgres.vectors import PostgresVectors
from lightwell.wiring.database import database_server


async def delete_project(settings: Settings) -> None:
    """Delete the project that the settings name, whoever may see its documents; raise `NotFound`.

    Nothing of it is left: documents, graph, kept replies of models, corrections, conversations, questions. It takes
    nobody's reader, since it is for whoever runs the server.
    """
    async with AsyncExitStack() as stack:
        conninfo = await stack.enter_async_context(database_server(settings))
        database = await stack.enter_async_context(connect(conninfo))
        for space in await projects.delete(database, settings.tenant, settings.project):
            await PostgresVectors(database).drop(space)
            await PostgresProfiles(database).drop(space)

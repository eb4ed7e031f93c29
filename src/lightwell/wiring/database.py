"""Which database server is used."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lightwell.settings import Settings


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the connection string of the server in use: the one that is named, or the embedded one, started."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from lightwell.records.server import serve

    server = serve(settings.data)
    conninfo = await asyncio.to_thread(server.__enter__)
    try:
        yield conninfo
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)

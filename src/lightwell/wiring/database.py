"""Which database server is used."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lightwell.domain.errors import StoreFailed
from lightwell.domain.health import Check
from lightwell.records.database import Database, connect
from lightwell.records.disk import full_disk_message, log_size
from lightwell.settings import Settings


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the connection string of the configured server, or of the embedded server, which it starts."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from lightwell.stores.embedded.server import run_server

    server, logged = run_server(settings.data), log_size(settings.data)
    try:
        conninfo = await asyncio.to_thread(server.__enter__)
        try:
            yield conninfo
        finally:
            await asyncio.to_thread(server.__exit__, None, None, None)
    except StoreFailed as error:
        if full := full_disk_message(settings.data, logged):
            raise StoreFailed(full) from error
        raise


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncGenerator[Database, None]:
    """Open the database with the number of connections in the settings, and apply pending migrations."""
    async with (
        database_server(settings) as conninfo,
        connect(conninfo, max_connections=settings.database_connections) as database,
    ):
        yield database


def has_store(settings: Settings) -> bool:
    """Return whether the embedded database exists; True for a named server, which only a connection can tell."""
    if settings.database_url is not None:
        return True
    from lightwell.stores.embedded.server import is_initialised

    return is_initialised(settings.data)


def examine_data(settings: Settings) -> list[Check]:
    """Check where the embedded database keeps its data, and whether removed stores left some; none for a named server."""
    if settings.database_url is not None:
        return []
    from lightwell.stores.embedded.server import list_left_folders, status

    found = status(settings.data)
    checks = [
        Check(name="data", ok=True, detail=f"{found.cluster}, {found.size / 1e6:,.0f} MB", fix="")
    ]
    if left := list_left_folders():
        detail = "; ".join(left) + ". Remove these folders if their stores are gone"
        checks.append(Check(name="data of removed stores", ok=True, detail=detail, fix=""))
    return checks

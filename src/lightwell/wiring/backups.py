"""Backup, restore and migration of the store that the settings name."""

import asyncio
from pathlib import Path

from lightwell.domain.errors import Invalid
from lightwell.records.database import connect, has_schema, list_migrations
from lightwell.settings import Settings
from lightwell.wiring.database import database_server


async def back_up(settings: Settings, file: Path) -> None:
    """Write the whole store, all projects of all tenants, to a new file; raise `Invalid`, `StoreFailed`."""
    from lightwell.stores.embedded import backup

    async with database_server(settings) as conninfo:
        await asyncio.to_thread(backup.dump, conninfo, file)


async def restore(settings: Settings, file: Path) -> None:
    """Restore a backup into an empty database, and apply the migrations that it lacks; raise `Invalid`, `StoreFailed`.

    The backup may come from the embedded server or from any other one.
    """
    from lightwell.stores.embedded import backup

    dumped = await asyncio.to_thread(backup.list_migrations, file)
    known = {name for name, _ in list_migrations()}
    if newer := [name for name in dumped if name not in known]:
        raise Invalid(
            f"A newer Lightwell made this backup (it has {newer[-1]}): install that one first"
        )
    async with database_server(settings) as conninfo:
        if await has_schema(conninfo):
            raise Invalid(
                "There is a store already, which a backup would not replace: set LIGHTWELL_DATA to a new folder,"
                " or LIGHTWELL_DATABASE_URL to an empty database"
            )
        await asyncio.to_thread(backup.load, conninfo, file)
        async with connect(conninfo) as database:
            await database.execute("ANALYZE", {})

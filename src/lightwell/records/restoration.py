"""A database into which a backup is restored: a note in it keeps everybody else out until all that follows the loading is done."""

from lightwell.domain.errors import Invalid
from lightwell.records.database import (
    find_unfinished_restoration,
    has_schema,
    open_connection,
    translate_errors,
)

_BEGIN = "CREATE TABLE unfinished_restoration AS SELECT %s::text AS backup"
_END = "DROP TABLE unfinished_restoration"


async def begin_restoration(conninfo: str, backup: str) -> bool:
    """Note in an empty database which backup is restored into it, and return whether that is to be loaded.

    It is loaded already where an earlier restoration was interrupted. Raises `StoreFailed`, and `Invalid` for a database that
    holds a store, or an unfinished restoration of another backup.
    """
    is_loaded = await has_schema(conninfo)
    with translate_errors():
        async with await open_connection(conninfo) as connection:
            unfinished = await find_unfinished_restoration(connection)
            if unfinished not in ("", backup):
                raise Invalid(
                    f"The restoration of another backup, {unfinished}, was interrupted here: restore that one, or name an empty database"
                )
            if is_loaded and not unfinished:
                raise Invalid(
                    "There is a store already, which a backup would not replace: set LIGHTWELL_DATA to a new folder,"
                    " or LIGHTWELL_DATABASE_URL to an empty database"
                )
            if not unfinished:
                await connection.execute(_BEGIN, [backup])
    return not is_loaded


async def end_restoration(conninfo: str) -> None:
    """Let everybody use the database again; raise `StoreFailed`."""
    with translate_errors():
        async with await open_connection(conninfo) as connection:
            await connection.execute(_END)

"""Backup, restore and migration of the store that the settings name."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lightwell.domain.errors import Invalid, StoreFailed
from lightwell.records import api_keys, channel_updates, web_sessions
from lightwell.records.database import connect, list_migrations, refuse_before_release
from lightwell.records.documents.withdrawing import withdraw_again
from lightwell.records.restoration import begin_restoration, end_restoration
from lightwell.settings import Settings
from lightwell.wiring.database import database_server
from lightwell.wiring.withdrawals import WithdrawalList, withdrawal_list


async def back_up(settings: Settings, file: Path) -> None:
    """Write the whole store, all projects of all tenants, to a new file; raise `Invalid`, `StoreFailed`."""
    from lightwell.stores.embedded import backup

    async with database_server(settings) as conninfo:
        await asyncio.to_thread(backup.dump, conninfo, file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What was done after the backup was loaded: keys revoked, documents withdrawn again, and the lists that said so."""

    keys: int
    documents: int
    lists: tuple[Path, ...]


async def restore(
    settings: Settings, file: Path, *, lists: Sequence[Path] = (), keeps_keys: bool = False
) -> Restoration:
    """Restore a backup into an empty database, and apply the migrations that it lacks; raise `Invalid`, `StoreFailed`.

    The backup may come from the embedded server or from any other one. What these lists and the list beside the store say
    was withdrawn after the backup is withdrawn again, all sessions of browsers end, and all API keys are revoked unless it `keeps_keys`, since
    nobody can tell which of them were ended or revoked meanwhile. Nobody can use the database before all of that is done; where it was interrupted, the
    same call finishes it.
    """
    from lightwell.stores.embedded import backup

    dumped = await asyncio.to_thread(backup.list_migrations, file)
    refuse_before_release(dumped)
    migrations = {name for name, _ in list_migrations()}
    if newer := [name for name in dumped if name not in migrations]:
        raise Invalid(
            f"A newer Lightwell made this backup (it has {newer[-1]}): install that one first"
        )
    here = withdrawal_list(settings)
    read = {path: WithdrawalList(path).read() for path in dict.fromkeys(lists)}
    if here.path.exists():
        read[here.path] = here.read()
    async with database_server(settings) as conninfo:
        if await begin_restoration(conninfo, _name(file)):
            try:
                await asyncio.to_thread(backup.load, conninfo, file)
            except StoreFailed:
                await end_restoration(conninfo)  # nothing was loaded
                raise
        async with connect(conninfo, is_restoring=True) as database:
            keys = 0 if keeps_keys else await api_keys.revoke_all(database)
            await web_sessions.end_every(database)
            await channel_updates.delete_waiting(database)
            documents = await withdraw_again(
                database, [withdrawal for listed in read.values() for withdrawal in listed]
            )
            await database.execute("ANALYZE", {})
        for path, withdrawals in read.items():
            if path != here.path:  # the next backup that is restored here may be an older one
                here.note(withdrawals)
        await end_restoration(conninfo)
    return Restoration(keys=keys, documents=documents, lists=tuple(read))


def _name(file: Path) -> str:
    """Return what tells this backup from another one of the same name, such as `a.backup (2000 bytes)`."""
    return f"{file.name} ({file.stat().st_size} bytes)"

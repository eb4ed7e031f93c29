"""`backup`, `restore` and `migrate`: the whole store, for whoever operates it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import settings, settings_of_store

backup, restore, migrate = single_command(), single_command(), single_command()

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.")]


@command(backup, "backup", "lightwell backup lightwell-2026-11-22.backup")
async def back_up(file: File) -> Report:
    """Write the whole store, all projects, to a new file that only you may read; the store may be in use."""
    from lightwell.wiring.backups import back_up as write

    await write(settings_of_store(), file)
    size = file.stat().st_size
    return Report(
        document={"file": str(file), "bytes": size},
        text=Text(clean(f"Wrote {size / 1e6:,.1f} MB to {file}.")),
    )


@command(restore, "restore", "lightwell restore lightwell-2026-11-22.backup")
async def restore_store(file: File) -> Report:
    """Restore a backup into an empty store; an existing one is never changed.

    The store is the one that LIGHTWELL_DATA or LIGHTWELL_DATABASE_URL names: so a backup also moves a store from the embedded
    server to another one, or back.
    """
    from lightwell.wiring.backups import restore as load

    await load(settings(), file)
    return Report(document={"restored": str(file)}, text=Text(clean(f"Restored {file}.")))


@command(migrate, "migrate", "lightwell migrate --dry-run", "lightwell migrate")
async def apply_migrations(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Apply them, and roll everything back.")
    ] = False,
) -> Report:
    """Apply the migrations that the store lacks; any command that opens the store does so, too."""
    from lightwell.records.database import connect, list_pending_migrations, try_migrations
    from lightwell.wiring.database import database_server

    async with database_server(settings_of_store()) as conninfo:
        pending = await list_pending_migrations(conninfo)
        if dry_run:
            await try_migrations(conninfo)
        else:
            async with connect(conninfo):
                pass
    verb = "would be applied" if dry_run else "applied"
    listed = ", ".join(pending) or "none"
    return Report(
        document={"migrations": pending, "applied": not dry_run},
        text=Text(clean(f"Migrations {verb}: {listed}.")),
    )

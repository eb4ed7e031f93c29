"""`backup`, `restore` and `migrate`: the whole store, for whoever operates it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of
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


@command(
    restore,
    "restore",
    "lightwell restore lightwell-2026-11-22.backup",
    "lightwell restore lightwell-2026-11-22.backup --withdrawals /srv/old/withdrawals.jsonl",
)
async def restore_store(
    file: File,
    *,
    withdrawals: Annotated[
        list[Path] | None,
        typer.Option(
            "--withdrawals",
            metavar="FILE",
            help="A list of what was deleted or narrowed since, withdrawals.jsonl in the data folder of the old store; repeat it "
            "for several. That in the data folder of the new store counts by itself.",
        ),
    ] = None,
    keep_keys: Annotated[
        bool,
        typer.Option(
            "--keep-keys",
            help="Keep the API keys, those that were revoked after the backup among them.",
        ),
    ] = False,
) -> Report:
    """Restore a backup into an empty store; an existing one is never changed.

    The store is the one that LIGHTWELL_DATA or LIGHTWELL_DATABASE_URL names: so a backup also moves a store from the embedded
    server to another one, or back. All API keys are revoked, and documents that were deleted, erased or narrowed after the backup
    are so again, as far as a list of withdrawals says so.
    """
    from lightwell.wiring.backups import restore as load

    done = await load(settings(), file, lists=withdrawals or (), keeps_keys=keep_keys)
    lists = [str(path) for path in done.lists]
    lines = [f"Restored {file}."]
    if done.keys:
        lines.append(
            f"Revoked {count_of(done.keys, 'API key')}, since some may have been revoked after the backup; `lightwell keys create` makes"
            " new ones, and --keep-keys keeps them."
        )
    if lists:
        lines.append(
            f"Withdrew {count_of(done.documents, 'document')} again, as {', '.join(lists)} says."
        )
    else:
        lines.append(
            "There was no list of withdrawals, so documents that were deleted or narrowed after the backup are as before: if the old data"
            " folder is left, restore into another store with --withdrawals and its withdrawals.jsonl."
        )
    return Report(
        document={
            "restored": str(file),
            "keysRevoked": done.keys,
            "documentsWithdrawn": done.documents,
            "withdrawalLists": lists,
        },
        text=Text(clean("\n".join(lines))),
    )


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

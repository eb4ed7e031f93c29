"""Which database server is used."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from lightwell.domain.errors import StoreFailed
from lightwell.domain.operations import Check
from lightwell.logs import logger
from lightwell.records.database import Database, connect
from lightwell.records.disk import full_disk_message, log_size
from lightwell.settings import Settings

_WATCH_SECONDS = 2.0

_log = logger(__name__)


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the connection string of the configured server, or of the embedded server, which it starts and keeps running."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from lightwell.stores.embedded.server import run_server

    server, logged = run_server(settings.data), log_size(settings.data)
    try:
        conninfo = await asyncio.to_thread(server.__enter__)
        left = asyncio.Event()
        watch = asyncio.create_task(_keep_running(settings.data, left))
        try:
            yield conninfo
        finally:
            left.set()
            await watch  # a start that is under way must not outlive the last user
            await asyncio.to_thread(server.__exit__, None, None, None)
    except StoreFailed as error:
        if full := full_disk_message(settings.data, logged):
            raise StoreFailed(full) from error
        raise


async def _keep_running(directory: Path, left: asyncio.Event) -> None:
    """Start the embedded server again whenever it died, such as by the system's out-of-memory killer."""
    from lightwell.stores.embedded.server import is_running, start_again

    is_failing = False  # it is tried again and again, and said once: each reason has the time in it
    while not left.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_WATCH_SECONDS):
                await left.wait()
                return
        try:
            if not await asyncio.to_thread(is_running, directory):
                if not is_failing:
                    _log.warning("server.died", store=str(directory), effect="it is started again")
                await asyncio.to_thread(start_again, directory)
            is_failing = False
        except StoreFailed as error:
            if not is_failing:
                _log.warning("server.not_started", reason=str(error), effect="it is tried again")
            is_failing = True


def is_database_running(settings: Settings) -> bool:
    """Return whether the embedded server runs; True for a named server, whose restarts are not ours."""
    if settings.database_url is not None:
        return True
    from lightwell.stores.embedded.server import is_running

    try:
        return is_running(settings.data)
    except StoreFailed:
        return False


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

    store = status(settings.data)
    checks = [
        Check(name="data", ok=True, detail=f"{store.cluster}, {store.size / 1e6:,.0f} MB", fix="")
    ]
    if left := list_left_folders():
        detail = "; ".join(left) + ". Remove these folders if their stores are gone"
        checks.append(Check(name="data of removed stores", ok=True, detail=detail, fix=""))
    return checks

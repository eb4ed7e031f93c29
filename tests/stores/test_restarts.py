"""An embedded server that dies is started again by those who use it, and one that cannot be is no reason to wait for ever."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from lightwell.domain.errors import StoreFailed
from lightwell.entrypoints.http import health
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.stores.embedded.server import status
from lightwell.testing.server import temporary_folder
from lightwell.wiring import Resources
from lightwell.wiring.database import open_database
from tests.patience import PATIENCE


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder


def kill(data: Path) -> None:
    """Kill -9 the server."""
    pid = status(data).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def started_at(database: Database) -> datetime:
    """Return when the server started that answers."""
    return (await database.rows("SELECT pg_postmaster_start_time()", {}))[0][0]


async def answers_again(database: Database, before: datetime) -> datetime:
    """Wait until another server answers, and return when it started: processes of a killed one may answer for a moment."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(StoreFailed):
                if (started := await started_at(database)) != before:
                    return started
            await asyncio.sleep(0.1)


async def test_a_killed_server_is_started_again_by_a_process_that_uses_it(data: Path) -> None:
    settings = Settings(data=data)
    async with open_database(settings) as database, open_database(settings) as other:
        started = await started_at(database)
        for _ in range(2):
            before = started
            kill(data)
            started = await answers_again(database, before)
            assert await answers_again(other, before) == started
    assert status(data).pid is None


async def test_a_server_that_cannot_be_started_is_said_once_and_ends_the_life_of_the_process(
    data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=data)
    check = health.ReadinessCheck(cast("Resources", SimpleNamespace(settings=settings)))
    async with open_database(settings) as database:
        before = await started_at(database)
        assert await check.is_alive()
        written = (data / "postgres" / "postgresql.conf").read_text()
        (data / "postgres" / "postgresql.conf").write_text("shared_buffers = 'plenty'\n")
        kill(data)
        async with asyncio.timeout(PATIENCE):
            while (data / "logs" / "postgres.log").read_text().count('"plenty"') < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert await check.is_alive()  # it may come back
        monkeypatch.setattr(health, "_DEAD_SECONDS", 0.0)
        assert not await check.is_alive()
        (data / "postgres" / "postgresql.conf").write_text(written)
        await answers_again(database, before)
        assert await check.is_alive()
    assert caplog.text.count("server.died") == 1
    assert caplog.text.count("server.not_started") == 1
    assert "plenty" in caplog.text

"""An embedded server that dies is started again by those who use it, and one that cannot be is no reason to wait for ever."""

import asyncio
import os
import signal
from collections.abc import Iterator
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


def kill(data: Path) -> int:
    """Kill -9 the server, and return its number."""
    pid = status(data).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


async def answers(database: Database) -> None:
    """Wait until the database answers."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await database.now()
            except StoreFailed:
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_killed_server_is_started_again_by_a_process_that_uses_it(data: Path) -> None:
    settings = Settings(data=data)
    async with open_database(settings) as database, open_database(settings) as other:
        for _ in range(2):
            killed = kill(data)
            await answers(database)
            await answers(other)
            assert status(data).pid not in (None, killed)
    assert status(data).pid is None


async def test_a_server_that_cannot_be_started_is_said_once_and_ends_the_life_of_the_process(
    data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=data)
    check = health.ReadinessCheck(cast("Resources", SimpleNamespace(settings=settings)))
    async with open_database(settings) as database:
        await database.now()
        assert await check.is_alive()
        written = (data / "postgres" / "postgresql.conf").read_text()
        (data / "postgres" / "postgresql.conf").write_text("shared_buffers = 'plenty'\n")
        kill(data)
        async with asyncio.timeout(PATIENCE):
            while "server.not_started" not in caplog.text:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert await check.is_alive()  # it may come back
        monkeypatch.setattr(health, "_DEAD_SECONDS", 0.0)
        assert not await check.is_alive()
        (data / "postgres" / "postgresql.conf").write_text(written)
        await answers(database)
        assert await check.is_alive()
    assert caplog.text.count("server.not_started") == 1
    assert "plenty" in caplog.text

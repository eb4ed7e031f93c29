"""A full disk is reported as such, whatever PostgreSQL says about it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from lightwell.domain.errors import StoreFailed
from lightwell.settings import Settings
from lightwell.wiring.database import database_server


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    folder = Path(mkdtemp(prefix="lightwell-disk-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def fail(data: Path, logged: str) -> None:
    """Fail as a store does whose server logs `logged`."""
    async with database_server(Settings(data=data)):
        with (data / "logs" / "postgres.log").open("a") as log:
            log.write(logged)
        raise StoreFailed("PostgreSQL did not answer")


async def failure(data: Path, logged: str = "") -> str:
    """Return the message of that failure."""
    with pytest.raises(StoreFailed) as raised:
        await fail(data, logged)
    return str(raised.value)


async def test_a_disk_with_nothing_free_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await failure(data) == "PostgreSQL did not answer"
    full = shutil.disk_usage(data)._replace(free=1_000_000)

    def disk_usage(_: Path) -> object:
        return full

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    message = await failure(data)
    assert f"The disk is full: 1 MB are free for {data}" in message
    assert "LIGHTWELL_DATA" in message


async def test_what_the_server_logs_of_the_disk_counts_once(data: Path) -> None:
    panic = 'PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device\n'
    assert "The disk is full" in await failure(data, panic)
    assert await failure(data) == "PostgreSQL did not answer"

"""Transactions that wait for the disk at commit, and those that do not."""

import pytest

from lightwell.domain.errors import LeaseLost
from lightwell.records import access_classes
from lightwell.records.database import Connection, Database


async def waits(connection: Connection) -> str:
    row = await (await connection.execute("SHOW synchronous_commit")).fetchone()
    assert row is not None
    return str(row[0])


async def test_a_step_does_not_wait_for_the_disk_and_leaves_nothing_behind(
    database: Database,
) -> None:
    for _ in range(3):
        async with database.relaxed_transaction() as connection:
            assert await waits(connection) == "off"
        async with database.transaction() as connection:
            assert await waits(connection) == "on"


async def retire_one(database: Database) -> None:
    async with database.relaxed_transaction() as connection:
        await connection.execute(
            "INSERT INTO index_changes SELECT gen_random_uuid(), project_id FROM projects"
        )
        row = await (await connection.execute("SELECT count(*) FROM index_changes")).fetchone()
        assert row == (1,)
        raise LeaseLost("on the way")


async def test_a_step_that_fails_is_rolled_back(database: Database) -> None:
    await access_classes.get_or_create_project(database, "tenant", "project")
    with pytest.raises(LeaseLost):
        await retire_one(database)
    assert await database.rows("SELECT count(*) FROM index_changes", {}) == [(0,)]

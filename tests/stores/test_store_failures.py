"""PostgreSQL's refusals become messages that say how to fix them; errors in our own SQL are raised unchanged."""

from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from lightwell.domain.errors import StoreFailed
from lightwell.records.database import Database, connect

RAISED: LiteralString = (
    "DO $$ BEGIN RAISE EXCEPTION 'as %% says' USING ERRCODE = '{}', DETAIL = 'row (4711)'; END $$"
)


async def run(database: Database, *statements: LiteralString) -> None:
    async with database.transaction() as connection:
        for each in statements:
            await connection.execute(each)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (("SET TRANSACTION READ ONLY", "DELETE FROM projects"), "read only: .*LIGHTWELL_DATABASE_URL"),
        (("SET LOCAL ROLE pg_monitor", "DELETE FROM projects"), "user may not .* LIGHTWELL_DATABASE_URL"),
        (("SET LOCAL statement_timeout = 20", "SELECT pg_sleep(9)"), "took too long: raise statement_timeout"),
        (("SET LOCAL lock_timeout = 20", "LOCK projects"), "wrote the same .* try again"),
        ((RAISED.format("53100"),), "disk is full: free some space"),
        ((RAISED.format("53200"),), "too little memory"),
        ((RAISED.format("53300"),), "no more connections"),
        ((RAISED.format("40P01"),), "try again"),
        ((RAISED.format("40001"),), "try again"),
        ((RAISED.format("XX001"),), "restore a backup"),
        ((RAISED.format("57P01"),), "did not answer"),
    ],
)  # fmt: skip
async def test_a_refusal_of_the_server_says_how_to_fix_it(
    database: Database, statements: tuple[LiteralString, ...], message: str
) -> None:
    async with database.transaction() as other:
        await other.execute("LOCK projects IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreFailed, match=message) as raised:
            await run(database, *statements)
    assert isinstance(raised.value.__cause__, psycopg.Error)
    assert "4711" not in str(raised.value)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("SELEKT 1", psycopg.errors.SyntaxError),
        ("SELECT nothing FROM projects", psycopg.errors.UndefinedColumn),
        ("SELECT * FROM nowhere", psycopg.errors.UndefinedTable),
        ("INSERT INTO projects DEFAULT VALUES", psycopg.errors.NotNullViolation),
    ],
)
async def test_an_error_in_our_own_sql_is_raised_unchanged(
    database: Database, statement: LiteralString, error: type[psycopg.Error]
) -> None:
    with pytest.raises(error):
        await run(database, statement)


async def test_a_read_only_server_is_reported_on_connecting(
    database: Database, database_url: str
) -> None:
    await run(database, "DELETE FROM migrations")
    read_only = make_conninfo(database_url, options="-cdefault_transaction_read_only=on")
    with pytest.raises(StoreFailed, match="read only"):
        async with connect(read_only):
            pass

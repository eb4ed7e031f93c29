"""The door to PostgreSQL: a pool of connections, transactions, migrations."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib import resources
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, postgres, sql
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg.types.array import ListDumper
from psycopg_pool import AsyncConnectionPool

from lightwell.domain.errors import Invalid, StoreFailed
from lightwell.logs import logger
from lightwell.records.failures import mendable

Connection = AsyncConnection[TupleRow]
Row = tuple[Any, ...]
"""A row as PostgreSQL gives it; it becomes a value of ours in the module that asked for it."""

_UUID_ARRAY = postgres.types["uuid"].array_oid
_MALFORMED = (
    "The database URL (LIGHTWELL_DATABASE_URL) cannot be read: write it like postgresql://user:password@host:5432/name,"
    " with %40 for @, %2F for / and %3A for : in the password"
)
_MIGRATION_LOCK = 7_163_051_220
OLDEST = 160_000

_log = logger(__name__)


class Database:
    """A pool of connections to one database; every connection is in UTC and knows pgvector's types."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """Lend a connection inside one transaction; raise `StoreFailed` for what the server refuses or when it is gone."""
        async with self._lent() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def step(self) -> AsyncGenerator[Connection, None]:
        """Lend a connection as `transaction` does, for what is only repeated when the server crashes before it is on disk.

        It is there once a later transaction is, so whoever says that something is done ends with a `transaction`.
        """
        async with self.transaction() as connection:
            await connection.execute("SET LOCAL synchronous_commit = off")
            yield connection

    @asynccontextmanager
    async def _lent(self) -> AsyncGenerator[Connection, None]:
        with mendable():
            async with self._pool.connection() as connection:
                yield connection

    async def now(self) -> datetime:
        """Return the server's time: no transaction that begins later has an earlier one."""
        return (await self.rows("SELECT now()", {}))[0][0]

    async def rows(
        self,
        query: LiteralString | sql.Composed,
        parameters: Mapping[str, object],
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> list[Row]:
        """Run one query by itself and return its rows.

        With `prepare=False` it is planned anew each time; `binary` rows are cheaper where they hold bytes.
        """
        async with self._lent() as connection:
            cursor = await connection.execute(query, parameters, prepare=prepare, binary=binary)
            return await cursor.fetchall()

    async def run(
        self, query: LiteralString | sql.Composed, parameters: Mapping[str, object]
    ) -> int:
        """Run one statement by itself and return how many rows it touched."""
        async with self._lent() as connection:
            cursor = await connection.execute(query, parameters)
            return cursor.rowcount


def checked(conninfo: str) -> str:
    """Return a connection string that is well formed; raise `Invalid`, which quotes none of it: it may hold a password.

    A password with a character that a URL gives a meaning to shifts its end into the host, the port or the name.
    """
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    except psycopg.ProgrammingError:
        raise Invalid(_MALFORMED) from None
    shifted = "@" in parts.get("host", "") + parts.get("dbname", "")
    if shifted or not re.fullmatch(r"[\d,]*", parts.get("port", "")):
        raise Invalid(_MALFORMED)
    return conninfo


@asynccontextmanager
async def connected(conninfo: str, *, most_connections: int = 10) -> AsyncGenerator[Database, None]:
    """Open a pool, bring the schema up to date, and close the pool at the end; raise `StoreFailed`."""
    with mendable():
        await _migrated(checked(conninfo))
    pool = AsyncConnectionPool[Connection](
        conninfo,
        kwargs={"autocommit": True},
        min_size=1,
        max_size=most_connections,
        open=False,
        configure=_configured,
        timeout=30,
    )
    try:
        await pool.open()
        yield Database(pool)
    finally:
        await pool.close()


def array_of(identifiers: Iterable[UUID]) -> str:
    """Return PostgreSQL's text of a `uuid[]`: a long list of objects costs more than to search for what it names."""
    return f"{{{','.join([each.hex for each in identifiers])}}}"


async def copy_rows(
    connection: Connection, target: LiteralString, rows: Iterable[Sequence[object]]
) -> None:
    """Write rows by COPY; `target` is `table (column, ...)`."""
    async with connection.cursor().copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            await copy.write_row(row)


def migrations() -> list[tuple[str, str]]:
    """Return each migration's name and SQL, in the order they apply."""
    folder = resources.files("lightwell.records") / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]


async def pending_migrations(conninfo: str) -> list[str]:
    """Return the names of the migrations that this database still lacks; raise `StoreFailed`."""
    with mendable():
        async with await AsyncConnection.connect(checked(conninfo), autocommit=True) as connection:
            known = await _applied(connection)
    return [name for name, _ in migrations() if name not in known]


async def _configured(connection: Connection) -> None:
    await connection.execute("SET TIME ZONE 'UTC'")
    await register_vector_async(connection)
    connection.adapters.register_dumper(list, _Lists)


class _Lists(ListDumper):
    """Lists of identifiers in one go: one by one, they were a sixth of a question's time."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        if self.oid != _UUID_ARRAY or None in obj:
            return super().dump(obj)
        return array_of(obj).encode()


async def _migrated(conninfo: str) -> None:
    try:
        async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
            if connection.info.server_version < OLDEST:
                raise StoreFailed("Lightwell needs PostgreSQL 16 or newer with pgvector")
            await connection.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
            await _apply(connection)
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as error:
        raise StoreFailed(
            "This PostgreSQL lacks pgvector; install its package and try again"
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(f"This PostgreSQL user may not set Lightwell up: {error}") from error


async def _apply(connection: Connection) -> None:
    known = await _applied(connection)
    if not known:
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    for name, statements in migrations():
        if name not in known:
            async with connection.transaction():
                await connection.execute(cast("LiteralString", statements))
                await connection.execute("INSERT INTO migrations (name) VALUES (%s)", [name])
            _log.info("migration applied", name=name)


async def _applied(connection: Connection) -> set[str]:
    cursor = await connection.execute("SELECT to_regclass('migrations') IS NOT NULL")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return set()
    cursor = await connection.execute("SELECT name FROM migrations")
    return {name for (name,) in await cursor.fetchall()}

"""The door to PostgreSQL: a pool of connections, transactions, migrations."""

import asyncio
import random
import re
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from datetime import datetime
from functools import wraps
from importlib import resources
from typing import Any, LiteralString, ParamSpec, TypeVar, cast
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, postgres, sql
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg.types.array import ListDumper
from psycopg_pool import AsyncConnectionPool

from lightwell.domain.errors import Invalid, StoreConflict, StoreFailed
from lightwell.logs import logger
from lightwell.records.errors import explained_errors

Connection = AsyncConnection[TupleRow]
Row = tuple[Any, ...]
"""A row as PostgreSQL gives it; it becomes a value of ours in the module that asked for it."""

P = ParamSpec("P")
T = TypeVar("T")

_UUID_ARRAY = postgres.types["uuid"].array_oid
_PORTS = re.compile(r"[\d,]*")
_MALFORMED = (
    "The database URL (LIGHTWELL_DATABASE_URL) cannot be read: write it like postgresql://user:password@host:5432/name,"
    " with %40 for @, %2F for / and %3A for : in the password"
)
_MIGRATION_LOCK = 7_163_051_220
OLDEST = 160_000

_MAX_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.02
_MAX_SNAPSHOTS = 4

_log = logger(__name__)


def repeatable(call: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[object, object, T]]:
    """Repeat a coroutine function whose transaction PostgreSQL rolled back in favour of another one.

    For functions that are one transaction, or that may run again from their start: a deadlock or a serialization
    failure left nothing of them behind. Raises `StoreConflict` when eight tries failed.
    """

    @wraps(call)
    async def repeated(*args: P.args, **kwargs: P.kwargs) -> T:
        for tries in range(1, _MAX_TRIES):
            try:
                return await call(*args, **kwargs)
            except StoreConflict as error:
                _log.info(
                    "transaction repeated", function=call.__name__, tries=tries, error=str(error)
                )
            # random, so that two that met once do not meet again
            await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**tries * random.random())  # noqa: S311
        return await call(*args, **kwargs)

    return repeated


class Database:
    """A pool of connections to one database; every connection is in UTC and knows pgvector's types."""

    def __init__(self, pool: AsyncConnectionPool[Connection], conninfo: str) -> None:
        self._pool = pool
        self._conninfo = conninfo
        self._snapshots = asyncio.Semaphore(_MAX_SNAPSHOTS)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """Lend a connection inside one transaction; raise `StoreFailed` for what the server refuses or when it is gone."""
        async with self._lent() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def relaxed_transaction(self) -> AsyncGenerator[Connection, None]:
        """Lend a connection as `transaction` does, for what is only repeated when the server crashes before it is on disk.

        It is there once a later transaction is, so whoever says that something is done ends with a `transaction`.
        """
        async with self.transaction() as connection:
            await connection.execute("SET LOCAL synchronous_commit = off")
            yield connection

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[Connection, None]:
        """Lend a connection that does not belong to the pool, for what takes long or needs the pool meanwhile.

        What is set and locked there ends with it.
        """
        with explained_errors():
            async with await AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                await _configure(connection)
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[Connection, None]:
        """Lend a read-only session that sees the database as it is now, however long it reads; four at once.

        Whoever comes then waits for one of them to end.
        """
        async with self._snapshots, self.session() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    @asynccontextmanager
    async def _lent(self) -> AsyncGenerator[Connection, None]:
        connection: Connection | None = None
        with explained_errors():
            try:
                async with self._pool.connection() as connection:
                    yield connection
            except psycopg.OperationalError:
                if connection is not None and connection.closed:
                    await self._pool.check()  # the server may have closed all the others, too
                raise

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

        @repeatable
        async def once() -> list[Row]:
            async with self._lent() as connection:
                cursor = await connection.execute(query, parameters, prepare=prepare, binary=binary)
                return await cursor.fetchall()

        return await once()

    async def execute(
        self, query: LiteralString | sql.Composed, parameters: Mapping[str, object]
    ) -> int:
        """Run one statement by itself and return how many rows it touched."""

        @repeatable
        async def once() -> int:
            async with self._lent() as connection:
                cursor = await connection.execute(query, parameters)
                return cursor.rowcount

        return await once()


def checked(conninfo: str) -> str:
    """Return a connection string that is well formed; raise `Invalid`, which quotes none of it: it may hold a password.

    A password with a character that a URL gives a meaning to shifts its end into the host, the port or the name.
    """
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    except psycopg.ProgrammingError:
        raise Invalid(_MALFORMED) from None
    shifted = "@" in parts.get("host", "") + parts.get("dbname", "")
    if shifted or not _PORTS.fullmatch(parts.get("port", "")):
        raise Invalid(_MALFORMED)
    return conninfo


@asynccontextmanager
async def connect(conninfo: str, *, max_connections: int = 10) -> AsyncGenerator[Database, None]:
    """Open a pool, bring the schema up to date, and close the pool at the end; raise `StoreFailed`."""
    with explained_errors():
        await _migrate(checked(conninfo))
    pool = AsyncConnectionPool[Connection](
        conninfo,
        kwargs={"autocommit": True},
        min_size=1,
        max_size=max_connections,
        open=False,
        configure=_configure,
        timeout=30,
    )
    try:
        await pool.open()
        yield Database(pool, conninfo)
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
    with explained_errors():
        async with await AsyncConnection.connect(checked(conninfo), autocommit=True) as connection:
            known = await _applied_migrations(connection)
    return [name for name, _ in migrations() if name not in known]


async def _configure(connection: Connection) -> None:
    await connection.execute("SET TIME ZONE 'UTC'")
    await register_vector_async(connection)
    connection.adapters.register_dumper(list, _Lists)


class _Lists(ListDumper):
    """Lists of identifiers in one go: one by one, they were a sixth of a question's time."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        if self.oid != _UUID_ARRAY or None in obj:
            return super().dump(obj)
        return array_of(obj).encode()


async def _migrate(conninfo: str) -> None:
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
    known = await _applied_migrations(connection)
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


async def _applied_migrations(connection: Connection) -> set[str]:
    cursor = await connection.execute("SELECT to_regclass('migrations') IS NOT NULL")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return set()
    cursor = await connection.execute("SELECT name FROM migrations")
    return {name for (name,) in await cursor.fetchall()}

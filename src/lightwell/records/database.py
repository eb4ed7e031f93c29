"""Access to PostgreSQL: a connection pool, transactions, migrations."""

import asyncio
import random
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from datetime import datetime
from functools import wraps
from importlib import resources
from typing import Any, LiteralString, ParamSpec, TypeVar, cast, overload
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, postgres, pq
from psycopg.abc import Buffer, DumperKey, PyFormat
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg.types.array import ListDumper
from psycopg_pool import AsyncConnectionPool

from lightwell.domain.access import ClassSet
from lightwell.domain.errors import Invalid, StoreConflict, StoreFailed
from lightwell.domain.operations import PoolFigures
from lightwell.logs import logger
from lightwell.records.connections import limit_silence, open_connection, with_keepalives
from lightwell.records.errors import translate_errors
from lightwell.records.rows import Query, Row, fetch_values, row_factory
from lightwell.text.regex import regex

Connection = AsyncConnection[TupleRow]
P = ParamSpec("P")
T = TypeVar("T")

_UUID_ARRAY = postgres.types["uuid"].array_oid
_PORTS = regex(r"[\d,]*")
_MALFORMED = (
    "The database URL (LIGHTWELL_DATABASE_URL) cannot be read: write it like postgresql://user:password@host:5432/name,"
    " with %40 for @, %2F for / and %3A for : in the password"
)
_MIGRATION_LOCK = 7_163_051_220
_FIRST_BEFORE_RELEASE = "0001_record"
"""The first migration of the stores that were made before the schema became one file."""

MIN_SERVER_VERSION = 160_000
"""PostgreSQL 16, as `server_version` counts."""

_MAX_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.02
_MAX_SNAPSHOTS = 4

_log = logger(__name__)


def repeatable(call: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[object, object, T]]:
    """Repeat a coroutine function whose transaction PostgreSQL rolled back in favour of another one.

    For functions that are one transaction, or that may run again from their start: a deadlock or a
    serialization failure leaves nothing of them behind. Raises `StoreConflict` after eight tries.
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
            # A random pause, so that two transactions do not collide again at the next try.
            await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**tries * random.random())  # noqa: S311
        return await call(*args, **kwargs)

    return repeated


class Database:
    """A connection pool of one database; every connection is in UTC and knows pgvector's types."""

    def __init__(self, pool: AsyncConnectionPool[Connection], conninfo: str) -> None:
        self._pool = pool
        self._conninfo = conninfo
        self._snapshots = asyncio.Semaphore(_MAX_SNAPSHOTS)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """Yield a connection inside one transaction; raise `StoreFailed` if the server refuses or does not answer."""
        async with self._lent() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def trial(self) -> AsyncGenerator[Connection, None]:
        """Yield a connection as `transaction` does, and take back at the end whatever was written: to see what a change would do."""
        async with self._lent() as connection, connection.transaction(force_rollback=True):
            yield connection

    @asynccontextmanager
    async def relaxed_transaction(self) -> AsyncGenerator[Connection, None]:
        """Yield a connection as `transaction` does, but do not wait for the disk at commit.

        If the server crashes, the last of these transactions may be lost, in order: use it for steps that are
        repeated then. They are durable once a later `transaction` is, so a caller that reports completion ends
        with a `transaction`.
        """
        async with self.transaction() as connection:
            await connection.execute("SET LOCAL synchronous_commit = off")
            yield connection

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[Connection, None]:
        """Yield a connection outside the pool, for long operations and for those that need the pool meanwhile.

        Session settings and locks end with it.
        """
        with translate_errors():
            async with await open_connection(self._conninfo) as connection:
                await _configure(connection)
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[Connection, None]:
        """Yield a read-only session that sees the database as it is now, however long it reads.

        At most four are open at a time; a further caller waits.
        """
        async with self._snapshots, self.session() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    def pool_figures(self) -> PoolFigures:
        """Return how many connections are open and idle, and how many callers wait for one."""
        stats = self._pool.get_stats()
        return PoolFigures(
            size=stats.get("pool_size", 0),
            idle=stats.get("pool_available", 0),
            waiting=stats.get("requests_waiting", 0),
        )

    @asynccontextmanager
    async def _lent(self) -> AsyncGenerator[Connection, None]:
        connection: Connection | None = None
        with translate_errors():
            try:
                async with self._pool.connection() as connection:
                    yield connection
            except psycopg.OperationalError:
                if connection is not None and connection.closed:
                    await (
                        self._pool.check()
                    )  # the server may have closed the other connections, too
                raise

    async def now(self) -> datetime:
        """Return the server's time: no transaction that begins later has an earlier `now()`."""
        (moment,) = await self.values("SELECT now()", {})
        return moment

    @overload
    async def rows(
        self,
        query: Query,
        parameters: Mapping[str, object],
        into: None = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> list[Row]: ...

    @overload
    async def rows(
        self,
        query: Query,
        parameters: Mapping[str, object],
        into: Callable[..., T],
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> list[T]: ...

    @repeatable
    async def rows(
        self,
        query: Query,
        parameters: Mapping[str, object],
        into: Callable[..., Any] | None = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> list[Any]:
        """Run one query in a transaction of its own and return its rows, each made `into` a value as `rows.fetch` does.

        With `prepare=False` the server plans it anew each time; `binary` rows are cheaper for columns of bytes.
        """
        async with self._lent() as connection:
            cursor = connection.cursor(row_factory=row_factory(into))
            await cursor.execute(query, parameters, prepare=prepare, binary=binary)
            return await cursor.fetchall()

    async def values(self, query: Query, parameters: Mapping[str, object]) -> list[Any]:
        """Run one query in a transaction of its own and return its first column."""
        return [value for value, *_ in await self.rows(query, parameters)]

    async def row(
        self,
        query: Query,
        parameters: Mapping[str, object],
        into: Callable[..., T],
    ) -> T | None:
        """Run one query in a transaction of its own and return its first row made `into` a value, None without one."""
        rows = await self.rows(query, parameters, into)
        return rows[0] if rows else None

    async def value(self, query: Query, parameters: Mapping[str, object]) -> Any:
        """Run one query in a transaction of its own and return the first column of its first row, None without one."""
        values = await self.values(query, parameters)
        return values[0] if values else None

    @repeatable
    async def execute(self, query: Query, parameters: Mapping[str, object]) -> int:
        """Run one statement in a transaction of its own and return the number of affected rows."""
        async with self._lent() as connection:
            cursor = await connection.execute(query, parameters)
            return cursor.rowcount


def validate_conninfo(conninfo: str) -> str:
    """Return the connection string if it is well formed; raise `Invalid`, whose message quotes none of it (it
    may hold a password).

    An unescaped character such as `@` in a password moves the rest of the password into the host, the port or
    the name.
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
async def connect(
    conninfo: str, *, max_connections: int = 10, is_restoring: bool = False
) -> AsyncGenerator[Database, None]:
    """Open a pool, apply pending migrations, and close the pool at the end.

    Raises `StoreFailed`, unless it `is_restoring` also where a backup is being restored (`records/restoration.py`).
    """
    with translate_errors():
        await _migrate(validate_conninfo(conninfo), is_restoring=is_restoring)
    pool = AsyncConnectionPool[Connection](
        with_keepalives(conninfo),
        kwargs={"autocommit": True},
        min_size=1,
        max_size=max_connections,
        open=False,
        configure=_configure_pooled,
        timeout=30,
    )
    try:
        await pool.open()
        yield Database(pool, conninfo)
    finally:
        await pool.close()


def format_uuid_array(identifiers: Iterable[UUID]) -> str:
    """Return the ids as the text of a `uuid[]`. Adapting a long list of objects would cost more than the search itself."""
    return f"{{{','.join([identifier.hex for identifier in identifiers])}}}"


async def copy_rows(
    connection: Connection, target: LiteralString, rows: Iterable[Sequence[object]]
) -> None:
    """Write rows by COPY; `target` is `table (column, ...)`."""
    async with connection.cursor().copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            await copy.write_row(row)


def list_migrations() -> list[tuple[str, str]]:
    """Return each migration's name and SQL, in the order in which they apply: the whole schema, then what was added later."""
    folder = resources.files("lightwell.records") / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]


def refuse_before_release(applied: Collection[str]) -> None:
    """Raise `StoreFailed` if the store or backup to which these migrations were applied is from before the first release."""
    if _FIRST_BEFORE_RELEASE in applied:
        raise StoreFailed(
            "This store was made before Lightwell's first release, and this version cannot read it. Keep it with `lightwell backup FILE`"
            " of the version that made it, then set LIGHTWELL_DATA to a new folder or LIGHTWELL_DATABASE_URL to an empty database,"
            " and ingest the documents again: docs/operations.md says how"
        )


async def list_pending_migrations(conninfo: str) -> list[str]:
    """Return the names of the migrations that this database lacks; raise `StoreFailed`, also for a store that lacks more than these."""
    with translate_errors():
        async with await open_connection(validate_conninfo(conninfo)) as connection:
            applied = await _applied_migrations(connection)
    refuse_before_release(applied)
    return [name for name, _ in list_migrations() if name not in applied]


async def has_schema(conninfo: str) -> bool:
    """Return whether this database holds a store, of any version; raise `StoreFailed`."""
    with translate_errors():
        async with await open_connection(validate_conninfo(conninfo)) as connection:
            return await _has_migrations(connection)


async def try_migrations(conninfo: str) -> None:
    """Apply the migrations that this database lacks, and roll them back; raise `StoreFailed` where one fails.

    Other users of the database wait meanwhile for the tables that a migration changes.
    """
    with translate_errors():
        async with (
            await open_connection(validate_conninfo(conninfo)) as connection,
            connection.transaction(force_rollback=True),
        ):
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
            await _apply(connection)


async def count_migration_differences(database: Database) -> tuple[int, int]:
    """Return how many migrations an open database lacks (restored meanwhile), and how many only newer versions know (upgraded meanwhile)."""
    applied = set(await database.values("SELECT name FROM migrations", {}))
    ours = {name for name, _ in list_migrations()}
    return len(ours - applied), len(applied - ours)


async def _configure_pooled(connection: Connection) -> None:
    await limit_silence(connection)
    await _configure(connection)


async def _configure(connection: Connection) -> None:
    await connection.execute("SET TIME ZONE 'UTC'")
    await register_vector_async(connection)
    connection.adapters.register_dumper(list, _Lists)
    connection.adapters.register_dumper(ClassSet, _ClassSets)


class _ClassSets(Dumper):
    """Dumps few access classes as an `integer[]`, many as bits in a `bytea`: the schema's `sees` takes both."""

    oid = postgres.types["int4"].array_oid

    def dump(self, obj: ClassSet) -> Buffer:
        return obj.listed.encode()

    def get_key(self, obj: ClassSet, format: PyFormat) -> DumperKey:
        return self.cls if obj.is_listed else _ClassBits

    def upgrade(self, obj: ClassSet, format: PyFormat) -> Dumper:
        return self if obj.is_listed else _ClassBits(self.cls)


class _ClassBits(Dumper):
    format = pq.Format.BINARY
    oid = postgres.types["bytea"].oid

    def dump(self, obj: ClassSet) -> Buffer:
        return obj.bits


class _Lists(ListDumper):
    """Dumps lists of ids as one text: id by id, they took a sixth of a question's time."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        if self.oid != _UUID_ARRAY or None in obj:
            return super().dump(obj)
        return format_uuid_array(obj).encode()


async def _migrate(conninfo: str, *, is_restoring: bool) -> None:
    try:
        async with await open_connection(conninfo) as connection:
            if connection.info.server_version < MIN_SERVER_VERSION:
                raise StoreFailed("Lightwell needs PostgreSQL 16 or newer with pgvector")
            if not is_restoring and (backup := await find_unfinished_restoration(connection)):
                raise StoreFailed(
                    f"The restoration of {backup} is not finished, so keys and documents may be valid that were revoked or deleted"
                    " since: run the same `lightwell restore` again"
                )
            await connection.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
            await _apply(connection)
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as error:
        raise StoreFailed(
            "This PostgreSQL lacks pgvector: install its package and try again"
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"This PostgreSQL user may not create Lightwell's tables: {error}"
        ) from error


async def _apply(connection: Connection) -> None:
    applied = await _applied_migrations(connection)
    refuse_before_release(applied)
    migrations = list_migrations()
    if newer := applied.difference(name for name, _ in migrations):
        raise StoreFailed(
            f"This database was upgraded by a newer Lightwell (migration {max(newer)}): install that version or a later one,"
            " or restore a backup of this version into another database"
        )
    if not applied:
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    for name, statements in migrations:
        if name not in applied:
            async with connection.transaction():
                await connection.execute(cast("LiteralString", statements))
                await connection.execute("INSERT INTO migrations (name) VALUES (%s)", [name])
            _log.info("migration applied", name=name)


async def find_unfinished_restoration(connection: Connection) -> str:
    """Return the backup that is being restored into this database, "" for none."""
    query = "SELECT to_regclass('unfinished_restoration') IS NOT NULL"
    if await fetch_values(connection, query, {}) != [True]:
        return ""
    backups = await fetch_values(connection, "SELECT backup FROM unfinished_restoration", {})
    return backups[0] if backups else ""


async def _applied_migrations(connection: Connection) -> set[str]:
    if not await _has_migrations(connection):
        return set()
    return set(await fetch_values(connection, "SELECT name FROM migrations", {}))


async def _has_migrations(connection: Connection) -> bool:
    query = "SELECT to_regclass('migrations') IS NOT NULL"
    return await fetch_values(connection, query, {}) == [True]

"""How the approximate index of a table of vectors comes to stand, while everybody goes on reading and writing.

One builds, the others go on without. Only the server knows of a building: the lock and the settings are its session's, so
nothing is left to clean up when the client dies, but the half-built index, which the next builder drops.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from lightwell.logs import logger
from lightwell.records.database import Connection, Database

_TOLD_EVERY_SECONDS = 30.0

_log = logger(__name__)

# Whether the index stands, how many rows the table has at most (by its pages, so that none is counted), and the
# megabytes in which the whole graph finds room.
_STATE = """
SELECT coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%(index)s)), false),
       size.bytes / (2 * size.dimension + 60),
       1 + size.bytes / (2 * size.dimension + 60) * (2 * size.dimension + 900) / 1000000
FROM (
    SELECT pg_relation_size(attrelid) AS bytes, atttypmod AS dimension FROM pg_attribute
    WHERE attrelid = to_regclass(%(table)s) AND attname = 'embedding'
) AS size
"""

_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%(index)s, 0))"

_SETTINGS = """
SELECT set_config('maintenance_work_mem', greatest(
           least(%(wanted)s, %(most)s), pg_size_bytes(current_setting('maintenance_work_mem')) / 1048576
       ) || 'MB', false),
       set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)
"""

_DROP = "DROP INDEX CONCURRENTLY IF EXISTS {index}"

_CREATE = """
CREATE INDEX CONCURRENTLY {index} ON {table}
USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200)
"""

_PROGRESS = """
SELECT phase, tuples_done FROM pg_stat_progress_create_index WHERE relid = to_regclass(%(table)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateIndex:
    """An HNSW index over the column `embedding` of a table that has more than `over` rows.

    It is built in up to `max_memory` megabytes, or what the server gives to maintenance if that is more.
    """

    table: str
    index: str
    over: int
    max_memory: int


async def build(database: Database, index: ApproximateIndex) -> bool:
    """Build what is wanted and not there, unless another does; return whether it stands; raise `StoreFailed`."""
    names = {"table": index.table, "index": index.index}
    stands, rows, megabytes = (await database.rows(_STATE, names))[0]
    if stands or rows <= index.over:
        return bool(stands)
    async with database.session() as session:
        locked = await (await session.execute(_LOCK, names)).fetchone()
        if locked != (True,):
            return False
        if not (await database.rows(_STATE, names))[0][0]:
            memory = {"wanted": megabytes, "most": index.max_memory}
            await session.execute(_SETTINGS, memory)
            async with _log_progress(database, index, rows):
                await _build(session, index)
    return True


async def _build(session: Connection, index: ApproximateIndex) -> None:
    """Build the index; what a crash left of one goes first."""
    await session.execute(_of(_DROP, index))
    try:
        await session.execute(_of(_CREATE, index))
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Several processes build in shared memory, of which a container may have very little.
        await session.execute("SET max_parallel_maintenance_workers = 0")
        await session.execute(_of(_DROP, index))
        await session.execute(_of(_CREATE, index))


@asynccontextmanager
async def _log_progress(
    database: Database, index: ApproximateIndex, rows: int
) -> AsyncGenerator[None, None]:
    """Log how far the building is, and its end."""
    telling = asyncio.create_task(_log_once(database, index, rows))
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    _log.info("vector index built", index=index.index)


async def _log_once(database: Database, index: ApproximateIndex, rows: int) -> None:
    while True:
        for phase, done in await database.rows(_PROGRESS, {"table": index.table}):
            _log.info("building vector index", index=index.index, phase=phase, done=done, rows=rows)
        await asyncio.sleep(_TOLD_EVERY_SECONDS)


def _of(statement: str, index: ApproximateIndex) -> sql.Composed:
    return sql.SQL(statement).format(  # pyright: ignore[reportArgumentType] - our own constants
        table=sql.Identifier(index.table), index=sql.Identifier(index.index)
    )

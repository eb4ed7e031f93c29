"""Builds the approximate index of a vector table while reads and writes continue.

One process builds; the others continue without the index. The lock and the settings belong to the builder's
session, so if it dies, only a half-built index remains, which the next builder drops.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from lightwell.domain.errors import Invalid
from lightwell.logs import logger
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch_values
from lightwell.tasks import cancel_and_wait

MAX_INDEXED_DIMENSION = 4_000
"""pgvector's limit for an HNSW index over half-precision vectors."""

_LOG_INTERVAL_SECONDS = 30.0

_log = logger(__name__)

# Whether the index exists, an upper bound of the table's rows (computed from its size, so that no row is counted), and
# the megabytes of memory that hold the whole HNSW graph.
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
    """An HNSW index over the column `embedding` of a table that has more than `min_rows` rows.

    It is built with up to `max_memory` megabytes, or the server's maintenance_work_mem if that is larger.
    """

    table: str
    index: str
    min_rows: int
    max_memory: int


def require_indexable(dimension: int) -> None:
    """Raise `Invalid`, which says what to set, for vectors of more dimensions than pgvector indexes."""
    if dimension > MAX_INDEXED_DIMENSION:
        raise Invalid(
            f"pgvector indexes at most {MAX_INDEXED_DIMENSION} dimensions, and the embedding model gives {dimension}. If the model is"
            " trained for shorter vectors (Matryoshka), set LIGHTWELL_EMBEDDING_DIMENSION to a smaller dimension; where its endpoint"
            " refuses that, set LIGHTWELL_EMBEDDING_MATRYOSHKA=true, too. For a model to change to, the settings begin with"
            " LIGHTWELL_NEXT_EMBEDDING"
        )


async def build(database: Database, index: ApproximateIndex) -> bool:
    """Build the index if the table needs it and no other process builds it; return whether it exists. Raises
    `StoreFailed`.
    """
    names = {"table": index.table, "index": index.index}
    ((exists, rows, megabytes),) = await database.rows(_STATE, names)
    if exists or rows <= index.min_rows:
        return bool(exists)
    async with database.session() as session:
        if await fetch_values(session, _LOCK, names) != [True]:
            return False
        if not await database.value(_STATE, names):
            memory = {"wanted": megabytes, "most": index.max_memory}
            await session.execute(_SETTINGS, memory)
            async with _log_progress(database, index, rows):
                await _build(session, index)
    return True


async def _build(session: Connection, index: ApproximateIndex) -> None:
    """Drop what an interrupted build left, then build the index."""
    await session.execute(_of(_DROP, index))
    try:
        await session.execute(_of(_CREATE, index))
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # A parallel build needs shared memory, of which a container may have very little.
        await session.execute("SET max_parallel_maintenance_workers = 0")
        await session.execute(_of(_DROP, index))
        await session.execute(_of(_CREATE, index))


@asynccontextmanager
async def _log_progress(
    database: Database, index: ApproximateIndex, rows: int
) -> AsyncGenerator[None, None]:
    """Log the progress of the build, and its end."""
    logging_task = asyncio.create_task(_log_repeatedly(database, index, rows))
    try:
        yield
    finally:
        await cancel_and_wait(logging_task)
        await asyncio.gather(logging_task, return_exceptions=True)
    _log.info("vector index built", index=index.index)


async def _log_repeatedly(database: Database, index: ApproximateIndex, rows: int) -> None:
    while True:
        for phase, done in await database.rows(_PROGRESS, {"table": index.table}):
            _log.info("building vector index", index=index.index, phase=phase, done=done, rows=rows)
        await asyncio.sleep(_LOG_INTERVAL_SECONDS)


def _of(statement: str, index: ApproximateIndex) -> sql.Composed:
    return sql.SQL(statement).format(  # pyright: ignore[reportArgumentType] - our own constants
        table=sql.Identifier(index.table), index=sql.Identifier(index.index)
    )

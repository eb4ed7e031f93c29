"""Figures about all projects and all processes of a database. Only an administrator of the server, or its monitoring, reads them."""

from datetime import timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.jobs import JobState
from lightwell.domain.operations import (
    ModelCalls,
    PoolFigures,
    ProcessFigures,
    QuestionFigures,
    QueueFigures,
    SourceFigures,
)
from lightwell.records.database import Database

WINDOW = timedelta(minutes=5)
"""The questions that count as recent."""

_FINISHED_WINDOW = timedelta(days=1)
_ALIVE_SECONDS = 60
_KEPT_DAYS = 1

# Identifiers begin with their time, so that the primary key finds the latest rows.
_QUESTIONS = """
SELECT count(*) FILTER (WHERE citation_count > 0), count(*) FILTER (WHERE citation_count = 0),
       coalesce(sum(vector_search_ms), 0), coalesce(sum(graph_traversal_ms), 0),
       coalesce(sum(fusion_ms), 0), coalesce(sum(rerank_ms), 0), coalesce(sum(execution_time_ms), 0)
FROM rag_queries JOIN retrieval_metrics ON retrieval_metrics.query_id = rag_queries.id
WHERE rag_queries.id >= %(since)s
"""
_STEPS = ("vector", "graph", "fusion", "rerank", "total")

_JOBS = """
SELECT status, count(*), coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'queued')), 0)::float
FROM ingestion_jobs
WHERE status IN ('queued', 'chunking', 'embedding', 'extracting') OR id >= %(since)s
GROUP BY status
"""

_SOURCES = """
SELECT CASE WHEN is_paused THEN 'paused' WHEN failures_in_row > 0 THEN 'failing' ELSE 'working' END, count(*),
       coalesce(extract(epoch FROM max(now() - next_sync_at) FILTER (WHERE NOT is_paused AND system <> 'push')), 0)::float
FROM sources GROUP BY 1 ORDER BY 1
"""

_WEBHOOKS = (
    "SELECT coalesce(sum(webhooks_taken), 0), coalesce(sum(webhooks_repeated), 0) FROM sources"
)

_FAILED_ITEMS = "SELECT count(*) FROM item_fetches WHERE reason <> ''"

_WRITE = """
WITH expired AS (
    DELETE FROM process_figures WHERE touched_at < now() - make_interval(days => %(days)s) AND process_id <> %(id)s
)
INSERT INTO process_figures (process_id, figures) VALUES (%(id)s, %(figures)s)
ON CONFLICT (process_id) DO UPDATE SET figures = excluded.figures, touched_at = now()
"""

_READ = """
SELECT figures, touched_at >= now() - make_interval(secs => %(alive)s) FROM process_figures
"""


async def recent_questions(database: Database) -> QuestionFigures:
    """Return figures about the questions of the last five minutes."""
    since = await _id_before(database, WINDOW)
    ((cited, uncited, *sums),) = await database.rows(_QUESTIONS, {"since": since})
    seconds = {step: float(ms) / 1000 for step, ms in zip(_STEPS, sums, strict=True)}
    return QuestionFigures(cited=cited, uncited=uncited, seconds=seconds)


async def queue(database: Database) -> QueueFigures:
    """Return figures about jobs."""
    rows = await database.rows(_JOBS, {"since": await _id_before(database, _FINISHED_WINDOW)})
    return QueueFigures(
        jobs={JobState(status): count for status, count, _ in rows},
        oldest_seconds=max((age for *_, age in rows), default=0.0),
    )


async def sources(database: Database) -> SourceFigures:
    """Return figures about sources."""
    rows = await database.rows(_SOURCES, {})
    failed = (await database.rows(_FAILED_ITEMS, {}))[0][0]
    ((taken, repeated),) = await database.rows(_WEBHOOKS, {})
    return SourceFigures(
        sources={state: count for state, count, _ in rows},
        overdue_seconds=max((late for *_, late in rows), default=0.0),
        failed_items=failed,
        webhooks={"taken": int(taken), "repeated": int(repeated)},
    )


async def write_process(database: Database, process: UUID, figures: ProcessFigures) -> None:
    """Store what a process has counted so far."""
    document = {
        "calls": {
            operation: [calls.calls, calls.input_tokens, calls.output_tokens]
            for operation, calls in figures.model_calls.items()
        },
        "pool": [figures.pool.size, figures.pool.idle, figures.pool.waiting],
    }
    row = {"id": process, "figures": Jsonb(document), "days": _KEPT_DAYS}
    await database.execute(_WRITE, row)


async def sum_processes(database: Database) -> ProcessFigures:
    """Return the sums over all processes: of calls of a day, and of the pools of those that live."""
    calls: dict[str, ModelCalls] = {}
    pools: list[tuple[int, int, int]] = []
    for document, alive in await database.rows(_READ, {"alive": _ALIVE_SECONDS}):
        for operation, (count, sent, received) in document["calls"].items():
            of_process = ModelCalls(calls=count, input_tokens=sent, output_tokens=received)
            calls[operation] = calls.get(operation, ModelCalls()) + of_process
        if alive:
            pools.append(document["pool"])
    size, idle, waiting = (sum(column) for column in zip(*pools, (0, 0, 0), strict=True))
    return ProcessFigures(
        model_calls=calls, pool=PoolFigures(size=size, idle=idle, waiting=waiting)
    )


async def _id_before(database: Database, age: timedelta) -> UUID:
    """Return the least identifier of version 7 that something of this age may have."""
    milliseconds = int((await database.now() - age).timestamp() * 1000)
    return UUID(int=milliseconds << 80)

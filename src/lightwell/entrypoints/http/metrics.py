"""`/metrics` in the text form of Prometheus: sums over all processes that share the database, so that any may be asked.

Labels are operations, states and steps, never a text, a name or an access tag.
"""

import asyncio
import hmac
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden, StoreFailed
from lightwell.domain.ids import new_id
from lightwell.domain.operations import (
    CopyLag,
    ProcessFigures,
    QuestionFigures,
    QueueFigures,
    SourceFigures,
)
from lightwell.entrypoints.http.authentication import (
    authenticate,
    bearer_credentials,
    credentials_of,
    projects_of,
)
from lightwell.logs import logger
from lightwell.records import operations
from lightwell.records.embedding_space_progress import SpaceGaps, list_gaps
from lightwell.records.embedding_spaces import SpaceStatus
from lightwell.records.graph import copies
from lightwell.tasks import cancel_and_wait
from lightwell.wiring import Resources

_SECONDS = 15.0
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_log = logger(__name__)

router = APIRouter(tags=["operations"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReporter:
    """Writes what this process has counted to the database, where any process finds it."""

    resources: Resources
    process: UUID

    async def write(self) -> None:
        resources = self.resources
        figures = ProcessFigures(
            model_calls={kind.value: calls for kind, calls in resources.meter.totals.items()},
            pool=resources.database.pool_figures(),
        )
        await operations.write_process(resources.database, self.process, figures)

    async def run(self) -> None:
        """Write every few seconds; a failure is reported and tried again."""
        while True:
            await asyncio.sleep(_SECONDS)
            try:
                await self.write()
            except StoreFailed as error:
                _log.warning("the figures of this process were not stored", error=error.code)


@asynccontextmanager
async def open_reporter(resources: Resources) -> AsyncGenerator[ProcessReporter]:
    """Report this process's figures until the block ends."""
    reporter = ProcessReporter(resources=resources, process=new_id())
    running = asyncio.create_task(reporter.run())
    try:
        yield reporter
    finally:
        await cancel_and_wait(running)


async def require_monitoring(
    request: Request,
    shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer_credentials)],
) -> None:
    """Let the monitoring token in, and administrators of the server's own project; raise `Unauthenticated`, `Forbidden`."""
    projects = projects_of(request)
    token = request.app.state.reporter.resources.settings.server.metrics_token
    if token is not None and shown is not None:
        expected = token.get_secret_value().encode()
        if hmac.compare_digest(shown.credentials.encode(), expected):
            return
    principal = await authenticate(request, credentials_of(request), shown)
    if not principal.allows(Scope.ADMIN) or principal.project != projects.home:
        raise Forbidden(
            f"This needs LIGHTWELL_METRICS_TOKEN, or a key of the project {projects.home!r} with the scope admin"
        )


@router.get(
    "/metrics", dependencies=[Depends(require_monitoring)], response_class=Response, status_code=200
)
async def show_metrics(request: Request) -> Response:
    """Return figures for Prometheus: questions, model calls and tokens, jobs, the queue and connections."""
    reporter: ProcessReporter = request.app.state.reporter
    database = reporter.resources.database
    await reporter.write()
    families = [
        *_question_metrics(await operations.recent_questions(database)),
        *_queue_metrics(await operations.queue(database)),
        *_source_metrics(await operations.sources(database)),
        *_copy_metrics(await copies.list_lags(database)),
        *_space_metrics(await list_gaps(database)),
        *_process_metrics(await operations.sum_processes(database)),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return Response(generate_latest(registry), media_type=_CONTENT_TYPE)


@dataclass(frozen=True, slots=True, eq=False)
class _Families:
    """What Prometheus's library collects."""

    families: Sequence[Metric]

    def collect(self) -> Iterator[Metric]:
        yield from self.families


def _question_metrics(figures: QuestionFigures) -> list[Metric]:
    questions = GaugeMetricFamily(
        "lightwell_recent_questions", "Questions of the last five minutes.", labels=["outcome"]
    )
    questions.add_metric(["cited"], figures.cited)
    questions.add_metric(["uncited"], figures.uncited)
    seconds = GaugeMetricFamily(
        "lightwell_recent_question_seconds",
        "Seconds that the questions of the last five minutes took in sum, by step.",
        labels=["step"],
    )
    for step, took in figures.seconds.items():
        seconds.add_metric([step], took)
    return [questions, seconds]


def _queue_metrics(figures: QueueFigures) -> list[Metric]:
    jobs = GaugeMetricFamily(
        "lightwell_jobs", "Jobs by state; finished ones of the last day.", labels=["state"]
    )
    for state, count in figures.jobs.items():
        jobs.add_metric([state.value], count)
    oldest = GaugeMetricFamily(
        "lightwell_queue_age_seconds", "How long the oldest queued job has waited."
    )
    oldest.add_metric([], figures.oldest_seconds)
    return [jobs, oldest]


def _source_metrics(figures: SourceFigures) -> list[Metric]:
    sources = GaugeMetricFamily(
        "lightwell_sources", "Business systems that are synced, by state.", labels=["state"]
    )
    for state, count in figures.sources.items():
        sources.add_metric([state], count)
    overdue = GaugeMetricFamily(
        "lightwell_source_overdue_seconds",
        "How long the most overdue source has waited for its sync.",
    )
    overdue.add_metric([], max(0.0, figures.overdue_seconds))
    failed = GaugeMetricFamily(
        "lightwell_source_failed_items", "Items of business systems that could not be read."
    )
    failed.add_metric([], figures.failed_items)
    webhooks = CounterMetricFamily(
        "lightwell_source_webhooks",
        "Genuine webhooks of business systems: taken, or the repetition of one that was.",
        labels=["outcome"],
    )
    for outcome, count in figures.webhooks.items():
        webhooks.add_metric([outcome], count)
    return [sources, overdue, failed, webhooks]


def _copy_metrics(lags: Sequence[CopyLag]) -> list[Metric]:
    waiting = GaugeMetricFamily(
        "lightwell_graph_changes",
        "Chunks, documents and profiles whose change a graph store has not applied.",
    )
    waiting.add_metric([], sum(lag.changes for lag in lags))
    behind = GaugeMetricFamily(
        "lightwell_graph_lag_seconds", "How long the oldest of these changes has waited."
    )
    behind.add_metric([], max((lag.seconds for lag in lags), default=0.0))
    return [waiting, behind]


def _space_metrics(spaces: Sequence[SpaceGaps]) -> list[Metric]:
    gaps = GaugeMetricFamily(
        "lightwell_embedding_gaps",
        "Passages and descriptions without a vector, in spaces that questions use (active) or that are being filled (building).",
        labels=["space", "kind"],
    )
    for status in sorted({space.status for space in spaces}):
        alike = [space for space in spaces if space.status is status]
        gaps.add_metric([status.value, "passages"], sum(space.missing_chunks for space in alike))
        gaps.add_metric(
            [status.value, "descriptions"], sum(space.missing_profiles for space in alike)
        )
    changing = [space.seconds for space in spaces if space.status is SpaceStatus.BUILDING]
    changes = GaugeMetricFamily(
        "lightwell_embedding_changes", "Projects whose embedding model is being changed."
    )
    changes.add_metric([], len(changing))
    longest = GaugeMetricFamily(
        "lightwell_embedding_change_seconds", "How long the longest of these changes has taken."
    )
    longest.add_metric([], max(changing, default=0.0))
    return [gaps, changes, longest]


def _process_metrics(figures: ProcessFigures) -> list[Metric]:
    calls = CounterMetricFamily("lightwell_model_calls", "Calls of models.", labels=["operation"])
    tokens = CounterMetricFamily(
        "lightwell_model_tokens", "Tokens of models.", labels=["operation", "direction"]
    )
    for operation, spent in figures.model_calls.items():
        calls.add_metric([operation], spent.calls)
        tokens.add_metric([operation, "input"], spent.input_tokens)
        tokens.add_metric([operation, "output"], spent.output_tokens)
    pool = GaugeMetricFamily(
        "lightwell_database_connections", "Connections of the pools.", labels=["state"]
    )
    pool.add_metric(["idle"], figures.pool.idle)
    pool.add_metric(["used"], figures.pool.size - figures.pool.idle)
    waiting = GaugeMetricFamily("lightwell_database_waiting", "Callers that wait for a connection.")
    waiting.add_metric([], figures.pool.waiting)
    return [calls, tokens, pool, waiting]

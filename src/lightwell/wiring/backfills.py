"""Runs a backfill of the project that the settings name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from lightwell.domain.errors import Invalid
from lightwell.ingest.backfill import Backfill, BackfillOptions, PortionResult
from lightwell.ingest.derived_data import finish_derived
from lightwell.models.meter import Meter
from lightwell.records.graph import source_limits
from lightwell.records.jobs import backlog, queue
from lightwell.records.jobs.backlog import Ended
from lightwell.settings import Settings
from lightwell.wiring.backfill_host import make_assignment
from lightwell.wiring.clusters import Cluster, set_ray_environment
from lightwell.wiring.projects import open_ingestion
from lightwell.wiring.resources import open_resources

_NEED_EXTRA = "`lightwell backfill` needs a package that is not installed: in Lightwell's checkout, `uv tool install '.[ray]'`. `lightwell worker` needs none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is told of a backfill: the number of waiting documents at the start, and the result of each portion."""

    on_start: Callable[[int], None]
    on_result: Callable[[PortionResult], None]


async def run_backfill(
    settings: Settings, meter: Meter, cluster: Cluster, options: BackfillOptions, watch: Watch
) -> Ended:
    """Ingest every waiting document of the project on a cluster, finish derived data here, and return what PostgreSQL says of it.

    A host that is lost takes the result of its portion with it, but not what it has published.

    Raises `NotFound` without such a project, and otherwise what `Backfill.run` and `open_engine` raise.
    """
    if find_spec("ray") is None:
        raise Invalid(_NEED_EXTRA)
    set_ray_environment(cluster)
    from lightwell.wiring.ray_engine import open_engine

    def note(result: PortionResult) -> None:
        meter.include(result.calls, result.spent)
        watch.on_result(result)

    async with open_resources(settings, meter) as resources:
        database = resources.database
        assignment = await make_assignment(settings, database)
        project_id = assignment.project_id
        context = await open_ingestion(resources, project_id)
        await source_limits.store(database, project_id, context.sources)
        began = await database.now()
        waiting = await queue.count_open(database, project_id)
        watch.on_start(waiting)
        if waiting:
            with open_engine(cluster, assignment) as engine:
                await Backfill(database, project_id, engine, options, note).run()
        await finish_derived(context)
        return await backlog.count_ended(database, project_id, began)

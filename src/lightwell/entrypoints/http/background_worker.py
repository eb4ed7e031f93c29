"""The worker of a server: it works on the jobs of all projects and syncs their sources, beside other workers.

No failure of a job, a project or a service ends it, and none ends the server.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from lightwell.domain.business_systems import Source
from lightwell.domain.errors import LightwellError, StoreFailed
from lightwell.domain.ids import ProjectId
from lightwell.entrypoints.http.projects import Projects
from lightwell.ingest.progress import DocumentOutcome
from lightwell.knowledge_base.source_schedule import SourceSchedule, run_in_background
from lightwell.knowledge_base.sources import Sources
from lightwell.logs import logger
from lightwell.tasks import cancel_and_wait

_POLL_SECONDS = 1.0
_UPKEEP_SECONDS = 60.0
"""How often an open project without jobs is looked after."""
_CHANGE_SECONDS = 5.0
"""How often a project is looked after whose embedding model is being changed."""
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 60.0
_MAX_PROJECTS = 4
"""How many projects are worked on at the same time."""
_GRACE_SECONDS = 5.0
"""How long documents under way may take to end when the server stops; the leases of the others are given back."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pause:
    """A project that failed: not before `until`, by the clock of the event loop."""

    seconds: float
    until: float


@dataclass(slots=True, kw_only=True)
class BackgroundWorker:
    """Works until `stop` is set. Each project's jobs are one task; a project that fails waits, longer each time."""

    projects: Projects
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    _pauses: dict[str, _Pause] = field(default_factory=dict[str, _Pause])
    _worked_at: dict[str, float] = field(default_factory=dict[str, float])

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while not self.stop.is_set():
                self.projects.has_work.clear()
                for name, project_id in (await self._list_due()).items():
                    if len(self._running) < _MAX_PROJECTS and self._may_start(name):
                        self._running[name] = group.create_task(self._work(name, project_id))
                await self._wait()

    async def _list_due(self) -> dict[str, ProjectId]:
        """Return the projects with jobs, then those that are open or change their embedding model and were not looked after for a while."""
        try:
            waiting = await self.projects.list_waiting()
            changing = await self.projects.list_changing()
        except StoreFailed as error:
            _log.warning("the worker cannot look for jobs and tries again", error=str(error))
            await asyncio.sleep(_FIRST_PAUSE_SECONDS)
            return {}
        now = asyncio.get_running_loop().time()
        opened = {name: kb.project_id for name, kb in self.projects.opened.items()}
        pauses = dict.fromkeys(opened, _UPKEEP_SECONDS) | dict.fromkeys(
            dict(changing), _CHANGE_SECONDS
        )
        untended = {
            name: project_id
            for name, project_id in (opened | dict(changing)).items()
            if now - self._worked_at.get(name, -_UPKEEP_SECONDS) >= pauses[name]
        }
        return dict(waiting) | {name: untended[name] for name in untended.keys() - dict(waiting)}

    def _may_start(self, name: str) -> bool:
        pause = self._pauses.get(name)
        now = asyncio.get_running_loop().time()
        return name not in self._running and (pause is None or now >= pause.until)

    async def _work(self, name: str, project_id: ProjectId) -> None:
        try:
            knowledge_base = await self.projects.open(name, project_id)
            await knowledge_base.ingestion.work_until_idle(self.stop, _log_outcome)
            self._pauses.pop(name, None)
        except Exception as error:  # noqa: BLE001 - a project that fails must not end the server; it waits and is tried again
            self._postpone(name, error)
        finally:
            self._worked_at[name] = asyncio.get_running_loop().time()
            del self._running[name]

    def _postpone(self, name: str, error: Exception) -> None:
        last = self._pauses.get(name)
        seconds = min(last.seconds * 2, _MAX_PAUSE_SECONDS) if last else _FIRST_PAUSE_SECONDS
        self._pauses[name] = _Pause(seconds, asyncio.get_running_loop().time() + seconds)
        expected = isinstance(error, LightwellError)
        _log.warning(
            "the worker could not go on with a project and tries again",
            project=name,
            error=str(error) if expected else type(error).__name__,
            seconds=seconds,
        )

    async def _wait(self) -> None:
        """Wait until there may be something to do."""
        try:
            # Not `wait_for`: in Python 3.11 it forgets a cancellation that comes together with the event.
            async with asyncio.timeout(_POLL_SECONDS):
                await self.projects.has_work.wait()
        except TimeoutError:
            return


def _log_outcome(outcome: DocumentOutcome) -> None:
    if outcome.error:
        _log.info("a document could not be ingested", error=outcome.error)


@asynccontextmanager
async def work_in_background(projects: Projects) -> AsyncGenerator[None, None]:
    """Work on the projects' jobs during the block; at its end, finish or give back what is under way."""
    worker = BackgroundWorker(projects=projects)
    task = asyncio.create_task(worker.run())
    task.add_done_callback(_log_end)
    schedule = SourceSchedule(
        list_due=partial(_list_due_sources, projects), on_synced=projects.has_work.set
    )
    try:
        async with run_in_background(schedule, worker.stop):
            yield
    finally:
        worker.stop.set()
        projects.has_work.set()
        await asyncio.wait([task], timeout=_GRACE_SECONDS)
        await cancel_and_wait(task)


async def _list_due_sources(projects: Projects) -> list[tuple[Sources, Source]]:
    """Return what to sync in all projects; a project that cannot be opened is left out."""
    due: list[tuple[Sources, Source]] = []
    for name, project_id in await projects.list_due():
        try:
            knowledge_base = await projects.open(name, project_id)
            due += await knowledge_base.sources.list_due()
        except LightwellError as error:
            _log.warning("the sources of a project wait", project=name, error=str(error))
    return due


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("the worker of the server ended", error=type(error).__name__)

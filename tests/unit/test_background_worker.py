"""The worker of the server: no project that fails disturbs another, and leases are given back at the end."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

import pytest

from lightwell.domain.errors import StoreFailed
from lightwell.domain.ids import ProjectId
from lightwell.entrypoints.http import background_worker
from lightwell.entrypoints.http.background_worker import work_in_background
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base import KnowledgeBase
from tests.patience import PATIENCE

ID = ProjectId(uuid4())


@dataclass
class Work:
    """A knowledge base that only works: it counts the rounds, and fails in the first ones."""

    failures: list[Exception] = field(default_factory=list[Exception])
    project_id: ProjectId = ID
    rounds: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ingestion(self) -> "Work":
        return self

    async def work_until_idle(self, stop: asyncio.Event, on_outcome: object) -> None:
        self.rounds += 1
        if self.rounds == 4:
            self.enough.set()
        if self.failures:
            raise self.failures.pop(0)


async def list_none() -> list[tuple[str, ProjectId]]:
    return []


def projects(work: dict[str, Work], failures: int = 0) -> Projects:
    broken = [StoreFailed("gone")] * failures

    async def open_by_name(name: str) -> KnowledgeBase:
        return cast("KnowledgeBase", work[name])

    async def list_waiting() -> list[tuple[str, ProjectId]]:
        if broken:
            raise broken.pop()
        return [(name, ID) for name in work]

    unused: Any = None
    return Projects(
        keys=unused,
        home="",
        has_chat_model=False,
        open_by_name=open_by_name,
        delete_by_name=unused,
        list_waiting=list_waiting,
        list_changing=list_none,
        list_due=list_none,
    )


async def test_a_project_that_fails_is_tried_again_and_disturbs_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_POLL_SECONDS", "_FIRST_PAUSE_SECONDS"):
        monkeypatch.setattr(background_worker, name, 0.01)
    work = {
        "a": Work([RuntimeError("bug"), StoreFailed("gone")]),
        "b": Work(),
        "c": Work([ZeroDivisionError()]),
    }
    async with asyncio.timeout(PATIENCE), work_in_background(projects(work, failures=2)):
        for project in work.values():
            await project.enough.wait()
    assert not any(project.failures for project in work.values())
    rounds = [project.rounds for project in work.values()]
    await asyncio.sleep(0.05)
    assert [project.rounds for project in work.values()] == rounds

"""The worker of the server on a real project: when the server stops, its leases are given back."""

import asyncio
from typing import Any, LiteralString

import pytest

from lightwell.domain.ids import ProjectId
from lightwell.entrypoints.http import background_worker
from lightwell.entrypoints.http.background_worker import work_in_background
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records import projects
from lightwell.testing.sources import InMemorySource, make_document
from tests.patience import PATIENCE

from .conftest import Project

OPEN: LiteralString = "status IN ('queued', 'chunking', 'embedding', 'extracting')"


async def test_at_the_end_of_the_server_no_job_keeps_a_lease_or_an_attempt(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_worker, "_GRACE_SECONDS", 0.0)
    texts = [f"Pump {n} stands in the valley. " * 50 for n in range(40)]
    documents = [make_document(f"{n}.txt", text, ["team:a"]) for n, text in enumerate(texts)]
    await project.kb.ingestion.enqueue(InMemorySource(documents=tuple(documents)))
    async with asyncio.timeout(PATIENCE), work_in_background(server_of(project)):
        while True:
            if await count(project, f"leased_by IS NOT NULL AND {OPEN}"):
                break
            await asyncio.sleep(0.01)
    assert await count(project, f"{OPEN} AND (leased_by IS NOT NULL OR attempts > 0)") == 0
    assert await count(project, OPEN) > 0
    done = await project.kb.ingestion.finish_jobs()
    assert [each.error for each in done if each.error] == []
    assert await count(project, "status = 'complete'") == len(documents)


async def count(project: Project, condition: LiteralString) -> int:
    rows = await project.database.rows(f"SELECT count(*) FROM ingestion_jobs WHERE {condition}", {})
    return int(rows[0][0])


async def list_none() -> list[tuple[str, ProjectId]]:
    return []


def server_of(project: Project) -> Projects:
    """Return the project as a server has it open."""

    async def open_by_name(_: str) -> KnowledgeBase:
        return project.kb

    async def list_waiting() -> list[tuple[str, ProjectId]]:
        ((tenant,),) = await project.database.rows("SELECT name FROM tenants", {})
        return await projects.list_waiting(project.database, tenant)

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

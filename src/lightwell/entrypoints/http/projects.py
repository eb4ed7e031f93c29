"""The projects of one server process, each opened once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from lightwell.domain.ids import ProjectId
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.wiring import (
    Resources,
    delete_project_of,
    list_changing_projects,
    list_due_projects,
    list_waiting_projects,
    open_project,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """Knowledge bases by the names of their projects; `keys` administers what callers show.

    `home` is the project that the settings name: its administrators also make and delete projects. `list_waiting` returns
    the projects with jobs for a worker, `list_changing` those whose embedding model is being changed, `list_due` those with a source to sync, and `has_work` tells the worker of this process to look at once.
    `has_chat_model` is whether a chat model answers.
    """

    keys: ApiKeys
    home: str
    has_chat_model: bool
    open_by_name: Callable[[str], Awaitable[KnowledgeBase]]
    delete_by_name: Callable[[str], Awaitable[None]]
    list_waiting: Callable[[], Awaitable[list[tuple[str, ProjectId]]]]
    list_changing: Callable[[], Awaitable[list[tuple[str, ProjectId]]]]
    list_due: Callable[[], Awaitable[list[tuple[str, ProjectId]]]]
    has_work: asyncio.Event = field(default_factory=asyncio.Event)
    opened: dict[str, KnowledgeBase] = field(default_factory=dict[str, KnowledgeBase])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self, name: str, project_id: ProjectId | None = None) -> KnowledgeBase:
        """Return the project's knowledge base; the first call opens it.

        `project_id` is what the name stands for now: a project that was deleted and made again is opened anew.
        """
        if self._is_open(name, project_id):
            return self.opened[name]
        async with self.lock:
            if not self._is_open(name, project_id):
                self.opened[name] = await self.open_by_name(name)
        return self.opened[name]

    async def delete(self, name: str) -> None:
        """Delete a project with everything in it; raise `NotFound`."""
        await self.delete_by_name(name)
        self.opened.pop(name, None)

    def _is_open(self, name: str, project_id: ProjectId | None) -> bool:
        kb = self.opened.get(name)
        return kb is not None and project_id in (None, kb.project_id)


def projects_on(resources: Resources) -> Projects:
    """Return the projects on these resources, none of them opened."""
    return Projects(
        keys=ApiKeys(database=resources.database, tenant=resources.settings.tenant),
        home=resources.settings.project,
        has_chat_model=resources.answer_model is not None,
        open_by_name=partial(open_project, resources),
        delete_by_name=partial(delete_project_of, resources),
        list_waiting=partial(list_waiting_projects, resources),
        list_changing=partial(list_changing_projects, resources),
        list_due=partial(list_due_projects, resources),
    )

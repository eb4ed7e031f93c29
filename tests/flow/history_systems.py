"""Business systems of the two worlds of a history: one in memory, and Linear's stand-in behind the real connector."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lightwell.connectors.linear.source import LinearSource
from lightwell.domain.business_systems import NewSource, Source
from lightwell.domain.directory import PersonChange
from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.knowledge_base.directory import Directory
from lightwell.records import sources
from lightwell.testing.item_source import SYSTEM, MemorySystem, open_memory, team_tags
from lightwell.testing.linear import records
from lightwell.testing.linear.server import LinearServer
from lightwell.testing.linear.workspace import LinearWorkspace
from tests.linear_world import connected

from .conftest import Project
from .histories import Who

_SYNC = SyncRequest(is_full=True, with_sweep=True, allows_mass_deletion=True)


@dataclass(kw_only=True)
class Memory:
    """Records of the team that Lea is in, and of the secret one."""

    project: Project
    source: Source
    is_full: bool
    system: MemorySystem
    secret: set[int] = field(default_factory=set[int])

    async def put(self, number: int, text: str, title: str, *, is_secret: bool) -> None:
        if is_secret:
            self.secret.add(number)
        team = "secret" if number in self.secret else "core"
        self.system.put(f"issue/{number}", text, title=title, team=team, about="company/7")
        self._drop(number)

    async def hide(self, number: int) -> None:
        record = self.system.records.get(f"issue/{number}")
        self.secret.add(number)
        if record:
            self.system.version += 1
            record.team, record.version = "secret", self.system.version
            self._drop(number)

    async def delete(self, number: int) -> None:
        self.system.records.pop(f"issue/{number}", None)

    def _drop(self, number: int) -> None:
        if not self.is_full and number in self.secret:
            self.system.delete(f"issue/{number}")

    async def sync(self) -> None:
        report = await sync_source(
            self.project.database, self.source.id, open_memory(self.system), _SYNC
        )
        assert report is not None
        await self.project.kb.ingestion.finish_jobs()

    async def reader_tags(self, who: Who) -> frozenset[str]:
        return team_tags("core") if who == "Lea" else team_tags("secret")


async def open_memory_system(project: Project, *, is_full: bool) -> Memory:
    new = NewSource(name="memory", system=SYSTEM)
    source = await sources.create(project.database, project.kb.project_id, new)
    system = MemorySystem(teams={"core": set(), "secret": set()})
    return Memory(project=project, source=source, is_full=is_full, system=system)


@dataclass(kw_only=True)
class Linear:
    """A workspace with two private teams, whose issues have comments and belong to a project of both.

    Both worlds make the same objects, so that they have the same ids; the lesser one deletes the hidden ones before
    anything is delivered.
    """

    project: Project
    source: Source
    directory: Directory
    is_full: bool
    server: LinearServer
    teams: dict[bool, str]
    """By whether Lea is no member."""
    author: str
    roadmap: str
    issues: dict[int, str] = field(default_factory=dict[int, str])
    comments: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    secret: set[int] = field(default_factory=set[int])

    @property
    def workspace(self) -> LinearWorkspace:
        return self.server.workspace

    async def put(self, number: int, text: str, title: str, *, is_secret: bool) -> None:
        if number in self.issues:
            if self._has("Issue", self.issues[number]):
                self.workspace.edit("Issue", self.issues[number], description=text, title=title)
            else:
                self.workspace.tick()
        else:
            if is_secret:
                self.secret.add(number)
            self.issues[number] = records.add_issue(
                self.workspace, self.teams[is_secret], title, text, project=self.roadmap
            )
            self.comments[number] = []
        self._drop(number)
        await self.sync()  # two documents of one batch are in either order
        comment = records.add_comment(
            self.workspace, text, issue=self.issues[number], user=self.author
        )
        self.comments[number].append(comment)
        self._drop(number)

    async def hide(self, number: int) -> None:
        if number not in self.issues or number in self.secret:
            return
        self.secret.add(number)
        records.move_issue(self.workspace, self.issues[number], self.teams[True])
        self._drop(number)

    async def delete(self, number: int) -> None:
        if number in self.issues:
            self._delete(number)
            del self.issues[number], self.comments[number]
            self.secret.discard(number)

    def _drop(self, number: int) -> None:
        if not self.is_full and number in self.secret:
            self._delete(number)

    def _delete(self, number: int) -> None:
        for comment in self.comments[number]:
            if self._has("Comment", comment):
                self.workspace.delete("Comment", comment)
        if self._has("Issue", self.issues[number]):
            self.workspace.delete("Issue", self.issues[number])

    def _has(self, type_: str, id_: str) -> bool:
        return id_ in self.workspace.rows.get(type_, {})

    async def sync(self) -> None:
        report = await sync_source(self.project.database, self.source.id, self._connect, _SYNC)
        assert report is not None
        assert report.counts.unreadable == 0
        await self.project.kb.ingestion.finish_jobs()

    @asynccontextmanager
    async def _connect(self, source: Source) -> AsyncGenerator[LinearSource]:
        async with connected(self.server) as connector:
            yield connector

    async def reader_tags(self, who: Who) -> frozenset[str]:
        person = await self.directory.get_person(f"{who.lower()}@halden.example")
        return frozenset(person.tags)


async def open_linear(project: Project, *, is_full: bool) -> Linear:
    workspace = LinearWorkspace()
    lea = records.add_user(workspace, "Lea Lund", "lea@halden.example")
    xeno = records.add_user(workspace, "Xeno Kray", "xeno@halden.example")
    core = records.add_team(workspace, "COR", "Core", [lea], "private")
    secret = records.add_team(workspace, "SEC", "Secret", [xeno], "private")
    roadmap = records.add_project(
        workspace,
        "Roadmap",
        [core, secret],
        lead=lea,
        creator=lea,
        description="What Brisk Labs builds.",
        content="We begin with the **Delta pump**.",
        initiatives=[],
    )
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    for person in ("lea", "xeno"):
        await directory.create_person(PersonChange(email=f"{person}@halden.example"))
    new = NewSource(name="linear", system="linear")
    source = await sources.create(project.database, project.kb.project_id, new)
    opened = Linear(
        project=project,
        source=source,
        directory=directory,
        is_full=is_full,
        server=LinearServer(workspace=workspace),
        teams={False: core, True: secret},
        author=xeno,
        roadmap=roadmap,
    )
    await opened.sync()
    return opened

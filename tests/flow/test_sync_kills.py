"""Fifty syncs of the real connectors end at random points; the store is then what one clean sync makes of it."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx
import psycopg
import pytest

from lightwell.domain.business_systems import NewSource, Source
from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.ports import ItemSource
from lightwell.records import sources
from lightwell.testing.linear.server import LinearServer
from tests import attio_world, chatwoot_world, github_world
from tests.connectors.pulling import Shelf
from tests.linear_world import build_world, connected

from .conftest import Project, project_on
from .test_sync_faults import state

SWEEP = SyncRequest(is_full=True, with_sweep=True, allows_mass_deletion=True)
POINTS = {"attio": 12, "chatwoot": 12, "github": 15, "linear": 12}


class Killed(BaseException):
    """The end of the process, as far as the code under test can tell: no handler of errors runs."""


@dataclass(slots=True)
class Death:
    """Ends a sync when it has passed `left` more calls of the system, statements or commits.

    A process that is killed does nothing more, so from then on every call fails; one that is cancelled cleans up.
    """

    left: int = 0
    is_kill: bool = True
    passed: int = 0
    has_come: bool = False

    def set_point(self, left: int, *, is_kill: bool) -> None:
        self.left, self.is_kill, self.has_come = left, is_kill, False

    def spare(self) -> None:
        self.left, self.has_come = 0, False

    def pass_point(self) -> None:
        if self.has_come and self.is_kill:
            raise Killed
        self.passed += 1
        self.left -= 1
        if self.left == 0:
            self.has_come = True
            raise Killed if self.is_kill else asyncio.CancelledError


@contextmanager
def watching(death: Death) -> Generator[None]:
    """Let the death come before calls of the system and statements, and before and after commits."""

    def before(call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def watched(*args: object, **kwargs: object) -> object:
            death.pass_point()
            return await call(*args, **kwargs)

        return watched

    leave = psycopg.AsyncTransaction.__aexit__

    async def commit(transaction: psycopg.AsyncTransaction, *error: object) -> bool | None:
        if error[0] is None:
            try:
                death.pass_point()
            except BaseException as end:
                await leave(transaction, type(end), end, end.__traceback__)
                raise
        result = await leave(transaction, *error)  # pyright: ignore[reportArgumentType]
        if error[0] is None:
            death.pass_point()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.AsyncClient, "send", before(httpx.AsyncClient.send))
        execute = psycopg.AsyncConnection.execute
        patch.setattr(psycopg.AsyncConnection, "execute", before(execute))
        patch.setattr(psycopg.AsyncTransaction, "__aexit__", commit)
        yield


class World:
    """A business system, the connector to it, and a change that its next regular sync must find."""

    def __init__(self, system: str) -> None:
        self.forge, self.halden = github_world.Forge(), attio_world.Halden()
        self.support, self.linear = chatwoot_world.Support(), build_world()
        self.system = system
        self.at = attio_world.NOW

    def open(self, source: Source) -> AbstractAsyncContextManager[ItemSource]:
        match self.system:
            case "attio":
                return attio_world.opened(self.halden.attio, at=self.at)
            case "chatwoot":
                return chatwoot_world.opened(self.support)
            case "github":
                return github_world.opened(self.forge.github)
            case _:
                return connected(LinearServer(workspace=self.linear.workspace))

    def change(self, number: int) -> None:
        match self.system:
            case "attio":
                self.halden.attio.change_record(self.halden.deal, {"name": f"Roll-out {number}"})
                self.at += timedelta(days=2)
            case "chatwoot":
                contact = ("contact", self.support.petra)
                self.support.chatwoot.add_message(self.support.talk, f"News {number}", contact)
            case "github":
                github, tarn = self.forge.github, self.forge.tarn
                github.comment(tarn, self.forge.issue, f"News {number}", author=self.forge.bob)
                files = {"docs/start.md": b"%d" % number, f"new{number}.md": b"New."}
                github.write_files(tarn, {**files, f"new{number - 1}.md": None})
            case _:
                issue = self.linear["login"]
                self.linear.workspace.edit("Issue", issue, description=f"News {number}")


async def sync(project: Project, source: Source, world: World) -> None:
    await sync_source(project.database, source.id, world.open, SWEEP)


async def new_source(project: Project, system: str) -> Source:
    new = NewSource(name=system, system=system, adds_people=True)
    return await sources.create(project.database, project.kb.project_id, new)


async def die_in_sync(project: Project, source: Source, world: World, death: Death) -> bool:
    """Sync; return whether the sync ended early. The lease of the dead process runs out then."""
    try:
        with watching(death):
            await sync(project, source, world)
    except (Killed, asyncio.CancelledError):
        pass
    except BaseExceptionGroup as group:  # from calls that run at the same time
        _, rest = group.split((Killed, asyncio.CancelledError))
        assert rest is None
    has_died = death.has_come
    death.spare()
    await project.database.execute("UPDATE sources SET leased_until = NULL", {})
    return has_died


async def dump(project: Project) -> list[list[str]]:
    """Return what a clean sync determines, in an order that does not depend on ids."""
    return [sorted(map(repr, rows)) for rows in await state(project)]


async def list_stored(project: Project) -> dict[str, str]:
    """Return the hashes of the documents by their addresses."""
    rows = await project.database.rows(
        "SELECT source_url, content_hash FROM source_documents WHERE project_id = %(p)s AND NOT is_deleted",
        {"p": project.kb.project_id},
    )
    return dict(rows)


async def list_delivered(source: Source, world: World) -> dict[str, str]:
    shelf = Shelf()
    async with world.open(source) as connector:
        await shelf.sync(connector)
    return shelf.hashes()


async def count_points(project: Project, world: World) -> int:
    """Return how many points a first sync passes."""
    source, death = await new_source(project, world.system), Death()
    await die_in_sync(project, source, world, death)
    return death.passed


@pytest.mark.parametrize("system", POINTS)
async def test_a_sync_that_ends_at_random_points_leaves_what_a_clean_one_makes(
    project: Project, system: str
) -> None:
    """Each fourth sync of a new source is spared; before it, three end, the first one at any point."""
    world, death, chance = World(system), Death(), random.Random(system)
    points = await count_points(await project_on(project.database, name="counted"), world)
    tried, source = project, await new_source(project, system)
    for number in range(0, POINTS[system], 3):
        tried = await project_on(project.database, name=f"tried {number}")
        source, died, farthest = await new_source(tried, system), 0, points
        while died < 3:
            death.set_point(chance.randint(1, farthest), is_kill=chance.random() < 0.7)
            died += await die_in_sync(tried, source, world, death)
            farthest = points // 4
        await sync(tried, source, world)
        assert await list_stored(tried) == await list_delivered(source, world)
    world.change(1)
    await sync(tried, source, world)
    clean = await project_on(project.database, name="clean")
    await sync(clean, await new_source(clean, system), world)
    for after, expected in zip(await dump(tried), await dump(clean), strict=True):
        assert after == expected

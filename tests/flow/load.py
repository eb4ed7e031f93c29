"""Everything at once, in two projects of one database: workers, sources that change, deletions, merges, questions.

A seed determines the actions, but not their timing. In the end each project must say what a store says that
was only ever given the last state of its source.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid, NotFound
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, project_on
from .store_state import differences, state

ROOT = Path(__file__).parents[2]
NAMES = (
    *("Osprey Systems", "Acme Corp", "Jane Smith", "Nordwind Energie"),
    *("Tarn Valley", "Jonas Weber", "Heron Labs", "Plover Ltd"),
)
TAGS = (["team:v"], ["team:v", "team:w"], ["team:h"])
ALL = ["team:v", "team:w", "team:h"]
DOCUMENTS = 16


@dataclass(frozen=True, kw_only=True)
class Side:
    """One project under load: the content of its source, and the actions so far; `goes_on` is called before each round."""

    project: Project
    chance: random.Random
    goes_on: Callable[[int], bool]
    shelf: dict[str, NewDocument] = field(default_factory=dict[str, NewDocument])
    done: Counter[str] = field(default_factory=Counter[str])

    def source(self) -> InMemorySource:
        return InMemorySource(documents=tuple(self.shelf.values()))


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a load: its actions, failures of workers, and differences of the projects from fresh ones."""

    done: Counter[str]
    ended: tuple[str, ...]
    deadlocks: int
    differences: dict[str, dict[str, object]]


async def run(
    database: Database, url: str, fresh: Database, seed: int, goes_on: Callable[[int], bool]
) -> Report:
    """Put two projects under load while `goes_on` returns true for an actor's next round, and compare them at the end.

    Errors are raised, except `NotFound` and `Invalid`: a concurrent deletion may cause these.
    """
    before = await _deadlocks(database)
    sides = {
        name: Side(
            project=await project_on(database, name),
            chance=random.Random(f"{seed} {name}"),
            goes_on=goes_on,
        )
        for name in ("one", "two")
    }
    for side in sides.values():
        for number in range(DOCUMENTS):
            document = _document(number, side.chance)
            side.shelf[document.url] = document
        await side.project.kb.ingestion.ingest(side.source())
    ended: list[str] = []
    with ExitStack() as workers:
        for name in ("one", "one", "two"):
            workers.enter_context(_worker(url, name, ended))
        async with asyncio.TaskGroup() as group:
            for side in sides.values():
                for actor in (_change, _follow, _delete, _merge, *([_ask] * 3)):
                    group.create_task(actor(side))
        for side in sides.values():
            await _settle(side)
    return Report(
        done=sum((side.done for side in sides.values()), Counter[str]()),
        ended=tuple(ended),
        deadlocks=await _deadlocks(database) - before,
        differences={
            name: differences(await state(side.project), await _expected(fresh, name, side))
            for name, side in sides.items()
        },
    )


@contextmanager
def _worker(url: str, project_name: str, ended: list[str]) -> Generator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.flow.load_worker", url, project_name],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        stopped = process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
        if not stopped or process.returncode != 0 or "Traceback" in said:
            ended.append(f"{process.returncode}: {said[-2000:]}")


async def _change(side: Side) -> None:
    """Change, move and remove some documents, and sync the source."""
    for turn in range(1_000_000):
        if not side.goes_on(turn):
            return
        for number in side.chance.sample(range(DOCUMENTS), 5):
            document = _document(number, side.chance)
            side.shelf[document.url] = document
        for url in side.chance.sample(sorted(side.shelf), 2):
            if side.chance.random() < 0.5:
                side.shelf.pop(url)
        await side.project.kb.ingestion.enqueue(side.source())
        side.done["changes"] += 1
        await asyncio.sleep(side.chance.uniform(0, 0.3))


def _document(number: int, chance: random.Random) -> NewDocument:
    said = [
        f"{chance.choice(NAMES)} met {chance.choice(NAMES)} about lot {chance.randint(0, 9)}."
        for _ in range(chance.randint(5, 30))
    ]
    tags = chance.choice(TAGS)
    return make_document(f"{number:02}.md", " ".join(said), tags, title=f"Note {number}")


async def _follow(side: Side) -> None:
    """Sync the same source concurrently, as another command would."""
    for turn in range(1_000_000):
        if not side.goes_on(turn):
            return
        await side.project.kb.ingestion.enqueue(side.source())
        side.done["follows"] += 1
        await asyncio.sleep(0.15)


async def _delete(side: Side) -> None:
    for turn in range(1_000_000):
        if not side.goes_on(turn):
            return
        reader = await side.project.kb.reader(ALL)
        urls = [one.url async for one in side.project.kb.documents.iterate(reader)]
        kb = side.project.kb
        remove = kb.documents.erase if turn % 3 == 0 else kb.documents.delete
        try:
            await remove(reader, [side.chance.choice(urls)] if urls else [])
            side.done[remove.__name__] += 1
        except NotFound:
            side.done["gone before"] += 1
        await asyncio.sleep(side.chance.uniform(0, 0.5))


async def _merge(side: Side) -> None:
    for turn in range(1_000_000):
        if not side.goes_on(turn):
            return
        reader = await side.project.kb.reader(ALL)
        one, other = side.chance.sample(NAMES, 2)
        try:
            await side.project.kb.graph.merge(reader, [one], other)
            await asyncio.sleep(side.chance.uniform(0, 0.3))
            await side.project.kb.graph.unmerge(reader, one)
            side.done["merges"] += 1
        except (NotFound, Invalid):
            side.done["unknown to merge"] += 1
        await asyncio.sleep(0.1)


async def _ask(side: Side) -> None:
    for turn in range(1_000_000):
        if not side.goes_on(turn):
            return
        reader = await side.project.kb.reader(side.chance.choice(TAGS))
        name = side.chance.choice(NAMES)
        await side.project.kb.questions.ask(f"Who met {name} about lot {turn % 10}?", reader)
        side.done["questions"] += 1
        await asyncio.sleep(0.05)


async def _settle(side: Side) -> None:
    """Undo merges, and finish the sync."""
    kb = side.project.kb
    assert (await kb.ingestion.ingest(side.source())).problems == ()
    reader = await kb.reader(ALL)
    for merge in await kb.graph.merges(reader):
        await kb.graph.unmerge(reader, str(merge.merge_id))
    assert (await kb.ingestion.ingest(side.source())).problems == ()


async def _expected(fresh: Database, name: str, side: Side) -> dict[str, list[str]]:
    project = await project_on(fresh, name)
    documents: Sequence[NewDocument] = side.source().documents
    assert (
        await project.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    ).problems == ()
    return await state(project)


async def _deadlocks(database: Database) -> int:
    rows = await database.rows(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", {}
    )
    return int(rows[0][0])

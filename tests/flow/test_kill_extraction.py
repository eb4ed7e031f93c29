"""Workers that wait for a model, killed with SIGKILL: what arrived is not asked for again."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Lock

from lightwell.records.database import Database
from lightwell.testing.endpoint import Behaviour, Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.patience import PATIENCE

from .extraction_model import SLOTS, names, passage, read_by_model

LEASE_SECONDS = 1.0
COMMITTED_SECONDS = 1.0
"""So long after it was sent a reply is surely in the cache, on a busy machine too."""

NOTES = 120
KILLS = 3


class Diary:
    """When which passage was answered."""

    def __init__(self) -> None:
        self.answered: list[tuple[float, str]] = []
        self._lock = Lock()

    def reply(self, body: Body) -> str:
        with self._lock:
            self.answered.append((time.monotonic(), passage(body)))
        return names(body)


def worker(url: str, base_url: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.flow.extraction_worker", url, base_url, str(LEASE_SECONDS)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def kept(database: Database) -> int:
    return (await database.rows("SELECT count(*) FROM extraction_cache", {}))[0][0]


async def killed_on_the_way(url: str, base_url: str, database: Database) -> float:
    """Kill a worker in the middle of its calls; return when."""
    before = await kept(database)
    process = worker(url, base_url)
    while await kept(database) < before + NOTES // (KILLS + 1):  # noqa: ASYNC110 - another process does it
        await asyncio.sleep(0.05)
    await asyncio.sleep(random.uniform(0, 0.5))
    moment = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return moment


async def test_no_reply_that_arrived_is_lost(database: Database, database_url: str) -> None:
    diary, killed = Diary(), list[float]()
    notes = tuple(
        make_document(
            f"{n:03}.md", f"Acme Corp buys Pump {n} from Nordwind.", ["team:a"], title=f"{n}"
        )
        for n in range(NOTES)
    )
    with FakeEndpoint(diary.reply, behaviour=Behaviour(latency=0.4)).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            await project.kb.enqueue(InMemorySource(documents=notes))
        for _ in range(KILLS):
            killed.append(await killed_on_the_way(database_url, endpoint.base_url, database))
            sure = {text for at, text in diary.answered if at < killed[-1] - COMMITTED_SECONDS}
            assert await kept(database) >= max(1, len(sure))
        last = worker(database_url, endpoint.base_url)
        assert last.wait(PATIENCE) == 0
        last.communicate()

        status = await project.kb.status(await project.kb.reader(["team:a"]))
        assert status.chunks == NOTES == await kept(database)
        asked = Counter(passage(request.body) for request in endpoint.requests)
        assert len(asked) == NOTES
        assert len(endpoint.requests) - NOTES <= KILLS * SLOTS
        for text, times in asked.items():
            first = min(at for at, answered in diary.answered if answered == text)
            near = [at for at in killed if first - 1 < at < first + COMMITTED_SECONDS]
            assert times == 1 or near

"""Workers that wait for a model, killed with SIGKILL: the model is not asked again for replies that arrived."""

import asyncio
import random
import subprocess
import time
from collections import Counter
from contextlib import AbstractContextManager
from threading import Lock

from lightwell.records.database import Database
from lightwell.testing.endpoint import Behaviour, Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import SLOTS, names, passage, read_by_model
from .processes import finish, kill, running

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


def worker(url: str, base_url: str) -> AbstractContextManager["subprocess.Popen[str]"]:
    return running("tests.flow.extraction_worker", url, base_url, str(LEASE_SECONDS))


async def kept(database: Database) -> int:
    return (await database.rows("SELECT count(*) FROM extraction_cache", {}))[0][0]


async def killed_on_the_way(url: str, base_url: str, database: Database) -> float:
    """Kill a worker in the middle of its calls; return when."""
    before = await kept(database)
    with worker(url, base_url) as process:
        while await kept(database) < before + NOTES // (KILLS + 1):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)
        await asyncio.sleep(random.uniform(0, 0.5))
        moment = time.monotonic()
        kill(process)
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
        with worker(database_url, endpoint.base_url) as last:
            finish(last)

        status = await project.kb.status(await project.kb.reader(["team:a"]))
        assert status.chunks == NOTES == await kept(database)
        requests_by_text = Counter(passage(request.body) for request in endpoint.requests)
        assert len(requests_by_text) == NOTES
        assert len(endpoint.requests) - NOTES <= KILLS * SLOTS
        for text, times in requests_by_text.items():
            first = min(at for at, answered in diary.answered if answered == text)
            near = [at for at in killed if first - 1 < at < first + COMMITTED_SECONDS]
            assert times == 1 or near

"""Workers that wait for a model, killed with SIGKILL: the model is not asked again for replies that are in the cache."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from multiprocessing.context import ForkServerProcess

from lightwell.records.database import Database
from lightwell.testing.endpoint import Behaviour, Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import SLOTS, names, passage, read_by_model
from .processes import LEASE_SECONDS, as_worker, finish, kill_worker, running

NOTES = 120
KILLS = 3
AT_LEAST = NOTES // (KILLS + 2)
"""Replies that each worker keeps before it is killed: few enough that there are some left for the last, however many come meanwhile."""
WAITING = SLOTS + 4
"""Replies that a worker may wait for or be about to keep (`extraction_model`)."""

_PUMP = re.compile(r"\bPump (\d+)\b")


def worker(url: str, base_url: str) -> AbstractContextManager[ForkServerProcess]:
    return running("tests.flow.extraction_worker", as_worker(url), base_url, str(LEASE_SECONDS))


def reply(body: Body) -> str:
    """Reply with the names of the passage, and with its number, by which the test finds the reply in the cache."""
    (number,) = _PUMP.findall(passage(body))
    return names(body).replace("END", f"E|Pump {number}|product|It is for sale\nEND")


async def kept(database: Database) -> int:
    return (await database.rows("SELECT count(*) FROM extraction_cache", {}))[0][0]


async def cached_pumps(database: Database) -> set[str]:
    """Return the numbers of the notes whose replies are in the cache."""
    rows = await database.rows("SELECT result FROM extraction_cache", {})
    return {number for (reply,) in rows for number in _PUMP.findall(reply)}


def asked(fake: FakeEndpoint) -> Counter[str]:
    """Return how often the model was asked about each note."""
    return Counter(
        number for request in fake.requests for number in _PUMP.findall(passage(request.body))
    )


async def work_and_die(url: str, fake: FakeEndpoint, database: Database) -> Mapping[str, int]:
    """Kill a worker in the middle of its calls; return how often the model had been asked what the cache then held."""
    before = await kept(database)
    with worker(url, fake.base_url) as process:
        while await kept(database) < before + AT_LEAST:  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)
        await asyncio.sleep(random.uniform(0, 0.5))
        await kill_worker(process, database)
    times = asked(fake)
    return {number: times[number] for number in await cached_pumps(database)}


async def test_no_cached_reply_is_lost_or_paid_for_twice(
    database: Database, database_url: str
) -> None:
    cached = dict[str, int]()
    notes = tuple(
        make_document(
            f"{n:03}.md", f"Acme Corp buys Pump {n} from Nordwind.", ["team:a"], title=f"{n}"
        )
        for n in range(NOTES)
    )
    with FakeEndpoint(reply, behaviour=Behaviour(latency=0.4)).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            await project.kb.ingestion.enqueue(InMemorySource(documents=notes))
        for _ in range(KILLS):
            found = await work_and_die(database_url, endpoint, database)
            assert found.keys() >= cached.keys()
            cached = {**found, **cached}
        with worker(database_url, endpoint.base_url) as last:
            finish(last)

        status = await project.kb.documents.status(await project.kb.reader(["team:a"]))
        assert status.chunks == NOTES == await kept(database)
        times = asked(endpoint)
        assert len(times) == NOTES
        assert times.total() - NOTES <= KILLS * WAITING
        assert len(cached) >= KILLS * AT_LEAST
        assert {number: times[number] for number in cached} == cached

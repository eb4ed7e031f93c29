"""Whether one server keeps its pace and its memory: minutes of questions, with documents handed in on the way.

`python -m benchmarks server_long [--documents 400] [--minutes 20] [--ingest 1000] [--clients 2]`

No question is asked twice, so that no cache makes a later minute quicker than an earlier one. A fifth of the time passes without
other work; then the documents are uploaded, and the server itself ingests them; the rest passes without other work again. Each minute
is one line: questions, their p50 and p95, memory and processor of the server, and jobs that wait.
"""

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from benchmarks.growth import TAGS, document, prose
from benchmarks.server_load import Served, prepare, serving
from lightwell.client import AsyncClient, ServerError
from lightwell.domain.api_keys import Scope
from lightwell.domain.jobs import JobState
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.settings import Settings
from lightwell.wiring.database import open_database

_BATCH = 20
_MINUTE = 60.0


@dataclass(kw_only=True)
class Minute:
    """What one minute saw; times in milliseconds."""

    waits: list[float] = field(default_factory=list[float])
    failed: int = 0
    was_ingesting: bool = False


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks server_long", description=__doc__)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--ingest", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=2)
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="lightwell-long-"))
    folder.chmod(0o711)
    try:
        settings = Settings(data=folder / "data")
        asyncio.run(prepare(settings, [document(number) for number in range(given.documents)]))
        key = asyncio.run(_make_key(settings))
        with serving(settings, key, None) as served:
            asyncio.run(_run(served, given, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _make_key(settings: Settings) -> str:
    async with open_database(settings) as database:
        keys = ApiKeys(database=database, tenant=settings.tenant)
        scopes = (Scope.READ, Scope.INGEST)
        _, token = await keys.create("default", "long", scopes=scopes, tags=TAGS)
    return token.text


async def _run(served: Served, given: argparse.Namespace, folder: Path) -> None:
    minutes = [Minute()]
    async with AsyncClient(served.url, api_key=served.key) as client:
        asking = [asyncio.create_task(_ask(client, minutes, seed)) for seed in range(given.clients)]
        handing_in: asyncio.Task[None] | None = None
        used = _processor_seconds(served.process)
        print(
            "minute | questions | failed | p50 ms | p95 ms | MB | CPU of a question, ms | waiting"
        )
        async for number in _each_minute(given.minutes):
            ended, waiting = minutes[-1], await _count_waiting(client)
            ended.was_ingesting = ended.was_ingesting or waiting > 0
            minutes.append(Minute(was_ingesting=waiting > 0))
            before, used = used, _processor_seconds(served.process)
            _print_minute(number, ended, served, used - before, waiting)
            if handing_in is None and number >= given.minutes / 5:
                handing_in = asyncio.create_task(_hand_in(client, given, folder))
                minutes[-1].was_ingesting = True
        for each in asking:
            each.cancel()
    _print_ratio(minutes[1:-1])


async def _each_minute(count: int) -> AsyncIterator[int]:
    began = time.monotonic()
    for number in range(1, count + 1):
        await asyncio.sleep(max(0.0, began + number * _MINUTE - time.monotonic()))
        yield number


async def _ask(client: AsyncClient, minutes: list[Minute], seed: int) -> None:
    source = random.Random(f"questions {seed}")
    while True:
        words = prose(source, 200).split()
        question = f"What about {' '.join(source.sample(words, 4))}?"
        began = time.perf_counter()
        try:
            await client.query(question)
        except (ServerError, httpx.HTTPError):
            minutes[-1].failed += 1
        minutes[-1].waits.append(1000 * (time.perf_counter() - began))


async def _hand_in(client: AsyncClient, given: argparse.Namespace, folder: Path) -> None:
    for first in range(given.documents, given.documents + given.ingest, _BATCH):
        paths: list[Path] = []
        for number in range(first, min(first + _BATCH, given.documents + given.ingest)):
            path = folder / f"{number:06}.txt"
            path.write_bytes(document(number).content)
            paths.append(path)
        await client.upload(paths, tags=TAGS[:1])
        for each in paths:
            each.unlink()


async def _count_waiting(client: AsyncClient) -> int:
    """Return how many jobs wait, at most a page of them."""
    return len((await client.list_jobs(state=JobState.QUEUED, limit=100)).jobs)


def _processor_seconds(process: psutil.Process) -> float:
    """Return what the server and what it started have used, its database too."""
    family = [process, *process.children(recursive=True)]
    total = 0.0
    for each in family:
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _print_minute(number: int, ended: Minute, served: Served, seconds: float, waiting: int) -> None:
    p50, p95 = _percentiles(ended.waits)
    cpu = 1000 * seconds / max(1, len(ended.waits))
    print(
        f"{number} | {len(ended.waits)} | {ended.failed} | {p50:.0f} | {p95:.0f} | {served.megabytes:.0f} | {cpu:.0f}"
        f" | {waiting}",
        flush=True,
    )


def _percentiles(waits: Sequence[float]) -> tuple[float, float]:
    if len(waits) < 2:
        return 0.0, 0.0
    cuts = statistics.quantiles(waits, n=20)
    return cuts[9], cuts[18]


def _print_ratio(minutes: Sequence[Minute]) -> None:
    idle = [wait for each in minutes if not each.was_ingesting for wait in each.waits]
    busy = [wait for each in minutes if each.was_ingesting for wait in each.waits]
    (idle_p50, idle_p95), (p50, p95) = _percentiles(idle), _percentiles(busy)
    print(f"idle: {len(idle)} questions, p50 {idle_p50:.0f}, p95 {idle_p95:.0f} ms")
    print(f"while ingesting: {len(busy)} questions, p50 {p50:.0f}, p95 {p95:.0f} ms")

"""`python -m benchmarks backfill [DOCUMENTS]`: throughput of a backfill with one, two and three hosts, beside as many workers.

Hosts are network namespaces of this machine, with one CPU of Ray each, and the database is on a host of its own.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
from pydantic import SecretStr

from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.hosts.database_host import DatabaseHost, HostedDatabase, database_on
from tests.hosts.network import Host, hosts, stop
from tests.hosts.ray_cluster import lightwell, pids, ray_head, report_of

_WORKERS = ("worker1", "worker2", "worker3")
_SETTINGS = {"LIGHTWELL_DATABASE_CONNECTIONS": "4"}
_WORDS = "price deal office team report delay budget review launch customer signed moved".split()

_SPAN = """
SELECT extract(epoch FROM max(completed_at) - min(started_at)), sum(total_chunks) FROM ingestion_jobs
WHERE status = 'complete'
"""
_OPEN = "SELECT count(*) FROM ingestion_jobs WHERE status <> 'complete'"

Run = Callable[[HostedDatabase, Sequence[Host]], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    seconds: float
    hosts_cpu: float
    database_cpu: float


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0]) if arguments else 200
    source = _notes(count)
    print(f"{count} documents, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print("| hosts | | documents/s | CPU s per document, hosts | database | cores busy |")
    print("|--:|---|--:|--:|--:|--:|")
    with (
        hosts(("database", "head", *_WORKERS)) as network,
        database_on(network["database"]) as server,
    ):
        ways: tuple[tuple[str, Run], ...] = (
            ("Ray", partial(_on_ray, network["head"])),
            ("workers", _workers),
        )
        for number in range(1, len(_WORKERS) + 1):
            for name, run in ways:
                there = [network[each] for each in _WORKERS[:number]]
                found = _measure(server, network["database"], there, source, run)
                busy = (found.hosts_cpu + found.database_cpu) / found.seconds
                print(
                    f"| {number} | {name} | {count / found.seconds:.1f} | {found.hosts_cpu / count:.3f}"
                    f" | {found.database_cpu / count:.3f} | {busy:.1f} |",
                    flush=True,
                )


def _measure(
    server: DatabaseHost,
    database_host: Host,
    there: Sequence[Host],
    source: InMemorySource,
    run: Run,
) -> Measured:
    database = server.create_database()
    asyncio.run(_enqueue(database.of_test, source))
    own = _cpu_seconds([database_host])
    with run(database, there):
        started = _cpu_seconds(there)  # without what Ray takes to start on a host
        while _one(database, _OPEN)[0]:
            time.sleep(0.2)
        hosts_cpu, database_cpu = _cpu_seconds(there) - started, _cpu_seconds([database_host]) - own
    return Measured(
        seconds=float(str(_one(database, _SPAN)[0])), hosts_cpu=hosts_cpu, database_cpu=database_cpu
    )


@contextmanager
def _on_ray(head: Host, database: HostedDatabase, there: Sequence[Host]) -> Generator[None]:
    with (
        ray_head(head, database.of_hosts, _SETTINGS) as cluster,
        cluster.joined(there),
    ):
        running = cluster.backfill("--batch-size", "25", nodes=len(there) + 1)
        yield
        report_of(running)


@contextmanager
def _workers(database: HostedDatabase, there: Sequence[Host]) -> Generator[None]:
    settings = {"LIGHTWELL_DATABASE_URL": database.of_hosts, **_SETTINGS}
    running = [lightwell(host, settings, "worker") for host in there]
    try:
        yield
    finally:
        for each in running:
            stop(each)


async def _enqueue(url: str, source: InMemorySource) -> None:
    async with open_knowledge_base(Settings(database_url=SecretStr(url))) as kb:
        await kb.ingestion.enqueue(source)


def _notes(count: int) -> InMemorySource:
    chance = random.Random(1)
    return InMemorySource(
        documents=tuple(
            make_document(f"{n}.md", "\n\n".join(_paragraphs(n, chance)), ["team:a"])
            for n in range(count)
        )
    )


def _paragraphs(number: int, chance: random.Random) -> Iterable[str]:
    for part in range(6):
        words = " ".join(chance.choice(_WORDS) for _ in range(90))
        yield f"Acme Corp signed contract {number * 7 + part} with Person{number % 50} Smith on 2024-05-1{part}. {words}."


def _one(database: HostedDatabase, query: str) -> tuple[object, ...]:
    with psycopg.connect(database.of_test, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchone() or ()


def _cpu_seconds(of: Sequence[Host]) -> float:
    """Return the processor time of the hosts' processes and of the children that they have waited for."""
    ticks = 0
    for host in of:
        for pid in pids(host):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")

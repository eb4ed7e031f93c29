"""A backfill on a Ray cluster of several hosts does what a worker does, once, also when a host is killed."""

import asyncio
import importlib.util
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from typing import LiteralString

import psycopg
import pytest
from pydantic import SecretStr

from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.hosts.database_host import DatabaseHost, HostedDatabase
from tests.hosts.network import Host
from tests.hosts.ray_cluster import RayCluster, interrupt, kill, pids, ray_head, report_of
from tests.patience import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None and "CI" not in os.environ,
        reason="the extra `ray` is not installed: make test-slow",
    ),
]

DOCUMENTS = 40
INTERRUPTED = 130
LEASE_SECONDS = "4"

# Counts that a document published twice would change, and rows that a lost one would lack.
COUNTED: Mapping[str, LiteralString] = {
    "documents": "SELECT count(*) FROM source_documents WHERE status = 'active'",
    "chunks": "SELECT count(*) FROM document_chunks WHERE class_id <> 0",
    "staged": "SELECT count(*) FROM document_chunks WHERE class_id = 0",
    "terms": "SELECT count(*), sum(length) FROM chunk_terms",
    "term counts": "SELECT count(*), sum(chunks) FROM term_counts",
    "totals": "SELECT documents, chunks, length FROM class_totals",
    "mentions": "SELECT count(*) FROM document_entity_mentions",
    "entities": "SELECT count(*) FROM entities",
    "relations": "SELECT count(*) FROM relation_mentions",
    "profiles": "SELECT count(*), sum(mention_count) FROM profiles",
    "stale": "SELECT count(*) FROM stale_profiles",
    "gaps": "SELECT count(*) FROM chunk_gaps",
    "open jobs": "SELECT count(*) FROM ingestion_jobs WHERE status <> 'complete'",
}


def notes() -> InMemorySource:
    documents = (
        make_document(
            f"{n}.md",
            f"Acme Corp signed contract {n} with Ada Miller on 2024-05-{1 + n % 28:02}. Globex Ltd owns site {n % 7}.",
            ["team:a"],
        )
        for n in range(DOCUMENTS)
    )
    return InMemorySource(documents=tuple(documents))


def settings(url: str) -> Settings:
    return Settings(database_url=SecretStr(url))


def enqueue(url: str) -> None:
    async def add() -> None:
        async with open_knowledge_base(settings(url)) as kb:
            await kb.ingestion.enqueue(notes())

    asyncio.run(add())


def counts(url: str) -> dict[str, object]:
    with psycopg.connect(url, autocommit=True) as connection:
        return {name: connection.execute(query).fetchone() for name, query in COUNTED.items()}


@pytest.fixture(scope="module")
def expected(database_host: DatabaseHost) -> dict[str, object]:
    """What the built-in worker makes of the documents."""
    url = database_host.create_database().of_test

    async def ingest() -> None:
        async with open_knowledge_base(settings(url)) as kb:
            await kb.ingestion.ingest(notes())

    asyncio.run(ingest())
    return counts(url)


@pytest.fixture(scope="module")
def shared(database_host: DatabaseHost) -> HostedDatabase:
    return database_host.create_database()


@pytest.fixture(scope="module")
def cluster(network: dict[str, Host], shared: HostedDatabase) -> Iterator[RayCluster]:
    limits = {"LIGHTWELL_LEASE_SECONDS": LEASE_SECONDS, "LIGHTWELL_DATABASE_CONNECTIONS": "4"}
    with ray_head(network["client"], shared.of_hosts, limits) as found:
        yield found


def published(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(COUNTED["documents"]).fetchone()
    assert found is not None
    return int(found[0])


def holders(url: str) -> set[int]:
    """Return the processes that hold a lease."""
    query = "SELECT leased_by FROM ingestion_jobs WHERE leased_until > now()"
    with psycopg.connect(url, autocommit=True) as connection:
        return {int(row[0].split(":")[1]) for row in connection.execute(query)}


def wait_until(condition: Callable[[], bool], running: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert running.poll() is None
        assert time.monotonic() < deadline


def test_hosts_make_what_a_worker_makes_though_one_is_killed(
    network: dict[str, Host],
    cluster: RayCluster,
    shared: HostedDatabase,
    expected: dict[str, object],
) -> None:
    url, lost = shared.of_test, network["worker2"]
    enqueue(url)
    with cluster.joined([network["worker1"], lost]):
        interrupted = cluster.backfill("--batch-size", "10", nodes=3)
        wait_until(lambda: bool(holders(url)), interrupted)
        interrupt(cluster.head)
        interrupted.communicate(timeout=PATIENCE)
        assert interrupted.returncode == INTERRUPTED
        assert holders(url) == set()
        early = published(url)

        running = cluster.backfill("--batch-size", "10", nodes=3)
        wait_until(lambda: bool(holders(url) & set(pids(lost))), running)
        kill(lost)
        assert published(url) < DOCUMENTS
        report = report_of(running)
    assert (report["done"], report["failed"]) == (DOCUMENTS - early, 0)
    assert counts(url) == expected

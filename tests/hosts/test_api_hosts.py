"""Two servers of the API and two workers on hosts of their own, and one database: what one takes away, the other does not show.

Every change goes through the first server, every question to the second, which has answered the same question before.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from pydantic import SecretStr

from lightwell.domain.api_keys import Scope
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.records.database import connect
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.entrypoints.http_site import ALL_BUT_ADMIN
from tests.hosts.database_host import HostedDatabase
from tests.hosts.network import Host, stop
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

PORT = 8000
FACTS = {
    "moved": "The Falcon contract ends on 2031-03-14.",
    "deleted": "The Heron contract ends on 2032-04-15.",
    "of a group": "The Kestrel contract ends on 2033-05-16.",
    "of another group": "The Merlin contract ends on 2034-06-17.",
    "behind a key": "The Osprey contract ends on 2035-07-18.",
}
TAGS = {"of a group": "team:group", "of another group": "team:other"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """The servers' URLs, keys by name, and the host that asks."""

    first: str
    second: str
    keys: dict[str, str]
    documents: dict[str, str]
    client: Host

    def call(self, *requests: tuple[str, str, str, object]) -> list[tuple[int, Any]]:
        """Send these requests (method, URL, name of a key, body) from the client's host."""
        named = [
            (method, url, self.keys.get(key, key), body) for method, url, key, body in requests
        ]
        process = self.client.start_module("tests.hosts.http_calls", json.dumps(named))
        printed, _ = process.communicate(timeout=PATIENCE)
        return [
            (status, json.loads(text) if text else None) for status, text in json.loads(printed)
        ]

    def change(self, method: str, path: str, body: object = None) -> Any:
        """Change something through the first server."""
        ((status, reply),) = self.call((method, f"{self.first}{path}", "admin", body))
        assert status < 300, reply
        return reply

    def find(self, name: str, key: str) -> list[str]:
        """Ask the second server about a contract in several ways; return which of them tell its end."""
        bird, end = FACTS[name].split()[1], FACTS[name].split()[-1].rstrip(".")
        asked = f"When does the {bird} contract end?"
        reads = {
            "query": ("POST", "/v1/query", {"query": asked}),
            "search": ("POST", "/v1/search", {"query": asked}),
            "statements": ("POST", "/v1/statements", {"query": asked}),
            "documents": ("GET", "/v1/documents", None),
            "text": ("GET", f"/v1/documents/{quote(self.documents[name], safe='')}/text", None),
            "entities": ("GET", f"/v1/graph/entities?search={bird}", None),
        }
        replies = self.call(
            *((method, f"{self.second}{path}", key, body) for method, path, body in reads.values())
        )
        told = (end, self.documents[name])
        return [
            way
            for way, (status, reply) in zip(reads, replies, strict=True)
            if status == 200
            and any(each in json.dumps(reply) for each in ((bird,) if way == "entities" else told))
        ]


def settings(url: str) -> Settings:
    return Settings(database_url=SecretStr(url))


async def fill(url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Ingest the facts; return keys and documents by name."""
    documents = [
        make_document(f"{name.replace(' ', '-')}.md", text, [TAGS.get(name, "team:all")])
        for name, text in FACTS.items()
    ]
    async with open_knowledge_base(settings(url)) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    async with connect(url) as database:
        keys = ApiKeys(database=database, tenant="default")
        every = (*TAGS.values(), "team:all")
        made = {
            "admin": (
                await keys.create(
                    "default", "admin", scopes=(*ALL_BUT_ADMIN, Scope.ADMIN), tags=every
                )
            ),
            "reader": (await keys.create("default", "r", scopes=(Scope.READ,), tags=("team:all",))),
            "revoked": (
                await keys.create("default", "x", scopes=(Scope.READ,), tags=("team:all",))
            ),
        }
        rows = await database.rows("SELECT source_id, global_ref FROM source_documents", {})
    of_name = {
        name: str(reference)
        for source, reference in rows
        for name in FACTS
        if str(source).endswith(f"{name.replace(' ', '-')}.md")
    }
    return {name: token.text for name, (_, token) in made.items()}, of_name


def start(host: Host, url: str, *command: str) -> Any:
    limits = (
        "LIGHTWELL_LEASE_SECONDS=4",
        "LIGHTWELL_HTTP_WORKER=false",
        f"LIGHTWELL_DATABASE_URL={url}",
    )
    return host.start("env", *limits, "lightwell", *command)


def serve(host: Host, url: str) -> Any:
    return start(host, url, "serve", "--host", host.address, "--port", str(PORT))


@pytest.fixture
def hosted_site(network: dict[str, Host], hosted: HostedDatabase) -> Iterator[Hosted]:
    keys, documents = asyncio.run(fill(hosted.of_test))
    with ExitStack() as ended:
        for name in ("api1", "api2"):
            ended.callback(stop, serve(network[name], hosted.of_hosts))
        site = Hosted(
            first=f"http://{network['api1'].address}:{PORT}",
            second=f"http://{network['api2'].address}:{PORT}",
            keys=keys,
            documents=documents,
            client=network["client"],
        )
        for server in (site.first, site.second):
            ((status, _),) = site.call(("GET", f"{server}/health/live", "", None))
            assert status == 200
        yield site


def test_what_one_server_takes_away_the_other_does_not_show(hosted_site: Hosted) -> None:
    site = hosted_site
    person = site.change(
        "POST", "/v1/admin/people", {"email": "ada@example.com", "aclTags": ["team:all"]}
    )
    for group, tag in (("birds", "team:group"), ("others", "team:other")):
        site.change("PUT", f"/v1/admin/groups/{group}", {"aclTags": [tag]})
        site.change("PUT", f"/v1/admin/groups/{group}/members/{person['personId']}")
    made = site.change(
        "POST", "/v1/admin/keys", {"name": "ada", "person": "ada@example.com", "scopes": ["read"]}
    )
    site.keys["ada"] = made["key"]
    takers = {
        "moved": (
            "PUT",
            f"/v1/documents/{quote(site.documents['moved'], safe='')}/access",
            {"aclTags": ["team:group"]},
            "reader",
        ),
        "deleted": (
            "DELETE",
            f"/v1/documents/{quote(site.documents['deleted'], safe='')}",
            None,
            "reader",
        ),
        "of a group": (
            "DELETE",
            f"/v1/admin/groups/birds/members/{person['personId']}",
            None,
            "ada",
        ),
        "of another group": ("PUT", "/v1/admin/groups/others", {"aclTags": ["team:none"]}, "ada"),
    }
    for name, (method, path, body, key) in takers.items():
        assert {"query", "search", "statements", "documents", "text"} <= {*site.find(name, key)}, (
            name
        )
        site.change(method, path, body)
        assert site.find(name, key) == [], name

    listed = site.change("GET", "/v1/admin/keys")["keys"]
    key_id = next(each["keyId"] for each in listed if each["name"] == "x")
    assert "query" in site.find("behind a key", "revoked")
    site.change("DELETE", f"/v1/admin/keys/{key_id}")
    ((status, _),) = site.call(("GET", f"{site.second}/v1/documents", "revoked", None))
    assert status == 401


def test_half_of_the_hosts_finish_what_the_others_began(
    hosted_site: Hosted, network: dict[str, Host], hosted: HostedDatabase
) -> None:
    count = 30
    asyncio.run(enqueue(hosted.of_test, count))
    with ExitStack() as ended:
        for name in ("worker1", "worker2"):
            ended.callback(stop, start(network[name], hosted.of_hosts, "worker"))
        wait_for_documents(hosted.of_test, len(FACTS) + 1)
        network["worker1"].cut_off()
        network["api1"].cut_off()
        wait_for_documents(hosted.of_test, len(FACTS) + count)
        ((status, reply),) = hosted_site.call(
            (
                "POST",
                f"{hosted_site.second}/v1/query",
                "reader",
                {"query": "What does order 29 contain?"},
            )
        )
        assert (status, "pumps of kind 29" in reply["answer"]) == (200, True)
        network["worker1"].join()
        network["api1"].join()
        ((status, again),) = hosted_site.call(
            (
                "POST",
                f"{hosted_site.first}/v1/query",
                "reader",
                {"query": "What does order 29 contain?"},
            )
        )
        assert (status, again["answer"]) == (200, reply["answer"])
    with psycopg.connect(hosted.of_test) as connection:
        found = connection.execute(
            "SELECT count(*), count(DISTINCT chunk_text) FROM document_chunks WHERE class_id <> 0"
        ).fetchone()
    assert found == (len(FACTS) + count, len(FACTS) + count)


async def enqueue(url: str, count: int) -> None:
    orders = [
        make_document(f"order-{n}.md", f"Order {n} contains pumps of kind {n}.", ["team:all"])
        for n in range(count)
    ]
    async with open_knowledge_base(settings(url)) as kb:
        await kb.ingestion.enqueue(InMemorySource(documents=tuple(orders), scope="file:///orders"))


def wait_for_documents(url: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            row = connection.execute(
                "SELECT count(*) FROM source_documents WHERE status = 'active'"
            ).fetchone()
            assert row is not None
            if row[0] >= count:
                return
            assert time.monotonic() < deadline
            time.sleep(0.1)

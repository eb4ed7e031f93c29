"""What programs push: who sees it, when it is gone, and what a line that fails costs. One server for all."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest
import pytest_asyncio

from lightwell.domain.api_keys import Scope
from lightwell.domain.directory import PersonChange
from lightwell.knowledge_base.directory import Directory
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = (Scope.ADMIN,)
NUMBERS = count()


@dataclass(frozen=True)
class Wiki:
    """A push source of its own, with its key."""

    site: Site
    name: str
    key: str

    async def send(self, body: bytes | AsyncIterator[bytes], **query: object) -> httpx.Response:
        return await self.site.client.put(
            f"/v1/sources/{self.name}/items",
            content=body,
            params={name: str(value) for name, value in query.items()},
            headers={"Authorization": f"Bearer {self.key}"},
        )

    async def push(self, *lines: Mapping[str, object], **query: object) -> dict[str, Any]:
        reply = await self.send(ndjson(lines), **query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def titles(self, person: str) -> list[str]:
        """Return the titles of what a person sees of this source."""
        key = await self.site.key(person=person)
        reply = await self.site.client.get(
            "/v1/documents", headers={"Authorization": f"Bearer {key}"}, params={"limit": 1000}
        )
        assert reply.status_code == 200, reply.text
        return sorted(
            each["title"]
            for each in reply.json()["documents"]
            if each["documentUrl"].startswith(f"push:///{self.name}/")
        )


def ndjson(lines: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def item(id_: str, text: str = "Two pumps.", **more: object) -> dict[str, object]:
    return {"id": id_, "title": id_, "content": text, "allow": {"everyone": True}, **more}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            directory = Directory(database=opened.keys.database, project_id=opened.kb.project_id)
            for name in ("ada@halden.example", "bo@halden.example", "cy@tern.example"):
                await directory.create_person(PersonChange(email=name))
            yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def wiki(site: Site) -> Wiki:
    return await new_source(site)


async def new_source(site: Site) -> Wiki:
    name = f"wiki-{next(NUMBERS)}"
    body = {"name": name, "system": "push"}
    made = await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)
    assert made.status_code == 201, made.text
    _, token = await site.keys.create("default", "wiki", scopes=["push"], tags=[], source=name)
    return Wiki(site=site, name=name, key=token.text)


async def test_an_item_is_seen_by_whom_it_allows_until_it_is_deleted(wiki: Wiki) -> None:
    allow = {"people": ["Ada@Halden.example"]}
    report = await wiki.push(item("offer/7", allow=allow, url="https://wiki.example/7"))
    assert (report["inserted"], report["failed"], report["lines"]) == (1, 0, 1)
    await wiki.site.kb.ingestion.finish_jobs()
    assert await wiki.titles("ada@halden.example") == ["offer/7"]
    assert await wiki.titles("bo@halden.example") == []
    report = await wiki.push({"kind": "delete", "id": "offer/7"})
    assert report["deleted"] == 1
    assert await wiki.titles("ada@halden.example") == []

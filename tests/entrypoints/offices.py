"""A server with a directory, and browsers that sign in to it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from lightwell.domain.directory import Person, PersonChange
from lightwell.domain.web_sessions import Secret
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.invitations import SignInLinks
from lightwell.testing.sources import InMemorySource, make_document
from tests.entrypoints.http_site import Site, open_site

QUESTION = {"query": "What discount does Nordwind receive?"}
DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
OWN = {"Origin": "http://localhost"}
_NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Browser:
    """A browser on the server's own page, with cookies of its own."""

    client: httpx.AsyncClient

    @property
    def secret(self) -> str:
        (cookie,) = self.client.cookies.jar
        return str(cookie.value)

    async def me(self) -> Any:
        reply = await self.client.get("/v1/me")
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send what the page sends: its origin and its token."""
        token = Secret(self.secret).csrf_token if len(self.client.cookies) else ""
        headers = {**OWN, "X-CSRF-Token": token}
        return await self.client.request(method, path, json=body, headers=headers)

    async def status(self) -> int:
        return (await self.client.get("/v1/me")).status_code

    async def sees(self) -> bool:
        reply = await self.send("POST", "/v1/query", QUESTION)
        assert reply.status_code == 200, reply.text
        return DISCOUNT in reply.json()["answer"]


@dataclass(frozen=True, kw_only=True)
class Office:
    """A server with a directory; each test makes its own people and browsers."""

    site: Site
    directory: Directory
    links: SignInLinks
    audit: Path

    async def person(self, *tags: str, **more: Any) -> Person:
        change = PersonChange(
            email=f"s{next(_NUMBERS)}@halden.example", acl_tags=frozenset(tags), **more
        )
        return await self.directory.create_person(change)

    def browser(self, **headers: str) -> Browser:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.site.app),
            base_url="http://localhost",
            headers=headers,
        )
        return Browser(client=client)

    async def sign_in(self, browser: Browser, key: str) -> httpx.Response:
        return await browser.client.post("/v1/sign-in/key", json={"key": key}, headers=OWN)

    async def with_key(self, key: str) -> Browser:
        browser = self.browser()
        reply = await self.sign_in(browser, key)
        assert reply.status_code == 204, reply.text
        return browser

    async def link(self, person: Person, valid: timedelta = timedelta(days=1)) -> str:
        _, secret = await self.links.create(str(person.id), valid)
        return secret.text

    async def redeem(self, browser: Browser, token: str) -> httpx.Response:
        return await browser.client.post("/v1/sign-in/link", json={"token": token}, headers=OWN)

    async def as_person(self, person: Person) -> Browser:
        browser = self.browser()
        reply = await self.redeem(browser, await self.link(person))
        assert reply.status_code == 204, reply.text
        return browser

    async def execute(self, statement: Any, **values: object) -> None:
        await self.site.keys.database.execute(statement, values)


@asynccontextmanager
async def open_office(
    url: str, audit: Path, values: Mapping[str, object] = MappingProxyType({})
) -> AsyncGenerator[Office]:
    """Serve a store with one document, which those with the tag team:sales see."""
    async with open_site(url, {"server.audit_log": str(audit), **values}) as site:
        documents = (make_document("contract.md", DISCOUNT, ["team:sales"]),)
        await site.kb.ingestion.ingest(InMemorySource(documents=documents))
        directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
        yield Office(
            site=site,
            directory=directory,
            links=SignInLinks(directory=directory),
            audit=audit,
        )

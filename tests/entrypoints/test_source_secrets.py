"""Whom the secrets of sources serve: one project, system and address, as the environment says, whoever adds a source."""

import threading
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lightwell.domain.business_systems import NewSource
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.ingest.item_sync import SyncRequest
from lightwell.records import sources
from lightwell.testing.item_source import MemorySystem
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site
from tests.entrypoints.test_sources import ADMIN
from tests.entrypoints.test_sources import system as system  # a fixture

SYSTEMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "tracker": ("linear", {}),
    "desk": ("chatwoot", {"account": "1"}),
    "hub": ("github", {"repositories": "a/b"}),
    "crm": ("attio", {}),
}


@dataclass
class Listener:
    """A server that notes the values of all headers that it gets, and answers with a status and headers."""

    url: str
    status: int = 401
    headers: dict[str, str] = field(default_factory=dict[str, str])
    received: list[str] = field(default_factory=list[str])

    def tokens(self) -> set[str]:
        return {
            word for text in self.received for word in text.split() if word.startswith("secret-")
        }


@contextmanager
def listening() -> Generator[Listener]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            listener.received.extend(self.headers.values())
            self.send_response(listener.status)
            for name, value in listener.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        listener = Listener(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield listener
        server.shutdown()
        thread.join()


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SYSTEMS:
        monkeypatch.setenv(f"LIGHTWELL_SOURCE_{name.upper()}_TOKEN", f"secret-{name}")


@pytest.fixture
async def site(databases: Databases, tokens: None) -> AsyncIterator[Site]:
    del tokens
    with databases.lent() as url:
        async with open_site(url, {"http.worker": False}) as opened:
            yield opened


async def add(site: Site, key: str, name: str, **options: str) -> tuple[int, str]:
    """Add the source of this name over HTTP, and return the status with what is wrong."""
    kind, needed = SYSTEMS[name]
    body = {"name": name, "system": kind, "options": {**needed, **options}}
    headers = {"Authorization": f"Bearer {key}"}
    reply = await site.client.post("/v1/sources", headers=headers, json=body)
    return reply.status_code, reply.json().get("detail", "")


async def other_project(site: Site) -> str:
    """Make the project `b` as its administrator would, and return the admin key."""
    made = await site.request("POST", "/v1/admin/projects", scopes=ADMIN, json={"name": "b"})
    return made.json()["adminKey"]["key"]


async def sync(site: Site, name: str) -> None:
    with pytest.raises(LightwellError):  # each listener refuses
        await site.kb.sources.sync(name, SyncRequest(is_full=True))


@pytest.mark.parametrize("name", SYSTEMS)
async def test_no_administrator_gets_a_token_to_an_address_of_his_own(
    site: Site, name: str
) -> None:
    own = await site.key(scopes=ADMIN)
    with listening() as attacker:
        for key in (own, await other_project(site)):
            status, detail = await add(site, key, name, base_url=attacker.url)
            assert status == 422
            assert f"LIGHTWELL_SOURCE_{name.upper()}_BASE_URL" in detail
        # A source that an earlier version stored, and one whose options are changed, are no way round.
        kind, needed = SYSTEMS[name]
        stored = NewSource(name=name, system=kind, options={**needed, "base_url": attacker.url})
        context = site.kb.sources.context
        await sources.create(context.database, context.project_id, stored)
        with pytest.raises(Invalid, match="BASE_URL"):
            await site.kb.sources.sync(name, SyncRequest(is_full=True))
        changed = await site.request(
            "PATCH", f"/v1/sources/{name}", scopes=ADMIN, json={"options": dict(stored.options)}
        )
        assert changed.status_code == 422
        assert attacker.received == []


@pytest.mark.parametrize("name", SYSTEMS)
async def test_a_token_serves_one_project(
    site: Site, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = await site.key(scopes=ADMIN), await other_project(site)
    variable = f"LIGHTWELL_SOURCE_{name.upper()}"
    monkeypatch.setenv(f"{variable}_BASE_URL", "https://system.example")
    status, detail = await add(site, other, name)
    assert status == 422
    assert f"{variable}_TOKEN" in detail
    assert f"{variable}_PROJECT" in detail
    monkeypatch.setenv(f"{variable}_PROJECT", "b")
    assert await add(site, other, name) == (201, "")
    assert (await add(site, own, name))[0] == 422
    monkeypatch.setenv(f"{variable}_PROJECT", "no such project")
    assert (await add(site, own, name))[0] == 422


@pytest.mark.parametrize("name", SYSTEMS)
async def test_a_token_goes_to_the_bound_address_and_follows_no_redirect(
    site: Site, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as vendor, listening() as elsewhere:
        monkeypatch.setenv(f"LIGHTWELL_SOURCE_{name.upper()}_BASE_URL", vendor.url + "/")
        assert await add(site, await site.key(scopes=ADMIN), name) == (201, "")
        for status in (301, 302, 307, 308):
            vendor.status, vendor.headers = status, {"location": f"{elsewhere.url}/taken"}
            await sync(site, name)
        assert vendor.tokens() == {f"secret-{name}"}
        assert elsewhere.received == []
        # An option that repeats the bound address is one of before, and does no harm.
        options = {**SYSTEMS[name][1], "base_url": vendor.url}
        changed = await site.request(
            "PATCH", f"/v1/sources/{name}", scopes=ADMIN, json={"options": options}
        )
        assert changed.status_code == 200


async def test_a_token_serves_the_system_that_is_named_and_a_plug_in_only_then(
    site: Site, system: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await site.key(scopes=ADMIN)
    monkeypatch.setenv("LIGHTWELL_SOURCE_HUB_SYSTEM", "linear")
    status, detail = await add(site, own, "hub")
    assert status == 422
    assert "LIGHTWELL_SOURCE_HUB_SYSTEM" in detail
    monkeypatch.setenv("LIGHTWELL_SOURCE_HUB_SYSTEM", "github")
    assert (await add(site, own, "hub"))[0] == 201

    async def add_plug_in() -> int:
        body = {"name": "my-tracker", "system": "memory"}
        return (await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)).status_code

    monkeypatch.delenv("LIGHTWELL_SOURCE_MY_TRACKER_SYSTEM")
    assert await add_plug_in() == 422
    monkeypatch.setenv("LIGHTWELL_SOURCE_MY_TRACKER_SYSTEM", "memory")
    assert await add_plug_in() == 201


async def test_a_webhook_secret_serves_one_project(
    site: Site, system: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"name": "my-tracker", "system": "memory"}
    added = (await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)).json()
    headers, content = system.webhook("d1", ["issue/1"], moment=datetime.now(UTC))

    async def send() -> int:
        path = added["webhookPath"]
        return (await site.client.post(path, headers=headers, content=content)).status_code

    assert await send() == 202
    await other_project(site)
    monkeypatch.setenv("LIGHTWELL_SOURCE_MY_TRACKER_PROJECT", "b")
    assert await send() == 401

"""Sources from a shell and over HTTP, webhooks, and the schedule of a server."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from lightwell.domain.api_keys import Scope
from lightwell.domain.business_systems import Source
from lightwell.domain.usage import OperationType, TokenUsage
from lightwell.entrypoints.cli import app
from lightwell.entrypoints.http.failed_logins import FailedLogins
from lightwell.metering import note_usage
from lightwell.source_secrets import SourceSecrets
from lightwell.testing.item_source import MemorySource, MemorySystem
from lightwell.wiring import connectors
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site, serving_in_thread
from tests.patience import PATIENCE

SECRET = MemorySystem().secret
ADMIN = (Scope.ADMIN,)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> MemorySystem:
    """A system that `memory` opens as a plug-in does, with secrets in the environment."""
    made = MemorySystem(teams={"core": set()})
    made.put("issue/1", "The pump of Nordwind leaks.", title="Leaking pump")
    made.put("issue/2", "The manual of the pump is old.", title="Old manual")
    monkeypatch.setenv("LIGHTWELL_SOURCE_MY_TRACKER_TOKEN", "token")
    monkeypatch.setenv("LIGHTWELL_SOURCE_MY_TRACKER_SYSTEM", "memory")
    monkeypatch.setenv("LIGHTWELL_SOURCE_MY_TRACKER_WEBHOOK_SECRET", SECRET)

    @asynccontextmanager
    async def open_plug_in(source: Source, secrets: SourceSecrets) -> AsyncGenerator[MemorySource]:
        secrets.require_token()
        secret = secrets.webhook_secret
        yield MemorySource(made, secret.get_secret_value() if secret else "")

    known = {"memory": open_plug_in}
    monkeypatch.setattr(connectors, "_find_plug_in", known.__getitem__)
    return made


def run(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == code, (result.stderr, result.exception)
    return json.loads(result.stdout or result.stderr.splitlines()[-1])


def test_a_source_is_maintained_from_a_shell(
    database_url: str, system: MemorySystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.setenv("LIGHTWELL_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
    added = run("sources", "add", "my-tracker", "memory", "--option", "area=7", "--every", "5")
    assert (added["options"], added["everySeconds"]) == ({"area": "7"}, 300)
    missing = run("sources", "add", "other", "memory", code=2)
    assert "LIGHTWELL_SOURCE_OTHER_TOKEN" in missing["detail"]
    system.records["issue/2"].is_broken = True
    first = run("sources", "sync", "my-tracker", code=1)
    assert (first["inserted"], first["unreadable"], first["ingested"]) == (1, 1, 1)
    (failed,) = run("sources", "failures", "my-tracker")["failures"]
    assert (failed["itemRef"], failed["message"]) == ("memory:issue:2", "it cannot be read")
    system.records["issue/2"].is_broken = False
    assert run("sources", "retry", "my-tracker")["retried"] == 1
    assert run("sources", "sync", "my-tracker", "--sweep")["inserted"] == 1
    answer = run("ask", "What leaks?", "--as", "memory:team:core")
    assert answer["citations"][0]["sourceUrl"] == "https://memory.example/issue/1"
    changed = run("sources", "change", "my-tracker", "--every", "9", "--option", "area=8")
    assert (changed["everySeconds"], changed["options"]) == (540, {"area": "8"})
    assert changed["sweepSeconds"] == added["sweepSeconds"]
    assert "Name what to change" in run("sources", "change", "my-tracker", code=2)["detail"]
    assert run("sources", "pause", "my-tracker")["paused"]
    assert not run("sources", "resume", "my-tracker")["paused"]
    shown = run("sources", "show", "my-tracker")
    assert (shown["documents"], len(shown["runs"]), shown["failedItems"]) == ({"issue": 2}, 2, 0)
    assert run("sources", "remove", "my-tracker", "--yes")["documentsRemoved"] == 2
    assert run("sources", "list")["sources"] == []
    assert run("groups", "list")["groups"] == []
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert lines[0]["ids"] == {"sourceId": added["sourceId"]}


@pytest.fixture
async def site(databases: Databases, system: MemorySystem) -> AsyncIterator[Site]:
    del system
    with databases.lent() as url:
        async with open_site(url) as opened:
            yield opened


async def test_a_source_is_tried_out_before_it_is_added(site: Site, system: MemorySystem) -> None:
    """It shows how many people and which groups there are, no word of an item, and is stored nowhere."""

    async def tried(**source: object) -> dict[str, Any]:
        reply = await site.request("POST", "/v1/sources/test", scopes=ADMIN, json=source)
        assert reply.status_code == 200, reply.text
        return reply.json()

    good = await tried(name="my-tracker", system="memory")
    assert good["problem"] == ""
    assert (good["streams"], good["groups"]) == (
        [*MemorySource(system, "").streams],
        ["Team core"],
    )
    assert "pump" not in json.dumps(good)
    assert "LIGHTWELL_SOURCE_OTHER_TOKEN" in (await tried(name="other", system="memory"))["problem"]
    assert "small letters" in (await tried(name="No Name", system="memory"))["problem"]
    listed = (await site.request("GET", "/v1/sources", scopes=ADMIN)).json()
    assert listed["sources"] == []
    assert {"linear", "attio", "chatwoot", "github"} <= set(listed["systems"])
    added = {"name": "my-tracker", "system": "memory"}
    assert (await site.request("POST", "/v1/sources", scopes=ADMIN, json=added)).status_code == 201
    assert "already" in (await tried(name="my-tracker", system="memory"))["problem"]


def test_a_server_s_sources_are_maintained_from_a_shell(
    database_url: str, system: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keys(site: Site) -> tuple[str, str]:
        return await site.key(scopes=ADMIN), await site.key("team:core")

    with serving_in_thread(database_url, keys) as (url, (admin, reader)):
        monkeypatch.setenv("LIGHTWELL_API_KEY", admin)

        def there(*words: str, code: int = 0) -> Any:
            return run("sources", *words, "--server", url, code=code)

        added = there("add", "my-tracker", "memory", "--every", "5000", "--sweep-every", "90")
        assert (added["everySeconds"], added["sweepSeconds"]) == (300_000, 324_000)
        system.put("issue/3", "The pump is mended.", title="Mended")
        system.records["issue/2"].is_broken = True
        synced = there("sync", "my-tracker", "--start-over", code=1)
        assert synced["unreadable"] == 1
        (failed,) = there("failures", "my-tracker", "--limit", "1000")["failures"]
        assert failed["itemRef"] == "memory:issue:2"
        system.records["issue/2"].is_broken = False
        assert there("retry", "my-tracker")["retried"] == 1
        assert there("sync", "my-tracker", "--sweep")["warning"] == ""
        assert there("change", "my-tracker", "--every", "9")["everySeconds"] == 540
        assert there("pause", "my-tracker")["paused"]
        assert there("sync", "my-tracker")["paused"]
        assert not there("resume", "my-tracker")["paused"]
        shown = there("show", "my-tracker", "--limit", "1")
        assert len(shown["runs"]) == 1
        assert [source["name"] for source in there("list")["sources"]] == ["my-tracker"]
        assert there("remove", "my-tracker", "--yes")["documentsRemoved"] == 3
        assert there("list")["sources"] == []
        assert "my-tracker" in there("show", "my-tracker", code=3)["detail"]
        monkeypatch.setenv("LIGHTWELL_API_KEY", reader)
        refused = there("list", code=4)
        assert (refused["code"], "admin" in refused["detail"]) == ("missing_scope", True)


async def wait_for(site: Site, *names: str) -> None:
    """Wait until the server has ingested exactly these."""
    async with asyncio.timeout(PATIENCE):
        while True:
            listed = await site.get("/v1/documents", "memory:team:core")
            found = {
                document["documentUrl"].rpartition("example/")[2]
                for document in listed["documents"]
                if document["status"] in ("active", "COMPLETED")
            }
            if found == set(names):
                return
            await asyncio.sleep(0.05)


async def test_a_server_syncs_by_itself_and_takes_each_genuine_webhook_once(
    site: Site, system: MemorySystem
) -> None:
    body = {"name": "my-tracker", "system": "memory", "everySeconds": 86_400}
    added = (await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)).json()
    await wait_for(site, "issue/1", "issue/2")
    pulls = system.calls.count("pull issue")

    system.put("issue/3", "The pump is mended.", title="Mended")
    headers, content = system.webhook("d1", ["issue/3"], moment=datetime.now(UTC))
    for _ in range(2):
        reply = await site.client.post(added["webhookPath"], headers=headers, content=content)
        assert (reply.status_code, reply.content) == (202, b"")
    await wait_for(site, "issue/1", "issue/2", "issue/3")
    assert system.calls.count("fetch") == 1
    assert system.calls.count("pull issue") == pulls

    system.delete("issue/3")
    headers, content = system.webhook("d2", ["issue/3"], moment=datetime.now(UTC))
    await site.client.post(added["webhookPath"], headers=headers, content=content)
    await wait_for(site, "issue/1", "issue/2")

    system.put("issue/4", "One more.")
    path = f"/v1/sources/{added['sourceId']}"
    assert (await site.request("POST", f"{path}/sync", scopes=ADMIN, json={})).status_code == 202
    await wait_for(site, "issue/1", "issue/2", "issue/4")
    shown = (await site.request("GET", path, scopes=ADMIN)).json()
    assert [run["error"] for run in shown["runs"]] == [""] * len(shown["runs"])
    metrics = (await site.request("GET", "/metrics", scopes=ADMIN)).text
    assert 'lightwell_sources{state="working"} 1.0' in metrics
    assert 'lightwell_source_webhooks_total{outcome="taken"} 2.0' in metrics
    assert 'lightwell_source_webhooks_total{outcome="repeated"} 1.0' in metrics


async def test_an_unknown_source_and_a_forged_webhook_get_the_same_reply(
    site: Site, system: MemorySystem
) -> None:
    body = {"name": "my-tracker", "system": "memory"}
    added = (await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)).json()
    headers, content = system.webhook("d1", ["issue/1"], moment=datetime.now(UTC))
    forged = await site.client.post(added["webhookPath"], headers=headers, content=content + b" ")
    unknown = await site.client.post(f"/v1/webhooks/{uuid4()}", headers=headers, content=content)
    late, old = system.webhook("d2", ["issue/1"], moment=datetime(2020, 1, 1, tzinfo=UTC))
    replayed = await site.client.post(added["webhookPath"], headers=late, content=old)
    replies = [
        {**reply.json(), "requestId": "", "status": reply.status_code}
        for reply in (forged, unknown, replayed)
    ]
    assert replies[0]["status"] == 401
    assert replies[0] == replies[1] == replies[2]
    too_long = await site.client.post(
        added["webhookPath"], headers=headers, content=b"x" * 2_000_000
    )
    assert too_long.status_code == 413
    # A clock that stands still: on a loaded machine a share of the limit would come back between two requests.
    limit = FailedLogins(per_minute=2, clock=lambda: 0.0)
    site.app.state.credentials = replace(site.app.state.credentials, failed_logins=limit)
    path = f"/v1/webhooks/{uuid4()}"
    statuses = [(await site.client.post(path, content=b"")).status_code for _ in range(3)]
    assert statuses == [401, 401, 429]


async def wait_for_warning(site: Site, path: str) -> str:
    """Wait until a sweep of the source has warned, and return what it says."""
    async with asyncio.timeout(PATIENCE):
        while True:
            shown = (await site.request("GET", path, scopes=ADMIN)).json()
            if shown["warning"]:
                return shown["warning"]
            await asyncio.sleep(0.05)


async def test_a_person_confirms_a_mass_deletion_and_changes_the_interval_over_http(
    site: Site, system: MemorySystem
) -> None:
    for number in range(12):
        system.put(f"issue/{number}", f"Text {number}")
    body = {"name": "my-tracker", "system": "memory"}
    await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)
    await wait_for(site, *(f"issue/{number}" for number in range(12)))
    path = "/v1/sources/my-tracker"
    change = {"everySeconds": 86_400, "sweepSeconds": 90_000}
    changed = (await site.request("PATCH", path, scopes=ADMIN, json=change)).json()
    assert (changed["everySeconds"], changed["sweepSeconds"]) == (86_400, 90_000)
    assert (await site.request("PATCH", path, scopes=ADMIN, json={})).status_code == 422
    system.records.clear()
    system.put("issue/0", "Text 0")
    await site.request("POST", f"{path}/sync", scopes=ADMIN, json={"sweep": True})
    assert "allowMassDeletion" in await wait_for_warning(site, path)
    confirmed = {"allowMassDeletion": True}
    await site.request("POST", f"{path}/sync", scopes=ADMIN, json=confirmed)
    await wait_for(site, "issue/0")
    shown = (await site.request("GET", path, scopes=ADMIN)).json()
    assert shown["warning"] == ""


async def test_sources_are_for_administrators(site: Site) -> None:
    for method, path in (
        ("GET", "/v1/sources"),
        ("DELETE", "/v1/sources/x"),
        ("POST", "/v1/sources/x/pause"),
    ):
        assert (await site.request(method, path, "team:a")).status_code == 403
    assert (await site.request("GET", "/v1/sources/x", scopes=ADMIN)).status_code == 404


@pytest.mark.usefixtures("system")
async def test_the_removal_of_a_source_does_not_tell_what_texts_of_others_cost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def describe(_: object) -> None:
        spent = TokenUsage(
            operation_type=OperationType.INGESTION,
            model_name="reader",
            input_tokens=100,
            output_tokens=10,
            timestamp=datetime.now(UTC),
        )
        note_usage(spent)

    monkeypatch.setattr("lightwell.knowledge_base.sources.finish_derived", describe)
    body = {"name": "my-tracker", "system": "memory"}
    await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)
    await wait_for(site, "issue/1", "issue/2")
    reply = await site.request("DELETE", "/v1/sources/my-tracker", scopes=ADMIN)
    assert reply.status_code == 204, reply.text
    assert "x-token-usage-calls" not in reply.headers

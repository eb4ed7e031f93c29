"""What an administrator sees of the server itself: health, models on this machine, usage, the audit log; and nobody else."""

import json
from pathlib import Path

import pytest

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.audit_reading import MOST_BYTES, Wanted, read_latest
from lightwell.models.local_endpoints import PLACES, Place
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site

ADMIN = (Scope.ADMIN,)
PATHS = ("health", "models", "models/find", "audit")


def look_at(site: Site, *endpoints: FakeEndpoint) -> None:
    site.app.state.operating.places = tuple(
        Place(server="Ollama", url=endpoint.base_url) for endpoint in endpoints
    )


async def test_only_administrators_of_the_servers_own_project_look_into_it(
    database_url: str,
) -> None:
    async with open_site(database_url) as site:
        _, token = await site.keys.create("other", "boss", scopes=[Scope.ADMIN], tags=[])
        other = {"Authorization": f"Bearer {token.text}"}
        for path in PATHS:
            reply = await site.request("GET", f"/v1/admin/{path}", "team:a", scopes=ALL_BUT_ADMIN)
            assert reply.status_code == 403, path
            assert (await site.client.get(f"/v1/admin/{path}", headers=other)).status_code == 403
        body = {"url": PLACES[0].url, "model": "any"}
        reply = await site.client.post("/v1/admin/models/try", headers=other, json=body)
        assert reply.status_code == 403
        reply = await site.request(
            "GET", "/v1/analytics/days", "team:a", scopes=ALL_BUT_ADMIN, params={"days": 3}
        )
        assert reply.status_code == 403


async def test_models_of_this_machine_are_found_and_tried(database_url: str) -> None:
    endpoint = FakeEndpoint(lambda _: "A seal is worn.")
    endpoint.models = ("qwen3:4b", "nomic-embed-text:latest")
    async with open_site(database_url) as site:
        with endpoint.running(), FakeEndpoint().running() as gone:
            look_at(site, endpoint, gone)
            reply = await site.request("GET", "/v1/admin/models/find", scopes=ADMIN)
            [first, second] = reply.json()["servers"]
            assert (first["writing"], first["embedding"]) == (
                ["qwen3:4b"],
                ["nomic-embed-text:latest"],
            )
            assert (second["writing"], second["embedding"]) == ([], [])
            body = {"url": endpoint.base_url, "model": "qwen3:4b"}
            reply = await site.request("POST", "/v1/admin/models/try", scopes=ADMIN, json=body)
            assert reply.json()["text"] == "A seal is worn."
            [request] = endpoint.requests
            assert "authorization" not in request.headers
        reply = await site.request("GET", "/v1/admin/models/find", scopes=ADMIN)
        assert reply.json() == {"servers": []}
        reply = await site.request("POST", "/v1/admin/models/try", scopes=ADMIN, json=body)
        assert reply.status_code == 502


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/v1", "http://127.0.0.1:5432/v1", "file:///etc/passwd", ""]
)
async def test_no_other_address_is_ever_asked(database_url: str, url: str) -> None:
    async with open_site(database_url) as site:
        body = {"url": url, "model": "any"}
        reply = await site.request("POST", "/v1/admin/models/try", scopes=ADMIN, json=body)
        assert reply.status_code == 422
    assert all(place.url.startswith("http://127.0.0.1:") for place in PLACES)


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(status=302, headers={"Location": "http://127.0.0.1:9/v1"}),
        Behaviour(status=500),
        Behaviour(raw_body=b"{"),
        Behaviour(raw_body=b'{"choices": []}'),
        Behaviour(closes_connection=True),
    ],
)
async def test_a_model_that_fails_is_said_to_fail(database_url: str, behaviour: Behaviour) -> None:
    with FakeEndpoint(behaviour=behaviour).running() as endpoint:
        async with open_site(database_url) as site:
            look_at(site, endpoint)
            body = {"url": endpoint.base_url, "model": "small"}
            reply = await site.request("POST", "/v1/admin/models/try", scopes=ADMIN, json=body)
            assert reply.status_code == 502
            assert "small" in reply.json()["detail"]


async def test_the_models_in_use_are_named_without_secrets(database_url: str) -> None:
    with FakeEndpoint().running() as endpoint:
        url = endpoint.base_url.replace("//", "//ada:secret@") + "?key=secret"
        values = {"chat.url": url, "chat.model": "small", "chat.price_input": 0.5}
        async with open_site(database_url, values) as site:
            reply = await site.request("GET", "/v1/admin/models", scopes=ADMIN)
    assert "secret" not in reply.text
    assert reply.json()["chat"] == {"model": "small", "url": endpoint.base_url}
    assert reply.json()["embedding"]["url"] == ""
    assert (reply.json()["priceInput"], reply.json()["reranker"]) == (0.5, None)


async def test_health_says_what_doctor_says_and_holds_for_a_while(database_url: str) -> None:
    async with open_site(database_url) as site:
        first = (await site.request("GET", "/v1/admin/health", scopes=ADMIN)).json()
        assert {check["name"] for check in first["checks"]} >= {"PostgreSQL", "reranker"}
        assert all(check["ok"] or check["fix"] for check in first["checks"])
        again = (await site.request("GET", "/v1/admin/health", scopes=ADMIN)).json()
        assert again["checkedAt"] == first["checkedAt"]
        query = {"anew": True}
        anew = (await site.request("GET", "/v1/admin/health", scopes=ADMIN, params=query)).json()
        assert anew["checkedAt"] > first["checkedAt"]


async def test_usage_is_counted_day_by_day(database_url: str) -> None:
    async with open_site(database_url) as site:
        body = {"query": "What leaks?"}
        await site.request("POST", "/v1/query", "team:a", json=body)
        reply = await site.request("GET", "/v1/analytics/days", scopes=ADMIN, params={"days": 3})
        days = reply.json()["days"]
    assert [day["queries"] for day in days] == [0, 0, 1]
    assert (days[0]["meanMs"], days[2]["answered"]) == (None, 0)


async def test_the_last_lines_of_the_audit_log_can_be_read(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "audit.jsonl"
    async with open_site(database_url, {"server.audit_log": str(log)}) as site:
        await site.request("POST", "/v1/query", "team:a", json={"query": "What leaks?"})
        await site.request("GET", "/v1/documents", "team:a")
        await site.request("GET", "/v1/admin/keys", "team:a")
        reply = await site.request("GET", "/v1/admin/audit", scopes=ADMIN)
        assert reply.json()["isFile"]
        routes = [entry["route"] for entry in reply.json()["entries"]]
        assert routes == ["/v1/admin/keys", "/v1/documents", "/v1/query"]
        command = {
            "time": "2026-11-26T17:00:00.000+00:00",
            "command": "keys create",
            "account": "ada",
            "project": "default",
            "ids": {"keyId": "1"},
            "exitCode": 0,
        }
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(command) + '\n{"time": "no time", "project": "default"}\n')
        query = {"onlyChanges": True, "limit": 2}
        reply = await site.request("GET", "/v1/admin/audit", scopes=ADMIN, params=query)
        [line, *_] = reply.json()["entries"]
        assert (line["command"], line["account"], line["exitCode"]) == ("keys create", "ada", 0)
        query = {"onlyFailures": True}
        reply = await site.request("GET", "/v1/admin/audit", scopes=ADMIN, params=query)
        assert [entry["status"] for entry in reply.json()["entries"]] == [403]
        query = {"onlyChanges": True}
        reply = await site.request("GET", "/v1/admin/audit", scopes=ADMIN, params=query)
        assert [entry["route"] for entry in reply.json()["entries"]] == [None, "/v1/query"]
    async with open_site(database_url) as site:
        reply = await site.request("GET", "/v1/admin/audit", scopes=ADMIN)
        assert reply.json() == {"isFile": False, "entries": []}


def test_a_log_is_read_from_its_end_and_other_projects_stay_out(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    line = {"project": "default", "status": 200, "method": "GET", "personId": "a"}
    others = json.dumps({**line, "project": "other", "route": "x" * 1000})
    many = others + "\n"
    first, last = json.dumps({**line, "route": "first"}), json.dumps({**line, "route": "last"})
    log.write_text(f"{first}\n{many * (MOST_BYTES // len(many) + 1)}{last}\n{{half", "utf-8")
    entries = read_latest(str(log), Wanted(project="default"), limit=10)
    assert [entry["route"] for entry in entries or []] == ["last"]
    assert read_latest(str(log), Wanted(project="default", person="b"), limit=10) == []
    assert read_latest("-", Wanted(project="default"), limit=10) is None
    assert read_latest(str(tmp_path / "none"), Wanted(project="default"), limit=10) is None

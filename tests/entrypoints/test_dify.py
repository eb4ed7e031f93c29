"""Dify's external knowledge base: what Dify sends, as its `ExternalDatasetService` makes it, and what it does with the reply.

Dify is no package that can be installed, so its requests are made here as its source makes them: a check without a body when an address is saved,
and a body with every field, `metadata_condition` null where there is none.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from lightwell.domain.compatibility import parse_compatibility
from lightwell.domain.errors import Invalid
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEAM = ("team:a",)
QUERY = "Who ordered pumps from Nordwind?"
DOCUMENTS = (
    make_document(
        "orders.md", "# Orders\n\nAcme Corp ordered 40 pumps from Nordwind in March.", TEAM
    ),
    make_document(
        "prices.md", "# Prices\n\nNordwind pumps cost 900 euros. Acme Corp ordered some.", TEAM
    ),
    make_document("secret.md", "Zeta ordered pumps from Nordwind in secret.", ("team:board",)),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url, {"http.compatibility": "dify"}) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


async def send(site: Site, knowledge: str = "default", **more: Any) -> httpx.Response:
    """Send what Dify sends: JSON as bytes, with every field."""
    body = {
        "retrieval_setting": {
            "top_k": more.get("top_k", 4),
            "score_threshold": more.get("least", 0.0),
        },
        "query": QUERY,
        "knowledge_id": knowledge,
        "metadata_condition": more.get("conditions"),
    }
    key = more.get("key") or await site.key(*TEAM)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    return await site.client.post("/retrieval", content=json.dumps(body), headers=headers)


def conditions(*conditions: tuple[str, str, object], operator: str = "and") -> dict[str, object]:
    listed = [
        {"name": name, "comparison_operator": comparison, "value": value}
        for name, comparison, value in conditions
    ]
    return {"logical_operator": operator, "conditions": listed}


async def titles(site: Site, knowledge: str = "default", **more: Any) -> list[str]:
    reply = await send(site, knowledge, **more)
    assert reply.status_code == 200, reply.text
    return sorted(record["title"] for record in reply.json()["records"])


async def test_dify_gets_passages_with_scores_and_what_a_citation_needs(site: Site) -> None:
    records = (await send(site)).json()["records"]
    assert [record["title"] for record in records] == ["Orders", "Prices"]
    assert "ordered 40 pumps" in records[0]["content"]
    assert 1 >= records[0]["score"] >= records[1]["score"] > 0
    metadata = records[0]["metadata"]
    assert None not in metadata.values()  # Dify's pipeline fails on null metadata
    assert metadata.keys().isdisjoint({"score", "title", "dataset_id", "dataset_name"})
    shown = metadata["url"].removeprefix("http://localhost/d/")
    assert shown == f"{metadata['document_id']}#{metadata['start']}-{metadata['end']}"
    assert await titles(site, top_k=1) == ["Orders"]
    assert await titles(site, top_k=1000) == ["Orders", "Prices"]
    assert await titles(site, least=1.01) == []
    assert await titles(site, top_k=None, least=None) == ["Orders", "Prices"]


async def test_saving_an_address_in_dify_checks_the_key(site: Site) -> None:
    """Dify sends no body, takes 404, 502 and 403 for failures, and every other status for success."""
    for key, status in ((await site.key(*TEAM), 422), ("lw_wrong", 403)):
        headers = {"Authorization": f"Bearer {key}"}
        assert (await site.client.post("/retrieval", headers=headers)).status_code == status


async def test_dify_is_told_what_is_wrong_in_its_own_codes(site: Site) -> None:
    wrong = await send(site, key="lw_wrong")
    assert (wrong.status_code, wrong.json()["error_code"]) == (403, 1002)
    headers = {"Authorization": "Basic abc"}
    malformed = await site.client.post("/retrieval", json={}, headers=headers)
    assert (malformed.status_code, malformed.json()["error_code"]) == (403, 1001)
    for knowledge in ("other-project", "colour=red", "system=", ""):
        missing = await send(site, knowledge)
        assert (missing.status_code, missing.json()["error_code"]) == (404, 2001), knowledge


async def test_a_part_of_the_project_is_a_knowledge_base(site: Site) -> None:
    assert await titles(site, "system=file") == ["Orders", "Prices"]
    assert await titles(site, "tag=team:a,type=document") == ["Orders", "Prices"]
    assert await titles(site, "tag=team:board") == await titles(site, "system=linear") == []


async def test_conditions_of_metadata_are_filters_or_refused(site: Site) -> None:
    """`date` is a day of the document; one that states none is in no span."""
    for each, count in (
        (conditions(("system", "is", "file")), 2),
        (conditions(("system", "in", ["linear", "file"])), 2),
        (conditions(("system", "is", "linear"), ("system", "is", "file"), operator="or"), 2),
        (conditions(("type", "is", "document"), ("system", "=", "linear")), 0),
        (conditions(("phase", "is", "two")), 0),
        (conditions(("date", "after", "2026-01-01"), ("date", "before", 1767225600)), None),
        (conditions(("system", "is not", "file")), None),
        (conditions(("title", "contains", "Orders")), None),
        (conditions(("system", "is", "linear"), ("system", "is", "file")), None),
        (conditions(("system", "is", "file"), ("type", "is", "x"), operator="or"), None),
        (conditions(("system", "empty", None)), None),
        (conditions(("date", "is", "soon")), None),
        (conditions(("date", "after", "soon")), None),
        (conditions(("date", "after", "9999-12-31")), None),
        (conditions(("date", "before", 1e300)), None),
        (conditions(("half \ud800", "contains", "Orders")), None),
        ({"logical_operator": "and", "conditions": None}, 2),
    ):
        reply = await send(site, conditions=each)
        if count is None:
            assert (reply.status_code, reply.json()["error_code"]) == (422, 422), each
        else:
            assert len(reply.json()["records"]) == count, each
    inside = conditions(("system", "is", "file"))
    assert (await send(site, "system=file", conditions=inside)).status_code == 422


async def test_only_the_apis_that_the_settings_name_are_spoken(site: Site) -> None:
    for path in ("/api/version", "/tools/openapi.json", "/lightrag/health"):
        assert (await site.request("GET", path, *TEAM)).status_code == 404, path
    assert parse_compatibility("") == frozenset()
    with pytest.raises(Invalid, match="'ollamma' is none of the APIs dify, "):
        parse_compatibility("dify, ollamma")


async def test_requests_of_dify_are_audited(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[Any] = []
    monkeypatch.setattr(
        site.app.state, "audit", type("Log", (), {"write": staticmethod(lines.append)})
    )
    await send(site)
    await send(site, key="lw_wrong")
    assert [(line["route"], line["status"], bool(line["credential"])) for line in lines] == [
        ("/retrieval", 200, True),
        ("/retrieval", 403, False),
    ]

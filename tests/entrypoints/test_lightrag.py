"""LightRAG's API: what its clients send gets replies of its form, as the caller sees things; what is not here says so."""

import ast
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.testclient import TestClient

from lightwell.domain.api_keys import Scope
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.http import lightrag_schema as schema
from lightwell.entrypoints.http import lightrag_webui as webui
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site, serving_in_thread
from tests.lightrag_package import install, install_lightrag

CLIENT = Path(__file__).parents[1] / "lightrag_client.py"
US, BOARD = "team:us", "team:board"
DOCUMENTS = (
    make_document("a.md", "# Orders\n\nNordwind receives a discount of 18 percent.", [US]),
    make_document("b.md", "Jane Smith wrote to Nordwind about Osprey in Tarn Valley.", [US]),
    make_document("s.md", "Project Falcon is Jane Smith's secret.", [BOARD]),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    values = {"http.compatibility": "lightrag", "http.worker": False}
    with databases.lent() as url:
        async with open_site(url, values) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


async def send(
    site: Site, method: str, path: str, body: object = None, *, status: int = 200, **more: Any
) -> Any:
    reply = await site.request(
        method, f"/lightrag/{path}", US, scopes=ALL_BUT_ADMIN, json=body, **more
    )
    assert reply.status_code == status, reply.text
    return reply.json()


async def lines(site: Site, body: dict[str, object]) -> list[dict[str, Any]]:
    path = "/lightrag/query/stream"
    reply = await site.request("POST", path, US, json=body)
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_key_signs_in_as_the_password_and_is_the_token(site: Site) -> None:
    status = await site.client.get("/lightrag/auth-status")
    assert status.json()["auth_configured"] is True
    key = await site.key(US)
    form = {"username": "ada", "password": key, "grant_type": "password"}
    entered = await site.client.post("/lightrag/login", data=form)
    assert entered.json()["access_token"] == key
    assert entered.headers["cache-control"] == "no-store"
    for shown in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
        verified = await site.client.get("/lightrag/auth/verify", headers=shown)
        assert verified.json() == {"status": "ok"}
    for refused in (
        await site.client.post("/lightrag/login", data={**form, "password": "lw_wrong"}),
        await site.client.get("/lightrag/graphs", params={"label": "*"}),
        await site.client.get("/lightrag/auth/verify", headers={"X-API-Key": "lw_wrong"}),
    ):
        assert refused.status_code == 401
        assert "API key" in refused.json()["detail"]
    health = (await site.client.get("/lightrag/health")).json()
    assert (health["status"], health["webui_available"]) == ("healthy", False)


@pytest.mark.asyncio(loop_scope="module")
async def test_documents_are_listed_counted_added_and_deleted(site: Site) -> None:
    first = await send(site, "POST", "documents/paginated", {"sort_field": "file_path"})
    assert [each["file_path"] for each in first["documents"]] == ["Orders", "b"]
    assert first["pagination"]["total_count"] == first["status_counts"]["processed"] == 2
    files = {"file": ("pumps.md", b"# Pumps\n\nOsprey has pumps.")}
    uploaded = await send(site, "POST", "documents/upload", files=files)
    notes = {"texts": ["Nets are blue.", "# Nets\n\nNets are red."], "file_sources": ["n", "r.md"]}
    inserted = await send(site, "POST", "documents/texts", notes)
    await send(site, "POST", "documents/text", {"text": "Valves are green."})
    assert (await send(site, "GET", "documents/pipeline_status"))["docs"] == 4
    assert (await send(site, "GET", "health"))["pipeline_busy"] is True
    await site.kb.ingestion.finish_jobs()
    tracked = await send(site, "GET", f"documents/track_status/{uploaded['track_id']}")
    assert [each["file_path"] for each in tracked["documents"]] == ["Pumps"]
    assert tracked["status_summary"] == {"processed": 1}
    assert not tracked["documents"][0]["metadata"]
    tracked = await send(site, "GET", f"documents/track_status/{inserted['track_id']}")
    assert sorted(each["file_path"] for each in tracked["documents"]) == ["Nets", "n"]
    page = {"page": 2, "page_size": 10, "status_filters": ["processed", "failed"]}
    assert (await send(site, "POST", "documents/paginated", page))["documents"] == []
    page |= {"page": 1, "sort_direction": "asc", "sort_field": "created_at"}
    listed = (await send(site, "POST", "documents/paginated", page))["documents"]
    assert [each["created_at"] for each in listed] == sorted(each["created_at"] for each in listed)
    ids = [each["id"] for each in tracked["documents"]]
    deleted = await send(site, "DELETE", "documents/delete_document", {"doc_ids": ids})
    assert deleted["status"] == "deletion_started"
    await send(site, "DELETE", "documents/delete_document", {"doc_ids": ids}, status=404)
    assert (await send(site, "GET", "documents/status_counts"))["status_counts"]["all"] == 4
    assert ".md" in (await send(site, "GET", "documents/supported_file_types"))["supported_extensions"]  # fmt: skip


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_not_here_is_refused_in_words_that_the_webui_shows(site: Site) -> None:
    for method, path in (("DELETE", "documents"), ("POST", "documents/clear_cache")):
        assert (await send(site, method, path, {}))["status"] == "fail"
    idle = await send(site, "POST", "documents/cancel_pipeline")
    assert idle["status"] == "not_busy"
    assert "no input folder" in (await send(site, "POST", "documents/scan"))["message"]
    again = await send(site, "POST", "documents/reprocess_failed")
    assert again["message"].startswith("0 failed")
    only_reads = await site.request("POST", "/lightrag/documents/text", US, json={"text": "x"})
    assert only_reads.status_code == 403
    both = await site.request(
        *("POST", "/lightrag/documents/text", US, BOARD), scopes=ALL_BUT_ADMIN, json={"text": "x"}
    )
    assert (both.status_code, "access tags" in both.json()["detail"]) == (422, True)
    own = await site.request(
        *("POST", "/lightrag/documents/text", US, "user:ada"),
        scopes=ALL_BUT_ADMIN,
        json={"text": "Mine."},
    )
    assert "for user:ada," in own.json()["message"]


@pytest.mark.asyncio(loop_scope="module")
async def test_what_failed_says_why_and_can_be_tried_again(site: Site) -> None:
    files = {"file": ("broken.pdf", b"%PDF-1.7 broken")}
    await send(site, "POST", "documents/upload", files=files)
    await site.kb.ingestion.finish_jobs()
    page = await send(site, "POST", "documents/paginated", {"status_filter": "failed"})
    (failed,) = page["documents"]
    assert (failed["status"], bool(failed["error_msg"])) == ("failed", True)
    assert (await send(site, "POST", "documents/scan"))["message"].startswith("1 failed")
    assert (await send(site, "GET", "documents/pipeline_status"))["busy"]
    refused = await send(site, "POST", "documents/cancel_pipeline", status=501)
    assert "lightwell jobs cancel" in refused["detail"]
    await send(site, "DELETE", "documents/delete_document", {"doc_ids": [failed["id"]]})


@pytest.mark.asyncio(loop_scope="module")
async def test_what_cannot_be_tried_again_keeps_nothing_else_from_it(site: Site) -> None:
    """A document that failed twice has two failed jobs, of which only the newer one goes on."""
    broken = replace(make_document("broken.pdf", "", [US]), format=Format.PDF)
    for number in range(2):
        content = b"%%PDF-1.7 %d" % number
        version = replace(broken, content=content, content_hash=str(number))
        await site.kb.ingestion.ingest(InMemorySource(documents=(*DOCUMENTS, version)))
    again = await send(site, "POST", "documents/reprocess_failed")
    assert again["message"].startswith("1 failed")
    await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_question_is_answered_with_references(site: Site) -> None:
    asked: dict[str, object] = {"query": "What discount does Nordwind receive?"}
    answer = await send(site, "POST", "query", {**asked, "include_chunk_content": True})
    assert "18 percent" in answer["response"]
    (reference,) = answer["references"]
    assert (reference["reference_id"], reference["file_path"]) == ("1", "Orders")
    assert "18 percent" in reference["content"][0]
    first, *rest = await lines(site, asked)
    assert first == {"references": [{"reference_id": "1", "file_path": "Orders"}]}
    assert "".join(line["response"] for line in rest) == answer["response"]
    *live, references, _, ended = await lines(site, {**asked, "include_progress": True})
    assert "18 percent" in live[0]["response"]
    assert ({*references}, {*ended}) == ({"references"}, {"response_time"})
    (whole,) = await lines(site, {**asked, "stream": False})
    assert (whole["response"], whole["llm_generated"]) == (answer["response"], False)
    context = await send(site, "POST", "query", {**asked, "only_need_context": True})
    assert context["response"].startswith("[1] ")
    await send(site, "POST", "query", {**asked, "only_need_prompt": True}, status=422)
    found = await send(site, "POST", "query/data", {**asked, "chunk_top_k": 1})
    assert [chunk["file_path"] for chunk in found["data"]["chunks"]] == ["Orders"]
    hidden = await send(site, "POST", "query", {"query": "What is Project Falcon?"})
    assert "secret" not in json.dumps(hidden)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_graph_is_shown_and_corrected(site: Site) -> None:
    for path in ("list", "popular"):
        labels = await send(site, "GET", f"graph/label/{path}")
        assert "Nordwind" in labels
        assert "Project Falcon" not in labels
    assert await send(site, "GET", "graph/label/search?q=nord") == ["Nordwind"]
    whole = await send(site, "GET", "graphs?label=*")
    assert {"Nordwind", "Jane Smith", "Osprey"} <= {node["id"] for node in whole["nodes"]}
    assert not whole["is_truncated"]
    assert (await send(site, "GET", "graphs?label=*&max_nodes=2"))["is_truncated"]
    assert (await send(site, "GET", "graphs?label=Project Falcon"))["nodes"] == []
    pump = {"description": "A pump.", "entity_type": "PRODUCT"}
    created = {"entity_name": "Pump", "entity_data": pump}
    await send(site, "POST", "graph/entity/create", created)
    ends = {"source_entity": "Pump", "target_entity": "Osprey"}
    related = {**ends, "relation_data": {"description": "It stands there.", "keywords": "place"}}
    await send(site, "POST", "graph/relation/create", related)
    await send(site, "POST", "graph/relation/create", related, status=422)
    edit = {"source_id": "Osprey", "target_id": "Pump", "updated_data": {"description": "Gone."}}
    await send(site, "POST", "graph/relation/edit", edit)
    for weight in (0, -1, 1e308, 10**400, True, "heavy"):
        heavier = {**edit, "updated_data": {"weight": weight}}
        await send(site, "POST", "graph/relation/edit", heavier, status=422)
    around = await send(site, "GET", "graphs?label=Pump&max_depth=9")
    (edge,) = [each for each in around["edges"] if "Pump" in (each["source"], each["target"])]
    assert edge["properties"]["description"] == "Gone."
    assert edge["properties"]["keywords"] == "place"


@pytest.mark.asyncio(loop_scope="module")
async def test_entities_are_renamed_merged_and_hidden(site: Site) -> None:
    renaming: dict[str, object] = {
        "entity_name": "Pump",
        "updated_data": {"entity_name": "Big Pump"},
    }
    await send(site, "POST", "graph/entity/edit", renaming, status=422)
    renaming["allow_rename"] = True
    changed = await send(site, "POST", "graph/entity/edit", renaming)
    assert changed["operation_summary"]["final_entity"] == "Big Pump"
    renaming |= {"entity_name": "Big Pump", "updated_data": {"entity_name": "Osprey"}}
    await send(site, "POST", "graph/entity/edit", renaming, status=422)
    merged = await send(site, "POST", "graph/entity/edit", {**renaming, "allow_merge": True})
    assert merged["operation_summary"]["merged"]
    merge = {"entities_to_change": ["Tarn Valley"], "entity_to_change_into": "Osprey"}
    await send(site, "POST", "graph/entities/merge", merge)
    wrong = {"entity_name": "Osprey", "updated_data": {"source_id": "chunk-1"}}
    await send(site, "POST", "graph/entity/edit", wrong, status=422)
    between = {"source_entity": "Nordwind", "target_entity": "Osprey"}
    await send(site, "DELETE", "graph/relation/delete", between)
    await send(site, "DELETE", "graph/relation/delete", between, status=404)
    await send(site, "DELETE", "graph/entity/delete", {"entity_name": "Nordwind"})
    exists = await send(site, "GET", "graph/entity/exists?name=Nordwind")
    assert exists == {"exists": False}
    created: dict[str, object] = {"entity_name": "Pump", "entity_data": {}}
    reader = await site.request("POST", "/lightrag/graph/entity/create", US, json=created)
    assert reader.status_code == 403
    assert Scope.CURATE.value in reader.json()["detail"]


def test_the_webui_is_served_from_its_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "webui"
    (folder / "assets").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("secret")
    client = TestClient(Starlette(routes=[*webui.make_routes(folder)]))
    assert client.get("/lightrag/webui/").status_code == 503
    html = "<head><!-- __LIGHTRAG_RUNTIME_CONFIG__ --></head>"
    (folder / "index.html").write_text(html)
    (folder / "assets" / "index-BHHHJP3f.js").write_text("run()")
    page = client.get("/lightrag/webui")
    assert page.text == '<head><script src="config.js"></script></head>'
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert '"apiPrefix": "/lightrag"' in client.get("/lightrag/webui/config.js").text
    assert client.get("/lightrag/webui/assets/index-BHHHJP3f.js").text == "run()"
    for name in ("..%2Fsecret.js", "..%2F..%2Fsecret.js", "other.js", "index.html"):
        assert client.get(f"/lightrag/webui/assets/{name}").status_code == 404
    assert client.get("/lightrag/webui/favicon.png").status_code == 404
    (folder / "assets").chmod(0o777)
    with pytest.raises(Invalid, match="other users"):
        webui.make_routes(folder)


@pytest.mark.slow
def test_a_client_by_others_works_unchanged(databases: Databases, tmp_path: Path) -> None:
    install(tmp_path, "lightrag-api==0.1.4")

    async def prepare(site: Site) -> str:
        await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
        return await site.key(US, scopes=ALL_BUT_ADMIN)

    values = {"http.compatibility": "lightrag", "http.worker": False}
    with databases.lent() as database, serving_in_thread(database, prepare, values) as (url, key):
        program = [sys.executable, str(CLIENT), f"{url}/lightrag", key]
        done = subprocess.run(
            program, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr


OF_OLDER_VERSIONS = {"autoscanned", "request_pending"}
SOME_FIELDS_ARE_IGNORED = {"QueryRequest", "DeleteDocRequest"}
"""Those that have no default in LightRAG, or one that is not looked for here."""


@pytest.mark.slow
def test_requests_and_replies_have_the_names_of_lightrag(tmp_path: Path) -> None:
    """What it requires of a reply is in ours, and no field has a name that it does not know."""
    package = install_lightrag(tmp_path)
    theirs: dict[str, tuple[set[str], set[str]]] = {}
    for path in (package / "types.py", *(package / "api" / "routers").glob("*.py")):
        theirs |= fields_in(path.read_text("utf-8"))
    compared = 0
    for name, ours in vars(schema).items():
        if isinstance(ours, type) and issubclass(ours, BaseModel) and name in theirs:
            every, required = theirs[name]
            assert {*ours.model_fields} <= every | OF_OLDER_VERSIONS, name
            if name not in SOME_FIELDS_ARE_IGNORED:
                assert required <= {*ours.model_fields}, name
            compared += 1
    assert compared > 20


def fields_in(source: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return the fields of the classes in this source by their names: all, and those without a default."""
    classes: dict[str, tuple[set[str], set[str]]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            fields = [
                each
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
            names = {each.target.id for each in fields if isinstance(each.target, ast.Name)}
            required = {
                each.target.id
                for each in fields
                if isinstance(each.target, ast.Name) and is_required(each.value)
            }
            classes[node.name] = names, required
    return classes


def is_required(value: ast.expr | None) -> bool:
    """Return whether a field of this value has no default."""
    if not isinstance(value, ast.Call):
        return value is None
    has_default = any(word.arg in ("default", "default_factory") for word in value.keywords)
    is_ellipsis = any(isinstance(each, ast.Constant) and each.value is ... for each in value.args)
    return is_ellipsis or not (has_default or value.args)

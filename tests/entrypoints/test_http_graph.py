"""The graph, its corrections, exports and feedback over HTTP."""

import csv
import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import openpyxl
import pytest
import pytest_asyncio

from lightwell.domain.api_keys import Scope
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

US = "team:us"
CURATE = (Scope.READ, Scope.CURATE)
DOCUMENTS = (
    make_document("a.md", "Jane Smith met Nordwind in Tarn Valley. Jane Smith left.", [US]),
    make_document("b.md", "Jane Smith wrote to Nordwind AG about Osprey.", [US]),
    make_document("s.md", "Project Falcon is Jane Smith's secret.", ["team:board"]),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


async def change(site: Site, method: str, path: str, body: object = None, status: int = 200) -> Any:
    reply = await site.request(method, f"/v1/graph/{path}", US, scopes=CURATE, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


async def names(site: Site, **query: object) -> list[str]:
    page = await site.get("/v1/graph/entities", US, **query)
    return [entity["entityName"] for entity in page["entities"]]


async def test_entities_are_found_by_name_and_kind_in_an_order_page_by_page(site: Site) -> None:
    every = await names(site)
    assert {"Jane Smith", "Nordwind", "Nordwind AG", "Tarn Valley", "Osprey"} <= {*every}
    assert "Project Falcon" not in every
    assert sorted(await names(site, query="nordwind")) == ["Nordwind", "Nordwind AG"]
    assert await names(site, query="falcon") == []
    details = await site.get("/v1/graph/entities/Jane Smith", US)
    assert "Jane Smith" in await names(site, kind=details["entityType"])
    assert await names(site, kind="no such kind") == []
    assert (await names(site, order="passages"))[0] == "Jane Smith"
    for order in ("reference", "passages"):
        paged: list[str] = []
        after: str | None = ""
        while after is not None:
            page = await site.get("/v1/graph/entities", US, order=order, limit=2, after=after)
            paged += [entity["entityName"] for entity in page["entities"]]
            after = page["nextAfter"]
        assert sorted(paged) == sorted(every)
    for wrong in ({"order": "passages", "after": "x"}, {"order": "size"}, {"page": "2"}):
        reply = await site.request("GET", "/v1/graph/entities", US, params=wrong)
        assert reply.status_code == 422


async def test_an_entity_comes_with_the_passages_that_mention_it(site: Site) -> None:
    found = await site.get("/v1/graph/entities/Jane Smith", US)
    assert [source["documentUrl"].rpartition("/")[2] for source in found["sources"]] == [
        "a.md",
        "b.md",
    ]
    assert all("Jane Smith" in source["snippet"] for source in found["sources"])
    of = await names(site, passage=found["sources"][0]["chunkRef"])
    assert {"Jane Smith", "Nordwind"} <= {*of}
    for path in ("entities", "relations"):
        passage = found["sources"][0]["chunkRef"]
        whole = await site.get(f"/v1/graph/{path}", US, passage=passage)
        pages: list[object] = []
        after: str | None = ""
        while after is not None:
            page = await site.get(f"/v1/graph/{path}", US, passage=passage, limit=1, after=after)
            assert len(page[path]) <= 1
            pages += page[path]
            after = page["nextAfter"]
        assert pages == whole[path]
    assert "Osprey" not in of
    by_id = await site.get(f"/v1/graph/entities/{found['entityId']}", US)
    assert by_id == found
    hidden = await site.request("GET", "/v1/graph/entities/Project Falcon", US)
    absent = await site.request("GET", "/v1/graph/entities/Project Eagle", US)
    assert hidden.status_code == absent.status_code == 404
    assert hidden.json()["detail"] == absent.json()["detail"].replace("Eagle", "Falcon")


async def test_s3_9_an_invalid_predicate_is_refused_with_the_prescribed_message(site: Site) -> None:
    body = {"source": "Osprey", "target": "Nordwind", "predicate": "LOVES"}
    refused = await change(site, "PUT", "relations", body, status=422)
    assert "Invalid predicate type" in str(refused)


async def found(site: Site, query: str, **more: object) -> list[str]:
    page = await site.get("/v1/graph/names", US, query=query, **more)
    return [name["entityName"] for name in page["names"]]


async def test_names_are_found_as_one_types_the_best_fit_first(site: Site) -> None:
    assert (await found(site, "nord"))[0] == "Nordwind"
    assert await found(site, "nordwind ag") == ["Nordwind AG"]
    assert "Jane Smith" in await found(site, "SMI")
    assert "Tarn Valley" in await found(site, "arn")
    assert await found(site, "") != []
    assert await found(site, "", limit=1) == ["Jane Smith"]
    for nothing in ("falcon", "no such name", "%", "_", "\\", "j%h"):
        assert await found(site, nothing) == []
    (jane,) = (await site.get("/v1/graph/names", US, query="jane smith"))["names"]
    assert jane["chunkCount"] == 2
    assert await found(site, "jane", kind=jane["entityType"]) == ["Jane Smith"]
    assert await found(site, "jane", kind="no such kind") == []


async def test_a_map_has_sizes_and_ties_between_its_names(site: Site) -> None:
    around = await site.get("/v1/graph/map", US, entity="Jane Smith", depth=2, limit=2000)
    by_id = {name["entityId"]: name for name in around["names"]}
    assert around["names"][0]["entityName"] == "Jane Smith"
    assert around["names"][0]["chunkCount"] == 2
    assert "Project Falcon" not in {name["entityName"] for name in around["names"]}
    assert around["ties"]
    for tie in around["ties"]:
        assert {tie["sourceEntityId"], tie["targetEntityId"]} <= by_id.keys()
    ties = [{tie["sourceEntityId"], tie["targetEntityId"]} for tie in around["ties"]]
    centre = around["names"][0]["entityId"]
    assert any(centre not in ends for ends in ties), "neighbours are tied to each other, too"
    small = await site.get("/v1/graph/map", US, entity="Jane Smith", limit=2)
    assert (len(small["names"]), small["isCut"]) == (2, True)
    for wrong in ({"depth": 4}, {"limit": 0}, {"limit": 2001}):
        params = {"entity": "Jane Smith", **wrong}
        refused = await site.request("GET", "/v1/graph/map", US, params=params)
        assert refused.status_code == 422


async def test_a_profile_says_where_each_fact_stands(site: Site) -> None:
    profile = await site.get("/v1/graph/profiles/Jane Smith", US)
    assert [place["documentTitle"] for place in profile["places"]] == ["b", "a"]
    texts = {}
    for number in range(len(DOCUMENTS) - 1):
        document = await site.kb.documents.get(
            await site.kb.reader([US]), f"file:///shelf/{DOCUMENTS[number].url.rsplit('/')[-1]}"
        )
        texts[str(document.id)] = DOCUMENTS[number].content.decode()
    fact = next(fact for fact in profile["facts"] if fact["other"]["entityName"] == "Tarn Valley")
    assert fact["place"]["text"] == "Jane Smith met Nordwind in Tarn Valley."
    for place in (*profile["places"], *(each["place"] for each in profile["facts"])):
        assert texts[place["documentId"]][place["start"] : place["end"]] == place["text"]
    assert "secret" not in str(profile)
    unknown = await site.request("GET", "/v1/graph/profiles/Project Falcon", US)
    assert unknown.status_code == 404


async def test_a_way_between_names_is_a_shortest_one_with_its_places(site: Site) -> None:
    way = await site.get("/v1/graph/path", US, source="Tarn Valley", target="Nordwind AG")
    names = [name["entityName"] for name in way["names"]]
    assert names == ["Tarn Valley", "Jane Smith", "Nordwind AG"]
    first, last = (step["place"]["text"] for step in way["steps"])
    assert (first, last) == (
        "Jane Smith met Nordwind in Tarn Valley.",
        "Jane Smith wrote to Nordwind AG about Osprey.",
    )
    itself = await site.get("/v1/graph/path", US, source="Osprey", target="Osprey")
    assert (len(itself["names"]), itself["steps"]) == (1, [])
    await change(site, "POST", "entities", {"name": "Lone Peak", "kind": "site"}, 201)
    none = await site.get("/v1/graph/path", US, source="Lone Peak", target="Osprey")
    assert none == {"names": [], "steps": [], "isCut": False}
    hidden = {"source": "Osprey", "target": "Project Falcon"}
    assert (await site.request("GET", "/v1/graph/path", US, params=hidden)).status_code == 404


async def test_relations_and_the_neighbourhood_to_a_depth(site: Site) -> None:
    for source, target in (("Tarn Valley", "Osprey"), ("Osprey", "Zeta Dam"), ("Zeta Dam", "Eta")):
        if target in ("Zeta Dam", "Eta"):
            await change(site, "POST", "entities", {"name": target, "kind": "site"}, 201)
        body = {"source": source, "target": target, "predicate": "PART_OF", "aclTags": [US]}
        made = await change(site, "PUT", "relations", body)
        assert (made["source"], made["predicate"], made["target"]) == (source, "PART_OF", target)
    page = await site.get("/v1/graph/relations", US, limit=1000)
    keys = {relation["relation"] for relation in page["relations"]}
    assert any(" PART_OF " in key for key in keys)

    async def around(depth: int, **more: object) -> dict[str, int]:
        near = await site.get("/v1/graph/neighbourhood", US, entity="Zeta Dam", depth=depth, **more)
        ids = {entity["entityId"] for entity in near["entities"]}
        for relation in near["relations"]:
            assert {relation["sourceEntityId"], relation["targetEntityId"]} <= ids
        assert near["isCut"] == ("limit" in more)
        return {entity["entityName"]: entity["depth"] for entity in near["entities"]}

    assert await around(1) == {"Zeta Dam": 0, "Osprey": 1, "Eta": 1}
    assert (await around(2))["Tarn Valley"] == 2
    assert len(await around(2, limit=2)) == 2
    for wrong in ({"depth": 4}, {"depth": 0}, {"limit": 501}):
        params = {"entity": "Zeta Dam", **wrong}
        reply = await site.request("GET", "/v1/graph/neighbourhood", US, params=params)
        assert reply.status_code == 422
    key = next(key for key in keys if key.endswith(":eta"))
    gone = await change(site, "POST", "relations/delete", {"relations": [key]})
    assert gone["relations"][0]["target"] == "Eta"
    assert await around(1) == {"Zeta Dam": 0, "Osprey": 1}


async def test_s1_2_a_merge_and_its_undoing_with_the_five_validations(site: Site) -> None:
    wrong: list[tuple[dict[str, object], int]] = [
        ({"sources": ["Nordwind AG"], "target": " "}, 422),
        ({"sources": [], "target": "Nordwind"}, 422),
        ({"sources": ["Project Falcon"], "target": "Nordwind"}, 404),
        ({"sources": ["Nordwind"], "target": "Nordwind"}, 422),
        ({"sources": ["Osprey"], "target": "Nordwind", "strategy": "LLM_SUMMARIZE"}, 422),
        ({"sources": ["Osprey"], "target": "Nordwind", "strategy": "KEEP_ALL"}, 422),
    ]
    for body, status in wrong:
        await change(site, "POST", "merges", body, status)
    before = await names(site)
    for strategy in ("CONCATENATE", "KEEP_FIRST", "KEEP_LONGEST"):
        body = {"sources": ["Nordwind AG"], "target": "Nordwind", "strategy": strategy}
        done = await change(site, "POST", "merges", body, 201)
        assert done["sourceEntitiesDeleted"] == 1
        assert "Nordwind AG" not in await names(site)
        listed = (await site.get("/v1/graph/merges", US))["merges"]
        assert [merge["mergeId"] for merge in listed] == [done["mergeId"]]
        apart = await change(site, "DELETE", f"merges/{done['mergeId']}")
        assert [entity["entityName"] for entity in apart["entities"]] == ["Nordwind AG"]
    assert await names(site) == before
    await change(site, "DELETE", f"merges/{uuid4()}", status=404)


async def test_a_merge_proposal_is_confirmed_or_rejected(site: Site) -> None:
    about = {"about": "Nordwind"}
    (found,) = (await site.get("/v1/graph/proposals", US, **about))["proposals"]
    pair = [entity["entityName"] for entity in found["entities"]]
    assert {*pair} == {"Nordwind", "Nordwind AG"}
    body = {"one": "Nordwind", "other": "Nordwind AG"}
    for one, other in (pair, pair[::-1]):
        done = await change(site, "POST", "proposals/confirm", {"one": one, "other": other}, 201)
        assert done["targetEntity"]["entityName"] == one
        await change(site, "DELETE", f"merges/{other}")  # by a name that was merged
    await change(site, "POST", "proposals/confirm", {"one": "Osprey", "other": "Jane Smith"}, 404)
    await change(site, "POST", "proposals/reject", body)
    await change(site, "POST", "proposals/confirm", body, 404)
    assert (await site.get("/v1/graph/proposals", US, **about))["proposals"] == []


async def test_entities_are_edited_deleted_restored_and_split(site: Site) -> None:
    edited = await change(site, "PATCH", "entities/Osprey", {"description": "A plant."})
    assert edited["description"] == "A plant."
    gone = await change(site, "DELETE", "entities/Osprey")
    assert gone["entityName"] == "Osprey"
    assert "Osprey" not in await names(site)
    restored = await change(site, "POST", "entities/restore", {"name": "Osprey"})
    assert restored["description"] == "Jane Smith wrote to Nordwind AG about Osprey."
    gone = await change(site, "DELETE", "entities/Osprey")
    restored = await change(site, "POST", "entities/restore", {"name": gone["entityId"]})
    assert restored["entityName"] == "Osprey"
    await change(site, "POST", "entities/delete", {"names": ["Osprey", "Project Falcon"]}, 404)
    body = {
        "entity": "Jane Smith",
        "into": "Jane Smith (Kiel)",
        "documents": ["file:///shelf/b.md"],
    }
    done = await change(site, "POST", "splits", body, 201)
    assert done["passages"] == 1
    assert len((await site.get("/v1/graph/splits", US))["splits"]) == 1
    await change(site, "DELETE", f"splits/{done['splitId']}")
    assert (await site.get("/v1/graph/splits", US))["splits"] == []
    await change(site, "POST", "splits", body, 201)
    await change(site, "DELETE", f"splits/{body['into']}")  # by the name of the entity that it made
    assert (await site.get("/v1/graph/splits", US))["splits"] == []


async def test_nobody_writes_for_readers_whose_tags_they_do_not_have(site: Site) -> None:
    tags = {"aclTags": [US, "team:board"]}
    bodies: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "entities", {"name": "Vale Works"}),
        ("PATCH", "entities/Osprey", {"description": "A plant."}),
        ("PUT", "relations", {"source": "Osprey", "target": "Nordwind", "predicate": "RELATED_TO"}),
    ]
    for method, path, body in bodies:
        refused = await change(site, method, path, body | tags, 422)
        assert "team:board" in refused["detail"]
    scopes = (Scope.ADMIN,)
    path = "/v1/graph/entities/Osprey"
    reply = await site.request("PATCH", path, US, scopes=scopes, json=bodies[1][2] | tags)
    assert reply.status_code == 200
    await change(site, "DELETE", "entities/Osprey")
    await change(site, "POST", "entities/restore", {"name": "Osprey"})


async def test_a_change_needs_the_scope(site: Site) -> None:
    bodies: list[tuple[str, str, object]] = [
        ("POST", "merges", {"sources": ["a"], "target": "b"}),
        ("POST", "entities", {"name": "x"}),
        ("DELETE", "entities/Osprey", None),
    ]
    for method, path, body in bodies:
        reply = await site.request(method, f"/v1/graph/{path}", US, json=body)
        assert (reply.status_code, reply.json()["code"]) in {
            (403, "missing_scope"),
            (422, "invalid_request"),
        }
    assert "Osprey" in await names(site)


# ── exports ───────────────────────────────────────────────────────────────────────────────────────────


def downloads(site: Site) -> list[Path]:
    """Return the temporary folders of downloads that are left."""
    return [*site.app.state.download_folders.root.iterdir()]


async def download(site: Site, status: int = 200, **query: object) -> Any:
    params = {**query}
    reply = await site.request("GET", "/v1/exports", US, scopes=(Scope.EXPORT,), params=params)
    assert reply.status_code == status, reply.text
    assert downloads(site) == []
    return reply


async def test_s1_5_an_export_is_a_download_of_what_the_caller_sees(site: Site) -> None:
    for file_format in ("csv", "xlsx", "md", "txt"):
        reply = await download(site, format=file_format, chunks=True)
        assert int(reply.headers["content-length"]) == len(reply.content)
        assert "attachment" in reply.headers["content-disposition"]
        if file_format == "csv":
            packed = zipfile.ZipFile(io.BytesIO(reply.content))
            texts = {name: packed.read(name).decode("utf-8-sig") for name in packed.namelist()}
            rows = [*csv.DictReader(io.StringIO(texts["lightwell-chunks.csv"]))]
            assert len(rows) == 2
            text = "".join(texts.values())
        elif file_format == "xlsx":
            book = openpyxl.load_workbook(io.BytesIO(reply.content))
            text = str([[*sheet.values] for sheet in book.worksheets])
        else:
            text = reply.text
        assert "Tarn Valley" in text
        assert "Falcon" not in text


async def test_s1_5_one_table_is_one_file_and_vectors_come_on_demand(site: Site) -> None:
    reply = await download(site, format="csv", entities=False, relations=False, vectors=True)
    assert reply.headers["content-type"].startswith("text/csv")
    assert len(reply.text.splitlines()) == 3
    nothing = await download(site, 422, format="csv", entities=False, relations=False)
    assert "Nothing is selected" in nothing.json()["detail"]
    await download(site, 422, format="pdf")
    refused = await site.request("GET", "/v1/exports", US, params={"format": "md"})
    assert refused.json()["code"] == "missing_scope"


# ── feedback and analytics ────────────────────────────────────────────────────────────────────────────


async def test_s3_4_feedback_sessions_and_metrics_are_a_persons_own(site: Site) -> None:
    ada = ("user:ada", US)
    reply = await site.request("POST", "/v1/sessions", *ada)
    assert reply.status_code == 201
    session = reply.json()["sessionId"]
    body = {"query": "Who met Nordwind?", "sessionId": session}
    query = (await site.request("POST", "/v1/query", *ada, json=body)).json()["queryId"]
    given = {"queryId": query, "rating": 4, "comment": "Good."}
    rated = await site.request("POST", "/v1/feedback", *ada, json=given)
    assert (rated.status_code, rated.json()["rating"]) == (201, 4)
    for rating in (-1, 6):
        wrong = await site.request("POST", "/v1/feedback", *ada, json={**given, "rating": rating})
        assert wrong.json()["detail"] == "Rating must be between 1 and 5"
    assert (await site.request("POST", "/v1/feedback", US, json=given)).status_code == 404
    logged = await site.get(f"/v1/queries/{query}", *ada)
    assert (logged["sessionId"], logged["rating"]) == (session, 4.0)
    assert (await site.get("/v1/queries", *ada, sessionId=session))["queries"] == [logged]
    assert (await site.get("/v1/queries/summary", *ada))["meanRating"] == 4.0
    listed = await site.get("/v1/feedback", *ada)
    assert [entry["comment"] for entry in listed["feedback"]] == ["Good."]
    assert (await site.get(f"/v1/sessions/{session}", *ada))["queries"] == 1
    ended = await site.request("POST", f"/v1/sessions/{session}/end", *ada)
    assert ended.json()["endedAt"]
    assert (await site.request("POST", f"/v1/sessions/{session}/end", *ada)).status_code == 404
    for path in (f"sessions/{session}", f"queries/{query}"):
        assert (await site.request("GET", f"/v1/{path}", US)).status_code == 404
    assert (await site.get("/v1/feedback", US))["feedback"] == []


async def test_lists_of_figures_come_page_by_page(site: Site) -> None:
    eve = ("user:eve",)
    for _ in range(3):
        await site.request("POST", "/v1/sessions", *eve)
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await site.get("/v1/sessions", *eve, limit=2, after=after)
        seen += [session["sessionId"] for session in page["sessions"]]
        after = page["nextAfter"]
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 3
    assert (
        await site.request("GET", "/v1/sessions", *eve, params={"after": "x"})
    ).status_code == 422


async def test_s3_4_an_administrator_reads_the_figures_of_all_users_without_their_names(
    site: Site,
) -> None:
    admin = (Scope.ADMIN,)
    sessions = await site.request("GET", "/v1/analytics/sessions", "team:none", scopes=admin)
    assert len({session["userHash"] for session in sessions.json()["sessions"]}) >= 2
    summary = await site.request("GET", "/v1/analytics/summary", "team:none", scopes=admin)
    assert summary.json()["queries"] >= 1
    later = await site.request(
        "GET",
        "/v1/analytics/summary",
        "team:none",
        scopes=admin,
        params={"since": "2999-01-01T00:00:00Z"},
    )
    assert (later.json()["queries"], later.json()["meanMs"]) == (0, None)
    for path in ("sessions", "summary"):
        assert (await site.request("GET", f"/v1/analytics/{path}", US)).status_code == 403

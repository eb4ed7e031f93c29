"""Lists of documents in every order, and previews of changes, which say what the change then does."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.api_keys import Scope
from lightwell.domain.directory import PersonChange
from lightwell.domain.document_lists import ORDERED_TITLE, DocumentOrder
from lightwell.domain.documents import NewDocument
from lightwell.knowledge_base.directory import Directory
from lightwell.records.database import connect
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

TITLES = [
    "",
    " ",
    "alpha 2",
    "Alpha 10",
    "ÄRGER",
    "ärger",
    "Straße",
    "STRASSE",
    "<img src=x onerror=alert(1)>",
    "‮abc",
    "a b c 019f0000-0000-7000-8000-000000000000",
    "x" * 300 + "a",
    "X" * 300 + "b",
    "東京",
    "100% '; DROP TABLE",
]
_RETITLE = """
UPDATE source_documents SET title = %(title)s, updated_at = %(changed)s, source_type = %(kind)s WHERE source_url = %(url)s
"""


async def shelve(site: Site, tags: Sequence[str], *texts: str) -> tuple[NewDocument, ...]:
    """Ingest documents with these texts and tags, in a folder of their own."""
    folder = f"{uuid4()}"
    documents = tuple(
        make_document(f"{folder}/{number}.md", text, tags) for number, text in enumerate(texts)
    )
    source = InMemorySource(documents=documents, scope=f"file:///shelf/{folder}/")
    await site.kb.ingestion.ingest(source)
    return documents


async def put(site: Site, tags: Sequence[str], *texts: str) -> list[str]:
    """Ingest documents as `shelve` does, and return their ids."""
    documents = await shelve(site, tags, *texts)
    reader = await site.kb.reader(tags)
    return [str((await site.kb.documents.get(reader, one.url)).id) for one in documents]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened, connect(url) as database:
            documents = await shelve(
                opened, ("team:list",), *(f"Note {n} names Acme Corp." for n in range(len(TITLES)))
            )
            start = datetime(2026, 1, 1, tzinfo=UTC)
            for n, title in enumerate(TITLES):
                row = {
                    "title": title,
                    "changed": start + timedelta(microseconds=n // 3),
                    "kind": "page" if n % 4 else "document",
                    "url": documents[n].url,
                }
                await database.execute(_RETITLE, row)
            yield opened


async def pages(site: Site, limit: int, **query: object) -> list[dict[str, Any]]:
    """Return all documents of a list, read page by page."""
    listed: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None:
        page = await site.get("/v1/documents", "team:list", limit=limit, after=after, **query)
        assert len(page["documents"]) <= limit
        listed += page["documents"]
        assert len(listed) <= len(TITLES)
        after = page["nextAfter"]
    return listed


def value_of(document: dict[str, Any], order: DocumentOrder) -> object:
    match order:
        case DocumentOrder.URL:
            return document["documentUrl"]
        case DocumentOrder.TITLE:
            return document["title"][:ORDERED_TITLE].lower()
        case DocumentOrder.CHANGED:
            return datetime.fromisoformat(document["updatedAt"])
        case DocumentOrder.CREATED:
            return datetime.fromisoformat(document["createdAt"])
        case DocumentOrder.SYSTEM:
            return f"{document['sourceSystem']} {document['sourceType']}"
        case DocumentOrder.STATUS:
            return document["status"]


@pytest.mark.parametrize("limit", [1, 4, 15])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", DocumentOrder)
async def test_pages_of_every_order_have_each_document_once_and_in_order(
    site: Site, order: DocumentOrder, limit: int, *, descending: bool
) -> None:
    listed = await pages(site, limit, order=order.value, descending=descending)
    ids = [document["documentId"] for document in listed]
    assert len(set(ids)) == len(ids) == len(TITLES)
    in_order = sorted(
        listed,
        key=lambda document: (value_of(document, order), document["documentId"]),
        reverse=descending,
    )
    assert ids == [document["documentId"] for document in in_order]


async def test_a_list_goes_on_where_it_was_when_the_document_before_is_gone(site: Site) -> None:
    tag = "team:gone"
    await shelve(site, (tag,), *(f"Note {n}." for n in range(4)))
    query = {"order": "changed", "descending": True}
    whole = (await site.get("/v1/documents", tag, **query))["documents"]
    page = await site.get("/v1/documents", tag, limit=2, **query)
    reader = await site.kb.reader((tag,))
    await site.kb.documents.delete(reader, [page["documents"][1]["documentId"]])
    rest = await site.get("/v1/documents", tag, after=page["nextAfter"], **query)
    assert rest["documents"] == whole[2:]


@pytest.mark.parametrize(
    ("order", "after"),
    [
        ("title", "no id"),
        ("changed", "yesterday 019f0000-0000-7000-8000-000000000000"),
        ("changed", "019f0000-0000-7000-8000-000000000000"),
        ("changed", "0001-01-01T00:00:00+23:59 019f0000-0000-7000-8000-000000000000"),
        ("status", "x"),
        ("size", ""),
    ],
)
async def test_a_cursor_that_is_none_is_refused(site: Site, order: str, after: str) -> None:
    query = {"order": order, "after": after}
    reply = await site.request("GET", "/v1/documents", "team:list", params=query)
    assert reply.status_code == 422, reply.text


async def test_the_summary_counts_what_the_list_has(site: Site) -> None:
    summary = await site.get("/v1/documents/summary", "team:list")
    assert summary["documents"] == len(TITLES)
    for kind in summary["kinds"]:
        query = {"system": kind["sourceSystem"], "type": kind["sourceType"]}
        listed = await pages(site, 100, status=[kind["status"], "failed"], **query)
        assert len(listed) == kind["documents"]
    nothing = await site.get("/v1/documents/summary", f"team:{uuid4()}")
    assert nothing == {"documents": 0, "kinds": []}


async def send(site: Site, method: str, path: str, body: object, *tags: str) -> tuple[int, Any]:
    reply = await site.request(method, path, *tags, scopes=ALL_BUT_ADMIN, json=body)
    return reply.status_code, reply.json()


async def test_the_preview_of_a_deletion_says_what_the_deletion_then_reports(site: Site) -> None:
    own, other = f"team:{uuid4()}", f"team:{uuid4()}"
    first, second, kept = await put(
        site,
        (own,),
        "Jane Smith of Acme Corp signed ENG-42 with Zeta GmbH.",
        "Zeta GmbH pays Nordwind AG. Acme Corp (Acme) is theirs.",
        "Nordwind AG sells pumps to Acme.",
    )
    await put(site, (other,), "Zeta GmbH and Jane Smith met.")
    reader = await site.kb.reader((own,))
    paths = ("/v1/graph/entities", "/v1/documents", "/v1/graph/relations")
    before = [await site.get(path, own) for path in paths]
    for ids in ([first], [first, second], [second, kept, first]):
        body = {"documentIds": ids}
        status, preview = await send(site, "POST", "/v1/documents/delete/preview", body, own)
        assert status == 200, preview
        assert preview["removed"]["chunks"] == len(ids)
        if first in ids and second in ids:
            assert any("zeta" in ref for ref in preview["entitiesDeleted"]), preview
    assert before == [await site.get(path, own) for path in paths]
    body = {"documentIds": [first, second]}
    _, preview = await send(site, "POST", "/v1/documents/delete/preview", body, own)
    status, deleted = await send(site, "POST", "/v1/documents/delete", body, own)
    assert (status, deleted) == (200, preview)
    assert [one.id async for one in site.kb.documents.iterate(reader)] != []


async def test_previews_are_refused_where_the_change_is(site: Site) -> None:
    own, other = f"team:{uuid4()}", f"team:{uuid4()}"
    (mine,) = await put(site, (own,), "Mine alone.")
    (shared,) = await put(site, (own, other), "Ours.")
    (hidden,) = await put(site, (other,), "Theirs.")
    for ids in ([shared], [mine, shared], [hidden], [mine, hidden], [str(uuid4())], []):
        path, body = "/v1/documents/delete", {"documentIds": ids}
        preview = await send(site, "POST", f"{path}/preview", body, own)
        change = await send(site, "POST", path, body, own)
        assert preview[0] == change[0] in {404, 422}
        assert preview[1].get("detail") == change[1].get("detail")
    for document in (mine, shared, hidden):
        for tags in ([], [other], [own, other, "team:x"], ["no tag"]):
            path, body = f"/v1/documents/{document}/access", {"aclTags": tags}
            preview = await send(site, "POST", f"{path}/preview", body, own)
            change = await send(site, "PUT", path, body, own)
            assert preview[0] == change[0] in {404, 422}, (document, tags)
            assert preview[1].get("detail") == change[1].get("detail")
    for path in ("/v1/documents/delete/preview", f"/v1/documents/{mine}/access/preview"):
        body = {"documentIds": [mine]} if "delete" in path else {"aclTags": [own]}
        reply = await site.request("POST", path, own, scopes=(Scope.READ,), json=body)
        assert reply.status_code == 403


async def test_a_preview_of_access_counts_people_and_names_them_to_administrators(
    site: Site,
) -> None:
    word = uuid4().hex[:8]
    sales, board, own = f"team:sales-{word}", f"team:board-{word}", f"user:ada-{word}"
    directory = Directory(
        database=site.keys.database, project_id=site.kb.documents.context.project_id
    )

    async def person(name: str, *tags: str, active: bool = True) -> str:
        change = PersonChange(display_name=name, acl_tags=parse_tags(tags), active=active)
        return str((await directory.create_person(change)).id)

    ada = await person("Ada", own)
    people = [ada, *[await person(name) for name in ("Ben", "Cem")]]
    dora = await person("Dora", sales)
    await person("Elsewhere")
    gone = await person("Gone", sales, active=False)
    for name, tags, members in (
        (f"Sales {word}", {sales}, [*people, gone]),
        (f"Board {word}", {board}, [people[1], dora]),
    ):
        await directory.save_group(name, Tags(tags))
        await directory.add_members(name, members)
    (document,) = await put(site, (sales, board), "For sales and the board.")
    path, body = f"/v1/documents/{document}/access/preview", {"aclTags": [own, board]}

    status, preview = await send(site, "POST", path, body, sales, own)
    assert status == 200, preview
    # She knows of herself and of sales, and nothing of who is on the board, too.
    assert (preview["gains"]["people"], preview["loses"]["people"]) == (0, 3)
    (lost,) = preview["loses"]["parts"]
    assert (lost["groups"], lost["people"], lost["kind"]) == ([f"Sales {word}"], 4, "group")
    assert [one["tag"] for one in preview["gains"]["parts"]] == [own]
    for side in preview.values():
        assert side["names"] == []
        assert all(one["names"] == [] for one in side["parts"])

    reply = await site.request("POST", path, own, scopes=(Scope.ADMIN,), json=body)
    assert reply.status_code == 404
    reply = await site.request("POST", path, own, sales, scopes=(Scope.ADMIN,), json=body)
    preview = reply.json()
    assert (preview["gains"]["names"], preview["loses"]["names"]) == ([], ["Cem"])
    assert preview["gains"]["parts"][0]["names"] == ["Ada"]

    before = {name: await directory.get_person(name) for name in (*people, dora)}
    after = {board, own}
    losing = [one for one in before.values() if not one.tags & after]
    assert [one.display_name for one in losing] == ["Cem"]


async def test_a_list_is_filtered_as_a_question_is(site: Site) -> None:
    tag = f"team:filters-{uuid4().hex[:8]}"
    ada, bob = (
        replace(make_document(f"{tag}/{text}.md", text, [tag]), metadata=metadata, updated_at=day)
        for text, metadata, day in (
            (
                "Of pumps.",
                {"author": "Ada Okafor", "phase": "two"},
                datetime(2025, 3, 1, tzinfo=UTC),
            ),
            ("Of valves.", {"author": "Bob Lie", "phase": "one"}, None),
        )
    )
    source = InMemorySource(
        documents=(replace(ada, system="linear"), bob), scope=f"file:///shelf/{tag}/"
    )
    await site.kb.ingestion.ingest(source)

    async def listed(**query: str | list[str]) -> set[str]:
        reply = await site.request("GET", "/v1/documents", tag, params=query)
        assert reply.status_code == 200, reply.text
        return {str(document["documentUrl"]) for document in reply.json()["documents"]}

    assert await listed(author="okafor") == {ada.url}
    assert await listed(author=["okafor", "Lie"], system=["linear", "file"]) == {ada.url, bob.url}
    assert await listed(metadata="phase=one") == {bob.url}
    assert await listed(metadata=["phase=one", "author=Ada Okafor"]) == set()
    assert await listed(since="2025-03-01", until="2025-03-01") == {ada.url}
    assert await listed(source="tracker") == set()
    assert await listed(system="", type="document", tag=tag) == {ada.url, bob.url}
    wrong = await site.request("GET", "/v1/documents", tag, params={"metadata": "phase"})
    assert wrong.status_code == 422

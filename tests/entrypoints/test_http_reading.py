"""A document over HTTP as something to read, and who can see it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import PersonChange
from lightwell.domain.documents import SOURCE_ADDRESS
from lightwell.knowledge_base.directory import Directory
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONTRACT = """# Supply contract

Prices follow the price list. Nordwind receives a discount of **18 percent**.

| Item | Price |
|---|---|
| Tarn 4 | 412.00 |
"""
QUOTE = "Nordwind receives a discount of **18 percent**."
UNKNOWN = "019f0000-0000-7000-8000-000000000000"
SALES, PEOPLE, BOTH = ("team:sales",), ("team:people",), ("team:people", "team:sales")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            await opened.kb.ingestion.ingest(
                InMemorySource(
                    documents=(
                        make_document("contract.md", CONTRACT, SALES),
                        make_document("both.md", "# Both\n\nFor two teams.", BOTH),
                    )
                )
            )
            yield opened


async def path_of(site: Site, name: str, part: str) -> str:
    """Return the path of a part of a document."""
    document = await site.kb.documents.get(await site.kb.reader(BOTH), f"file:///shelf/{name}.md")
    return f"/v1/documents/{document.id}/{part}"


async def test_a_citation_opens_its_document_around_the_quotation(site: Site) -> None:
    start = CONTRACT.index(QUOTE)
    place = {"start": start, "end": start + len(QUOTE)}
    view = await site.get(await path_of(site, "contract", "view"), *SALES, **place)
    assert view["quote"] == QUOTE
    assert view["locator"]["section"] == ["Supply contract"]
    assert [block["kind"] for block in view["blocks"]] == ["heading", "paragraph", "row", "row"]
    (marked,) = [block for block in view["blocks"] if block["start"] <= start < block["end"]]
    assert CONTRACT[marked["start"] : marked["end"]] == marked["text"]
    assert [run["text"] for run in marked["runs"] if run["styles"] == ["strong"]] == ["18 percent"]
    assert (view["before"], view["after"], view["sourceAddress"]) == (None, None, "")


async def test_a_quotation_that_moved_is_where_it_stands_now(site: Site) -> None:
    path, start = await path_of(site, "contract", "view"), CONTRACT.index(QUOTE)
    for cited, quote, placement, place in (
        (start, QUOTE, "here", start),
        (start - 9, QUOTE, "moved", start),
        (5, "Nordwind receives 19 percent.", "gone", 5),
        (99_999, QUOTE, "moved", start),
        (99_999, "", "gone", len(CONTRACT.strip())),
    ):
        asked = {"start": cited, "end": cited + max(len(quote), 1), "quote": quote}
        view = await site.get(path, *SALES, **asked)
        assert (view["placement"], view["locator"]["start"]) == (placement, place)
    beyond = await site.get(path, *SALES, after=99_999)
    assert (beyond["blocks"], beyond["after"]) == ([], None)
    refused = await site.request("GET", path, *SALES, params={"start": 5, "end": 2})
    assert refused.status_code == 422


async def test_what_others_have_is_not_there(site: Site) -> None:
    for part in ("view", "audience"):
        path = await path_of(site, "contract", part)
        hidden = await site.request("GET", path, *PEOPLE)
        absent = await site.request("GET", f"/v1/documents/{UNKNOWN}/{part}", *PEOPLE)
        assert hidden.status_code == absent.status_code == 404
        assert (
            hidden.json()["detail"].replace(path.split("/")[3], UNKNOWN) == absent.json()["detail"]
        )


async def test_who_can_see_a_document_is_said_without_names_but_to_administrators(
    site: Site,
) -> None:
    directory = Directory(
        database=site.kb.documents.context.database, project_id=site.kb.project_id
    )
    await directory.save_group("Sales", parse_tags(SALES))
    ada = await directory.create_person(PersonChange(display_name="Ada", email="ada@x.example"))
    bo = await directory.create_person(
        PersonChange(display_name="Bo", acl_tags=parse_tags(PEOPLE), email="bo@x.example")
    )
    await directory.create_person(PersonChange(display_name="Cy", email="cy@x.example"))
    await directory.add_members("Sales", [str(ada.id), str(bo.id)])
    path = await path_of(site, "both", "audience")
    seen = (await site.request("GET", path, *SALES)).json()
    assert seen["people"] == 2
    people, sales = seen["parts"]
    assert (people["kind"], people["people"], people["throughMe"]) == ("person", 1, False)
    assert (sales["kind"], sales["name"], sales["people"]) == ("group", "Sales", 2)
    assert "Bo" not in str(seen)
    assert seen["mine"] == [{"tag": "team:sales", "kind": "tag", "name": ""}]
    shown = (await site.request("GET", path, *SALES, scopes=("admin",))).json()
    assert [part["names"] for part in shown["parts"]] == [["Bo"], ["Ada", "Bo"]]
    reader = await site.kb.reader(bo.tags | parse_tags(SALES), user=bo.user)
    audience = await site.kb.documents.audience(reader, "file:///shelf/both.md")
    assert [(way.tag, way.kind, way.name) for way in audience.mine] == [
        ("team:people", "person", ""),
        ("team:sales", "group", "Sales"),
    ]


async def test_citations_lead_to_the_page_that_shows_them(site: Site) -> None:
    asked = {"query": "What discount does Nordwind receive?"}
    reply = await site.request("POST", "/v1/query", *SALES, json=asked)
    cited = reply.json()["citations"][0]
    document, _, span = cited["address"].removeprefix("http://localhost/d/").partition("#")
    start, end = map(int, span.split("-"))
    view = await site.get(f"/v1/documents/{document}/view", *SALES, start=start, end=end)
    assert "18 percent" in view["quote"]
    assert cited["snippet"] in CONTRACT[start:end] or view["quote"] in cited["snippet"]
    assert cited["sourceAddress"] == ""
    found = (await site.request("POST", "/v1/search", *SALES, json=asked)).json()["results"][0]
    assert found["address"].startswith(f"http://localhost/d/{document}#")
    completion = await site.request(
        "POST",
        "/v1/chat/completions",
        *SALES,
        json={"model": "lightwell", "messages": [{"role": "user", "content": asked["query"]}]},
    )
    message = completion.json()["choices"][0]["message"]
    assert message["annotations"][0]["url_citation"]["url"] == cited["address"]
    assert "file:" not in message["content"]


async def test_a_business_system_s_item_has_the_address_of_its_own_page(site: Site) -> None:
    document = make_document("page.md", "Valves are cast in Kiel.", SALES)
    page = replace(
        document, system="web", kind="page", url="https://kiel.example/valves", source_id="1"
    )
    await site.kb.ingestion.ingest(InMemorySource(documents=(page,)))
    reader = await site.kb.reader(SALES)
    answer = await site.kb.questions.ask("Where are valves cast?", reader)
    assert {cited.source_address for cited in answer.citations} == {"https://kiel.example/valves"}


async def test_a_file_below_a_base_url_has_its_public_address_in_citations_and_where_it_is_read(
    site: Site,
) -> None:
    file = make_document("seal.md", "Seals are pressed in Bergen.", SALES)
    public = "https://wiki.example/sales/seal.md"
    mapped = replace(file, metadata={SOURCE_ADDRESS: public})
    await site.kb.ingestion.ingest(InMemorySource(documents=(mapped,)))
    reply = await site.request(
        "POST", "/v1/query", *SALES, json={"query": "Where are seals pressed?"}
    )
    assert reply.json()["citations"][0]["sourceAddress"] == public
    view = await site.get(await path_of(site, "seal", "view"), *SALES)
    assert view["sourceAddress"] == public

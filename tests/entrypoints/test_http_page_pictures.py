"""Pictures of pages over HTTP: who sees the document has them, marked, drawn once for each request that needs it."""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest
import pytest_asyncio
from reportlab.pdfgen.canvas import Canvas

from lightwell.domain.api_keys import Scope
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.entrypoints.http import page_pictures
from lightwell.ingest.parser import Parser
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = (Scope.READ, Scope.INGEST, Scope.CURATE, Scope.DELETE)
PNG = b"\x89PNG\r\n\x1a\n"
FILLER = [f"This is line number {word} of many." for word in "one two three four".split()]
PAGES = (
    [*FILLER, "Nordwind receives a discount of 18 percent", "on all items. The discount ends"],
    ["in March. Oslo is far.", *FILLER],
    ["Nothing about it here.", "A zyxwvut is a small pump."],
)


def pdf() -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(595, 842))
    for lines in PAGES:
        for number, line in enumerate(lines):
            canvas.drawString(72, 780 - number * 20, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


@dataclass
class Drawn:
    """What was drawn: one request for each call of the parser."""

    requests: list[PictureRequest] = field(default_factory=list[PictureRequest])
    pictures: list[Picture] = field(default_factory=list[Picture])
    running: int = 0
    most: int = 0

    @property
    def marks(self) -> int:
        return self.pictures[-1].marks


@dataclass(frozen=True)
class Shelf:
    """A server with a document of three pages, for team:a."""

    site: Site
    document: str
    text: str
    drawn: Drawn

    async def page(self, page: int, tag: str = "team:a", /, **query: object) -> httpx.Response:
        path = f"/v1/documents/{self.document}/pages/{page}.png"
        return await self.site.request("GET", path, tag, params={**query})


async def upload(site: Site, name: str, content: bytes) -> str:
    """Upload a file for team:a, have it read, and return the document's id."""
    reply = await site.request(
        "POST",
        "/v1/documents",
        "team:a",
        scopes=ADMIN,
        files=[("files", (name, content))],
        data={"aclTags": "team:a"},
    )
    assert reply.status_code == 202, reply.text
    await site.kb.ingestion.finish_jobs()
    return reply.json()["documents"][0]["documentId"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf(databases: Databases) -> AsyncIterator[Shelf]:
    drawn, draw = Drawn(), Parser.draw

    async def remembered(self: Parser, content: bytes, wanted: PictureRequest) -> Picture:
        drawn.requests.append(wanted)
        drawn.running += 1
        drawn.most = max(drawn.most, drawn.running)
        try:
            drawn.pictures.append(await draw(self, content, wanted))
        finally:
            drawn.running -= 1
        return drawn.pictures[-1]

    with databases.lent() as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parser, "draw", remembered)
        async with open_site(url, {"http.worker": False}) as site:
            document = await upload(site, "contract.pdf", pdf())
            text = (await site.get(f"/v1/documents/{document}/text", "team:a"))["text"]
            yield Shelf(site=site, document=document, text=text, drawn=drawn)


async def test_a_page_is_drawn_once_with_safe_headers(shelf: Shelf) -> None:
    before = len(shelf.drawn.requests)
    reply = await shelf.page(3, quote="A zyxwvut is a small pump.")
    assert reply.status_code == 200, reply.text
    assert reply.content.startswith(PNG)
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "private, no-cache"
    assert len(shelf.drawn.requests) == before + 1
    assert shelf.drawn.marks == 1


async def test_a_document_counts_its_pages(shelf: Shelf) -> None:
    document = await shelf.site.get(f"/v1/documents/{shelf.document}", "team:a")
    assert document["pageCount"] == 3
    listed = await shelf.site.get("/v1/documents", "team:a")
    assert listed["documents"][0]["pageCount"] == 3


async def test_what_goes_over_two_pages_is_marked_on_both(shelf: Shelf) -> None:
    words = "Nordwind receives a discount of 18 percent on all items. The discount ends in March."
    start = shelf.text.index("Nordwind")
    end = shelf.text.index("in March.") + len("in March.")
    for query in ({"quote": words}, {"start": start, "end": end}):
        await shelf.page(1, **query)
        assert shelf.drawn.marks == 2, query
        await shelf.page(2, **query)
        assert shelf.drawn.marks == 1, query
        assert shelf.drawn.requests[-1].quote == "in March."
        await shelf.page(3, **query)
        assert shelf.drawn.marks == 0, query


async def test_the_place_of_a_span_is_marked_where_its_words_stand_twice(shelf: Shelf) -> None:
    first = shelf.text.index("line number two")
    second = shelf.text.index("line number two", first + 1)
    await shelf.page(2, start=second, end=second + 15)
    assert shelf.drawn.marks == 1
    await shelf.page(1, start=second, end=second + 15)
    assert shelf.drawn.marks == 0


async def test_a_kept_picture_is_not_drawn_again_but_access_is_checked(shelf: Shelf) -> None:
    first = await shelf.page(3, quote="small pump")
    before = len(shelf.drawn.requests)
    path = f"/v1/documents/{shelf.document}/pages/3.png"
    kept = {"If-None-Match": first.headers["etag"]}
    query = {"quote": "small pump"}
    same = await shelf.site.request("GET", path, "team:a", headers=kept, params=query)
    assert (same.status_code, same.content) == (304, b"")
    other = await shelf.site.request("GET", path, "team:b", headers=kept, params=query)
    assert other.status_code == 404
    assert len(shelf.drawn.requests) == before
    changed = await shelf.site.request(
        "GET", path, "team:a", headers=kept, params={"quote": "pump"}
    )
    assert changed.status_code == 200


async def test_nobody_else_has_a_picture_or_learns_what_stands_there(shelf: Shelf) -> None:
    before = len(shelf.drawn.requests)
    refused = [
        await shelf.page(1, "team:b"),
        await shelf.page(3, "team:b", quote="zyxwvut"),
        await shelf.page(3, "team:b", quote="no such words"),
        await shelf.page(99, "team:b"),
        await shelf.page(99),
        await shelf.page(4),
    ]
    assert {reply.status_code for reply in refused} == {404}
    assert len({reply.json()["detail"] for reply in refused}) == 1
    assert len(shelf.drawn.requests) == before


async def test_a_quotation_is_looked_for_in_its_own_document_alone(shelf: Shelf) -> None:
    """What another document says leaves the same picture as what nobody says."""
    await upload(shelf.site, "other.txt", b"The kestrel is a secret pump.")
    pictures = [
        (await shelf.page(2, quote=words)).content
        for words in ("The kestrel is a secret pump.", "No document says this at all.")
    ]
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    "query",
    [
        {"start": 1},
        {"end": 1},
        {"start": 1, "end": 2, "quote": "a"},
        {"width": 99},
        {"width": 2001},
        {"quote": "x" * 5001},
        {"start": -1, "end": 2},
        {"scale": 2},
    ],
)
async def test_what_makes_no_sense_is_refused(shelf: Shelf, query: dict[str, object]) -> None:
    assert (await shelf.page(1, **query)).status_code == 422


async def test_a_span_beyond_the_text_marks_nothing(shelf: Shelf) -> None:
    assert (await shelf.page(1, start=10**9, end=10**9 + 5)).status_code == 200
    assert shelf.drawn.marks == 0


async def test_what_is_no_pdf_has_no_pictures(shelf: Shelf) -> None:
    document = await upload(shelf.site, "page.html", b"<p>Oslo is far.</p>")
    reply = await shelf.site.request("GET", f"/v1/documents/{document}/pages/1.png", "team:a")
    assert reply.status_code == 404


async def test_few_are_drawn_at_once(shelf: Shelf) -> None:
    shelf.drawn.most = 0
    replies = await asyncio.gather(*(shelf.page(page % 3 + 1) for page in range(9)))
    assert {reply.status_code for reply in replies} == {200}
    assert shelf.drawn.most == page_pictures.AT_ONCE


async def test_a_deleted_document_has_no_pictures(shelf: Shelf) -> None:
    document = await upload(shelf.site, "gone.pdf", pdf())
    path = f"/v1/documents/{document}/pages/1.png"
    kept = await shelf.site.request("GET", path, "team:a")
    assert kept.status_code == 200
    gone = await shelf.site.request("DELETE", f"/v1/documents/{document}", "team:a", scopes=ADMIN)
    assert gone.status_code == 200, gone.text
    headers = {"If-None-Match": kept.headers["etag"]}
    assert (await shelf.site.request("GET", path, "team:a", headers=headers)).status_code == 404

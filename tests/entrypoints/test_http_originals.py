"""Originals over HTTP: a download that no browser shows, for those alone who see the document."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import pytest_asyncio
from typer.testing import CliRunner

from lightwell.client import Client
from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.cli import app
from lightwell.entrypoints.http.originals import disposition
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site, serving_in_thread

in_loop = pytest.mark.asyncio(loop_scope="module")

MAY = (Scope.READ, Scope.INGEST)
PAGE = b"<script>alert(document.cookie)</script><p>An offer of 18 percent."
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><text>Offer</text></svg>'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            yield opened


async def upload(site: Site, name: str, content: bytes, tag: str = "team:a", **form: str) -> str:
    """Upload a file, and return the path of its original."""
    files = [("files", (name, content))]
    reply = await site.request(
        "POST", "/v1/documents", tag, scopes=MAY, files=files, data={"aclTags": tag, **form}
    )
    assert reply.status_code == 202, reply.text
    document = reply.json()["documents"][0]["documentId"]
    return f"/v1/documents/{document}/original"


@in_loop
@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("offer.html", PAGE, {}),
        ("offer.svg", PICTURE, {"format": "text"}),
        ("offer.svg", PICTURE, {"format": "html"}),
        ("../../../offer.html", PAGE, {}),
        ("offer\u202elmth.html", PAGE, {}),
    ],
)
async def test_nothing_is_shown_inline(
    site: Site, name: str, content: bytes, form: dict[str, str]
) -> None:
    path = await upload(site, name, content, **form)
    reply = await site.request("GET", path, "team:a")
    assert reply.content == content
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert reply.headers["content-length"] == str(len(content))
    assert reply.headers["content-disposition"].startswith("attachment; ")
    shown = unquote(reply.headers["content-disposition"])
    assert not {"/", "\\", "\u202e", "\n"} & set(shown)
    assert ".." not in shown


@in_loop
async def test_only_who_sees_the_document_has_it(site: Site) -> None:
    path = await upload(site, "b.txt", b"A note.", "team:b")
    own = await site.request("GET", path, "team:b")
    hidden = await site.request("GET", path, "team:a")
    absent = await site.request(
        "GET", path.replace(path.split("/")[3], path.split("/")[3][::-1]), "team:a"
    )
    assert own.content == b"A note."
    assert hidden.status_code == absent.status_code == 404
    assert hidden.json()["detail"] == absent.json()["detail"]


@in_loop
async def test_a_document_says_that_it_has_one(site: Site) -> None:
    path = await upload(site, "c.txt", b"A note.")
    document = await site.get(path.removesuffix("/original"), "team:a")
    assert document["hasOriginal"] is True
    assert document["pageCount"] == 0


@in_loop
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a.txt", "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt"),
        (
            "Verträge 7.txt",
            "attachment; filename=\"Vertr_ge 7.txt\"; filename*=UTF-8''Vertr%C3%A4ge%207.txt",
        ),
        ('a";x=".txt', "attachment; filename=\"a__x__.txt\"; filename*=UTF-8''a%22%3Bx%3D%22.txt"),
    ],
)
async def test_the_header_quotes_every_name(name: str, header: str) -> None:
    assert disposition(name) == header
    assert disposition(name).isascii()


def test_the_client_and_the_command_line_get_it(databases: Databases, tmp_path: Path) -> None:
    async def prepare(site: Site) -> tuple[str, str]:
        path = await upload(site, "offer.txt", b"An offer.")
        return path.split("/")[3], await site.key("team:a")

    target = tmp_path / "offer.txt"
    with (
        databases.lent() as database_url,
        serving_in_thread(database_url, prepare) as (url, (document, key)),
    ):
        with Client(url, api_key=key) as client:
            assert client.get_original(document) == b"An offer."
        words = ["documents", "original", document, "-o", str(target), "--server", url]
        settings = {"LIGHTWELL_API_KEY": key}
        done = CliRunner().invoke(app, words, env=settings)
        assert done.exit_code == 0, done.output
        assert target.read_bytes() == b"An offer."
        assert CliRunner().invoke(app, words, env=settings).exit_code != 0
        assert CliRunner().invoke(app, [*words, "--force"], env=settings).exit_code == 0
        assert [file.name for file in tmp_path.iterdir()] == ["offer.txt"]

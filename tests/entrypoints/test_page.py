"""The built page over HTTP: which addresses have it, what it consists of, and what a browser may do with every response."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from lightwell.entrypoints.http import page
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

ADDRESSES = (
    "/",
    "/?q=What%20discount",
    "/c/0f3c",
    "/documents",
    "/d/0f3c",
    "/map",
    "/map/organization:Nordwind%20Energie%2FNord",
    "/brief/deal:northern/southern",
    "/review",
    "/setup",
    "/setup/people",
    "/sign-in",
    "/welcome",
)
FOREIGN = (
    "/index.html",
    "/docs.html",
    "/assets",
    "/assets/",
    "/assets/main-x1.js.gz",
    "/assets/other-x1.js",
    "/assets/%2E%2E",
    "/assets/%2E%2E/index.html",
    "/assets/..%2Findex.html",
    "/assets/..%5Csecret.js",
    "/assets/%2E%2E%2Fsecret.js",
    "/assets/%00.js",
    "/assets/main-x1.js%00",
    f"/assets/{'a' * 300}.js",
    "/assets/sub/deep.js",
    "/assets/folder.js",
    "/secret.js",
    "/c",
    "/d/one/two",
    "/v1",
    "/v1/nothing",
    "/.git/config",
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as the build writes it, and files that it must not give away."""
    assets = tmp_path / "web" / "assets"
    (assets / "sub").mkdir(parents=True)
    (assets / "folder.js").mkdir()
    (tmp_path / "web" / "index.html").write_text("<title>Lightwell</title>")
    (tmp_path / "web" / "docs.html").write_text("<title>Reference</title>")
    (assets / "main-x1.js").write_text("run()")
    (assets / "main-x1.js.gz").write_bytes(b"packed")
    (assets / "main-x1.css").write_text("a{}")
    (assets / "icon-x1.svg").write_text("<svg/>")
    (tmp_path / "web" / "licences.txt").write_text("MIT")
    (assets / "sub" / "deep.js").write_text("secret")
    (tmp_path / "web" / "secret.js").write_text("secret")
    return tmp_path / "web"


def client_of(folder: Path) -> httpx.AsyncClient:
    application = Starlette(routes=page.make_routes(folder))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(application), base_url="http://localhost"
    )


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            yield opened


async def test_each_address_of_the_page_gives_the_same_document(built: Path) -> None:
    async with client_of(built) as client:
        for address in ADDRESSES:
            reply = await client.get(address)
            assert (reply.status_code, reply.text) == (200, "<title>Lightwell</title>"), address
            assert reply.headers["content-type"] == "text/html; charset=utf-8"
            assert reply.headers["cache-control"] == "no-cache"
            head = await client.head(address)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == reply.headers["content-length"]
        assert (await client.get("/docs")).text == "<title>Reference</title>"
        licences = await client.get("/licences.txt")
        assert (licences.text, licences.headers["content-type"]) == (
            "MIT",
            "text/plain; charset=utf-8",
        )
        assert (await client.post("/")).status_code == 405


async def test_a_part_of_the_page_has_its_type_and_is_kept_for_ever(built: Path) -> None:
    async with client_of(built) as client:
        for name, media_type, text in (
            ("main-x1.css", "text/css; charset=utf-8", "a{}"),
            ("icon-x1.svg", "image/svg+xml", "<svg/>"),
        ):
            reply = await client.get(f"/assets/{name}")
            assert (reply.status_code, reply.text) == (200, text)
            assert reply.headers["content-type"] == media_type
            assert reply.headers["cache-control"] == "max-age=31536000, immutable"
            assert (await client.head(f"/assets/{name}")).content == b""


async def test_a_part_is_sent_compressed_to_those_who_read_that(built: Path) -> None:
    async with client_of(built) as client:
        plain = await client.get("/assets/main-x1.js", headers={"Accept-Encoding": "br"})
        assert (plain.text, plain.headers["vary"]) == ("run()", "Accept-Encoding")
        assert "content-encoding" not in plain.headers
        asked = client.build_request("GET", "/assets/main-x1.js")
        packed = await client.send(asked, stream=True)
        assert b"".join([part async for part in packed.aiter_raw()]) == b"packed"
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", FOREIGN)
async def test_nothing_else_is_given_away(built: Path, path: str) -> None:
    async with client_of(built) as client:
        reply = await client.get(path)
        assert reply.status_code == 404, reply.text


async def test_where_the_page_is_not_built_its_addresses_say_what_builds_it(tmp_path: Path) -> None:
    async with client_of(tmp_path / "nothing") as client:
        for address in (*ADDRESSES, "/docs", "/licences.txt"):
            reply = await client.get(address)
            assert reply.status_code == 503
            assert "make web" in reply.text
            assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert (await client.get("/assets/main-x1.js")).status_code == 404


@pytest.mark.asyncio(loop_scope="module")
async def test_the_page_is_the_same_for_everybody_and_no_part_of_the_interface(site: Site) -> None:
    key = await site.key("team:sales")
    for path in (*ADDRESSES, "/docs", "/licences.txt", "/assets/none.js"):
        nobody, somebody, stranger = [
            await site.client.get(path, headers=headers)
            for headers in ({}, {"Authorization": f"Bearer {key}"}, {"Authorization": "Bearer x"})
        ]
        assert "set-cookie" not in somebody.headers
        assert nobody.status_code == somebody.status_code == stranger.status_code
        if nobody.status_code != 404:  # a problem document has an id of its request
            assert nobody.content == somebody.content == stranger.content
    assert (
        not {*page.ADDRESSES, "/docs", "/licences.txt", "/assets/{name}"}
        & site.app.openapi()["paths"].keys()
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_no_address_of_the_page_stays_a_problem_document(site: Site) -> None:
    for path in ("/nothing", "/assets/none.js", "/v1/nothing", "/setups", "/redoc"):
        reply = await site.client.get(path, headers={"Accept": "text/html"})
        assert reply.status_code == 404, path
        assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.asyncio(loop_scope="module")
async def test_every_response_says_that_a_browser_may_load_and_run_only_what_is_of_this_server(
    site: Site,
) -> None:
    """Also those that are refused before a route is reached, and those of routes that are no page."""
    for path, headers, status in (
        ("/health/live", {}, 200),
        ("/openapi.json", {}, 200),
        ("/v1/documents", {}, 401),
        ("/v1/nothing", {}, 404),
        ("/health/live", {"Host": "attacker.example"}, 421),
        ("/v1/query", {"Content-Length": "9999999"}, 413),
    ):
        reply = await site.client.get(path, headers=headers)
        assert reply.status_code == status, path
        policy = dict(part.split(maxsplit=1) for part in _policy(reply).split("; "))
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' blob:",
            "connect-src": "'self'",
            "font-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "same-origin"
        assert "camera=()" in reply.headers["permissions-policy"]


def _policy(reply: httpx.Response) -> str:
    return reply.headers["content-security-policy"]

"""A web site as a source, read from a real HTTP server."""

import gzip
import hashlib
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx
import pytest

from lightwell.connectors.site.pages import canonical_url, join, read_facts
from lightwell.connectors.site.reading import read_date
from lightwell.connectors.site.robots import parse_robots
from lightwell.connectors.site.scope import parse_starts
from lightwell.connectors.site.sitemaps import parse_sitemap
from lightwell.connectors.site.source import SiteSource, open_site
from lightwell.connectors.web import AddressPolicy, SystemResolver, WebFetcher, parse_networks
from lightwell.domain.business_systems import parse_stated_tags
from lightwell.domain.errors import Invalid, SourceFailed, Unreadable
from lightwell.domain.ids import global_ref
from lightwell.testing.connector_contract import check_connector
from tests.connectors.pulling import Shelf
from tests.patience import PATIENCE

FETCHER = WebFetcher(
    max_bytes=10_000,
    seconds=PATIENCE,
    policy=AddressPolicy(allowed=parse_networks("127.0.0.1")),
    resolve=SystemResolver(),
)


@dataclass
class Docs:
    """A site whose pages tests change; `sent` are the paths whose content went out, `asked` all that were asked for."""

    base: str = ""
    pages: dict[str, tuple[int, str, bytes]] = field(
        default_factory=dict[str, tuple[int, str, bytes]]
    )
    sent: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def put(self, path: str, body: str, kind: str = "text/html; charset=utf-8") -> None:
        self.pages[path] = (200, kind, body.encode())

    def redirect(self, path: str, target: str) -> None:
        self.pages[path] = (301, target, b"")

    def fail(self, path: str, status: int) -> None:
        self.pages[path] = (status, "text/plain", b"")


class _Handler(BaseHTTPRequestHandler):
    docs: ClassVar[Docs]

    def do_GET(self) -> None:
        docs = self.docs
        docs.asked.append(self.path)
        status, kind, body = docs.pages.get(self.path, (404, "text/plain", b""))
        etag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        if status == 200 and self.headers.get("If-None-Match") == etag:
            status, body = 304, b""
        self.send_response(status)
        self.send_header("Location" if status == 301 else "Content-Type", kind)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 304 and body:
            self.wfile.write(body)
            docs.sent.append(self.path)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@contextmanager
def serve() -> Generator[Docs]:
    docs = Docs()
    handler = type("Handler", (_Handler,), {"docs": docs})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        docs.base = f"http://127.0.0.1:{server.server_port}"
        try:
            yield docs
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def docs() -> Iterator[Docs]:
    """A small manual: a start, two chapters, one of them behind a redirect and a tracking link, a file, and what is not read."""
    with serve() as made:
        made.put(
            "/guide/",
            "<title>Guide &amp; more</title><p>Welcome.</p><a href='pumps.html?utm_source=x#top'>P</a>"
            '<a href="old">O</a><a href="manual.txt">M</a><a href="/shop/">S</a><a href="logo.png">L</a>'
            '<a href="secret/plan.html">X</a><a href="gone.html">G</a><a href="mailto:a@b.c">@</a>',
        )
        made.put("/guide/pumps.html", "<title>Pumps</title><p>A pump needs 12 bar.</p>")
        made.redirect("/guide/old", "/guide/new.html")
        made.put(
            "/guide/new.html", "<title>New</title><p>Valves are new.</p><a href='/guide/'>up</a>"
        )
        made.put("/guide/manual.txt", "The manual of the pump.", "text/plain")
        made.put("/guide/secret/plan.html", "<title>Plan</title>Disallowed")
        made.put("/shop/", "<title>Shop</title>Outside")
        made.put("/robots.txt", "User-agent: *\nDisallow: /*/secret/\n", "text/plain")
        yield made


def options(docs: Docs, **more: str) -> dict[str, str]:
    return {"urls": f"{docs.base}/guide/", "acl_tags": "staff", **more}


def refs(docs: Docs, *paths: str) -> set[str]:
    return {global_ref("site", "page", f"{docs.base}/guide/{path}") for path in paths}


async def pulled(shelf: Shelf, docs: Docs, **more: str) -> SiteSource:
    docs.sent.clear()
    docs.asked.clear()
    async with open_site(options(docs, **more), FETCHER) as source:
        await shelf.sync(source)
    return source


async def test_a_site_keeps_the_contract(docs: Docs) -> None:
    unknown = global_ref("site", "page", f"{docs.base}/guide/none.html")
    async with open_site(options(docs), FETCHER) as source:
        await check_connector(source, unknown=unknown, stated=frozenset({"staff"}))


async def test_pages_below_the_start_are_read_and_what_is_unchanged_is_not_sent_again(
    docs: Docs,
) -> None:
    shelf = Shelf()
    await pulled(shelf, docs)
    assert set(shelf.documents) == refs(docs, "", "pumps.html", "new.html", "manual.txt")
    guide = shelf.one(global_ref("site", "page", f"{docs.base}/guide/"))
    assert (guide.title, guide.acl_tags) == ("Guide & more", frozenset({"staff"}))
    assert "/shop/" not in docs.asked
    assert "/guide/secret/plan.html" not in docs.asked
    assert "/guide/logo.png" not in docs.asked
    cursor = shelf.cursors["page"]
    await pulled(shelf, docs)
    assert docs.sent == ["/robots.txt"]
    assert (shelf.changed, shelf.cursors["page"]) == ([], cursor)
    docs.put("/guide/pumps.html", "<title>Pumps</title><p>A pump needs 16 bar.</p>")
    await pulled(shelf, docs)
    assert docs.sent == ["/robots.txt", "/guide/pumps.html"]
    assert shelf.changed == [f"{docs.base}/guide/pumps.html"]


async def test_scripts_and_attributes_that_change_with_each_request_are_no_change() -> None:
    first = read_facts(
        b"<title>A</title><script nonce='1'>x=1</script><p id='a1'>Hot</p>", "http://a/"
    )
    again = read_facts(
        b"<title>A</title><script nonce='2'>x=2</script><p id='a2'>Hot</p>", "http://a/"
    )
    other = read_facts(
        b"<title>A</title><script nonce='2'>x=2</script><p id='a2'>Cold</p>", "http://a/"
    )
    assert first.text_hash == again.text_hash != other.text_hash


async def test_a_page_is_gone_by_a_sweep_and_one_that_fails_stays(docs: Docs) -> None:
    shelf = Shelf()
    await pulled(shelf, docs)
    docs.fail("/guide/pumps.html", 410)
    docs.fail("/guide/manual.txt", 500)
    source = await pulled(shelf, docs)
    assert [(each.ref, each.reason) for each in shelf.unreadable] == [
        (f"site:page:{docs.base}/guide/manual.txt", "unreachable")
    ]
    assert refs(docs, "pumps.html") <= set(shelf.documents)
    await shelf.sweep(source)
    assert set(shelf.documents) == refs(docs, "", "new.html", "manual.txt")


async def test_sitemaps_name_the_pages_and_an_equal_date_asks_for_nothing(docs: Docs) -> None:
    def sitemap(date: str) -> None:
        entries = "".join(
            f"<url><loc>{docs.base}/guide/{name}</loc><lastmod>{date}</lastmod></url>"
            for name in ("pumps.html", "new.html")
        )
        docs.pages["/map.xml.gz"] = (
            *(200, "application/gzip"),
            gzip.compress(f"<urlset>{entries}</urlset>".encode()),
        )

    docs.put("/robots.txt", f"Sitemap: {docs.base}/index.xml", "text/plain")
    index = f"<sitemapindex><sitemap><loc>{docs.base}/map.xml.gz</loc></sitemap></sitemapindex>"
    docs.put("/index.xml", index, "application/xml")
    sitemap("2026-01-01")
    docs.put(
        "/guide/new.html", "<title>New</title><a href='manual.txt'>M</a><a href='/guide/'>up</a>"
    )
    shelf = Shelf()
    await pulled(shelf, docs)
    assert set(shelf.documents) == refs(docs, "pumps.html", "new.html", "manual.txt")
    await pulled(shelf, docs)
    head = ["/robots.txt", "/index.xml", "/map.xml.gz"]
    assert docs.asked == [*head, "/guide/manual.txt"]
    sitemap("2026-02-01")
    await pulled(shelf, docs)
    assert len(docs.asked) == 6
    docs.fail("/map.xml.gz", 500)
    with pytest.raises(SourceFailed, match="status 500"):
        await pulled(shelf, docs)


async def test_sitemaps_name_no_more_than_a_walk_asks_for(docs: Docs) -> None:
    for number in range(3):
        entries = "".join(
            f"<url><loc>{docs.base}/guide/{number}-{place}</loc></url>" for place in range(11)
        )
        docs.put(f"/map{number}.xml", f"<urlset>{entries}</urlset>", "application/xml")
    maps = "".join(f"Sitemap: {docs.base}/map{number}.xml\n" for number in range(3))
    docs.put("/robots.txt", maps, "text/plain")
    with pytest.raises(SourceFailed, match="too large for one sync"):
        await pulled(Shelf(), docs, max_pages="1")
    assert [path for path in docs.asked if "map" in path] == ["/map0.xml"]
    assert len(docs.asked) == 13


async def test_other_options_read_all_again_and_tags_follow_the_nearest_place(docs: Docs) -> None:
    docs.put("/guide/internal/a.html", "<title>A</title>a")
    docs.put("/guide/pumps.html", "<title>P</title><a href='internal/a.html'>a</a>")
    shelf = Shelf()
    await pulled(shelf, docs)
    await pulled(shelf, docs, **{"acl_tags/guide/internal": "team:us"})
    tags = {each.url: each.acl_tags for (each,) in shelf.documents.values()}
    assert tags.pop(f"{docs.base}/guide/internal/a.html") == {"team:us"}
    assert set(tags.values()) == {frozenset({"staff"})}


async def test_a_site_that_leads_elsewhere_is_not_followed_and_one_that_is_down_loses_nothing(
    docs: Docs,
) -> None:
    with serve() as other:
        other.put("/guide/", "<title>Other</title>Private")
        docs.redirect("/guide/", f"{other.base}/guide/")
        with pytest.raises(SourceFailed, match="no page at"):
            await pulled(Shelf(), docs)
        assert other.asked == []
    docs.fail("/robots.txt", 503)
    with pytest.raises(SourceFailed, match=r"robots\.txt"):
        await pulled(Shelf(), docs)
    public = replace(FETCHER, policy=AddressPolicy())
    async with open_site(options(docs), public) as source:
        with pytest.raises(Invalid, match="no public address"):
            await Shelf().sync(source)


async def test_a_canonical_address_and_a_page_without_index_are_heeded(docs: Docs) -> None:
    docs.put("/guide/old", "<title>O</title><link rel='canonical' href='/guide/new.html'>")
    docs.put("/guide/pumps.html", "<meta name='robots' content='noindex'><a href='deep.html'>d</a>")
    docs.put("/guide/deep.html", "<title>Deep</title>Deep")
    shelf = Shelf()
    await pulled(shelf, docs)
    assert set(shelf.documents) == refs(docs, "", "new.html", "deep.html", "manual.txt")
    await pulled(shelf, docs, max_pages="2")
    shelf = Shelf()
    await pulled(shelf, docs, max_pages="2")
    assert len(shelf.documents) == 2
    shelf = Shelf()
    await pulled(shelf, docs, max_depth="1")
    assert refs(docs, "deep.html").isdisjoint(shelf.documents)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"acl_tags": "a"}, "needs the option urls"),
        ({"urls": "https://docs.example.com/"}, "needs the option acl_tags"),
        ({"urls": "ftp://x/", "acl_tags": "a"}, "no address of a site"),
        ({"urls": "https://a.example/,https://b.example/", "acl_tags": "a"}, "one host"),
        ({"urls": "https://a.example/", "acl_tags": "a", "depth": "2"}, "no option 'depth'"),
        ({"urls": "https://a.example/", "acl_tags": "a", "max_pages": "99999"}, "at most"),
    ],
)
async def test_options_that_are_wrong_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        async with open_site(given, FETCHER):
            pass


def test_robots_are_read_as_their_standard_says() -> None:
    robots = parse_robots(
        "User-agent: other\nDisallow: /\n\nUser-agent: Lightwell\nUser-agent: x\nDisallow: /a\nAllow: /a/b # yes\n"
        "Disallow: /*.zip$\nDisallow: /q?*x=1\nCrawl-delay: 2.5\nSitemap: https://s/map.xml\n\nUser-agent: *\nDisallow: /"
    )
    assert (robots.delay, robots.sitemaps) == (2.5, ("https://s/map.xml",))
    allowed = {"/": True, "/a": False, "/a/b": True, "/f.zip": False, "/f.zip?v=1": True}
    assert {path: robots.allows(path) for path in allowed} == allowed
    assert not robots.allows("/q?a=2&x=1")
    assert parse_robots("").allows("/x")


def test_sitemaps_of_all_forms_are_read_within_bounds() -> None:
    xml = b"<?xml version='1.0'?><x:urlset xmlns:x='s'><x:url><x:loc> https://a/?b&amp;c </x:loc></x:url></x:urlset>"
    assert [each.url for each in parse_sitemap(xml)] == ["https://a/?b&c"]
    assert [each.url for each in parse_sitemap(b"https://a/\n\nhttps://b/\n")] == [
        "https://a/",
        "https://b/",
    ]
    with pytest.raises(Unreadable, match="more than 50 MB"):
        parse_sitemap(gzip.compress(b" " * 51_000_000))
    with pytest.raises(Unreadable, match="broken"):
        parse_sitemap(b"\x1f\x8bnothing")


def test_a_path_that_a_server_reads_as_another_one_is_not_read_nor_seen_by_more_people() -> None:
    scope = parse_starts("https://h.example/public/")
    for path in ("%2e%2e/hr", "..%2fhr", "./%2E./hr", "%5c..%5chr", "a/%2e/b"):
        link = join(scope.starts[0], path)
        assert link is not None
        assert not scope.place(link), path
    tags = parse_stated_tags({"acl_tags": "all", "acl_tags/hr/secret": "board"})
    assert tags.find("/hr//secret/x") == tags.find("//hr/secret") == {"board"}
    assert tags.find("/hr/x") == {"all"}


def test_a_date_at_the_end_of_the_calendar_is_none() -> None:
    assert read_date("Fri, 31 Dec 9999 23:59:59 -2300") is None
    assert read_date("Fri, 27 Nov 2026 10:00:00 GMT") == datetime(2026, 11, 27, 10, tzinfo=UTC)


def test_addresses_that_mean_the_same_are_one() -> None:
    urls = ("HTTPS://Docs.Example.com:443/a?utm_source=x&b=1#c", "https://docs.example.com/a?b=1")
    assert len({canonical_url(httpx.URL(url)) for url in urls}) == 1

"""A web site as a source of items: see `docs/sources/site.md`."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus

import httpx

from lightwell.connectors.opening import check_stated_options, fingerprint_of, parse_number
from lightwell.connectors.rows import Result, make_page, size_of
from lightwell.connectors.site.cursor import Pages, read_cursor, write_cursor
from lightwell.connectors.site.pages import join
from lightwell.connectors.site.reading import Known, Reading, SiteReader, page_ref
from lightwell.connectors.site.robots import Robots, parse_robots
from lightwell.connectors.site.scope import Scope, parse_starts
from lightwell.connectors.site.sitemaps import MAX_BYTES, parse_sitemap
from lightwell.connectors.web import WebFetcher
from lightwell.domain.business_systems import parse_stated_tags
from lightwell.domain.documents import SITE
from lightwell.domain.errors import Invalid, LightwellError, Refused, SourceFailed
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceDirectory, WebhookHint

PAGE = "page"
_OPTIONS = ("urls", "sitemap", "max_pages", "max_depth")
_MAX_PAGES, _MAX_DEPTH = 2_000, 10
_MOST_PAGES = 20_000
_MAX_SITEMAPS = 200
_MAX_SECONDS = 3_600.0
_MAX_SYNC_BYTES = 2 * 1000**3
_MAX_FAILURES = 10
"""Failures one after the other by which the site is down, and nothing is concluded from them."""

_ASKED_PER_PAGE = 10
"""Addresses, with those that only lead elsewhere, for each page."""

_PAGE_ITEMS, _PAGE_BYTES = 50, 8 * 1000**2
_DOCUMENTS = (".pdf", ".docx", ".md", ".txt", ".rst", ".pptx", ".xlsx", ".odt", ".epub", ".csv")
"""What is read although the sitemap does not name it, where a page links to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """What to read. `fingerprint` is another one as soon as any option is."""

    scope: Scope
    sitemap: str
    max_pages: int
    max_depth: int
    fingerprint: str

    @property
    def most_asked(self) -> int:
        """Return how many addresses a walk asks for at most: a site with more is a maze."""
        return _ASKED_PER_PAGE * self.max_pages


@dataclass(frozen=True, slots=True)
class _Opened:
    """What the site says of itself: how to read it, and the dates of the addresses that its sitemaps name."""

    reader: SiteReader
    listed: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class SiteSource:
    """A web site as far as anybody sees it; an `ItemSource`."""

    options: SiteOptions
    reader: SiteReader
    _opened: _Opened | None = field(default=None)
    _present: dict[str, GlobalRef] | None = field(default=None)

    @property
    def system(self) -> str:
        return SITE

    @property
    def streams(self) -> tuple[str, ...]:
        return (PAGE,)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        """Yield what has changed; only the last page's cursor goes on from there, so after a crash the site is walked again."""
        remembered = await asyncio.to_thread(read_cursor, cursor, self.options.fingerprint)
        walk = _Walk(self.options, await self._open(), remembered)
        results: list[Result] = []
        size = 0
        async for result in walk.run():
            results.append(result)
            size += size_of(result)
            if len(results) == _PAGE_ITEMS or size > _PAGE_BYTES:
                yield make_page(results, cursor)
                results, size = [], 0
        self._present = walk.present
        after = await asyncio.to_thread(write_cursor, self.options.fingerprint, walk.found)
        if results or after != cursor:
            yield make_page(results, after)

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        if self._present is None:
            walk = _Walk(self.options, await self._open(), {})
            async for _ in walk.run():
                pass
            self._present = walk.present
        refs = list(self._present.values())
        for start in range(0, len(refs), 1000):
            yield refs[start : start + 1000]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        opened = await self._open()
        results: list[Result] = []
        for ref in refs:
            url = ref.split(":", 2)[2]
            parsed = join(self.options.scope.starts[0], url)
            if parsed is None or self.options.scope.place(parsed) != url:
                results.append(ref)
                continue
            reading = await opened.reader.read(url, opened.listed.get(url, ""), None)
            results.append(reading.problem or reading.item or ref)
        return make_page(results, "")

    async def directory(self) -> SourceDirectory:
        """Return nobody, once the site is there: who sees its pages is what the options say."""
        await self._open()
        return SourceDirectory(people=(), groups=())

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        raise Refused("A web site sends no webhooks")

    async def _open(self) -> _Opened:
        if self._opened is None:
            robots = await self._read_robots()
            reader = replace(self.reader, robots=robots)
            self._opened = _Opened(reader, await self._read_sitemaps(robots))
        return self._opened

    async def _read_robots(self) -> Robots:
        """Return the rules of the first start's host; without a robots.txt all is allowed, and with one that cannot be read nothing."""
        start = self.options.scope.starts[0]
        page = await self._host_fetcher.ask(str(start.join("/robots.txt")))
        if page.status == HTTPStatus.OK:
            return parse_robots(page.content.decode("utf-8", "replace"))
        if HTTPStatus.BAD_REQUEST <= page.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return Robots()
        raise SourceFailed(f"{start.host} answered with status {page.status} for its robots.txt")

    async def _read_sitemaps(self, robots: Robots) -> dict[str, str]:
        """Return the addresses of the site that its sitemaps name, with their dates; {} where it has none.

        Once they are more than a walk asks for, the other sitemaps are not read. Raises `SourceFailed` where one that is there cannot be read:
        what it names would seem to be gone.
        """
        start = self.options.scope.starts[0]
        queue = deque([self.options.sitemap] if self.options.sitemap else robots.sitemaps)
        is_named = bool(queue)
        queue = queue or deque(("/sitemap.xml",))
        listed: dict[str, str] = {}
        done: set[str] = set()
        while queue and len(done) < _MAX_SITEMAPS and len(listed) <= self.options.most_asked:
            url = join(start, queue.popleft())
            if url is None or str(url) in done or not self.options.scope.has_host(url):
                continue
            done.add(str(url))
            page = await self._host_fetcher.ask(str(url))
            if page.status != HTTPStatus.OK:
                if is_named or page.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise SourceFailed(f"The sitemap {url} answered with status {page.status}")
                continue
            try:
                others, places = await asyncio.to_thread(self._parse_sitemap, page.content)
            except LightwellError as error:
                if is_named:
                    raise SourceFailed(f"The sitemap {url} cannot be read: {error}") from error
                continue  # a page that is shown for whatever is not there
            queue += others[:_MAX_SITEMAPS]
            listed |= places
        return listed

    def _parse_sitemap(self, content: bytes) -> tuple[list[str], dict[str, str]]:
        """Return the other sitemaps that one names, and the addresses of the site with their dates; raise `Unreadable`."""
        scope = self.options.scope
        others: list[str] = []
        places: dict[str, str] = {}
        for entry in parse_sitemap(content):
            if entry.is_sitemap:
                others.append(entry.url)
            elif (target := join(scope.starts[0], entry.url)) and (place := scope.place(target)):
                places[place] = entry.modified
        return others, places

    @property
    def _host_fetcher(self) -> WebFetcher:
        """Fetches robots.txt and sitemaps, which may lie outside the folder that is read."""
        fetcher = self.reader.fetcher
        return replace(fetcher, max_bytes=MAX_BYTES, accepts=self.options.scope.has_host)


@dataclass(slots=True)
class _Walk:
    """One walk through a site: first what its sitemaps name, else its starts, and what their pages link to.

    Afterwards `present` has the items that there are, those that cannot be read included, and `found` what the next walk may rely on.
    """

    options: SiteOptions
    opened: _Opened
    known: Pages
    found: dict[str, Known] = field(default_factory=dict[str, Known])
    present: dict[str, GlobalRef] = field(default_factory=dict[str, GlobalRef])

    async def run(self) -> AsyncIterator[Result]:
        """Yield what has changed; raise `SourceFailed` where the site is down, or too large for the time that a sync has."""
        scope, listed = self.options.scope, self.opened.listed
        starts = [place for start in scope.starts if (place := scope.place(start))]
        queue = deque((url, 0) for url in listed or starts)
        queued = {url for url, _ in queue}
        end = time.monotonic() + _MAX_SECONDS
        requests = size = failures = 0
        while queue and len(self.present) < self.options.max_pages:
            requests += 1
            url, depth = queue.popleft()
            reading = await self.opened.reader.read(url, listed.get(url, ""), self.known.get(url))
            self._note(url, reading, is_expected=url in listed or url in starts)
            failures = failures + 1 if reading.problem else 0
            size += size_of(reading.item) if reading.item else 0
            is_too_large = size > _MAX_SYNC_BYTES or requests > self.options.most_asked
            if failures == _MAX_FAILURES or is_too_large or time.monotonic() > end:
                raise SourceFailed(_reason_to_stop(failures, reading))
            for link in reading.known.links if reading.known else ():
                if link not in queued and self._follows(link, depth):
                    queued.add(link)
                    queue.append((link, depth + 1))
            if (result := reading.item or reading.problem) and url in self.present:
                yield result
        if not self.present:
            raise SourceFailed(f"There is no page at {', '.join(starts)}")

    def _note(self, url: str, reading: Reading, *, is_expected: bool) -> None:
        """Note what is there. A link to what cannot be read is nobody's loss, unless it was read before."""
        if reading.known:
            self.found[url] = reading.known
        was_item = url in self.known and self.known[url].is_item
        if (reading.known and reading.known.is_item) or (
            reading.problem and (was_item or is_expected)
        ):
            self.present[url] = page_ref(url)

    def _follows(self, link: str, depth: int) -> bool:
        """Return whether a link of the site is followed: where sitemaps name the pages, only to other files."""
        is_document = httpx.URL(link).path.lower().endswith(_DOCUMENTS)
        return depth < self.options.max_depth and (is_document or not self.opened.listed)


def _reason_to_stop(failures: int, reading: Reading) -> str:
    if failures == _MAX_FAILURES and reading.problem:
        return f"The site failed {failures} times, one after the other: {reading.problem.message}"
    return "The site is too large for one sync: read less of it with other urls, or lower max_pages"


@asynccontextmanager
async def open_site(options: Mapping[str, str], fetcher: WebFetcher) -> AsyncGenerator[SiteSource]:
    """Open the site that the options name; raise `Invalid` for an option that is missing, not known or wrong."""
    parsed = parse_options(options)
    reader = SiteReader(
        fetcher=replace(fetcher, accepts=parsed.scope.contains),
        scope=parsed.scope,
        tags=parse_stated_tags(options),
        robots=Robots(),
    )
    yield SiteSource(options=parsed, reader=reader)


def parse_options(options: Mapping[str, str]) -> SiteOptions:
    """Return the options of a source; raise `Invalid`."""
    check_stated_options(SITE, options, _OPTIONS)
    max_pages = parse_number(options, "max_pages", _MAX_PAGES)
    if max_pages > _MOST_PAGES:
        raise Invalid(
            f"max_pages is at most {_MOST_PAGES:,}; make several sources of a larger site"
        )
    return SiteOptions(
        scope=parse_starts(options.get("urls", "")),
        sitemap=options.get("sitemap", "").strip(),
        max_pages=max_pages,
        max_depth=parse_number(options, "max_depth", _MAX_DEPTH),
        fingerprint=fingerprint_of(options),
    )

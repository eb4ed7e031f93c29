"""Reads one address of a site: as an item, as unchanged, as gone, or as the reason why not."""

import asyncio
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from sys import intern

import httpx
from pydantic import Field

from lightwell.connectors.item_documents import one_line
from lightwell.connectors.rows import Wire
from lightwell.connectors.site.pages import PageFacts, read_facts
from lightwell.connectors.site.robots import Robots
from lightwell.connectors.site.scope import Scope
from lightwell.connectors.web import Page, WebFetcher
from lightwell.domain.business_systems import StatedTags
from lightwell.domain.documents import SITE, Format, NewDocument
from lightwell.domain.errors import Invalid, SourceFailed, TooLarge, Unreadable
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import SourceItem, UnreadableItem
from lightwell.ingest.parse.formats import detect_format

_HTML = ("text/html", "application/xhtml+xml")
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_WAITS, _MAX_WAIT = 3, 60.0
_MAX_TITLE = 200


class Known(Wire):
    """What is known of an address; `stamp` is its date in the sitemap. One that is no item only leads on by its links."""

    etag: str = ""
    modified: str = ""
    stamp: str = ""
    is_item: bool = True
    links: tuple[str, ...] = Field(default=())


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of an address: `item` where it has changed, `known` where it is there. Neither means gone."""

    known: Known | None = None
    item: SourceItem | None = None
    problem: UnreadableItem | None = None


GONE = Reading()
_FILE = PageFacts(title="", links=(), canonical="", is_listed=True, text_hash="")


@dataclass(slots=True, kw_only=True)
class SiteReader:
    """Asks a site, one address after the other, as fast as its robots.txt allows."""

    fetcher: WebFetcher
    scope: Scope
    tags: StatedTags
    robots: Robots
    requests: int = field(default=0)

    async def read(self, url: str, stamp: str, earlier: Known | None) -> Reading:
        """Return what is at a canonical address; what is known of it and unchanged comes without an item."""
        if not self.robots.allows(httpx.URL(url).raw_path.decode()):
            return GONE
        if earlier and stamp and earlier.stamp == stamp:
            return Reading(known=earlier)
        ref = page_ref(url)
        try:
            page = await self._ask(url, _conditions(earlier))
        except TooLarge as error:
            return _failed(ref, error.reason, str(error))
        except Invalid:
            return GONE  # it leads out of the site
        except SourceFailed as error:
            return _failed(ref, "unreachable", str(error))
        if page.status == HTTPStatus.NOT_MODIFIED and earlier:
            return Reading(known=earlier.model_copy(update={"stamp": stamp}))
        if page.status in _GONE:
            return GONE
        if page.status != HTTPStatus.OK:
            return _failed(ref, "unreachable", f"the site answered with status {page.status}")
        return await asyncio.to_thread(self._read, url, page, stamp)

    async def _ask(self, url: str, headers: list[tuple[bytes, bytes]]) -> Page:
        for attempt in range(_WAITS):
            page = await self._ask_once(url, headers)
            if page.status not in _BUSY:
                return page
            await asyncio.sleep(_wait(page.retry_after, attempt))
        return await self._ask_once(url, headers)

    async def _ask_once(self, url: str, headers: list[tuple[bytes, bytes]]) -> Page:
        if self.requests and self.robots.delay:
            await asyncio.sleep(self.robots.delay)
        self.requests += 1
        return await self.fetcher.ask(url, headers)

    def _read(self, url: str, page: Page, stamp: str) -> Reading:
        """Return a page or file; one that says it belongs elsewhere only leads there."""
        final = self.scope.place(httpx.URL(page.final_url))
        facts = _FILE
        if page.content_type in _HTML:
            facts = read_facts(page.content, final)
        declared = self.scope.place(httpx.URL(facts.canonical)) if facts.canonical else ""
        target = declared or final
        places = (self.scope.place(httpx.URL(link)) for link in (*facts.links, target))
        links = dict.fromkeys(intern(link) for link in places if link and link != url)
        seen = Known(
            etag=page.etag,
            modified=page.modified,
            stamp=stamp,
            is_item=target == url and facts.is_listed,
            links=tuple(link for link in links if not self.scope.is_asset(link)),
        )
        if not seen.is_item:
            return Reading(known=seen)
        try:
            item = self._item(url, page, facts)
        except Unreadable:
            return Reading(known=seen.model_copy(update={"is_item": False}))
        return Reading(known=seen, item=item)

    def _item(self, url: str, page: Page, facts: PageFacts) -> SourceItem:
        """Return the page; raise `Unreadable` for a file without a text."""
        is_page = page.content_type in _HTML
        name = httpx.URL(url).path.rstrip("/").rpartition("/")[2]
        title = one_line(facts.title or name or httpx.URL(url).host)[:_MAX_TITLE]
        text_hash = facts.text_hash or hashlib.sha256(page.content).hexdigest()
        document = NewDocument(
            system=SITE,
            kind="page" if is_page else "file",
            source_id=url,
            url=url,
            format=Format.HTML if is_page else detect_format(page.name, page.content),
            title=title,
            topic="",
            acl_tags=self.tags.find(httpx.URL(url).path),
            content=page.content,
            content_hash=hashlib.sha256(json.dumps([url, title, text_hash]).encode()).hexdigest(),
            updated_at=read_date(page.modified),
            item_ref=page_ref(url),
            is_file=not is_page,
        )
        return SourceItem(ref=page_ref(url), documents=(document,))


def page_ref(url: str) -> GlobalRef:
    return global_ref(SITE, "page", url)


def _failed(ref: GlobalRef, reason: str, message: str) -> Reading:
    return Reading(problem=UnreadableItem(ref=ref, reason=reason, message=message))


def _conditions(earlier: Known | None) -> list[tuple[bytes, bytes]]:
    """Return the headers by which a server says that nothing has changed."""
    if earlier and earlier.etag.isascii() and earlier.etag:
        return [(b"if-none-match", earlier.etag.encode())]
    if earlier and earlier.modified.isascii() and earlier.modified:
        return [(b"if-modified-since", earlier.modified.encode())]
    return []


def _wait(retry_after: str, attempt: int) -> float:
    """Return the seconds to wait as a busy server asks, else longer each time."""
    seconds = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
    return min(seconds or 2.0**attempt, _MAX_WAIT)


def read_date(text: str) -> datetime | None:
    """Return the date of a header in UTC, None for one that is none."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None

"""A Chatwoot account as a source of items."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import httpx

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.connectors.attachments import AttachmentReader
from lightwell.connectors.chatwoot.account import SYSTEM, load_account, read_directory
from lightwell.connectors.chatwoot.api import Answer, ChatwootApi, list_in, parse
from lightwell.connectors.chatwoot.cursors import OVERLAP, StreamCursor
from lightwell.connectors.chatwoot.files import ReadFile
from lightwell.connectors.chatwoot.models import Portal
from lightwell.connectors.chatwoot.reading import RowReader
from lightwell.connectors.chatwoot.webhooks import WebhookCheck, read_webhook
from lightwell.connectors.opening import (
    Api,
    check_options,
    open_api,
    parse_base_url,
    parse_flag,
    parse_number,
    parse_seconds,
)
from lightwell.connectors.rows import Json, Result, make_page, parse_cursor
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import ItemPage, SourceDirectory, SourceItem, WebhookHint

COMPANY, CONTACT, CONVERSATION, ARTICLE = "company", "contact", "conversation", "article"
_OPTIONS = (
    "base_url",
    "account",
    "unsigned_webhooks",
    "bot_messages",
    "max_attachment_bytes",
    "rewalk_seconds",
    "relist_seconds",
)
_ROWS_PER_PAGE = 25
_PAGE_BYTES = 8 * 1000**2
_LONGEST_CATCH_UP = timedelta(days=1)
"""What changed within so long comes in one answer without pages; after a longer pause all conversations are walked."""
_WALK = {"status": "all", "assignee_type": "all", "sort_by": "created_at_asc"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatwootOptions:
    """How to read an account.

    All conversations are walked again each `rewalk`: Chatwoot does not tell when a message is edited or deleted.
    Contacts, companies and articles are listed in full each `relist`. Files of more than `max_file_bytes` are only named.
    """

    rewalk: timedelta = timedelta(days=7)
    relist: timedelta = timedelta(hours=6)
    reads_bots: bool = False
    max_file_bytes: int = 10 * 1000**2


@dataclass(slots=True, kw_only=True)
class ChatwootSource:
    """One account of Chatwoot; an `ItemSource`. `now` is our clock, and `_ahead` how far Chatwoot's is ahead of it."""

    api: ChatwootApi
    base_url: str
    options: ChatwootOptions
    webhook_check: WebhookCheck
    read_file: ReadFile
    now: Callable[[], datetime]
    _reader: RowReader | None = field(default=None)
    _ahead: timedelta = field(default=timedelta())

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def streams(self) -> tuple[str, ...]:
        return (COMPANY, CONTACT, CONVERSATION, ARTICLE)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        reader = await self._open()
        begun = parse_cursor(StreamCursor, cursor)
        if stream == CONVERSATION:
            pages = self._pull_conversations(reader, begun)
        else:
            pages = self._pull_listing(reader, stream, begun)
        async for page in pages:
            yield page

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        prefix = f"{self.api.account}-" if stream == CONVERSATION else ""
        if stream == ARTICLE:
            async for _, rows in self._articles():
                yield [global_ref(SYSTEM, ARTICLE, str(row.get("id"))) for row in rows]
            return
        listing = self._walk(StreamCursor()) if stream == CONVERSATION else self._listing(stream)
        async for rows, _ in listing:
            yield [global_ref(SYSTEM, stream, f"{prefix}{row.get('id')}") for row in rows]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        reader = await self._open()
        results = await reader.at_once(lambda ref: self._fetch(reader, ref), list(refs))
        return make_page(results, "")

    async def directory(self) -> SourceDirectory:
        reader = await self._open(is_new=True)
        return await read_directory(reader.account)

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        return read_webhook(self.webhook_check, headers, body, received_at)

    async def _open(self, *, is_new: bool = False) -> RowReader:
        if self._reader is None or is_new:
            account = await load_account(self.api, self.base_url)
            now = self.now()
            self._ahead = (account.at or now) - now
            options = self.options
            self._reader = RowReader(
                account, self.read_file, options.max_file_bytes, options.reads_bots
            )
        return self._reader

    async def _pull_conversations(
        self, reader: RowReader, cursor: StreamCursor
    ) -> AsyncIterator[ItemPage]:
        answer = await self._list_changed(cursor)
        if answer is None:
            async for rows, after in self._walk(cursor):
                async for page in self._conversation_pages(reader, rows, cursor, after):
                    yield page
                cursor = after
            yield ItemPage(items=(), cursor=cursor.finish_walk().to_text())
            return
        rows, _ = list_in(answer)
        after = cursor.change(checked_at=self._time_of(answer))
        async for page in self._conversation_pages(reader, rows, cursor, after):
            yield page

    async def _list_changed(self, cursor: StreamCursor) -> Answer | None:
        """Return the conversations that changed since the cursor, None where all are to be walked instead."""
        now = self._server_now()
        since = now - datetime.fromtimestamp(cursor.checked_at, UTC)
        # Else its clock was set, or it was long ago.
        is_recent = -OVERLAP <= since <= _LONGEST_CATCH_UP
        if not is_recent or cursor.needs_walk(now, self.options.rewalk):
            return None
        seconds = max(1, int((since + OVERLAP).total_seconds()))
        changed = {"status": "all", "assignee_type": "all", "updated_within": seconds}
        try:
            return await self.api.require("conversations", changed)
        except ResponseTooLarge:  # it has no pages
            return None

    async def _conversation_pages(
        self, reader: RowReader, rows: Sequence[Json], before: StreamCursor, after: StreamCursor
    ) -> AsyncIterator[ItemPage]:
        """Yield these conversations in pages of limited size; only the last one leads behind them."""
        results: list[Result] = []
        size = 0
        for row in rows:
            result = await reader.conversation(row)
            results.append(result)
            if isinstance(result, SourceItem):
                size += sum(len(document.content) for document in result.documents)
            if size > _PAGE_BYTES or len(results) == _ROWS_PER_PAGE:
                yield make_page(results, before.to_text())
                results, size = [], 0
        yield make_page(results, after.to_text())

    async def _walk(
        self, cursor: StreamCursor
    ) -> AsyncIterator[tuple[Sequence[Json], StreamCursor]]:
        """Yield all conversations by their age. Where some were deleted meanwhile, go back by as many pages as moved."""
        while True:
            answer = await self.api.require("conversations", {**_WALK, "page": cursor.page})
            rows, count = list_in(answer)
            if not cursor.is_walking:
                cursor = cursor.change(began_at=self._time_of(answer), count=count)
            if count < cursor.count and cursor.page > 1:
                missing = -(-(cursor.count - count) // _ROWS_PER_PAGE)
                cursor = cursor.change(page=max(1, cursor.page - missing), count=count)
                continue
            if not rows:
                return
            cursor = cursor.change(page=cursor.page + 1, count=count)
            yield rows, cursor
            if len(rows) < _ROWS_PER_PAGE:
                return

    async def _pull_listing(
        self, reader: RowReader, stream: str, cursor: StreamCursor
    ) -> AsyncIterator[ItemPage]:
        now = self._server_now()
        if not cursor.needs_walk(now, self.options.relist):
            if stream == CONTACT:
                async for rows in self._active_contacts(cursor.checked_at):
                    yield make_page(await reader.at_once(reader.contact, rows), cursor.to_text())
                checked = int((now - OVERLAP).timestamp())
                yield ItemPage(items=(), cursor=cursor.change(checked_at=checked).to_text())
            return
        begun = int((now - OVERLAP).timestamp())
        cursor = cursor if cursor.is_walking else cursor.change(began_at=begun)
        if stream == ARTICLE:
            async for portal, rows in self._articles():
                results = [await reader.article(portal, row) for row in rows]
                yield make_page(results, cursor.to_text())
        else:
            read = reader.contact if stream == CONTACT else reader.company
            async for rows, page in self._listing(stream, cursor.page):
                cursor = cursor.change(page=page)
                yield make_page(await reader.at_once(read, rows), cursor.to_text())
        yield ItemPage(items=(), cursor=cursor.finish_walk().to_text())

    async def _listing(self, stream: str, page: int = 1) -> AsyncIterator[tuple[list[Json], int]]:
        """Yield all contacts or companies, and the next page's number; nothing where the server has no companies."""
        path = {CONTACT: "contacts", COMPANY: "companies"}[stream]
        sort = {"sort": "name"} if stream == CONTACT else {}
        while True:
            # The page before is asked for again by none: rows that moved to it are found by the next listing.
            answer = await self.api.get_optional(path, {**sort, "page": page})
            if answer is None or not answer.rows:
                return
            page += 1
            yield answer.rows, page

    async def _active_contacts(self, since: int) -> AsyncIterator[list[Json]]:
        """Yield the contacts that were active since then, the last first."""
        page = 1
        while True:
            params = {"sort": "-last_activity_at", "page": page}
            rows = (await self.api.require("contacts", params)).rows
            times = [(row, row.get("last_activity_at")) for row in rows]
            active = [row for row, time in times if isinstance(time, int) and time >= since]
            if active:
                yield active
            if len(active) < len(rows) or not rows:
                return
            page += 1

    async def _articles(self) -> AsyncIterator[tuple[Portal, list[Json]]]:
        """Yield the articles of each help centre."""
        answer = await self.api.get_optional("portals")
        for portal in [parse(Portal, row) for row in answer.rows] if answer else []:
            page = 1
            while rows := (await self._articles_of(portal, page)):
                yield portal, rows
                page += 1

    async def _articles_of(self, portal: Portal, page: int) -> list[Json]:
        answer = await self.api.get(f"portals/{portal.slug}/articles", {"page": page})
        return answer.rows if answer else []

    async def _fetch(self, reader: RowReader, ref: GlobalRef) -> Result:
        _, kind, source_id = ref.split(":", 2)
        account, _, display_id = source_id.partition("-")
        if kind == CONVERSATION and account == str(self.api.account) and display_id.isdecimal():
            answer = await self.api.get(f"conversations/{display_id}")
            return ref if answer is None else await reader.conversation(answer.object)
        if not source_id.isdecimal():
            return ref
        match kind:
            case "contact":
                answer = await self.api.get(f"contacts/{source_id}")
                return ref if answer is None else await reader.contact(_payload(answer))
            case "company":
                answer = await self.api.get_optional(f"companies/{source_id}")
                return ref if answer is None else await reader.company(_payload(answer))
            case "article":
                return await self._fetch_article(reader, ref, source_id)
            case _:
                return ref

    async def _fetch_article(self, reader: RowReader, ref: GlobalRef, source_id: str) -> Result:
        async for portal, rows in self._articles():
            for row in rows:
                if str(row.get("id")) == source_id:
                    return await reader.article(portal, row)
        return ref

    def _time_of(self, answer: Answer) -> int:
        return int((answer.at or self.now()).timestamp())

    def _server_now(self) -> datetime:
        return self.now() + self._ahead


def _payload(answer: Answer) -> Json:
    """Return the one row of an answer, which may lie below `payload`."""
    below = answer.object.get("payload")
    return cast("Json", below) if isinstance(below, dict) else answer.object


@asynccontextmanager
async def open_chatwoot(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[ChatwootSource]:
    """Open an account; raise `Invalid` for an option that is missing, not known, or has a wrong value.

    `webhook_secret` is "" where no signed webhooks are taken. `transport` stands for the network.
    """
    check_options("chatwoot", options, _OPTIONS)
    if "base_url" not in options:
        raise Invalid(
            "A source of Chatwoot needs the address of its server in LIGHTWELL_SOURCE_<NAME>_BASE_URL, such as https://chat.example.com"
        )
    if "account" not in options:
        raise Invalid("A source of Chatwoot needs the option account, its number")
    base_url = parse_base_url(options["base_url"])
    max_bytes = parse_number(options, "max_attachment_bytes", ChatwootOptions().max_file_bytes)
    parsed = ChatwootOptions(
        rewalk=timedelta(seconds=parse_seconds(options, "rewalk_seconds", 7 * 86_400)),
        relist=timedelta(seconds=parse_seconds(options, "relist_seconds", 6 * 3600)),
        reads_bots=parse_flag(options, "bot_messages"),
        max_file_bytes=max_bytes,
    )
    account = parse_number(options, "account", 0)
    files = AttachmentReader(base_url=base_url, max_bytes=parsed.max_file_bytes)
    api = Api(name="Chatwoot", base_url=base_url, headers={"api_access_token": token})
    async with open_api(api, transport) as client:
        yield ChatwootSource(
            api=ChatwootApi(client=client, account=account),
            base_url=base_url,
            options=parsed,
            webhook_check=WebhookCheck(
                secret=webhook_secret,
                takes_unsigned=parse_flag(options, "unsigned_webhooks"),
                account=account,
            ),
            read_file=files.read,
            now=lambda: datetime.now(UTC),
        )

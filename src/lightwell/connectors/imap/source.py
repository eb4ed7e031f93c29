"""A mailbox over IMAP as a source of items: see `docs/sources/imap.md`."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

from pydantic import Field

from lightwell.connectors.imap.connection import (
    Account,
    FolderState,
    Mailbox,
    close,
    connect,
)
from lightwell.connectors.imap.threads import Listing, MailThread
from lightwell.connectors.item_documents import one_line
from lightwell.connectors.opening import check_stated_options, fingerprint_of
from lightwell.connectors.rows import Result, StoredCursor, make_page, parse_cursor, size_of
from lightwell.domain.business_systems import StatedTags, parse_stated_tags
from lightwell.domain.documents import IMAP, Format, NewDocument
from lightwell.domain.errors import Invalid, Refused, SourceFailed, Unreadable
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import (
    ItemPage,
    SourceDirectory,
    SourceItem,
    UnreadableItem,
    WebhookHint,
)
from lightwell.domain.texts import split_at_commas
from lightwell.ingest.parse.formats import detect_format
from lightwell.ingest.parse.messages import AttachedFile, join_mailbox, take_files

THREAD = "thread"
_OPTIONS = ("user", "folders", "base_url")
_MAX_FOLDERS, _MAX_MESSAGES = 50, 100_000
_MAX_THREAD_MESSAGES = 300
"""Of one thread; of a longer one the last are kept."""

_MAX_THREAD_BYTES = 16 * 1000**2
"""Of the texts of one thread, and of the files that came with it; what comes later is left out."""

_PAGE_ITEMS, _PAGE_BYTES = 25, 8 * 1000**2
_MAX_TITLE = 200


class Cursor(StoredCursor):
    """What is read: the folders' states, and the digests of threads. `options` stands for those that they were read with.

    It is written whole with each page, so it is not packed: that took most of the time of a large mailbox's first walk.
    """

    options: str = ""
    folders: Mapping[str, FolderState] = Field(default_factory=dict[str, FolderState])
    threads: str = ""


@dataclass(slots=True, kw_only=True)
class ImapSource:
    """Folders of one mailbox; an `ItemSource`."""

    mailbox: Mailbox
    folders: tuple[str, ...]
    tags: StatedTags
    fingerprint: str
    max_bytes: int
    _states: dict[str, FolderState] | None = field(default=None)
    _threads: dict[str, MailThread] | None = field(default=None)

    @property
    def system(self) -> str:
        return IMAP

    @property
    def streams(self) -> tuple[str, ...]:
        return (THREAD,)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        """Yield the threads to which other messages belong than before; folders whose state is the same are not even listed."""
        # One that is no JSON has the form before this one, and leads to one complete walk.
        position = parse_cursor(Cursor, cursor if cursor.startswith("{") else "")
        if position.options != self.fingerprint:
            position = Cursor(options=self.fingerprint)
        states = await self._read_states()
        if states == position.folders:
            return
        threads = [(thread.digest, thread) for thread in (await self._list()).values()]
        digests = set(position.threads.split())
        read = [digest for digest, _ in threads if digest in digests]
        results: list[Result] = []
        size = 0
        for digest, thread in threads:
            if digest in digests:
                continue
            results.append(await self._read(thread))
            read.append(digest)
            size += size_of(results[-1])
            if len(results) == _PAGE_ITEMS or size > _PAGE_BYTES:
                yield make_page(results, self._cursor_after({}, read))
                results, size = [], 0
        yield make_page(results, self._cursor_after(states, read))

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        refs = [self._ref(key) for key in await self._list()]
        for start in range(0, len(refs), 1000):
            yield refs[start : start + 1000]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        threads = await self._list()
        results: list[Result] = []
        for ref in refs:
            thread = threads.get(ref.rpartition("/")[2])
            is_there = thread is not None and self._ref(thread.key) == ref
            results.append(await self._read(thread) if thread and is_there else ref)
        return make_page(results, "")

    async def directory(self) -> SourceDirectory:
        """Return nobody, once the folders are there: who sees their messages is what the options say."""
        await self._read_states()
        return SourceDirectory(people=(), groups=())

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        raise Refused("A mailbox sends no webhooks")

    def _cursor_after(self, folders: Mapping[str, FolderState], read: Sequence[str]) -> str:
        threads = " ".join(read)
        return Cursor(options=self.fingerprint, folders=folders, threads=threads).to_text()

    async def _read_states(self) -> dict[str, FolderState]:
        if self._states is None:
            self._states = {folder: await self.mailbox.state(folder) for folder in self.folders}
            count = sum(state.messages for state in self._states.values())
            if count > _MAX_MESSAGES:
                raise SourceFailed(
                    f"The folders have {count:,} messages, and at most {_MAX_MESSAGES:,} are read: name fewer folders"
                )
        return self._states

    async def _list(self) -> dict[str, MailThread]:
        """Return the threads of all folders by their keys."""
        if self._threads is None:
            listing = Listing()
            for folder, state in (await self._read_states()).items():
                listed = await self.mailbox.list_messages(folder)
                audience = self._audience(folder)
                await asyncio.to_thread(listing.add, folder, state, listed, audience)
            threads = await asyncio.to_thread(list, listing.threads())
            self._threads = {thread.key: thread for thread in threads}
        return self._threads

    def _audience(self, folder: str) -> str:
        """Return what keeps threads of folders apart that different people see."""
        place = self.tags.place_of(folder)
        return f"-{hashlib.sha256(place.encode()).hexdigest()[:8]}" if place else ""

    async def _read(self, thread: MailThread) -> Result:
        sources: list[bytes] = []
        files: list[AttachedFile] = []
        left = _MAX_THREAD_BYTES
        for place in thread.places[-_MAX_THREAD_MESSAGES:]:
            is_whole = place.size <= min(self.max_bytes, _MAX_THREAD_BYTES)
            source = await self.mailbox.read(place.folder, place.uid, whole=is_whole)
            try:
                text, taken = await asyncio.to_thread(take_files, source)
            except Unreadable:
                continue
            left -= len(text)
            if left >= 0 and source:
                sources.append(text)
                files += taken
        if not sources:
            return UnreadableItem(
                ref=self._ref(thread.key),
                reason="broken",
                message="none of its messages can be read, or they are too large",
            )
        return await asyncio.to_thread(self._item, thread, join_mailbox(sources), files)

    def _item(
        self, thread: MailThread, content: bytes, files: Sequence[AttachedFile]
    ) -> SourceItem:
        ref = self._ref(thread.key)
        base = f"imap://{self.mailbox.account.host}/{ref.split(':', 2)[2].partition('/')[2]}"
        dates = [mail.date for mail in thread.mails if mail.date]
        document = NewDocument(
            system=IMAP,
            kind=THREAD,
            source_id=ref.split(":", 2)[2],
            url=base,
            format=Format.MAIL,
            title=one_line(thread.subject)[:_MAX_TITLE] or "(no subject)",
            topic="",
            acl_tags=self.tags.find(thread.places[0].folder),
            content=content,
            content_hash=_hash(base, content),
            created_at=min(dates, default=None),
            updated_at=max(dates, default=None),
            metadata={"author": author} if (author := one_line(thread.mails[0].sender)) else {},
            item_ref=ref,
        )
        return SourceItem(
            ref=ref, documents=(document, *_attachments(document, files, self.max_bytes))
        )

    def _ref(self, key: str) -> GlobalRef:
        account = self.mailbox.account
        name = f"{account.host}/{quote(account.user, safe='')}/{key}"
        return global_ref(IMAP, THREAD, name)


def _attachments(
    thread: NewDocument, files: Sequence[AttachedFile], max_bytes: int
) -> list[NewDocument]:
    """Return the files of a thread that have a text, each once."""
    documents: dict[str, NewDocument] = {}
    left = _MAX_THREAD_BYTES
    for file in files:
        digest = hashlib.sha256(file.content).hexdigest()[:16]
        if len(file.content) > min(left, max_bytes) or not file.content.strip():
            continue
        try:
            format_ = detect_format(file.name, file.content)
        except Unreadable:
            continue
        if digest in documents:
            continue
        left -= len(file.content)
        url = f"{thread.url}/{digest}/{quote(file.name, safe='')}"
        documents[digest] = NewDocument(
            system=IMAP,
            kind="attachment",
            source_id=f"{thread.source_id}/{digest}",
            url=url,
            format=format_,
            title=one_line(file.name)[:_MAX_TITLE] or "file",
            topic="",
            acl_tags=thread.acl_tags,
            content=file.content,
            content_hash=_hash(url, file.content),
            created_at=thread.created_at,
            updated_at=thread.updated_at,
            metadata={"thread": thread.title},
            item_ref=thread.item_ref,
            is_file=True,
        )
    return list(documents.values())


def _hash(url: str, content: bytes) -> str:
    return hashlib.sha256(
        json.dumps([url, hashlib.sha256(content).hexdigest()]).encode()
    ).hexdigest()


@asynccontextmanager
async def open_imap(
    options: Mapping[str, str], password: str, max_bytes: int
) -> AsyncGenerator[ImapSource]:
    """Log in to the mailbox that the options name; raise `Invalid` for an option that is missing, not known or wrong, `SourceFailed` where it cannot be opened."""
    check_stated_options(IMAP, options, _OPTIONS)
    user, folders = (
        options.get("user", "").strip(),
        split_at_commas(options.get("folders", "INBOX")),
    )
    url = options.get("base_url", "")
    if not url:
        raise Invalid(
            "A mailbox needs its server in the environment, as imaps://imap.example.com in its variable _BASE_URL"
        )
    if not user or not user.isprintable() or not password.isprintable():
        raise Invalid("A mailbox needs the option user: the name to log in with")
    if not folders or len(folders) > _MAX_FOLDERS or not "".join(folders).isprintable():
        raise Invalid(f"folders are 1 to {_MAX_FOLDERS} names, with commas between them")
    mailbox = await connect(Account(url=url, user=user, password=password))
    try:
        yield ImapSource(
            mailbox=mailbox,
            folders=tuple(dict.fromkeys(folders)),
            tags=parse_stated_tags(options),
            fingerprint=fingerprint_of(options),
            max_bytes=max_bytes,
        )
    finally:
        await close(mailbox)

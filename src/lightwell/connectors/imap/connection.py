"""One connection to an IMAP server: it reads, marks nothing, and lets nothing that the server says grow without bound."""

import asyncio
import base64
import imaplib
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TypeVar, cast

import httpx

from lightwell.domain.errors import SourceFailed

T = TypeVar("T")

_SECONDS = 60.0
_MAX_ANSWER = 64 * 1000**2
_BATCH = 500
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_HEADERS = (
    "(RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID REFERENCES IN-REPLY-TO SUBJECT DATE FROM)])"
)
_UID = re.compile(rb"\bUID (\d{1,10})")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})")
_STATUS = re.compile(rb"\b(MESSAGES|UIDNEXT|UIDVALIDITY) (\d{1,12})")
_PORTS = {"imaps": 993, "imap": 143}
_FAILURES = (imaplib.IMAP4.error, OSError, ValueError)


class _Tls(imaplib.IMAP4_SSL):
    def read(self, size: int) -> bytes:
        return super().read(_bounded(size))


class _Plain(imaplib.IMAP4):
    def read(self, size: int) -> bytes:
        return super().read(_bounded(size))


def _bounded(size: int) -> int:
    """Return the size of an answer that is to be read; raise `abort` for one that nobody asked for."""
    if size > _MAX_ANSWER:
        raise imaplib.IMAP4.abort("an answer is too large")
    return size


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where a mailbox is, and who reads it. `url` is `imaps://host:port`, or `imap://host:port`, which begins TLS unless it is this machine."""

    url: str
    user: str
    password: str = field(repr=False)

    @property
    def host(self) -> str:
        return httpx.URL(self.url).host


@dataclass(frozen=True, slots=True)
class FolderState:
    """What a folder says of itself: with the same state it has the same messages."""

    validity: int
    next_uid: int
    messages: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A message of a folder: its number, its size, and the header lines that say what it answers."""

    uid: int
    size: int
    header: bytes


@dataclass(slots=True)
class Mailbox:
    """An open connection; calls run one after the other, each in a thread."""

    account: Account
    imap: imaplib.IMAP4
    _folder: str = field(default="")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def state(self, folder: str) -> FolderState:
        """Return the state of a folder; raise `SourceFailed` where there is none of this name."""

        def ask() -> FolderState:
            _, data = self.imap.status(_quote(folder), "(MESSAGES UIDNEXT UIDVALIDITY)")
            facts = {name: int(value) for name, value in _STATUS.findall(b" ".join(_bytes(data)))}
            return FolderState(facts[b"UIDVALIDITY"], facts[b"UIDNEXT"], facts[b"MESSAGES"])

        return await self._call(folder, ask, selects=False)

    async def list_messages(self, folder: str) -> list[Listed]:
        """Return the messages of a folder, by their numbers."""

        def search() -> list[int]:
            _, data = self.imap.uid("SEARCH", "ALL")
            return sorted(int(uid) for uid in b" ".join(_bytes(data)).split() if uid.isdigit())

        listed: list[Listed] = []
        uids = await self._call(folder, search)
        for start in range(0, len(uids), _BATCH):
            fetch = partial(self._fetch, uids[start : start + _BATCH], _HEADERS)
            listed += await self._call(folder, fetch)
        return sorted(listed, key=lambda message: message.uid)

    async def read(self, folder: str, uid: int, *, whole: bool) -> bytes:
        """Return a message, or its header alone; b"" for one that is gone meanwhile."""
        query = "(BODY.PEEK[])" if whole else "(BODY.PEEK[HEADER])"
        listed = await self._call(folder, partial(self._fetch, [uid], query))
        return next((message.header for message in listed if message.uid == uid), b"")

    def _fetch(self, uids: Sequence[int], query: str) -> list[Listed]:
        _, answers = self.imap.uid("FETCH", ",".join(map(str, uids)), query)
        parts = cast("list[object]", answers)
        listed: list[Listed] = []
        for part, after in zip(parts, [*parts[1:], b""], strict=True):
            if isinstance(part, tuple):
                head, content = cast("tuple[bytes, bytes]", part)
                facts = head + (after if isinstance(after, bytes) else b"")
                uid, size = _UID.search(facts), _SIZE.search(facts)
                if uid:
                    listed.append(Listed(int(uid[1]), int(size[1]) if size else 0, content))
        return listed

    async def _call(self, folder: str, ask: Callable[[], T], *, selects: bool = True) -> T:
        """Return what the call returns, in this folder; raise `SourceFailed` without a word of the server's."""

        def run() -> T:
            if selects and self._folder != folder:
                status, _ = self.imap.select(_quote(folder), readonly=True)
                if status != "OK":
                    raise KeyError(folder)
                self._folder = folder
            return ask()

        async with self._lock:
            try:
                return await asyncio.to_thread(run)
            except KeyError:
                raise SourceFailed(f"The mailbox has no folder {folder!r}") from None
            except _FAILURES as error:
                raise SourceFailed(
                    f"{self.account.host} failed to read {folder!r}: {type(error).__name__}"
                ) from None


async def connect(account: Account) -> Mailbox:
    """Log in; raise `SourceFailed` where the server refuses.

    The password goes over TLS whose certificate is checked, or to this machine.
    """
    return await asyncio.to_thread(_connect, account)


def _connect(account: Account) -> Mailbox:
    try:
        imap = _open(account)
        try:
            _log_in(imap, account)
        except BaseException:
            imap.shutdown()
            raise
    except imaplib.IMAP4.abort as error:
        raise SourceFailed(f"{account.host} ended the connection: {type(error).__name__}") from None
    except imaplib.IMAP4.error:
        raise SourceFailed(f"{account.host} refuses the user or the password, or TLS") from None
    except OSError as error:
        raise SourceFailed(f"{account.host} cannot be reached: {type(error).__name__}") from None
    return Mailbox(account, imap)


def _open(account: Account) -> imaplib.IMAP4:
    url, tls = httpx.URL(account.url), ssl.create_default_context()
    port = url.port or _PORTS[url.scheme]
    if url.scheme == "imaps":
        return _Tls(url.host, port, ssl_context=tls, timeout=_SECONDS)
    imap = _Plain(url.host, port, timeout=_SECONDS)
    if url.host not in _LOOPBACK:
        try:
            imap.starttls(tls)
        except BaseException:
            imap.shutdown()
            raise
    return imap


def _log_in(imap: imaplib.IMAP4, account: Account) -> None:
    if "AUTH=PLAIN" in imap.capabilities:
        words = f"\0{account.user}\0{account.password}".encode()
        imap.authenticate("PLAIN", lambda _: words)
    else:
        imap.login(_quote(account.user), account.password)


def _quote(name: str) -> str:
    """Return a name as IMAP writes it: letters that are not ASCII in its own form of UTF-7, in quotation marks."""
    words = "".join(
        part if is_ascii else f"&{_base64(part)}-"
        for is_ascii, group in groupby(name.replace("&", "&-"), str.isascii)
        for part in ["".join(group)]
    )
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")


def _bytes(data: Sequence[object]) -> list[bytes]:
    return [part for part in data if isinstance(part, bytes)]


async def close(mailbox: Mailbox) -> None:
    """Log out; a server that does not answer is left."""

    def log_out() -> None:
        try:
            mailbox.imap.logout()
        except _FAILURES:
            return

    await asyncio.to_thread(log_out)

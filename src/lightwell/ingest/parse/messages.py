"""Reads mails by the standard library: their headers, the text that people wrote, and the files that came with it.

Everything here runs in the parser's child process. Headers are cut before the library sees them, since it takes time with the
square of their length.
"""

import email
import email.errors
import email.policy
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import cast

from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._text import clean, decode_as, one_line, to_utc
from lightwell.ingest.parse.html import parse as parse_page
from lightwell.text.regex import regex

MAX_MESSAGES = 20_000
MAX_FILES = 100
"""Files of one message."""

_MAX_DEPTH = 8
"""Parts in parts, and mails in mails; what is deeper is left out."""

_MAX_BOUNDARIES = 200
"""Of one message: the library compares each line with all those that are open."""

_MAX_HEADER_LINES, _MAX_HEADER, _MAX_SHOWN = 60, 8_000, 2_000
_BROKEN = (
    *(RecursionError, LookupError, ValueError, TypeError, AttributeError, AssertionError),
    email.errors.MessageError,
)
"""What the library raises for messages that are none. `UnicodeError` is a `ValueError`, `KeyError` a `LookupError`."""

_ENVELOPE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{0,300}\d\d:\d\d[^\n]{0,100}\n")
_OF_THREAD = b"From thread@lightwell"
_ESCAPED = re.compile(rb"^>(>{0,20}From )", re.M)
_UNESCAPED = re.compile(rb"^(>{0,20}From )", re.M)
_BOUNDARY = re.compile(rb"boundary\s{0,20}=", re.I)
_ID = regex(r"<([^<>\s]{1,300}+)>")
_ADDRESS = regex(
    r"(?:\"?([^<>\"@,;]{0,200}+)\"?[ ]?)?<([^<>\s]{1,200}+)>|([\w.+'-]{1,100}+@[\w.-]{1,200}+)"
)
_PREFIX = regex(
    r"(?:\[[^\]\n]{1,60}+\][ ]*+|(?:re|aw|fwd?|wg|sv|antw|tr|rv|ref)(?:\[\d{1,3}\])?[ ]?:[ ]*+){1,20}+",
    re.I,
)


class _Policy(email.policy.Compat32):
    """The library's oldest policy, which keeps headers as they are; long ones are cut."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines[:_MAX_HEADER_LINES])
        return name, value[:_MAX_HEADER]

    def fold_binary(self, name: str, value: str) -> bytes:
        """Return a header as it came: the library refuses to write what it has read."""
        return f"{name}: {value}\n".encode("utf-8", "surrogateescape")


_POLICY = _Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file that came with a message; `name` is no path."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message. `sender` is a name, else an address; `recipients` and `copies` are as the header has them.

    `date` is as its sender's clock had it. `body` is the text that people wrote, with what it quotes; `ids` are those of the messages that it answers, the last
    one answered last. `source` are its bytes.
    """

    id: str
    ids: tuple[str, ...]
    subject: str
    sender: str
    sender_address: str
    recipients: str
    copies: str
    date: datetime | None
    body: str
    files: tuple[AttachedFile, ...]
    source: bytes

    @property
    def topic(self) -> str:
        """The subject without what answers and lists put before it."""
        return _PREFIX.sub("", self.subject, count=1) or self.subject


def is_mailbox(content: bytes) -> bool:
    """Return whether the file is a mailbox, even of one message."""
    return _ENVELOPE.match(content) is not None


def is_thread(content: bytes) -> bool:
    """Return whether the file comes from `join_mailbox`."""
    return content.startswith(_OF_THREAD)


def join_mailbox(sources: Iterable[bytes]) -> bytes:
    """Return the messages of a thread as a mailbox, whose files are documents of their own."""
    return b"".join(
        _OF_THREAD
        + b" Thu Jan  1 00:00:00 1970\n"
        + _UNESCAPED.sub(rb">\1", source).rstrip(b"\n")
        + b"\n\n"
        for source in sources
    )


def read_mails(content: bytes) -> list[Mail]:
    """Return the messages of a file, one or a mailbox, in their order; raise `Unreadable` where there is none."""
    mails = [read_mail(source) for source in split_mailbox(content)]
    if not any(mail.sender or mail.subject or mail.date for mail in mails):
        raise Unreadable("broken", "it has none of the headers of a mail; save it as text")
    return mails


def split_mailbox(content: bytes) -> list[bytes]:
    """Return the bytes of each message of a mailbox, or those of the one message that this is."""
    starts = [*_ENVELOPE.finditer(content)]
    if not starts or starts[0].start() > 0:
        return [content]
    if len(starts) > MAX_MESSAGES:
        raise Unreadable("too_large", f"it has over {MAX_MESSAGES:,} mails; split it")
    ends = [*(start.start() for start in starts[1:]), len(content)]
    return [
        _ESCAPED.sub(rb"\1", content[start.end() : end])
        for start, end in zip(starts, ends, strict=True)
    ]


def read_mail(source: bytes) -> Mail:
    """Return one message; raise `Unreadable` where it is not to be read as one."""
    _check_boundaries(source)
    try:
        message = email.message_from_bytes(source, policy=_POLICY)
        plain, formatted, files = _Contents().read(message)
        sender, address = _sender(_header(message, "from"))
        return Mail(
            id=next(iter(_ids(message, "message-id")), "") or hashlib.sha256(source).hexdigest(),
            ids=tuple(dict.fromkeys([*_ids(message, "references"), *_ids(message, "in-reply-to")])),
            subject=_header(message, "subject"),
            sender=sender,
            sender_address=address,
            recipients=_header(message, "to"),
            copies=_header(message, "cc"),
            date=_date(_header(message, "date")),
            body="\n\n".join(plain) if any(map(str.strip, plain)) else "\n\n".join(formatted),
            files=files,
            source=source,
        )
    except _BROKEN as error:
        raise Unreadable("broken", "a mail in it is damaged; save it again") from error


def take_files(source: bytes) -> tuple[bytes, tuple[AttachedFile, ...]]:
    """Return a message in which its files have no content, and these files; no text is read. Raises `Unreadable`."""
    _check_boundaries(source)
    files: list[AttachedFile] = []
    try:
        message = email.message_from_bytes(source, policy=_POLICY)
        _take(message, 0, files)
        return message.as_bytes(), tuple(files)
    except _BROKEN as error:
        raise Unreadable("broken", "a mail in it is damaged; save it again") from error


def _take(part: "Message[str, str]", depth: int, files: list[AttachedFile]) -> None:
    if depth > _MAX_DEPTH or len(files) >= MAX_FILES:
        return
    if part.get_content_type() == "message/rfc822":
        for inner in _parts(part)[:1]:
            files.append(AttachedFile(name=_name_of_mail(inner), content=inner.as_bytes()))
            named = Message()
            named["Subject"] = str(inner.get("subject") or "")
            part.set_payload([named])
    elif part.is_multipart():
        for inner in _parts(part):
            _take(inner, depth + 1, files)
    elif (name := _file_name(part)) or part.get_content_disposition() == "attachment":
        files.append(AttachedFile(name=name or "file", content=_bytes_of(part)))
        del part["content-transfer-encoding"]
        part.set_payload("")


def _name_of_mail(mail: "Message[str, str]") -> str:
    name = _PREFIX.sub("", _header(mail, "subject"), count=1) or "mail"
    return _safe_name(f"{name[:100]}.eml")


def _check_boundaries(source: bytes) -> None:
    if len(_BOUNDARY.findall(source)) > _MAX_BOUNDARIES:
        raise Unreadable("broken", f"a mail in it has over {_MAX_BOUNDARIES} parts in parts")


class _Contents:
    """Goes through the parts of a message: texts, pages and files, mails in it as files."""

    def __init__(self) -> None:
        self._plain: list[str] = []
        self._pages: list[str] = []
        self._files: list[AttachedFile] = []

    def read(
        self, message: "Message[str, str]"
    ) -> tuple[list[str], list[str], tuple[AttachedFile, ...]]:
        """Return the plain texts, the texts of pages, and the files."""
        self._walk(message, 0)
        return self._plain, self._pages, tuple(self._files)

    def _walk(self, part: "Message[str, str]", depth: int) -> None:
        if depth > _MAX_DEPTH or len(self._files) >= MAX_FILES:
            return
        kind = part.get_content_type()
        if kind == "message/rfc822":
            self._mail(part, depth)
        elif part.is_multipart():
            for inner in _parts(part):
                self._walk(inner, depth + 1)
        elif _is_of_page(part):
            return
        elif (name := _file_name(part)) or part.get_content_disposition() == "attachment":
            self._files.append(AttachedFile(name=name or "file", content=_bytes_of(part)))
        elif kind == "text/html":
            self._pages.append(_text_of_page(_text_of(part)))
        elif kind.startswith("text/"):
            self._plain.append(_text_of(part))

    def _mail(self, part: "Message[str, str]", depth: int) -> None:
        """Add a mail in this one as a file, and the files that came with it."""
        for inner in _parts(part)[:1]:
            self._files.append(AttachedFile(name=_name_of_mail(inner), content=inner.as_bytes()))
            within = _Contents()
            within._walk(inner, depth + 1)
            self._files += within._files[: MAX_FILES - len(self._files)]


def _parts(message: "Message[str, str]") -> "list[Message[str, str]]":
    parts = cast("object", message.get_payload())
    if not isinstance(parts, list):
        return []
    return [part for part in cast("list[object]", parts) if isinstance(part, Message)]


def _is_of_page(part: "Message[str, str]") -> bool:
    """Return whether a part is a picture that a page of the message shows, such as a logo."""
    is_shown = bool(part.get("content-id")) and part.get_content_disposition() != "attachment"
    return is_shown and part.get_content_maintype() == "image"


def _bytes_of(part: "Message[str, str]") -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text_of(part: "Message[str, str]") -> str:
    return clean(decode_as(_bytes_of(part), part.get_content_charset("")))


def _text_of_page(page: str) -> str:
    return parse_page(page.encode()).text if page.strip() else ""


def _file_name(part: "Message[str, str]") -> str:
    name = part.get_filename()
    return _safe_name(_decoded(name[:_MAX_SHOWN])) if name else ""


def _safe_name(name: str) -> str:
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable()).strip(" .")[-150:]


def _header(message: "Message[str, str]", name: str) -> str:
    value = message.get(name)
    return "" if value is None else _decoded(str(value)[:_MAX_SHOWN])


def _decoded(value: str) -> str:
    """Return what encoded words say, as one line."""
    words = (
        part if isinstance(part, str) else decode_as(part, charset or "")
        for part, charset in decode_header(value)
    )
    return one_line("".join(words))


def _ids(message: "Message[str, str]", name: str) -> list[str]:
    return _ID.findall(str(message.get(name) or "")[-_MAX_HEADER:])


def _sender(header: str) -> tuple[str, str]:
    """Return the name and the address of the first person of a header; the name is the address where there is none."""
    match = _ADDRESS.search(header)
    if match is None:
        return header, ""
    address = match[2] or match[3]
    return (match[1] or "").strip(" \"'") or address, address


def _date(header: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(header) if header else None
        return date and (date if to_utc(date) and date.tzinfo else to_utc(date))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# ── threads ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Thread:
    """Messages that answer each other, by date. `key` stays when more of them come."""

    key: str
    mails: tuple[Mail, ...]

    @property
    def subject(self) -> str:
        return self.mails[0].topic


def group_by_thread(mails: Sequence[Mail]) -> list[Thread]:
    """Return the threads in the order of their first messages.

    A message belongs to those that it names; one that names none and says `Re:` to those of its subject.
    """
    root_of: dict[str, str] = {}
    by_subject: dict[str, str] = {}
    threads: dict[str, list[Mail]] = {}
    for mail in mails:
        topic = mail.topic.casefold()
        names = (root_of[name] for name in reversed(mail.ids) if name in root_of)
        is_answer = not mail.ids and topic != mail.subject.casefold()
        root = next(names, by_subject.get(topic) if is_answer else None) or mail.id
        while root not in threads and root in root_of:
            root = root_of[root]
        for name in (mail.id, *mail.ids):
            root_of.setdefault(name, root)
        by_subject.setdefault(topic, root)
        threads.setdefault(root, []).append(mail)
    return [
        Thread(hashlib.sha256(root.encode()).hexdigest()[:16], _by_date(group))
        for root, group in threads.items()
    ]


def _by_date(mails: Sequence[Mail]) -> tuple[Mail, ...]:
    return tuple(sorted(mails, key=lambda mail: mail.date or datetime.max.replace(tzinfo=UTC)))

"""Mails: one (.eml), or those of a mailbox (.mbox) by threads, each message under its sender and its date.

A message is its header, what it says beyond the messages before it, and the names of the files that came with it. `split` takes
those files out, and the threads of a mailbox, as documents of their own; where nobody does, their texts are sections of the mail.
"""

import hashlib
from collections.abc import Iterator, Sequence

from lightwell.domain.documents import Format, ParsedDocument, Part, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._quotations import History
from lightwell.ingest.parse._spans import guess_spans
from lightwell.ingest.parse._text import to_utc
from lightwell.ingest.parse.formats import detect_format
from lightwell.ingest.parse.messages import (
    Mail,
    Thread,
    group_by_thread,
    is_mailbox,
    is_thread,
    join_mailbox,
    read_mails,
)

_MAX_FILES = 1_000
_MAX_FILE_BYTES = 64 * 1000**2
"""Files of one mail or mailbox that become documents, and their bytes; they are held in memory together."""


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document: of one thread under its subject, of more with a heading for each."""
    return _document_of(read_mails(content))


def parse_with_files(content: bytes) -> tuple[ParsedDocument, list[Part]]:
    """Return the document, and the files whose texts belong to it, none of a thread that was split from a mailbox."""
    mails = read_mails(content)
    parts = [] if is_thread(content) else _parts_of(content, mails)
    return _document_of(mails), [part for part in parts if part.is_file]


def _document_of(all_mails: Sequence[Mail]) -> ParsedDocument:
    threads = group_by_thread(all_mails)
    mails = [mail for thread in threads for mail in thread.mails]
    builder = Builder()
    for thread in threads:
        if len(threads) > 1:
            builder.add_heading(thread.subject or "(no subject)", 1)
        write_thread(builder, thread)
    dates = [date for mail in mails if (date := to_utc(mail.date))]
    return ParsedDocument(
        text=builder.text(),
        title=threads[0].subject if len(threads) == 1 else "",
        author=mails[0].sender if len(threads) == 1 else "",
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=max(dates, default=None),
    )


def split(content: bytes) -> list[Part]:
    """Return the threads of a mailbox, and the files of all its mails or of this one, those with text and each once."""
    return _parts_of(content, read_mails(content))


def _parts_of(content: bytes, mails: Sequence[Mail]) -> list[Part]:
    if not is_mailbox(content):
        return [*_Files().of(mails, "")]
    parts: list[Part] = []
    files = _Files()
    for thread in group_by_thread(mails):
        sources = join_mailbox(mail.source for mail in thread.mails)
        parts.append(Part(key=thread.key, format=Format.MAIL, content=sources, is_file=False))
        parts += files.of(thread.mails, f"{thread.key}/")
    return parts


class _Files:
    """Collects the files of messages that are documents."""

    def __init__(self) -> None:
        self._hashes: set[bytes] = set()
        self._keys: set[str] = set()
        self._left = _MAX_FILE_BYTES

    def of(self, mails: Sequence[Mail], prefix: str) -> Iterator[Part]:
        """Yield the files of these messages that others did not have."""
        for file in (file for mail in mails for file in mail.files):
            digest = hashlib.sha256(file.content).digest()
            is_full = len(self._keys) >= _MAX_FILES or len(file.content) > self._left
            if is_full or digest in self._hashes or not file.content.strip():
                continue
            try:
                format = detect_format(file.name, file.content)
            except Unreadable:
                continue
            self._hashes.add(digest)
            self._left -= len(file.content)
            key = self._unique(f"{prefix}{file.name}")
            yield Part(key=key, format=format, content=file.content, is_file=True)

    def _unique(self, name: str) -> str:
        head, _, last = name.rpartition("/")
        key, number = name, 1
        while key in self._keys:
            number += 1
            key = f"{head}{'/' if head else ''}{number}-{last}"
        self._keys.add(key)
        return key


def write_thread(builder: Builder, thread: Thread) -> None:
    """Write the messages of a thread, each with a heading where there are several."""
    history = History()
    for mail in thread.mails:
        if len(thread.mails) > 1:
            builder.add_heading(describe(mail), 2)
        builder.add_block("\n".join(_fields(mail)))
        for paragraph in history.read(mail.body):
            _add(builder, paragraph)


def describe(mail: Mail) -> str:
    """Return who wrote a message and when, as its heading."""
    date = f"{mail.date:%Y-%m-%d %H:%M}" if mail.date else ""
    return ", ".join(filter(None, (mail.sender or "Unknown sender", date)))


def _fields(mail: Mail) -> Iterator[str]:
    sender = mail.sender
    if mail.sender_address not in ("", sender):
        sender = f"{sender} <{mail.sender_address}>"
    values = {
        "From": sender,
        "To": mail.recipients,
        "Cc": mail.copies,
        "Date": f"{mail.date:%Y-%m-%d %H:%M}" if mail.date else "",
        "Subject": mail.subject,
        "Attachments": ", ".join(file.name for file in mail.files),
    }
    return (f"{name}: {value}" for name, value in values.items() if value)


def _add(builder: Builder, paragraph: str) -> None:
    lines = paragraph.split("\n")
    is_code = all(line.startswith(("    ", "\t")) for line in lines) or any(
        span.kind is SpanKind.CODE and span.start == 0 and span.end >= len(paragraph)
        for span in guess_spans(paragraph)
    )
    if is_code:
        builder.add_code(paragraph)
    else:
        builder.add_block(paragraph)

"""A mail or mailbox whose files and threads are documents of their own: the message alone, or what the threads are about, who wrote in them, and when."""

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse import mail
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse.messages import Thread, group_by_thread, is_mailbox, read_mails

_MAX_LISTED = 500
"""Threads that are named, the last ones: a longer list would be found for every word."""


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the message, or the list of threads; that has no date of its own."""
    if not is_mailbox(content):
        return mail.parse(content, name=name)
    builder = Builder()
    threads = group_by_thread(read_mails(content))
    builder.add_block(f"A mailbox with {len(threads):,} threads:")
    for place, thread in enumerate(threads[-_MAX_LISTED:]):
        builder.add_item(_describe(thread), follows=place > 0)
    return ParsedDocument(
        text=builder.text(),
        title="",
        author="",
        sections=builder.sections(),
        pages=(),
        spans=(),
        updated_at=None,
    )


def _describe(thread: Thread) -> str:
    dates = [f"{mail.date:%Y-%m-%d}" for mail in (thread.mails[0], thread.mails[-1]) if mail.date]
    senders = dict.fromkeys(mail.sender for mail in thread.mails if mail.sender)
    about = [thread.subject or "(no subject)", ", ".join([*senders][:5])]
    return "; ".join(filter(None, [*about, " to ".join(dict.fromkeys(dates))]))

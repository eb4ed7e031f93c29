"""Mails and mailboxes, made for tests."""

from collections.abc import Iterable
from email.message import EmailMessage


def make_mail(
    sender: str, subject: str, text: str, *, number: int, answers: int = 0
) -> EmailMessage:
    """Return a mail of the 5 January 2026, sent `number` minutes after ten in Berlin, which answers another by its number."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, "team@x.example", subject
    mail["Date"] = f"Mon, 05 Jan 2026 10:{number:02}:00 +0100"
    mail["Message-ID"] = f"<{number}@x.example>"
    if answers:
        mail["In-Reply-To"] = f"<{answers}@x.example>"
    mail.set_content(text)
    return mail


def make_mailbox(mails: Iterable[EmailMessage]) -> bytes:
    """Return the mails as a file in the format mboxrd."""
    return b"".join(
        b"From x@x.example Mon Jan  5 10:00:00 2026\n"
        + mail.as_bytes().replace(b"\nFrom ", b"\n>From ")
        + b"\n"
        for mail in mails
    )

"""The threads of a mailbox: which messages answer each other, and what becomes of them."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lightwell.connectors.imap.connection import FolderState, Listed
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse.messages import Mail, group_by_thread, read_mail


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message is: its folder, the folder's validity, its number there, its size."""

    folder: str
    validity: int
    uid: int
    size: int


@dataclass(frozen=True, slots=True)
class MailThread:
    """A thread whose messages are all for the same people. `digest` is another one as soon as other messages belong to it."""

    key: str
    subject: str
    mails: tuple[Mail, ...]
    places: tuple[Place, ...]

    @property
    def digest(self) -> str:
        names = sorted(f"{place.folder}\0{place.validity}\0{place.uid}" for place in self.places)
        return urlsafe_b64encode(hashlib.sha256("\n".join(names).encode()).digest()[:6]).decode()


@dataclass(slots=True)
class Listing:
    """Collects the messages of folders; a message that several folders have counts once."""

    places: dict[str, Place] = field(default_factory=dict[str, Place])
    mails: dict[str, list[Mail]] = field(default_factory=dict[str, list[Mail]])

    def add(self, folder: str, state: FolderState, listed: Iterable[Listed], audience: str) -> None:
        """Add the messages of a folder; `audience` is the same for folders that the same people see."""
        for message in listed:
            try:
                mail = read_mail(message.header)
            except Unreadable:
                continue
            name = f"{audience}\0{mail.id}"
            if name not in self.places:
                self.places[name] = Place(folder, state.validity, message.uid, message.size)
                self.mails.setdefault(audience, []).append(mail)

    def threads(self) -> Iterator[MailThread]:
        """Yield the threads, those for the same people together."""
        for audience, mails in self.mails.items():
            for thread in group_by_thread(mails):
                places = tuple(self.places[f"{audience}\0{mail.id}"] for mail in thread.mails)
                yield MailThread(thread.key + audience, thread.subject, thread.mails, places)

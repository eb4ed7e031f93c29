"""A Chatwoot account for tests: an inbox with a conversation, its private note and its files."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

import httpx

from lightwell.connectors.chatwoot.source import ChatwootSource, open_chatwoot
from lightwell.domain.errors import Unreadable
from lightwell.testing.chatwoot import SECRET, TOKEN, FakeChatwoot
from lightwell.testing.chatwoot_server import make_chatwoot_app

BASE = "http://chat.test"


class Support:
    """An account with a conversation: two messages, a private note and two files."""

    def __init__(self, base_url: str = BASE) -> None:
        self.chatwoot = chatwoot = FakeChatwoot(base_url=base_url)
        self.ada = chatwoot.add_agent("Ada Lindqvist", "ada@halden.example", role="administrator")
        self.bob = chatwoot.add_agent("Bob Okafor", "bob@halden.example")
        self.cy = chatwoot.add_agent("Cy Ten", "cy@halden.example")
        self.inbox = chatwoot.add_inbox("Support", [self.bob])
        self.company = chatwoot.add_company("Nordwind Energie", "nordwind.example")
        self.petra = chatwoot.add_contact(
            "Petra Voss",
            "Petra@nordwind.example",
            company=self.company,
            note="Prefers the phone.",
            by=self.bob,
        )
        self.talk = chatwoot.add_conversation(
            self.inbox, self.petra, assignee=self.bob, subject="Gateway down", labels=["urgent"]
        )
        contact, bob = ("contact", self.petra), ("user", self.bob)
        self.first = chatwoot.add_message(self.talk, "# The gateway\nis down since noon.", contact)
        self.note = chatwoot.add_message(self.talk, "They pay late.", bob, private=True)
        chatwoot.add_message(self.talk, "Bob self-assigned this conversation", None, kind=2)
        chatwoot.add_message(self.talk, "Beep, a robot answers.", ("agent_bot", 9))
        self.answer = chatwoot.add_message(self.talk, "We send a technician on Friday.", bob)
        self.manual = chatwoot.attach(
            self.answer, "reset steps.md", b"# Reset\nHold the button for ten seconds."
        )
        self.photo = chatwoot.attach(self.first, "led.png", b"\x89PNG", file_type="image")

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.chatwoot.clock, UTC)


async def read_memory(url: str) -> bytes:
    return b"# Reset\nHold the button for ten seconds."


async def download(transport: httpx.ASGITransport, url: str) -> bytes:
    """Return a file as the account's server delivers it, over a redirect and without the token."""
    async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
        response = await client.get(url)
    if response.status_code != HTTPStatus.OK:
        raise Unreadable("unreachable", f"status {response.status_code}")
    return response.content


@asynccontextmanager
async def opened(support: Support, **options: str) -> AsyncGenerator[ChatwootSource]:
    transport = httpx.ASGITransport(make_chatwoot_app(support.chatwoot))
    given = {"base_url": BASE, "account": "1", **options}
    async with open_chatwoot(given, TOKEN, SECRET, transport) as source:
        source.read_file = partial(download, transport)
        source.now = lambda: support.now
        yield source

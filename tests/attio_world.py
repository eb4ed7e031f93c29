"""An Attio workspace for tests: a company, a person, a deal, and what people wrote about them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import httpx

from lightwell.connectors.attio.source import AttioSource, open_attio
from lightwell.testing.attio import SECRET, TOKEN, FakeAttio
from lightwell.testing.attio_server import make_attio_app

NOW = datetime(2026, 3, 2, 9, 1, tzinfo=UTC)


class Halden:
    """A workspace with a company, a person, a deal and what people wrote about them."""

    def __init__(self) -> None:
        self.attio = FakeAttio()
        add = self.attio
        self.ada = add.add_member("Ada Lindqvist", "ada@halden.example", access="admin")
        self.bob = add.add_member("Bob Okafor", "bob@halden.example")
        self.eve = add.add_member("Eve Former", "eve@halden.example", access="suspended")
        self.nordwind = add.add_record(
            "companies",
            {
                "name": "Nordwind Energie",
                "domains": ["nordwind.example", "nordwind-energie.example"],
                "categories": ["Energy", "B2B"],
                "primary_location": "Bergen",
                "account_manager": self.bob,
                "last_interaction": "2026-02-01T00:00:00Z",
            },
        )
        self.petra = add.add_record(
            "people",
            {
                "name": "Petra Voss",
                "email_addresses": "Petra@nordwind.example",
                "company": self.nordwind,
            },
        )
        self.deal = add.add_record(
            "deals",
            {
                "name": "TARN-4 roll-out",
                "stage": "Negotiation",
                "value": 48000,
                "owner": self.ada,
                "associated_people": [self.petra],
                "associated_company": self.nordwind,
            },
        )
        self.note = add.add_note(
            self.deal, "Call of Monday", "They want **delivery by June**.", self.ada
        )
        self.task = add.add_task(
            self.deal, "Send the offer\nwith the new price", self.ada, self.bob
        )
        self.comment = add.add_comment(self.deal, "Legal must look at clause 7.", self.bob)
        self.list = add.add_list("Key accounts", "key_accounts", "companies", {"tier": "select"})
        self.entry = add.add_entry(self.list, self.nordwind, {"tier": "Gold"})
        self.meeting = add.add_meeting(
            "Kick-off",
            self.deal,
            ["ada@halden.example", "petra@nordwind.example"],
            [("Ada", "Welcome."), ("Petra", "We need it by June."), ("Petra", "Not later.")],
        )


@asynccontextmanager
async def opened(
    attio: FakeAttio, *, query_rows: int = 500, at: datetime = NOW
) -> AsyncGenerator[AttioSource]:
    transport = httpx.ASGITransport(make_attio_app(attio))
    async with open_attio({}, TOKEN, SECRET, transport) as source:
        source.options = replace(source.options, query_rows=query_rows)
        source.now = lambda: at
        yield source

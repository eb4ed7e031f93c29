"""The example company, Halden Instruments, in the stand-ins for Attio, Chatwoot and Linear: what is open with Nordwind Energie."""

from contextlib import AbstractAsyncContextManager

import httpx

from lightwell.connectors.attio.source import open_attio
from lightwell.connectors.chatwoot.source import open_chatwoot
from lightwell.connectors.linear.source import open_linear
from lightwell.domain.business_systems import Source
from lightwell.ports import ItemSource
from lightwell.testing import attio, chatwoot
from lightwell.testing.attio import FakeAttio
from lightwell.testing.attio_server import make_attio_app
from lightwell.testing.chatwoot import FakeChatwoot
from lightwell.testing.chatwoot_server import make_chatwoot_app
from lightwell.testing.linear import records, server
from lightwell.testing.linear.server import LinearServer
from lightwell.testing.linear.workspace import LinearWorkspace

SYSTEMS = ("attio", "linear", "chatwoot")

_GRACE, _YUSUF = "grace@halden.example", "yusuf.demir@halden.example"
_BOB, _NORA = "bob@halden.example", "nora.lie@halden.example"
_TOMAS = "tomas.brandt@halden.example"
_KATRIN = "katrin.albers@nordwind.example"
_ADA, _PRIYA = "ada@halden.example", "priya.shah@ravensbrook.example"


class ExampleCompany:
    """The company's three systems in memory; the real connectors reach them without a socket.

    They hold what is open with Nordwind Energie, or with `is_for_review` customers whose links a person reviews.
    """

    def __init__(self, *, is_for_review: bool = False) -> None:
        self.attio, self.chatwoot = FakeAttio(), FakeChatwoot()
        self.linear = LinearServer(workspace=LinearWorkspace())
        if is_for_review:
            fill_pilots(self)
        else:
            fill_attio(self.attio)
            fill_chatwoot(self.chatwoot)
            fill_linear(self.linear.workspace)

    def open(self, source: Source) -> AbstractAsyncContextManager[ItemSource]:
        """Open the connector of the system that a source names."""
        match source.system:
            case "attio":
                app = httpx.ASGITransport(make_attio_app(self.attio))
                return open_attio({}, attio.TOKEN, attio.SECRET, app, asked_at=source.asked_at)
            case "chatwoot":
                app = httpx.ASGITransport(make_chatwoot_app(self.chatwoot))
                options = {"base_url": self.chatwoot.base_url, "account": "1"}
                return open_chatwoot(options, chatwoot.TOKEN, chatwoot.SECRET, app)
            case _:
                app = httpx.ASGITransport(self.linear.app)
                return open_linear({}, server.TOKEN, server.WEBHOOK_SECRET, app)


def fill_attio(attio: FakeAttio) -> None:
    """Add the customer, its people, the deal that is open, and what sales wrote about it; the forecast is for two people."""
    grace = attio.add_member("Grace Amundsen", _GRACE, access="admin")
    yusuf = attio.add_member("Yusuf Demir", _YUSUF)
    attio.add_member("Tomas Brandt", _TOMAS)
    nordwind = attio.add_record(
        "companies",
        {"name": "Nordwind Energie GmbH", "domains": "nordwind.example", "account_manager": yusuf},
    )
    katrin = attio.add_record(
        "people",
        {
            "name": "Katrin Albers",
            "email_addresses": _KATRIN,
            "job_title": "Head of network operations",
            "company": nordwind,
        },
    )
    deal = attio.add_record(
        "deals",
        {
            "name": "Nordwind southern network",
            "stage": "Qualified",
            "value": 310000,
            "owner": yusuf,
            "associated_people": katrin,
            "associated_company": nordwind,
        },
    )
    attio.add_note(
        deal,
        "Visit in Lübeck",
        "Katrin expects the decision on the southern network, 900 manholes, in November 2026.",
        yusuf,
    )
    attio.add_task(deal, "Hold the training day for eight installers in Lübeck.", grace, yusuf)
    forecast = attio.add_list(
        "Forecast", "forecast", "deals", {"probability": "text"}, [grace, yusuf]
    )
    attio.add_entry(forecast, deal, {"probability": "60 percent"})


def fill_chatwoot(chatwoot: FakeChatwoot) -> None:
    """Add the support inbox with the customer's open conversation, and a private note in it."""
    bob = chatwoot.add_agent("Bob Okafor", _BOB, role="administrator")
    nora = chatwoot.add_agent("Nora Lie", _NORA)
    tomas = chatwoot.add_agent("Tomas Brandt", _TOMAS)
    inbox = chatwoot.add_inbox("Support", [bob, nora, tomas])
    katrin = chatwoot.add_contact("Katrin Albers", _KATRIN)
    talk = chatwoot.add_conversation(
        inbox, katrin, assignee=nora, subject="Sensors in the harbour", labels=["nordwind"]
    )
    customer, agent = ("contact", katrin), ("user", nora)
    chatwoot.add_message(
        talk, "Three sensors in the harbour district report nothing since Monday.", customer
    )
    chatwoot.add_message(
        talk, "We replace the three sensors in the harbour district by 12 June 2026.", agent
    )
    chatwoot.add_message(
        talk, "Do not tell Nordwind which other customer has the fault.", agent, private=True
    )


def fill_linear(linear: LinearWorkspace) -> None:
    """Add the customer, an open issue of its that engineering works on, and a project; a private team has an issue of its own."""
    bob = records.add_user(linear, "Bob Okafor", _BOB)
    yusuf = records.add_user(linear, "Yusuf Demir", _YUSUF)
    tomas = records.add_user(linear, "Tomas Brandt", _TOMAS)
    sensors = records.add_team(linear, "SEN", "Sensors", [bob, yusuf, tomas])
    board = records.add_team(linear, "BRD", "Board", [bob], visibility="private")
    nordwind = records.add_customer(linear, "Nordwind Energie", ["nordwind.example"], owner=yusuf)
    project = records.add_project(linear, "Southern network", [sensors], lead=yusuf)
    silent = records.add_issue(
        linear,
        sensors,
        "Sensors in the harbour district fall silent",
        "The radio of the three sensors at Nordwind Energie loses its key after a restart. The fix is open until firmware 4.2 in June 2026.",
        assignee=bob,
        creator=yusuf,
        project=project,
    )
    records.add_need(
        linear, nordwind, "Nordwind Energie waits for sensors that report again.", issue=silent
    )
    records.add_issue(
        linear,
        board,
        "Whether to sell the radio division",
        "Nordwind Energie must not hear of it.",
        creator=bob,
    )


def fill_pilots(company: ExampleCompany) -> None:
    """Add two customers that no document names, and Ada Lindqvist, who has accounts in all three systems and reviews the links.

    Two deals and one project have the title "Leak survey pilot": the link between the deal of Ravensbrook Water and the project for
    Elmhurst Brewery is wrong.
    """
    attio, linear = company.attio, company.linear.workspace
    attio.add_member("Ada Lindqvist", _ADA)
    ravensbrook = attio.add_record(
        "companies", {"name": "Ravensbrook Water Ltd", "domains": "ravensbrook.example"}
    )
    elmhurst = attio.add_record(
        "companies", {"name": "Elmhurst Brewery", "domains": "elmhurst.example"}
    )
    priya = attio.add_record(
        "people", {"name": "Priya Shah", "email_addresses": _PRIYA, "company": ravensbrook}
    )
    for customer in (ravensbrook, elmhurst):
        attio.add_record(
            "deals",
            {
                "name": "Leak survey pilot",
                "stage": "Qualified",
                "value": 24000,
                "owner": next(iter(attio.members)),
                "associated_people": [priya] if customer == ravensbrook else [],
                "associated_company": customer,
            },
        )
    ada = records.add_user(linear, "Ada Lindqvist", _ADA)
    pilots = records.add_team(linear, "PIL", "Pilots", [ada])
    records.add_customer(linear, "Ravensbrook Water", ["ravensbrook.example"], owner=ada)
    brewery = records.add_customer(linear, "Elmhurst Brewery", ["elmhurst.example"], owner=ada)
    project = records.add_project(linear, "Leak survey pilot", [pilots], lead=ada)
    survey = records.add_issue(
        linear,
        pilots,
        "Survey the cooling lines at Elmhurst Brewery",
        "Elmhurst Brewery lends us one night in July 2026. The survey needs six sensors.",
        assignee=ada,
        creator=ada,
        project=project,
    )
    records.add_need(
        linear,
        brewery,
        "Elmhurst Brewery wants to know where the cooling water goes.",
        issue=survey,
    )
    records.add_need(linear, brewery, "A survey in one night.", project=project)
    chatwoot = company.chatwoot
    agent = chatwoot.add_agent("Ada Lindqvist", _ADA)
    inbox = chatwoot.add_inbox("Pilots", [agent])
    contact = chatwoot.add_contact("Priya Shah", _PRIYA)
    talk = chatwoot.add_conversation(
        inbox, contact, assignee=agent, subject="The pilot in Ravensbrook"
    )
    chatwoot.add_message(
        talk, "Can the pilot at Ravensbrook Water begin in September 2026?", ("contact", contact)
    )

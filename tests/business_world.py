"""A second company in the stand-ins for Attio, Chatwoot and Linear, and questions about what it owes: no rule was written on it.

Okapi Print has customers who promise things themselves, two of similar names, work that is done, work without a day, and days long past.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from lightwell.domain.business_systems import Source
from lightwell.ports import ItemSource
from lightwell.testing.attio import FakeAttio
from lightwell.testing.chatwoot import FakeChatwoot
from lightwell.testing.example_company import ExampleCompany
from lightwell.testing.linear import records
from lightwell.testing.linear.server import LinearServer
from lightwell.testing.linear.workspace import LinearWorkspace

MARA, IDRIS, PIA = "mara@okapi.example", "idris@okapi.example", "pia@okapi.example"
ALL = "all"


class PrintShop:
    """The three systems of Okapi Print in memory."""

    def __init__(self) -> None:
        self.company = ExampleCompany.__new__(ExampleCompany)
        self.company.attio, self.company.chatwoot = FakeAttio(), FakeChatwoot()
        self.company.linear = LinearServer(workspace=LinearWorkspace())
        _fill_attio(self.company.attio)
        _fill_chatwoot(self.company.chatwoot)
        _fill_linear(self.company.linear.workspace)

    def open(self, source: Source) -> AbstractAsyncContextManager[ItemSource]:
        return self.company.open(source)


def _task(
    attio: FakeAttio, record: str, text: str, who: str, due: str, *, done: bool = False
) -> None:
    task = attio.add_task(record, text, who, who)
    deadline = f"{due}T00:00:00.000000000Z" if due else None
    attio.tasks[task] |= {"deadline_at": deadline, "is_completed": done}


def _fill_attio(attio: FakeAttio) -> None:
    mara = attio.add_member("Mara Voss", MARA, access="admin")
    piet = attio.add_member("Piet Hagen", "piet@okapi.example")

    def customer(name: str, domain: str, person: str, email: str) -> tuple[str, str]:
        company = attio.add_record(
            "companies", {"name": name, "domains": domain, "account_manager": mara}
        )
        values = {"name": person, "email_addresses": email, "company": company}
        return company, attio.add_record("people", values)

    def deal(name: str, stage: str, company: str, person: str) -> str:
        return attio.add_record(
            "deals",
            {
                "name": name,
                "stage": stage,
                "value": 42000,
                "owner": mara,
                "associated_people": person,
                "associated_company": company,
            },
        )

    optik, jonas = customer(
        "Brennfeld Optik GmbH",
        "brennfeld-optik.example",
        "Jonas Brandl",
        "jonas@brennfeld-optik.example",
    )
    logistik, ute = customer(
        "Brennfeld Logistik AG",
        "brennfeld-logistik.example",
        "Ute Kern",
        "ute@brennfeld-logistik.example",
    )
    corvin, claire = customer(
        "Atelier Corvin", "corvin.example", "Claire Mercier", "claire@corvin.example"
    )
    lumen, tess = customer("Lumen Dental", "lumen.example", "Tess Hale", "tess@lumen.example")
    catalogue = deal("Lens catalogue", "In Progress", optik, jonas)
    labels = deal("Pallet labels", "In Progress", logistik, ute)
    posters = deal("Affiches de printemps", "Lead", corvin, claire)
    panels = deal("Waiting room panels", "Won 🎉", lumen, tess)
    _task(attio, catalogue, "Send the revised colour proofs to Jonas.", mara, "2031-03-14")
    _task(attio, catalogue, "Check the paper quote.", mara, "")
    _task(attio, labels, "Order the die for the labels.", piet, "2031-03-20")
    _task(attio, optik, "Renew the frame agreement.", mara, "2025-02-10")
    _task(attio, optik, "Archive the old samples.", piet, "2025-01-15", done=True)
    _task(attio, posters, "Envoyer le devis corrigé.", mara, "2031-04-02")
    _task(attio, panels, "Install the panels in Leeds.", piet, "2031-03-05", done=True)
    attio.add_note(
        catalogue,
        "Call about the catalogue",
        "Jonas sends the photos by 3 March 2031. We deliver the first 500 copies by 28 March 2031.",
        mara,
    )
    attio.add_note(
        posters,
        "Réunion",
        "Claire veut des couleurs plus claires. Nous livrons les épreuves avant le 18 mars 2031.",
        mara,
    )
    margin = attio.add_list("Margins", "margins", "deals", {"margin": "text"}, [mara])
    entry = attio.add_entry(margin, catalogue, {"margin": "9 percent"})
    attio.add_comment(
        catalogue, "We grant Brennfeld Optik the rebate by 1 March 2031.", mara, entry
    )


def _fill_chatwoot(chatwoot: FakeChatwoot) -> None:
    idris = chatwoot.add_agent("Idris Kone", IDRIS, role="administrator")
    mara = chatwoot.add_agent("Mara Voss", MARA)
    inbox = chatwoot.add_inbox("Support", [idris, mara])
    agent = ("user", idris)

    def talk(name: str, email: str, subject: str, *messages: str) -> int:
        """Add a conversation that the contact begins, and in which both write in turn."""
        contact = chatwoot.add_contact(name, email)
        conversation = chatwoot.add_conversation(inbox, contact, assignee=idris, subject=subject)
        for place, text in enumerate(messages):
            chatwoot.add_message(conversation, text, agent if place % 2 else ("contact", contact))
        return conversation

    crate = talk(
        "Jonas Brandl",
        "jonas@brennfeld-optik.example",
        "Missing crate",
        "A crate is missing. We will pay the open invoice by 10 March 2031.",
        "Thank you. I will have the missing crate at your door by 12 March 2031.",
        "Good. We promise to be there.",
        "Could you send us the delivery note by 4 March 2031?",
    )
    chatwoot.add_message(crate, "The driver is on strike until 11 March 2031.", agent, private=True)
    cracked = talk(
        "Tess Hale",
        "tess@lumen.example",
        "Cracked panel",
        "One panel is cracked.",
        "We replace the cracked panel by 20 January 2025.",
    )
    chatwoot.change_conversation(cracked, status="resolved")
    talk(
        "Claire Mercier",
        "claire@corvin.example",
        "Textes",
        "Nous vous enverrons les textes avant le 5 mars 2031.",
        "Merci. Nous vous rappelons d'ici le 7 mars 2031.",
    )
    talk(
        "Ute Kern",
        "ute@brennfeld-logistik.example",
        "Etiketten",
        "Bis wann kommen die Etiketten?",
        "Wir liefern die Etiketten bis zum 25. März 2031.",
    )


def _fill_linear(linear: LinearWorkspace) -> None:
    pia = records.add_user(linear, "Pia Lund", PIA)
    mara = records.add_user(linear, "Mara Voss", MARA)
    press = records.add_team(linear, "PRS", "Press room", [pia, mara])
    board = records.add_team(linear, "BRD", "Board", [mara], visibility="private")
    optik = records.add_customer(linear, "Brennfeld Optik", ["brennfeld-optik.example"], owner=mara)
    done = records.add_state(linear, "Done", "completed")

    def issue(title: str, text: str, due: str | None, **fields: object) -> str:
        team = str(fields.pop("team", press))
        return records.add_issue(
            linear, team, title, text, assignee=pia, creator=pia, dueDate=due, **fields
        )

    drift = issue("Colour drift on long runs", "Blue shifts after 4,000 sheets.", "2031-03-18")
    records.add_need(linear, optik, "The frames on page 12 look green.", issue=drift)
    issue("New rollers for press 4", "The old ones are worn.", "2031-05-09")
    issue("Calibrate the cutter", "It cuts two millimetres short.", "2025-06-01")
    issue("Clean the ink lines", "They are dry.", "2031-03-09", state=done)
    issue("Ventilation is loud", "Nobody has looked yet.", None)
    issue("Sell press 2", "An offer is there.", "2031-03-11", team=board)
    records.add_comment(
        linear, "I'll have a new profile ready by 15 March 2031.", issue=drift, user=pia
    )
    guest = linear.add("ExternalUser", name="Jonas Brandl", email="jonas@brennfeld-optik.example")
    records.add_comment(linear, "We'll test it by 16 March 2031.", issue=drift, externalUser=guest)


PROOFS, PAPER, DIE, FRAME = (
    "revised colour proofs",
    "paper quote",
    "Order the die",
    "frame agreement",
)
SAMPLES, QUOTE, PANELS = "Archive the old samples", "devis corrigé", "Install the panels"
COPIES, PROSPECTS, REBATE = "first 500 copies", "livrons les épreuves", "the rebate"
CRATE, CRACKED, CALL, LABELS = (
    "missing crate at your door",
    "cracked panel by",
    "rappelons",
    "liefern die Etiketten",
)
DRIFT, ROLLERS, CUTTER, INK, PRESS = (
    "Colour drift",
    "New rollers",
    "Calibrate the cutter",
    "Clean the ink",
    "Sell press 2",
)
PROFILE = "a new profile ready"
THEIRS = (
    "pay the open invoice",
    "sends the photos",
    "We promise to be there",
    "enverrons les textes",
    "delivery note",
    "We'll test it",
    "on strike",
)
"""What customers say they will do, what we ask of them, and what is not said to them: none of it is owed by us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with what its answer must hold, and must not; without `right` it must be refused. `who` asks: an address, or all of them."""

    text: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    who: str = ALL


_OTHER = (*THEIRS, SAMPLES, PANELS, INK, CRACKED)
DEV = (
    Asked(text="What did we promise about deadlines?", right=(CRATE, COPIES), wrong=_OTHER),
    Asked(
        text="What is due in March 2031?",
        right=(PROOFS, DIE, DRIFT),
        wrong=(*_OTHER, QUOTE, ROLLERS, FRAME),
    ),
    Asked(
        text="Which commitments do we have towards Brennfeld Optik?",
        right=(PROOFS, FRAME, COPIES, CRATE, DRIFT),
        wrong=(*_OTHER, DIE, LABELS, QUOTE, ROLLERS),
    ),
    Asked(text="What is overdue?", right=(FRAME, CUTTER), wrong=(*_OTHER, PROOFS, DIE)),
    Asked(
        text="What did we tell Brennfeld Optik we would do by 12 March 2031?",
        right=(CRATE,),
        wrong=(*_OTHER, LABELS, DIE),
    ),
    Asked(
        text="Was ist im März 2031 fällig?",
        right=(PROOFS, DIE, DRIFT),
        wrong=(*_OTHER, QUOTE, ROLLERS),
    ),
    Asked(
        text="Was haben wir Brennfeld Logistik zugesagt?",
        right=(LABELS,),
        wrong=(*_OTHER, CRATE, COPIES, PROOFS),
    ),
    Asked(
        text="Qu'avons-nous promis à Atelier Corvin ?",
        right=(PROSPECTS, CALL),
        wrong=(*_OTHER, CRATE, PROOFS),
    ),
    Asked(
        text="What is due in March 2031?",
        right=(DRIFT,),
        wrong=(*_OTHER, PROOFS, DIE, PRESS),
        who=PIA,
    ),
    Asked(text="What is due in August 2031?", wrong=(PROOFS, DIE, FRAME)),
    Asked(text="Welche Aufgaben sind überfällig?", right=(FRAME, CUTTER), wrong=(*_OTHER, PROOFS)),
    Asked(text="Which deadlines do we have with Lumen Dental?", wrong=(PROOFS, CRATE, PANELS)),
    Asked(text="When is the issue about colour drift due?", right=("2031-03-18",)),
    Asked(
        text="What did we promise Brennfeld Optik?",
        right=(CRATE,),
        wrong=(*_OTHER, PROOFS, LABELS),
        who=IDRIS,
    ),
)
TEST = (
    Asked(
        text="What have we committed to deliver to Brennfeld Optik?",
        right=(COPIES, CRATE),
        wrong=(*_OTHER, LABELS, DIE),
    ),
    Asked(
        text="What must be done by the end of March 2031?",
        right=(PROOFS, DIE, DRIFT),
        wrong=(*_OTHER, QUOTE, ROLLERS),
    ),
    Asked(
        text="Which tasks are due in May 2031?", right=(ROLLERS,), wrong=(*_OTHER, PROOFS, QUOTE)
    ),
    Asked(
        text="Are there any open promises to Brennfeld Logistik?",
        right=(LABELS,),
        wrong=(*_OTHER, CRATE, PROOFS),
    ),
    Asked(text="Which deadlines have we missed?", right=(FRAME, CUTTER), wrong=(*_OTHER, PROOFS)),
    Asked(text="Qu'est-ce qui est en retard ?", right=(FRAME, CUTTER), wrong=(*_OTHER, PROOFS)),
    Asked(
        text="Quelles échéances avons-nous en avril 2031 ?",
        right=(QUOTE,),
        wrong=(*_OTHER, PROOFS, ROLLERS),
    ),
    Asked(
        text="Welche Zusagen haben wir gegenüber Brennfeld Optik?",
        right=(COPIES, CRATE),
        wrong=(*_OTHER, LABELS),
    ),
    Asked(
        text="What do we owe Atelier Corvin?",
        right=(PROSPECTS, CALL, QUOTE),
        wrong=(*_OTHER, CRATE),
    ),
    Asked(
        text="What did Idris Kone promise Jonas Brandl?",
        right=(CRATE,),
        wrong=(*_OTHER, LABELS, CALL),
    ),
    Asked(text="What is overdue?", wrong=(FRAME, CUTTER), who=IDRIS),
    Asked(text="What was due in 2025?", right=(FRAME, CUTTER), wrong=(*THEIRS, PROOFS, DIE)),
    Asked(text="Who ordered the die for the labels?", wrong=(PROOFS, CRATE)),
    Asked(
        text="What is due next for the Lens catalogue?",
        right=(PROOFS,),
        wrong=(*_OTHER, DIE, LABELS),
    ),
)
OPEN = (
    Asked(
        text="What is open with Brennfeld Optik?",
        right=(FRAME, CRATE, PROOFS, DRIFT, COPIES, PAPER, "Lens catalogue (Deal stage"),
        wrong=(*_OTHER, DIE, LABELS, QUOTE, ROLLERS, "Pallet labels"),
    ),
    Asked(
        text="What is open with Brennfeld Logistik?",
        right=(DIE, LABELS, "Pallet labels (Deal stage"),
        wrong=(*_OTHER, CRATE, PROOFS, "Lens catalogue"),
    ),
    Asked(
        text="What is open with Atelier Corvin?",
        right=(QUOTE, CALL, PROSPECTS),
        wrong=(*_OTHER, CRATE, DIE),
    ),
    Asked(text="What is open with Lumen Dental?", wrong=(CRACKED, PANELS, DIE, PROOFS)),
    Asked(
        text="What is open with Brennfeld Optik?",
        right=(CRATE,),
        wrong=(*THEIRS[:1], LABELS, CALL),
        who=IDRIS,
    ),
)
"""What is open with somebody; the last is asked by one who sees no system that knows the company, only what names it."""

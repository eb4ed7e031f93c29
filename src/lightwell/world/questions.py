"""What people ask in the example world, where the answer stands, and who may hear it."""

from dataclasses import dataclass

_EVERYBODY = frozenset({"ada", "bob", "grace"})
_ADA = frozenset({"ada"})
_BOB = frozenset({"bob"})
_GRACE = frozenset({"grace"})
_NOBODY = frozenset[str]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands: `quote` is literally there, up to white space.

    `location` is `page 3` in a pdf, a heading elsewhere, and empty in a plain text. In a quote from
    a table, ` | ` stands between two cells of a row.
    """

    file: str
    location: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the short text its answer must contain, literally in the last of `places`.

    All `places` are needed, in the order in which one leads to the next. A question without any
    is answered by no document, and its `answer` is empty.
    """

    text: str
    answer: str
    places: tuple[Place, ...]
    may_answer: frozenset[str]

    @property
    def answered_by(self) -> tuple[str, ...]:
        """The files needed, relative to `DOCUMENTS`."""
        return tuple(place.file for place in self.places)


def _answered_by_one(
    text: str, answer: str, place: tuple[str, str, str], who: frozenset[str]
) -> Question:
    return Question(text=text, answer=answer, places=(_make_place(place),), may_answer=who)


def _answered_by_two(
    text: str,
    answer: str,
    first: tuple[str, str, str],
    then: tuple[str, str, str],
    who: frozenset[str],
) -> Question:
    return Question(
        text=text, answer=answer, places=(_make_place(first), _make_place(then)), may_answer=who
    )


def _unanswerable(text: str) -> Question:
    return Question(text=text, answer="", places=(), may_answer=_NOBODY)


def _make_place(place: tuple[str, str, str]) -> Place:
    file, where, quote = place
    return Place(file=file, location=where, quote=quote)


_LEAK = _answered_by_one(
    "How small a leak must the Tarn 4 detect on a cast iron pipe, and from how far away?",
    "0.8 litres per minute",
    (
        "engineering/tarn-4-specification.pdf",
        "page 3",
        "must detect a leak of 0.8 litres per minute from a distance of 60 metres",
    ),
    _ADA,
)
_BURSTS = _answered_by_one(
    "How many pairs of bursts does a Skarn average for one reading?",
    "64 pairs",
    ("engineering/transit-time.md", "Averaging", "averages 64 pairs for each reading"),
    _ADA,
)
_DISCOUNT = _answered_by_one(
    "What discount does Nordwind Energie receive?",
    "18 percent",
    (
        "sales/nordwind-energie-contract.pdf",
        "page 2",
        "Nordwind receives a discount of 18 percent on all items",
    ),
    _GRACE,
)
_CASTELL_PENALTY = _unanswerable("What may Castell Water deduct for each week of late delivery?")

_FOR_EVERYBODY = (
    _answered_by_one(
        "How many days of paid leave does everyone have?",
        "27 days",
        ("people/leave-policy.html", "How many days", "27 days of paid leave a year"),
        _EVERYBODY,
    ),
    _answered_by_one(
        "How soon must I report a stolen laptop?",
        "within one hour",
        ("company/security-policy.pdf", "page 1", "is reported within one hour"),
        _EVERYBODY,
    ),
    _answered_by_one(
        "What do we get for meals on a working day in Germany?",
        "€58",
        ("company/travel-policy.docx", "Meals and nights", "Germany | €58"),
        _EVERYBODY,
    ),
    _answered_by_one(
        "On which day is the Bergen office closed, and why?",
        "22 May 2026",
        ("company/office-note.txt", "", "Friday 22 May 2026: lift repair"),
        _EVERYBODY,
    ),
    _answered_by_one(
        "Who is purchasing manager at Nordwind Energie?",
        "Jonas Weber",
        (
            "company/names-we-confuse.md",
            "Two men called Jonas Weber",
            "is purchasing manager at Nordwind Energie: jonas.weber@nordwind.example",
        ),
        _EVERYBODY,
    ),
    _answered_by_one(
        "Which company drives our pallets?",
        "Nordwind Logistik AG",
        (
            "company/names-we-confuse.md",
            "Two companies called Nordwind",
            "They are a supplier: our haulier for pallets",
        ),
        _EVERYBODY,
    ),
    _answered_by_one(
        "Up to what amount may support grant a credit without asking?",
        "€500",
        ("company/handbook.md", "Complaints", "Refunds and credits up to €500"),
        _EVERYBODY,
    ),
)

_FOR_ENGINEERING = (
    _LEAK,
    _answered_by_one(
        "How much current did the Tarn 4 draw below -10 °C before the repair?",
        "1.1 mA",
        ("engineering/issues/ENG-42.md", "What we see", "draws 1.1 mA on average"),
        _ADA,
    ),
    _answered_by_one(
        "When was firmware 4.3.0 released, and what was new in it?",
        "16 February 2026",
        ("engineering/release-notes.txt", "", "4.3.0 (16 February 2026)"),
        _ADA,
    ),
    _BURSTS,
    _answered_by_one(
        "How many gateways were refused in incident INC-2026-03?",
        "212 gateways",
        (
            "engineering/postmortem-inc-2026-03.docx",
            "Summary",
            "refused 212 gateways of nine customers",
        ),
        _ADA,
    ),
    _answered_by_one(
        "When does the new embedded engineer start?",
        "1 June 2026",
        ("people/hiring-plan-2026.md", "Hiring plan 2026", "Engineering | 1 June 2026"),
        frozenset({"ada", "grace"}),
    ),
)

_FOR_SUPPORT = (
    _answered_by_one(
        "How many manholes did Nordwind's crew open while the sensors were silent?",
        "eleven manholes",
        (
            "support/ticket-1187-nordwind-outage.md",
            "What happened",
            "drove to the harbour and opened eleven manholes",
        ),
        _BOB,
    ),
    _answered_by_one(
        "How long is the service button of a Fjell gateway held to restart it?",
        "12 seconds",
        (
            "support/runbook-fjell-gateway.html",
            "Case A: the certificate has run out",
            "hold the service button for 12 seconds",
        ),
        _BOB,
    ),
    _answered_by_one(
        "How fast must we answer a P1?",
        "30 minutes",
        ("support/escalation-policy.docx", "Classes", "a whole network is blind | 30 minutes"),
        _BOB,
    ),
)

_FOR_FINANCE = (
    _DISCOUNT,
    _answered_by_one(
        "What is the gross margin of the Nordwind Energie contract?",
        "12.6 %",
        ("finance/contract-margins.html", "Contracts signed in 2026", "€375,720 | 12.6 %"),
        _GRACE,
    ),
    _answered_by_one(
        "How much does Meridian Flow offer for all shares?",
        "€21 million",
        ("finance/board-pack-2026-q1.pdf", "page 3", "all shares for €21 million in cash"),
        _GRACE,
    ),
    _answered_by_one(
        "By when did we promise Castell Water a migration plan?",
        "17 April 2026",
        ("sales/castell-water-call.txt", "", "district by district, by 17 April 2026"),
        _GRACE,
    ),
    _answered_by_one(
        "Bis wann gilt unser Angebot an die Stadtwerke Ilmenbach?",
        "29. Mai 2026",
        (
            "sales/angebot-ilmenbach.docx",
            "Lieferung und Bindung",
            "Dieses Angebot ist gültig bis zum 29. Mai 2026",
        ),
        _GRACE,
    ),
    _answered_by_one(
        "Combien la régie de la Valserine a-t-elle réservé pour l'essai ?",
        "140 000 euros",
        (
            "sales/compte-rendu-valserine.md",
            "Budget et calendrier",
            "Le conseil a réservé 140 000 euros",
        ),
        _GRACE,
    ),
)

_ORDER = (
    "company/all-hands-2026-03.md",
    "News",
    "Nordwind Energie in Lübeck ordered 1,200 sensors of the type Tarn 4",
)

_OVER_TWO_DOCUMENTS = (
    _answered_by_two(
        "Who leads the project that delivers the sensor ordered by Nordwind Energie?",
        "Priya Raman",
        _ORDER,
        (
            "engineering/roadmap-2026.md",
            "Projects",
            "Tarn 4 in volume, firmware 4.3 and later | Priya Raman",
        ),
        _ADA,
    ),
    _answered_by_two(
        "What is the 2026 budget of the project for the sensor that Nordwind Energie ordered?",
        "€610,000",
        _ORDER,
        ("finance/budget-2026.docx", "Development projects", "Tarn 4 in volume | €610,000"),
        _GRACE,
    ),
    _answered_by_two(
        "Were Nordwind's readings lost while its sensors were silent in January?",
        "72 hours",
        (
            "support/ticket-1187-nordwind-outage.md",
            "What happened",
            "silent in Tidewater for 31 hours",
        ),
        (
            "support/installation-guide.pdf",
            "page 3",
            "The gateway keeps readings for 72 hours when it has no connection",
        ),
        _BOB,
    ),
    _answered_by_two(
        "What keeps the cause of INC-2026-03 from coming back, and by when is it due?",
        "30 May 2026",
        (
            "engineering/postmortem-inc-2026-03.docx",
            "What we change",
            "Certificates are renewed automatically | ENG-57",
        ),
        ("engineering/issues/ENG-57.md", "ENG-57", "Due: 30 May 2026"),
        _ADA,
    ),
    _answered_by_two(
        "What is the e-mail address of the leader of project Plover?",
        "samuel.ortiz@halden.example",
        ("engineering/roadmap-2026.md", "Projects", "the new dashboard | Samuel Ortiz"),
        ("company/who-is-who.html", "Engineering", "Software engineer | samuel.ortiz@halden"),
        _ADA,
    ),
    _answered_by_two(
        "Who had to agree in writing to the discount offered to Stadtwerke Ilmenbach?",
        "Grace Amundsen",
        (
            "sales/angebot-ilmenbach.docx",
            "Preise",
            "Der Einzelpreis enthält einen Nachlass von 15 Prozent",
        ),
        (
            "sales/pricing-guide.docx",
            "What needs a signature",
            "above the table needs the written consent of Grace Amundsen",
        ),
        _GRACE,
    ),
    _answered_by_two(
        "How many days late did Nordwind Energie pay the deposit that the contract asks for?",
        "25 days late",
        (
            "sales/nordwind-energie-contract.pdf",
            "page 2",
            "A deposit of 20 percent is invoiced on signature",
        ),
        ("finance/payments-log.md", "Nordwind Energie", "that is 25 days late"),
        _GRACE,
    ),
)

_ANSWERED_NOWHERE = (
    _CASTELL_PENALTY,
    _unanswerable("On which day does our contract with Marlowe Dairy end?"),
    _unanswerable("How many years does the battery of the Skarn S3 last?"),
    _unanswerable("How many Tarn 3 sensors did Castell Water buy in 2021?"),
    _unanswerable("What rent do we pay for the Hamburg office?"),
    _unanswerable("Who leads project Gannet?"),
    _unanswerable("How long was Tidewater down in May 2025?"),
)

QUESTIONS = (
    *_FOR_EVERYBODY,
    *_FOR_ENGINEERING,
    *_FOR_SUPPORT,
    *_FOR_FINANCE,
    *_OVER_TWO_DOCUMENTS,
    *_ANSWERED_NOWHERE,
)

DEMO = (
    (_BURSTS, "ada", "bob"),
    (_DISCOUNT, "grace", "ada"),
    (_CASTELL_PENALTY, "grace", "bob"),
)
"""A question, who asks it first, who asks it next; keys of `PEOPLE`. Nobody can answer the last."""

"""A labelled world of companies, people and deals, as three business systems know them: with gaps, typing errors and namesakes.

Everything follows from a seed. Two copies of one company or person in different systems are a true pair, and so is a deal with
its project.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from lightwell.domain.ids import EntityId, GlobalRef
from lightwell.domain.item_structure import LinkType
from lightwell.domain.link_subjects import LinkSubject
from lightwell.domain.links import SYMMETRIC
from lightwell.text.identifiers import fold_letters

COMPANIES, PEOPLE, DEALS = 80, 80, 40

_FIRST = """Nord Süd Ost West Grün Hafen Küsten Alpen Rhein Elbe Tarn Osprey Merlin Falken Bären Müller Schröder Krüger Weiß Jäger
Acme Vector Quanta Lumen Helio Terra Aqua Ferro Silva Nova Orion Atlas Vega Delta Kappa Brück Löwen Möwen Stein Feld""".split()
_SECOND = """wind werk bau tech soft logistik energie druck metall pharma data systems labs foods media trans pumpen optik glas
holz""".split()
_FORMS = ("GmbH", "AG", "GmbH & Co. KG", "Inc.", "Ltd", "SE", "S.p.A.", "B.V.")
_CITIES = "Kiel Hamburg Köln München Wien Zürich Oslo Malmö Leeds Turin Utrecht Boston".split()
_SUFFIXES = ("de", "com", "co.uk", "eu", "at", "io")
_GIVEN = """Anna Björn Clara Dörte Emil Frida Günther Hanna Ida Jürgen Käthe Lars Marie Nils Olga Paul Renée Sören Thea Ute Vera
William Yvonne Zoë""".split()
_FAMILY = """Schmidt Müller Weiß Krüger Larsen Rossi Smith Jones Öztürk Nowak Dvořák Garcia Lindström Bauer König Hofmann Peters Sørensen
Vogt Winkler""".split()
_FREE = ("gmail.com", "gmx.de", "web.de", "outlook.com")
_WORK = (
    "Rollout",
    "Relaunch",
    "Migration",
    "Pilot",
    "Audit",
    "Onboarding",
    "Support",
    "Integration",
)
_UNITS = ("Logistik", "Services", "Immobilien", "Digital")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How often something is missing or wrong: probabilities."""

    no_domain: float
    no_phone: float
    no_location: float
    typo: float
    free_mail: float
    new_job: float
    other_address: float


REALISTIC = Noise(
    no_domain=0.08,
    no_phone=0.4,
    no_location=0.4,
    typo=0.08,
    free_mail=0.08,
    new_job=0.04,
    other_address=0.04,
)
HARSH = Noise(
    no_domain=0.3,
    no_phone=0.6,
    no_location=0.6,
    typo=0.2,
    free_mail=0.2,
    new_job=0.1,
    other_address=0.15,
)
NOISE = {"realistic": REALISTIC, "harsh": HARSH}

Pair = tuple[LinkType, EntityId, EntityId]


@dataclass(frozen=True, slots=True)
class Company:
    name: str
    form: str
    city: str
    domain: str
    phone: str
    short: str = ""
    """The name that people use, if it is not the whole one."""


@dataclass(slots=True)
class World:
    """What three systems know; `truth` are the true pairs by their kind."""

    subjects: list[LinkSubject] = field(default_factory=list[LinkSubject])
    truth: dict[str, set[Pair]] = field(default_factory=dict[str, set[Pair]])

    def add_pairs(self, kind: str, type_: LinkType, copies: Sequence[LinkSubject]) -> None:
        for place, one in enumerate(copies):
            for other in copies[place + 1 :]:
                self.add_pair(kind, type_, one, other)

    def add_pair(self, kind: str, type_: LinkType, one: LinkSubject, other: LinkSubject) -> None:
        if one.system != other.system:
            self.truth.setdefault(kind, set()).add(ordered(type_, one.id, other.id))


def ordered(type_: LinkType, one: EntityId, other: EntityId) -> Pair:
    """Return the pair as the scoring orders it."""
    if type_ in SYMMETRIC and one.int > other.int:
        return (type_, other, one)
    return (type_, one, other)


@dataclass(slots=True)
class Generator:
    """Makes one world."""

    source: random.Random
    noise: Noise
    world: World = field(default_factory=World)
    number: int = 0
    addresses: set[str] = field(default_factory=set[str])

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def make(self) -> World:
        companies = self.companies()
        copies = [self.company_copies(each) for each in companies]
        self.people(companies, copies)
        for _ in range(DEALS):
            place = self.source.randrange(len(companies))
            self.deal(companies[place], copies[place])
        return self.world

    def companies(self) -> list[Company]:
        """Return companies: a tenth are subsidiaries with the parent's domain, a tenth have another's name elsewhere."""
        made: list[Company] = []
        while len(made) < COMPANIES:
            kind = self.source.random()
            if made and kind < 0.1:
                made.append(self.subsidiary(self.source.choice(made)))
            elif made and kind < 0.2:
                made.append(self.namesake(self.source.choice(made)))
            else:
                made.append(self.company())
        return made

    def company(self) -> Company:
        name = self.source.choice(_FIRST) + self.source.choice(_SECOND)
        second = self.source.choice(["", "", *_UNITS, "Gruppe", "Nord"])
        domain = (
            f"{fold_letters(name)}{self.source.randrange(10, 99)}.{self.source.choice(_SUFFIXES)}"
        )
        return Company(
            name=f"{name.title()} {second}".strip(),
            form=self.source.choice(_FORMS),
            city=self.source.choice(_CITIES),
            domain=domain,
            phone=self.phone(),
            short=name.title() if second and self.chance(0.3) else "",
        )

    def subsidiary(self, parent: Company) -> Company:
        unit = self.source.choice([each for each in _UNITS if each not in parent.name])
        return Company(
            name=f"{parent.name} {unit}",
            form=self.source.choice(_FORMS),
            city=self.source.choice(_CITIES),
            domain=parent.domain,
            phone=self.phone(),
        )

    def namesake(self, other: Company) -> Company:
        city = self.source.choice([each for each in _CITIES if each != other.city])
        domain = f"{fold_letters(other.name).replace(' ', '-')}-{fold_letters(city)}.com"
        return Company(
            name=other.name,
            form=self.source.choice(_FORMS),
            city=city,
            domain=domain,
            phone=self.phone(),
        )

    def company_copies(self, company: Company) -> list[LinkSubject]:
        copies: list[LinkSubject] = []
        for system, kind in (("attio", "company"), ("linear", "customer"), ("chatwoot", "company")):
            if copies and not self.chance(0.85):
                continue
            name = company.name
            if system != "attio" and company.short and self.chance(0.4):
                name = company.short
            if self.chance(self.noise.typo):
                name = self.misspelled(name)
            if system == "attio" or self.chance(0.4):
                name = f"{name} {company.form}"
            known = {
                "domain": "" if self.chance(self.noise.no_domain) else self.website(company.domain),
                "phone": "" if self.chance(self.noise.no_phone) else company.phone,
                "location": "" if self.chance(self.noise.no_location) else company.city,
            }
            copies.append(self.subject(system, kind, name, known))
        self.world.add_pairs("company same_as", LinkType.SAME_AS, copies)
        return copies

    def people(self, companies: Sequence[Company], copies: Sequence[Sequence[LinkSubject]]) -> None:
        names: list[str] = []
        for _ in range(PEOPLE):
            place = self.source.randrange(len(companies))
            if names and self.chance(0.08):
                name = self.source.choice(names)
            else:
                name = f"{self.source.choice(_GIVEN)} {self.source.choice(_FAMILY)}"
            names.append(name)
            mine = self.person_copies(name, companies[place])
            for one in mine:
                if any(each.endswith(companies[place].domain) for each in one.emails):
                    for company in copies[place]:
                        self.world.add_pair(
                            "person related_to company", LinkType.RELATED_TO, one, company
                        )

    def person_copies(self, name: str, company: Company) -> list[LinkSubject]:
        first, last = (fold_letters(each).replace("-", "") for each in name.split())
        work = self.source.choice([f"{first}.{last}", f"{first[0]}.{last}", f"{first[0]}{last}"])
        while (address := f"{work}@{company.domain}") in self.addresses:
            work += str(self.source.randrange(2, 9))
        self.addresses.add(address)
        phone = self.phone()
        copies: list[LinkSubject] = []
        for system, kind in (("attio", "person"), ("linear", "user"), ("chatwoot", "contact")):
            if copies and not self.chance(0.7):
                continue
            email = address
            if system == "chatwoot" and self.chance(self.noise.free_mail):
                email = f"{first}{last}{self.source.randrange(99)}@{self.source.choice(_FREE)}"
            elif system == "attio" and self.chance(self.noise.new_job):
                email = f"{work}@{fold_letters(self.source.choice(_FIRST))}altefirma.de"
            elif self.chance(self.noise.other_address):
                email = f"info@{company.domain}"
            known = {
                "email": email,
                "phone": "" if self.chance(self.noise.no_phone) else phone,
            }
            copies.append(self.subject(system, kind, self.written(name), known))
        self.world.add_pairs("person same_as", LinkType.SAME_AS, copies)
        return copies

    def written(self, name: str) -> str:
        first, last = name.split()
        form = self.source.random()
        if form < 0.15:
            return f"{last}, {first}"
        if form < 0.25:
            return f"{first[0]}. {last}"
        if form < 0.35:
            return fold_letters(name).title()
        return self.misspelled(name) if self.chance(self.noise.typo) else name

    def deal(self, company: Company, copies: Sequence[LinkSubject]) -> None:
        """Add a deal with its project, and in a third of the cases a second phase of both."""
        work = self.source.choice(_WORK)
        phases = [" Phase 1", " Phase 2"] if self.chance(0.33) else [""]
        customer = company.short or company.name
        for phase in phases:
            title = f"{work} {self.source.choice(['2025', '2026'])}{phase}"
            stated = () if self.chance(self.noise.no_domain) else (company.domain,)
            of = (company.name,)
            deal = self.subject("attio", "deal", f"{company.name} – {title}", {}, stated, of)
            stated = () if self.chance(self.noise.no_domain) else (company.domain,)
            name = self.misspelled(customer) if self.chance(self.noise.typo) else customer
            written = self.source.choice([f"{name}: {title}", f"{title} {name}", f"{name} {title}"])
            project = self.subject("linear", "project", written, {}, stated, (customer,))
            self.world.add_pair("deal mapped_to project", LinkType.MAPPED_TO, deal, project)
            for each in copies:
                self.world.add_pair("deal belongs_to company", LinkType.BELONGS_TO, deal, each)

    def subject(
        self,
        system: str,
        kind: str,
        name: str,
        known: dict[str, str],
        domains: Iterable[str] = (),
        companies: Iterable[str] = (),
    ) -> LinkSubject:
        self.number += 1
        made = LinkSubject(
            id=EntityId(UUID(int=self.source.getrandbits(128))),
            ref=GlobalRef(f"{system}:{kind}:{self.number}"),
            kind=kind,
            name=name,
            attributes={field: value for field, value in known.items() if value},
            company_names=tuple(companies),
            company_domains=tuple(domains),
        )
        self.world.subjects.append(made)
        return made

    def website(self, domain: str) -> str:
        return self.source.choice([domain, f"www.{domain}", f"https://{domain}/"])

    def phone(self) -> str:
        digits = f"{self.source.randrange(200, 999)} {self.source.randrange(10**5, 10**7)}"
        return self.source.choice([f"+49 {digits}", f"0{digits}", f"0049 {digits}"])

    def misspelled(self, name: str) -> str:
        place = self.source.randrange(1, len(name) - 1)
        match self.source.randrange(3):
            case 0:
                return name[:place] + name[place + 1 :]
            case 1:
                return name[: place - 1] + name[place] + name[place - 1] + name[place + 1 :]
            case _:
                return name[:place] + name[place] + name[place:]


def make_world(seed: int, noise: Noise) -> World:
    """Return the world of a seed."""
    return Generator(source=random.Random(seed), noise=noise).make()

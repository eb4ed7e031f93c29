"""What proposals of links compare: an entity of a business system, as one access class knows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lightwell.domain.ids import EntityId, GlobalRef
from lightwell.text.identifiers import (
    company_domain,
    company_words,
    find_emails,
    fold_letters,
    identifier_key,
    phone_key,
    url_key,
)

COMPANY_KINDS = frozenset(("company", "customer", "organization"))
PERSON_KINDS = frozenset(("person", "contact", "user", "member", "agent"))
PROJECT_KINDS = frozenset(("project", "initiative"))
_DEAL = "deal"
_POINTER = "link"


@dataclass(frozen=True, kw_only=True)
class LinkSubject:
    """What one access class says of an entity of a business system.

    `aliases` are other names, in their normalised form. `company_names` and `company_domains` are those of its companies: where a person works, whose deal it is, for whom a
    project is. `said_*` is what the text of its own documents names.
    """

    id: EntityId
    ref: GlobalRef
    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    company_names: tuple[str, ...] = ()
    company_domains: tuple[str, ...] = ()
    said_identifiers: frozenset[str] = frozenset()
    said_urls: frozenset[str] = frozenset()

    @property
    def system(self) -> str:
        """The system that the reference names."""
        return self.ref.partition(":")[0]

    @cached_property
    def emails(self) -> frozenset[str]:
        """Its e-mail addresses."""
        return frozenset(find_emails(self.attributes.get("email", "")))

    @cached_property
    def domains(self) -> frozenset[str]:
        """Registrable domains of its company, from its domain, its e-mail addresses and linked companies."""
        stated = self.attributes.get("domain", "").replace(",", " ").replace(";", " ").split()
        domains = (
            company_domain(stated_domain)
            for stated_domain in (*stated, *self.emails, *self.company_domains)
        )
        return frozenset(domain for domain in domains if domain)

    @cached_property
    def companies(self) -> frozenset[str]:
        """Names of its companies without legal form, in one word: `nordwindenergie`."""
        return frozenset("".join(company_words(name)) for name in self.company_names) - {""}

    @cached_property
    def phones(self) -> frozenset[str]:
        """Keys of its phone numbers."""
        keys = (
            phone_key(number)
            for number in self.attributes.get("phone", "").replace(";", ",").split(",")
        )
        return frozenset(key for key in keys if key)

    @cached_property
    def url(self) -> str:
        """The key of its own page, "" if it has none; what only points to a page elsewhere has none."""
        return "" if self.kind == _POINTER else url_key(self.attributes.get("url", ""))

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Identifiers such as `ENG-12` that its system gives it."""
        identifiers = (
            self.attributes.get("identifier", ""),
            self.name.partition(" ")[0],
            *self.aliases,
        )
        return frozenset(filter(None, map(identifier_key, identifiers)))

    @cached_property
    def location(self) -> str:
        """The first part of its location in small letters: `kiel` for `Kiel, Germany`."""
        return fold_letters(self.attributes.get("location", "")).partition(",")[0].strip()


def link_family(subject: LinkSubject) -> str:
    """Return the group of kinds that the entity belongs to: company, person, deal, project, or item."""
    if subject.kind in COMPANY_KINDS:
        return "company"
    if subject.kind in PERSON_KINDS:
        return "person"
    if subject.kind in PROJECT_KINDS:
        return "project"
    return subject.kind if subject.kind == _DEAL else "item"

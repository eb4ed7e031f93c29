"""Blocking: the keys by which an entity finds those that it may be linked to, so that never all pairs are compared."""

from collections.abc import Iterator
from dataclasses import dataclass

from lightwell.domain.link_subjects import LinkSubject, link_family
from lightwell.text.identifiers import company_words, person_words

MAX_BLOCK = 50
"""Keys that more entities of one access class have say nothing: they are not followed there."""

_PREFIX = 4
_MOST_WORDS = 12
"""So many words of a title are keys: the cost of an entity is bounded, whatever its title is."""


@dataclass(frozen=True, slots=True, order=True)
class LinkKey:
    """A value under which an entity is found; `kind` says what it is, and of which kind of entity."""

    kind: str
    value: str


_FOUND_BY = {
    "company domain": ("company domain", "person domain", "deal domain"),
    "person domain": ("person domain", "company domain"),
    "deal domain": ("project domain", "company domain"),
    "project domain": ("deal domain",),
    "person email": ("person email",),
    "person phone": ("person phone",),
    "person name": ("person name",),
    "company phone": ("company phone",),
    "company name": ("company name", "deal words"),
    "company place": ("company place",),
    "deal name": ("project name",),
    "project name": ("deal name",),
    "deal word": ("project word",),
    "project word": ("deal word",),
    "deal company": ("project company",),
    "project company": ("deal company",),
    "deal words": ("company name",),
    "page": ("says page",),
    "says page": ("page",),
    "identifier": ("says identifier",),
    "says identifier": ("identifier",),
}
"""By the kind of an entity's key, the kinds of keys with the same value under which others are found."""


def link_keys(subject: LinkSubject) -> frozenset[LinkKey]:
    """Return the keys of what one access class says of an entity."""
    return frozenset(LinkKey(kind, value) for kind, value in _keys(subject) if value)


def matching_keys(keys: frozenset[LinkKey]) -> list[tuple[LinkKey, str]]:
    """Return each key with a kind of keys under whose same value others are found."""
    return [(key, kind) for key in sorted(keys) for kind in _FOUND_BY[key.kind]]


def _keys(subject: LinkSubject) -> Iterator[tuple[str, str]]:
    family = link_family(subject)
    yield "page", subject.url
    yield from (("identifier", identifier) for identifier in subject.identifiers)
    yield from (("says page", url) for url in subject.said_urls)
    yield from (("says identifier", identifier) for identifier in subject.said_identifiers)
    if family != "item":
        yield from ((f"{family} domain", domain) for domain in subject.domains)
    match family:
        case "person":
            yield from (("person email", email) for email in subject.emails)
            yield from (("person phone", phone) for phone in subject.phones)
            yield "person name", " ".join(sorted(person_words(subject.name)))
        case "company":
            name = "".join(company_words(subject.name))
            yield from (("company phone", phone) for phone in subject.phones)
            yield "company name", name
            if subject.location:
                yield "company place", f"{name[:_PREFIX]} {subject.location}"
        case "deal" | "project":
            # They find each other by the title, its rare words, and the company of both.
            words = company_words(subject.name)
            yield f"{family} name", " ".join(sorted(words))
            rare = (word for word in words[:_MOST_WORDS] if not word.isdecimal())
            yield from ((f"{family} word", word) for word in rare)
            yield from ((f"{family} company", company) for company in subject.companies)
            if family == "deal":
                yield from (("deal words", phrase) for phrase in _phrases(subject.name))
        case _:
            return


def _phrases(name: str) -> Iterator[str]:
    """Yield each run of up to three words of a deal's name, joined as a company's name is."""
    words = company_words(name)[:_MOST_WORDS]
    for start in range(len(words)):
        for stop in range(start + 1, min(start + 4, len(words) + 1)):
            yield "".join(words[start:stop])

"""Scores how likely two entities of different systems are linked. `docs/links.md` explains the points to users.

Points are natural log-odds. Each kind of link starts with negative points, since two things are rarely linked, and each
comparison adds or takes some. The result is a function of the two subjects alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler

from lightwell.domain.item_structure import LinkType
from lightwell.domain.link_subjects import LinkSubject, link_family
from lightwell.domain.links import MIN_CONFIDENCE, LinkEvidence, link_confidence
from lightwell.text.identifiers import (
    company_domain,
    company_words,
    is_role_address,
    legal_form,
    person_words,
)

_CLOSE_COMPANY, _CLOSE_PERSON, _CLOSE_TITLE = 88.0, 90.0, 85.0
"""Similarities, from 0 to 100, from which different spellings may be one name."""
_UNLIKE, _LONG_TITLE = 70.0, 3
_DIGITS = re.compile("[0-9]+")

_PRIOR = {"company": -5.0, "person": -6.0, "deal_project": -4.0, "deal_company": -4.0}
_PRIOR_EMPLOYER, _PRIOR_MENTION = -3.0, -1.0
_COMPANY = {
    "same_domain": 8.0,
    "different_domains": -5.0,
    "same_phone": 4.5,
    "same_name": 4.5,
    "similar_names": 3.0,
    "short_name": -0.7,
    "longer_company_name": -3.0,
    "different_names": -4.0,
    "different_legal_forms": -2.0,
    "same_location": 1.5,
    "different_locations": -3.5,
}
_PERSON = {
    "same_email": 10.0,
    "same_role_address": 2.0,
    "different_emails": -1.5,
    "different_emails_in_one_company": -4.0,
    "same_phone": 6.0,
    "same_name": 4.0,
    "similar_names": 2.5,
    "initial_fits": 1.5,
    "different_names": -6.0,
    "same_company_domain": 6.0,
}
_PROJECT = {
    "same_title": 8.0,
    "same_short_title": 3.5,
    "similar_titles": 3.0,
    "shorter_title": 3.0,
    "title_without_company": 4.5,
    "different_titles": -2.0,
    "same_company_domain": 5.0,
    "same_company_name": 3.0,
    "different_domains": -4.0,
    "different_numbers": -4.0,
}
_EMPLOYER = {"same_company_domain": 6.0}
_MENTION = {"names_page": 8.0, "names_identifier": 5.0}
_CUSTOMER = {
    "same_company_domain": 5.0,
    "different_domains": -4.0,
    "names_company": 2.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredLink:
    """A possible link from one subject to another, with its evidence; `points` is their sum with the prior."""

    type: LinkType
    source: LinkSubject
    target: LinkSubject
    prior: float
    evidence: tuple[LinkEvidence, ...]

    @property
    def points(self) -> float:
        """The log-odds of the link."""
        return self.prior + sum(each.points for each in self.evidence)

    @property
    def confidence(self) -> float:
        """The probability of the link, before decisions are learned from."""
        return link_confidence(self.points)


_Comparison = Callable[[LinkSubject, LinkSubject], Iterable[LinkEvidence]]


def score_links(
    one: LinkSubject, other: LinkSubject, *, least: float = MIN_CONFIDENCE
) -> list[ScoredLink]:
    """Return the links between two entities of different systems with at least this confidence."""
    if one.system == other.system or one.id == other.id:
        return []
    scored = [*_mentions(one, other), *_mentions(other, one), *_by_kind(one, other)]
    return [each for each in scored if each.confidence >= least]


def _by_kind(one: LinkSubject, other: LinkSubject) -> Iterable[ScoredLink]:
    first, second = sorted((one, other), key=lambda each: each.id.int)
    match (link_family(one), link_family(other)):
        case ("company", "company"):
            yield _link(LinkType.SAME_AS, first, second, _PRIOR["company"], _compare_companies)
        case ("person", "person"):
            yield _link(LinkType.SAME_AS, first, second, _PRIOR["person"], _compare_people)
        case ("deal", "project"):
            yield _link(LinkType.MAPPED_TO, one, other, _PRIOR["deal_project"], _compare_titles)
        case ("project", "deal"):
            yield _link(LinkType.MAPPED_TO, other, one, _PRIOR["deal_project"], _compare_titles)
        case ("deal", "company"):
            yield _link(LinkType.BELONGS_TO, one, other, _PRIOR["deal_company"], _compare_customer)
        case ("company", "deal"):
            yield _link(LinkType.BELONGS_TO, other, one, _PRIOR["deal_company"], _compare_customer)
        case ("person", "company") | ("company", "person"):
            yield _link(LinkType.RELATED_TO, first, second, _PRIOR_EMPLOYER, _compare_employer)
        case _:
            return


def _link(
    type_: LinkType,
    source: LinkSubject,
    target: LinkSubject,
    prior: float,
    compare: _Comparison,
) -> ScoredLink:
    found = tuple(compare(source, target))
    return ScoredLink(type=type_, source=source, target=target, prior=prior, evidence=found)


def _compare_companies(one: LinkSubject, other: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_COMPANY)
    has_domain = bool(one.domains & other.domains)
    yield from say.sets(one.domains, other.domains, "same_domain", "different_domains")
    yield from say.sets(one.phones, other.phones, "same_phone")
    yield from _company_names(say, one, other, has_domain=has_domain)
    forms = legal_form(one.name), legal_form(other.name)
    if all(forms) and forms[0] != forms[1]:
        yield say.of("different_legal_forms", *forms)
    yield from say.values(one.location, other.location, "same_location", "different_locations")


def _company_names(
    say: "_Comparer", one: LinkSubject, other: LinkSubject, *, has_domain: bool
) -> Iterator[LinkEvidence]:
    words = company_words(one.name), company_words(other.name)
    named = (one.name, other.name)
    similarity = _similarity("".join(words[0]), "".join(words[1]))
    if "".join(words[0]) == "".join(words[1]):
        yield say.of("same_name", *named)
    elif _differ_in_numbers(*words):
        yield say.of("different_names", *named)
    elif set(words[0]) < set(words[1]) or set(words[1]) < set(words[0]):
        shorter, longer = sorted((one, other), key=lambda each: len(company_words(each.name)))
        is_own_company = bool(legal_form(shorter.name) and legal_form(longer.name))
        if is_own_company or not has_domain:
            yield say.of("longer_company_name", *named)
        else:
            yield say.of("short_name", *named)
    elif similarity >= _CLOSE_COMPANY and len(words[0]) == len(words[1]):
        yield say.of("similar_names", *named)
    elif similarity < _UNLIKE or len(words[0]) == len(words[1]):
        yield say.of("different_names", *named)


def _compare_people(one: LinkSubject, other: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_PERSON)
    shared = one.emails & other.emails
    if shared:
        address = min(shared, key=lambda each: (is_role_address(each), each))
        name = "same_role_address" if is_role_address(address) else "same_email"
        yield say.of(name, address, address)
    else:
        yield from _different_emails(say, one, other)
    yield from say.sets(one.phones, other.phones, "same_phone")
    yield from _person_names(say, one, other)
    if not shared:
        yield from say.sets(one.domains, other.domains, "same_company_domain")


def _different_emails(
    say: "_Comparer", one: LinkSubject, other: LinkSubject
) -> Iterator[LinkEvidence]:
    """Yield evidence against one person: two addresses at companies. An address at a mail provider is anybody's second one."""
    own = {each: company_domain(each) for each in one.emails if not is_role_address(each)}
    others = {each: company_domain(each) for each in other.emails if not is_role_address(each)}
    if any(own.values()) and any(others.values()):
        is_one_company = not set(own.values()).isdisjoint(set(others.values()) - {""})
        name = "different_emails_in_one_company" if is_one_company else "different_emails"
        yield say.of(name, min(own), min(others))


def _person_names(say: "_Comparer", one: LinkSubject, other: LinkSubject) -> Iterator[LinkEvidence]:
    words = person_words(one.name), person_words(other.name)
    named = (one.name, other.name)
    if not all(words) or "@" in one.name or "@" in other.name:
        return
    if sorted(words[0]) == sorted(words[1]):
        yield say.of("same_name", *named)
    elif _is_initial(*words) or _is_initial(*reversed(words)):
        yield say.of("initial_fits", *named)
    elif len(words[0]) == len(words[1]) and all(
        _similarity(*pair) >= _CLOSE_PERSON for pair in zip(*words, strict=True)
    ):
        yield say.of("similar_names", *named)
    elif not set(words[0]) & set(words[1]) or len(words[0]) == len(words[1]):
        yield say.of("different_names", *named)


def _is_initial(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether the names share the last word, and the first of one abbreviates that of the other or is left out."""
    if one[-1] != other[-1]:
        return False
    return len(one) == 1 or (len(one[0]) == 1 and other[0].startswith(one[0]))


def _compare_titles(deal: LinkSubject, project: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_PROJECT)
    words = company_words(deal.name), company_words(project.name)
    named = (deal.name, project.name)
    of_company = [
        *say.sets(deal.domains, project.domains, "same_company_domain", "different_domains")
    ] or [*say.sets(deal.companies, project.companies, "same_company_name")]
    if _differ_in_numbers(*words):
        yield say.of("different_numbers", *named)
    title = _title_evidence(*words)
    if title == "shorter_title":
        title = _shorter_title(deal, project, is_one_company=bool(of_company))
    yield say.of(title, *named)
    yield from of_company


def _title_evidence(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Return the name of what two titles say, whatever the order of their words."""
    if sorted(one) == sorted(other):
        return "same_title" if len(set(one)) >= _LONG_TITLE else "same_short_title"
    if set(one) < set(other) or set(other) < set(one):
        return "shorter_title"
    rest = sorted(set(one) - set(other)), sorted(set(other) - set(one))
    similarity = _similarity("".join(rest[0]), "".join(rest[1]))
    return "similar_titles" if similarity >= _CLOSE_TITLE else "different_titles"


def _shorter_title(deal: LinkSubject, project: LinkSubject, *, is_one_company: bool) -> str:
    """Return what it says that one title has all words of the other: more if the rest names the company, nothing if it is one word."""
    shorter, longer = sorted((deal, project), key=lambda subject: len(company_words(subject.name)))
    words = set(company_words(shorter.name))
    if len(words) == 1 and not is_one_company:
        return "different_titles"
    companies = (*deal.company_names, *project.company_names)
    named = {word for name in companies for word in company_words(name)}
    rest = set(company_words(longer.name)) - words
    return "title_without_company" if rest <= named else "shorter_title"


def _compare_customer(deal: LinkSubject, company: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_CUSTOMER)
    yield from say.sets(deal.domains, company.domains, "same_company_domain", "different_domains")
    words = company_words(company.name)
    if set(words) <= set(company_words(deal.name)):
        yield say.of("names_company", deal.name, company.name)


def _compare_employer(one: LinkSubject, other: LinkSubject) -> Iterator[LinkEvidence]:
    yield from _Comparer(_EMPLOYER).sets(one.domains, other.domains, "same_company_domain")


def _mentions(one: LinkSubject, other: LinkSubject) -> Iterator[ScoredLink]:
    """Yield the link from what names the other's page or identifier in its text."""
    say = _Comparer(_MENTION)
    found: list[LinkEvidence] = []
    if other.url and other.url in one.said_urls:
        found.append(say.of("names_page", other.url, other.url))
    if said := one.said_identifiers & other.identifiers:
        found.append(say.of("names_identifier", min(said), min(said)))
    if found:
        evidence = tuple(found)
        yield ScoredLink(
            type=LinkType.MENTIONS,
            source=one,
            target=other,
            prior=_PRIOR_MENTION,
            evidence=evidence,
        )


@dataclass(frozen=True, slots=True)
class _Comparer:
    """Makes evidence with the points of one kind of link."""

    points: Mapping[str, float]

    def of(self, name: str, source: str, target: str) -> LinkEvidence:
        return LinkEvidence(name=name, points=self.points[name], source=source, target=target)

    def sets(
        self, one: frozenset[str], other: frozenset[str], same: str, different: str = ""
    ) -> Iterator[LinkEvidence]:
        """Yield evidence that two sets share a value, or that both have values and share none."""
        if shared := one & other:
            yield self.of(same, min(shared), min(shared))
        elif different and one and other:
            yield self.of(different, min(one), min(other))

    def values(self, one: str, other: str, same: str, different: str) -> Iterator[LinkEvidence]:
        if one and other:
            yield self.of(same if one == other else different, one, other)


def _similarity(one: str, other: str) -> float:
    """Return how similar two words are, from 0 to 100: the better of two measures, for typing errors and for swapped letters."""
    return max(fuzz.ratio(one, other), 100 * JaroWinkler.similarity(one, other) - 5)


def _differ_in_numbers(one: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether the names contain different numbers: `Phase 1` is not `Phase 2`."""
    return sorted(_DIGITS.findall(" ".join(one))) != sorted(_DIGITS.findall(" ".join(other)))

"""Scores how likely two entities of different systems are linked. `docs/links.md` explains the points to users.

Points are natural log-odds. Each kind of link starts with negative points, since two things are rarely linked, and each
comparison adds or takes some. The result is a function of the two subjects alone.
"""

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
from lightwell.text.regex import regex

_CLOSE_COMPANY, _CLOSE_PERSON, _CLOSE_TITLE = 88.0, 90.0, 85.0
"""Similarities, from 0 to 100, from which different spellings may be one name."""
_UNLIKE, _LONG_TITLE = 70.0, 3
_DIGITS = regex("[0-9]+")

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
        return self.prior + sum(evidence.points for evidence in self.evidence)

    @property
    def confidence(self) -> float:
        """The probability of the link, before decisions are learned from."""
        return link_confidence(self.points)


_Comparison = Callable[[LinkSubject, LinkSubject], Iterable[LinkEvidence]]


def score_links(
    left: LinkSubject, right: LinkSubject, *, least: float = MIN_CONFIDENCE
) -> list[ScoredLink]:
    """Return the links between two entities of different systems with at least this confidence."""
    if left.system == right.system or left.id == right.id:
        return []
    scored = [*_mentions(left, right), *_mentions(right, left), *_by_kind(left, right)]
    return [link for link in scored if link.confidence >= least]


def _by_kind(left: LinkSubject, right: LinkSubject) -> Iterable[ScoredLink]:
    first, second = sorted((left, right), key=lambda subject: subject.id.int)
    match (link_family(left), link_family(right)):
        case ("company", "company"):
            yield _link(LinkType.SAME_AS, first, second, _PRIOR["company"], _compare_companies)
        case ("person", "person"):
            yield _link(LinkType.SAME_AS, first, second, _PRIOR["person"], _compare_people)
        case ("deal", "project"):
            yield _link(LinkType.MAPPED_TO, left, right, _PRIOR["deal_project"], _compare_titles)
        case ("project", "deal"):
            yield _link(LinkType.MAPPED_TO, right, left, _PRIOR["deal_project"], _compare_titles)
        case ("deal", "company"):
            yield _link(LinkType.BELONGS_TO, left, right, _PRIOR["deal_company"], _compare_customer)
        case ("company", "deal"):
            yield _link(LinkType.BELONGS_TO, right, left, _PRIOR["deal_company"], _compare_customer)
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
    evidence = tuple(compare(source, target))
    return ScoredLink(type=type_, source=source, target=target, prior=prior, evidence=evidence)


def _compare_companies(left: LinkSubject, right: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_COMPANY)
    has_domain = bool(left.domains & right.domains)
    yield from say.sets(left.domains, right.domains, "same_domain", "different_domains")
    yield from say.sets(left.phones, right.phones, "same_phone")
    yield from _company_names(say, left, right, has_domain=has_domain)
    forms = legal_form(left.name), legal_form(right.name)
    if all(forms) and forms[0] != forms[1]:
        yield say.of("different_legal_forms", *forms)
    yield from say.values(left.location, right.location, "same_location", "different_locations")


def _company_names(
    say: "_Comparer", left: LinkSubject, right: LinkSubject, *, has_domain: bool
) -> Iterator[LinkEvidence]:
    words = company_words(left.name), company_words(right.name)
    named = (left.name, right.name)
    similarity = _similarity("".join(words[0]), "".join(words[1]))
    if "".join(words[0]) == "".join(words[1]):
        yield say.of("same_name", *named)
    elif _differ_in_numbers(*words):
        yield say.of("different_names", *named)
    elif set(words[0]) < set(words[1]) or set(words[1]) < set(words[0]):
        shorter, longer = sorted(
            (left, right), key=lambda subject: len(company_words(subject.name))
        )
        is_own_company = bool(legal_form(shorter.name) and legal_form(longer.name))
        if is_own_company or not has_domain:
            yield say.of("longer_company_name", *named)
        else:
            yield say.of("short_name", *named)
    elif similarity >= _CLOSE_COMPANY and len(words[0]) == len(words[1]):
        yield say.of("similar_names", *named)
    elif similarity < _UNLIKE or len(words[0]) == len(words[1]):
        yield say.of("different_names", *named)


def _compare_people(left: LinkSubject, right: LinkSubject) -> Iterator[LinkEvidence]:
    say = _Comparer(_PERSON)
    shared = left.emails & right.emails
    if shared:
        address = min(shared, key=lambda email: (is_role_address(email), email))
        name = "same_role_address" if is_role_address(address) else "same_email"
        yield say.of(name, address, address)
    else:
        yield from _different_emails(say, left, right)
    yield from say.sets(left.phones, right.phones, "same_phone")
    yield from _person_names(say, left, right)
    if not shared:
        yield from say.sets(left.domains, right.domains, "same_company_domain")


def _different_emails(
    say: "_Comparer", left: LinkSubject, right: LinkSubject
) -> Iterator[LinkEvidence]:
    """Yield evidence against one person: two addresses at companies. An address at a mail provider is anybody's second one."""
    ours = {email: company_domain(email) for email in left.emails if not is_role_address(email)}
    others = {email: company_domain(email) for email in right.emails if not is_role_address(email)}
    if any(ours.values()) and any(others.values()):
        is_one_company = not set(ours.values()).isdisjoint(set(others.values()) - {""})
        name = "different_emails_in_one_company" if is_one_company else "different_emails"
        yield say.of(name, min(ours), min(others))


def _person_names(
    say: "_Comparer", left: LinkSubject, right: LinkSubject
) -> Iterator[LinkEvidence]:
    words = person_words(left.name), person_words(right.name)
    named = (left.name, right.name)
    if not all(words) or "@" in left.name or "@" in right.name:
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


def _is_initial(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Return whether the names share the last word, and the first of one abbreviates that of the other or is left out."""
    if left[-1] != right[-1]:
        return False
    return len(left) == 1 or (len(left[0]) == 1 and right[0].startswith(left[0]))


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


def _title_evidence(left: tuple[str, ...], right: tuple[str, ...]) -> str:
    """Return the name of what two titles say, whatever the order of their words."""
    if sorted(left) == sorted(right):
        return "same_title" if len(set(left)) >= _LONG_TITLE else "same_short_title"
    if set(left) < set(right) or set(right) < set(left):
        return "shorter_title"
    rest = sorted(set(left) - set(right)), sorted(set(right) - set(left))
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


def _compare_employer(left: LinkSubject, right: LinkSubject) -> Iterator[LinkEvidence]:
    yield from _Comparer(_EMPLOYER).sets(left.domains, right.domains, "same_company_domain")


def _mentions(left: LinkSubject, right: LinkSubject) -> Iterator[ScoredLink]:
    """Yield the link from what names the other's page or identifier in its text."""
    say = _Comparer(_MENTION)
    evidence: list[LinkEvidence] = []
    if right.url and right.url in left.said_urls:
        evidence.append(say.of("names_page", right.url, right.url))
    if identifiers := left.said_identifiers & right.identifiers:
        evidence.append(say.of("names_identifier", min(identifiers), min(identifiers)))
    if evidence:
        yield ScoredLink(
            type=LinkType.MENTIONS,
            source=left,
            target=right,
            prior=_PRIOR_MENTION,
            evidence=tuple(evidence),
        )


@dataclass(frozen=True, slots=True)
class _Comparer:
    """Makes evidence with the points of one kind of link."""

    points: Mapping[str, float]

    def of(self, name: str, source: str, target: str) -> LinkEvidence:
        return LinkEvidence(name=name, points=self.points[name], source=source, target=target)

    def sets(
        self, left: frozenset[str], right: frozenset[str], same: str, different: str = ""
    ) -> Iterator[LinkEvidence]:
        """Yield evidence that two sets share a value, or that both have values and share none."""
        if shared := left & right:
            yield self.of(same, min(shared), min(shared))
        elif different and left and right:
            yield self.of(different, min(left), min(right))

    def values(self, left: str, right: str, same: str, different: str) -> Iterator[LinkEvidence]:
        if left and right:
            yield self.of(same if left == right else different, left, right)


def _similarity(left: str, right: str) -> float:
    """Return how similar two words are, from 0 to 100: the better of two measures, for typing errors and for swapped letters."""
    return max(fuzz.ratio(left, right), 100 * JaroWinkler.similarity(left, right) - 5)


def _differ_in_numbers(left: Iterable[str], right: Iterable[str]) -> bool:
    """Return whether the names contain different numbers: `Phase 1` is not `Phase 2`."""
    return sorted(_DIGITS.findall(" ".join(left))) != sorted(_DIGITS.findall(" ".join(right)))

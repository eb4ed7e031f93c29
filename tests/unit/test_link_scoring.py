"""The evidence between two entities of different systems, and the points of their links."""

from uuid import uuid4

import pytest

from lightwell.domain.ids import EntityId, GlobalRef
from lightwell.domain.link_keys import link_keys
from lightwell.domain.link_scoring import score_links
from lightwell.domain.link_subjects import LinkSubject
from lightwell.domain.links import CERTAIN


def subject(ref: str, name: str, *companies: str, **attributes: str) -> LinkSubject:
    kind = ref.split(":")[1]
    return LinkSubject(
        id=EntityId(uuid4()),
        ref=GlobalRef(ref),
        kind=kind,
        name=name,
        attributes=attributes,
        company_names=companies,
    )


def evidence(one: LinkSubject, other: LinkSubject) -> tuple[set[str], bool]:
    """Return the names of the evidence of all links between two subjects, and whether one link is certain."""
    found = score_links(one, other, least=0.0)
    names = {each.name for link in found for each in link.evidence}
    return names, any(link.confidence >= CERTAIN for link in found)


@pytest.mark.parametrize(
    ("one", "other", "expected", "certain"),
    [
        ("Müller & Söhne GmbH", "mueller soehne", {"same_name"}, False),
        ("Acme, Inc.", "ACME Incorporated", {"same_name"}, False),
        ("Nordwind S.p.A.", "Nordwind GmbH", {"same_name", "different_legal_forms"}, False),
        ("Nordwind GmbH", "Nordwind Logistik GmbH", {"longer_company_name"}, False),
        ("Phase 1 GmbH", "Phase 2 GmbH", {"different_names"}, False),
    ],
)
def test_s2_8_a_name_alone_is_never_certain(
    one: str, other: str, expected: set[str], *, certain: bool
) -> None:
    found = evidence(subject("attio:company:1", one), subject("linear:customer:1", other))
    assert found == (expected, certain)


def test_s2_8_a_mail_provider_or_a_shared_address_identifies_nobody() -> None:
    company = subject("attio:company:1", "Gmail", domain="gmail.com")
    person = subject("chatwoot:contact:1", "Anna Schmidt", email="anna@gmail.com")
    assert evidence(company, person) == (set(), False)
    one = subject("attio:person:1", "Anna Schmidt", email="info@nordwind.example")
    other = subject("chatwoot:contact:2", "Bob Larsen", email="info@nordwind.example")
    names, certain = evidence(one, other)
    assert "same_role_address" in names
    assert not certain


def test_s2_8_namesakes_in_other_cities_with_other_domains_are_not_proposed() -> None:
    one = subject("attio:company:1", "Nordwind", domain="nordwind.de", location="Kiel")
    other = subject("linear:customer:1", "Nordwind", domain="nordwind.at", location="Wien")
    assert score_links(one, other) == []
    assert score_links(one, subject("attio:company:2", "Nordwind", domain="nordwind.de")) == []


def test_what_only_points_to_a_page_is_not_found_by_it() -> None:
    page = "https://chat.example/app/conversations/7"
    own = subject("chatwoot:conversation:7", "Login", url=page)
    pointer = subject("linear:link:1", "Login", url=page)
    assert "page" in {key.kind for key in link_keys(own)}
    assert "page" not in {key.kind for key in link_keys(pointer)}


@pytest.mark.parametrize(
    ("deal", "project", "expected", "likely"),
    [
        ("Nordwind southern network", "Southern network", "title_without_company", True),
        ("Southern network", "Southern network extension", "shorter_title", False),
        ("Nordwind rollout", "Rollout", "different_titles", False),
        ("Southern network", "Northern network", "different_titles", False),
    ],
)
def test_s2_7_a_title_that_lacks_only_the_customer_is_likely_the_same_work(
    deal: str, project: str, expected: str, *, likely: bool
) -> None:
    one = subject("attio:deal:1", deal, "Nordwind Energie GmbH")
    (link,) = score_links(one, subject("linear:project:1", project), least=0.0)
    assert [each.name for each in link.evidence] == [expected]
    assert (link.confidence > 0.5) == likely


def test_s2_7_a_deal_and_a_project_for_one_company_meet_without_domains() -> None:
    deal = subject("attio:deal:1", "Rollout of pumps", "Nordwind GmbH")
    project = subject("linear:project:1", "Rollout", "Nordwind")
    found = {key.value for key in link_keys(deal) if key.kind == "deal company"}
    assert found == {key.value for key in link_keys(project) if key.kind == "project company"}
    (link,) = score_links(deal, project)
    assert {each.name for each in link.evidence} == {"shorter_title", "same_company_name"}


def test_the_keys_of_an_entity_are_few_whatever_its_title_is() -> None:
    long = " ".join(f"word{n:c}" for n in range(0x4E00, 0x4E00 + 500))
    assert len(link_keys(subject("attio:deal:1", long))) < 60
    assert len(link_keys(subject("linear:project:1", long))) < 60

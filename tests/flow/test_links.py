"""Links across systems: proposed from what documents state, decided by people, followed at once."""

from dataclasses import replace

import pytest

from lightwell.domain.briefs import Brief
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.evidence import Channel
from lightwell.domain.graph_views import Candidates
from lightwell.domain.item_structure import LinkType
from lightwell.domain.link_scoring import ScoredLink, score_links
from lightwell.domain.link_subjects import LinkSubject
from lightwell.domain.links import SYMMETRIC, EntityLink, LinkFilter, LinkStatus
from lightwell.domain.questions import Mode
from lightwell.ingest import link_proposer
from lightwell.records.database import Database

from .linked import entity, put_item, stated
from .notes import Noted, noted

pytestmark = pytest.mark.usefixtures("many_classes")

SALES, SUPPORT, ENG = ["team:sales"], ["team:support"], ["team:eng"]
ALL = [*SALES, *SUPPORT, *ENG]
ATTIO = entity(
    "attio:company:1", "Nordwind Energie GmbH", domain="nordwind.example", location="Kiel"
)
LINEAR = entity("linear:customer:7", "Nordwind Energie", domain="nordwind.example")
CHATWOOT = entity("chatwoot:contact:3", "Anna Schmidt", email="anna@nordwind.example")


async def three_systems(database: Database) -> Noted:
    store = await noted(database)
    await put_item(store, SALES, "Nordwind Energie GmbH: nordwind.example, Kiel.", ATTIO)
    await put_item(store, ENG, "Nordwind Energie waits for pumps.", LINEAR)
    await put_item(store, SUPPORT, "Anna Schmidt (anna@nordwind.example) asks.", CHATWOOT)
    return store


async def proposed(store: Noted, tags: list[str] = ALL, about: str = "") -> list[EntityLink]:
    reader = await store.kb.reader(tags)
    return await store.kb.graph.links.list_links(reader, LinkFilter(status=None, about=about))


async def test_s2_7_links_are_proposed_with_evidence_and_quotations(database: Database) -> None:
    store = await three_systems(database)
    found = await proposed(store)
    assert [(each.type, each.status) for each in found] == [
        (LinkType.SAME_AS, LinkStatus.PROPOSED),
        (LinkType.RELATED_TO, LinkStatus.PROPOSED),
        (LinkType.RELATED_TO, LinkStatus.PROPOSED),
    ]
    same = found[0]
    assert {same.source.ref, same.target.ref} == {ATTIO.ref, LINEAR.ref}
    assert same.is_certain
    assert {each.name: each.points for each in same.evidence} == {
        "same_domain": 8.0,
        "same_name": 4.5,
    }
    whole = await store.kb.graph.links.get(await store.kb.reader(ALL), same.id)
    assert {each.text for each in whole.quotations} == {
        "Nordwind Energie GmbH: nordwind.example, Kiel.",
        "Nordwind Energie waits for pumps.",
    }
    for tags in (SALES, ENG, SUPPORT):
        assert await proposed(store, tags) == []
        with pytest.raises(NotFound):
            await store.kb.graph.links.get(await store.kb.reader(tags), same.id)


async def same_link(store: Noted, tags: list[str] = ALL) -> EntityLink:
    return next(each for each in await proposed(store, tags) if each.type is LinkType.SAME_AS)


async def test_s2_7_a_confirmed_link_is_followed_at_once_and_a_rejected_one_never_returns(
    database: Database,
) -> None:
    store = await three_systems(database)
    reader = await store.kb.reader(ALL)
    links = store.kb.graph.links
    link = await same_link(store)
    before = await store.kb.questions.search(
        "What of Nordwind Energie GmbH?", reader, mode=Mode.LOCAL
    )
    assert before.metrics.channels[Channel.LINKS].hits == 0
    confirmed = await links.confirm(await store.kb.reader(ALL, user="ada"), link.id)
    assert (confirmed.status, confirmed.decided_by) == (LinkStatus.CONFIRMED, "ada")
    assert confirmed.decided_at is not None
    found = await store.kb.questions.search(
        "What of Nordwind Energie GmbH?", reader, mode=Mode.LOCAL
    )
    assert found.metrics.channels[Channel.LINKS].hits == 1
    assert "Nordwind Energie" in {each.chunk.title for each in found.evidence}

    await links.reject(reader, link.id)
    found = await store.kb.questions.search(
        "What of Nordwind Energie GmbH?", reader, mode=Mode.LOCAL
    )
    assert found.metrics.channels[Channel.LINKS].hits == 0
    await put_item(store, ENG, "Nordwind Energie waits for new pumps.", LINEAR)
    await links.propose(reader)
    assert (await links.get(reader, link.id)).status is LinkStatus.REJECTED

    await links.remove(reader, link.id)
    assert (await links.get(reader, link.id)).status is LinkStatus.PROPOSED
    with pytest.raises(Invalid):
        await links.remove(reader, link.id)


async def test_s2_14_a_confirmed_link_makes_one_subject_of_a_brief_over_three_systems(
    database: Database,
) -> None:
    store = await noted(database)
    contact = entity("chatwoot:company:5", "Nordwind Energie", domain="nordwind.example")
    await put_item(store, SALES, "Nordwind Energie GmbH is a customer in Kiel.", ATTIO)
    await put_item(store, ENG, "Nordwind Energie waits for a fix of the pumps.", LINEAR)
    await put_item(store, SUPPORT, "Nordwind Energie still has no invoice.", contact)
    reader = await store.kb.reader(ALL)
    several = await store.kb.questions.brief("Nordwind Energie", reader)
    assert isinstance(several, Candidates)
    for link in await proposed(store):
        if link.type is LinkType.SAME_AS:
            await store.kb.graph.links.confirm(reader, link.id)
    brief = await store.kb.questions.brief("Nordwind Energie", reader)
    assert isinstance(brief, Brief)
    assert len({each.source_url for each in brief.citations}) == 3
    assert [each.name for each in brief.links] == []


def systems_cited(brief: Brief) -> set[str]:
    """Return the systems of the items that a brief cites; `put_item` names their documents so."""
    return {each.source_url.rpartition("/")[2].partition("-")[0] for each in brief.citations}


async def test_s2_12_a_brief_on_a_deal_cites_all_three_systems(database: Database) -> None:
    store = await noted(database)
    deal = entity("attio:deal:9", "Northern pump renewal")
    project = entity("linear:project:4", "Pump firmware")
    support = entity("chatwoot:company:5", "Nordwind Energie", domain="nordwind.example")
    await put_item(store, SALES, "Northern pump renewal is open and worth 310,000.", deal)
    await put_item(store, SALES, "Nordwind Energie GmbH is a customer in Kiel.", ATTIO)
    await put_item(store, ENG, "Pump firmware is blocked until the new valve arrives.", project)
    await put_item(store, SUPPORT, "Nordwind Energie still has no invoice.", support)
    reader, links = await store.kb.reader(ALL), store.kb.graph.links
    alone = await store.kb.questions.brief("Northern pump renewal", reader)
    assert isinstance(alone, Brief)
    assert systems_cited(alone) == {"attio"}
    await links.add(reader, deal.ref, ATTIO.ref, LinkType.BELONGS_TO)
    before = await store.kb.questions.brief("Northern pump renewal", await store.kb.reader(SALES))
    await links.add(reader, deal.ref, project.ref, LinkType.MAPPED_TO)
    await links.add(reader, ATTIO.ref, support.ref, LinkType.SAME_AS)
    brief = await store.kb.questions.brief("Northern pump renewal", reader)
    assert isinstance(brief, Brief)
    assert systems_cited(brief) == {"attio", "linear", "chatwoot"}
    assert len(brief.citations) >= 3
    partly = await store.kb.questions.brief("Northern pump renewal", await store.kb.reader(SALES))
    assert isinstance(partly, Brief)
    assert isinstance(before, Brief)
    assert [each.snippet for each in partly.citations] == [
        each.snippet for each in before.citations
    ]
    assert (partly.links, partly.people) == (before.links, before.people)


async def test_s2_7_six_types_are_added_and_removed_by_hand(database: Database) -> None:
    store = await three_systems(database)
    reader = await store.kb.reader(ALL)
    links = store.kb.graph.links
    for type_ in LinkType:
        made = await links.add(reader, ATTIO.ref, CHATWOOT.ref, type_)
        assert (made.type, made.status) == (type_, LinkStatus.CONFIRMED)
        assert [made.source.ref, made.target.ref] == [ATTIO.ref, CHATWOOT.ref] or type_ in SYMMETRIC
    confirmed = await links.list_links(reader, LinkFilter(status=LinkStatus.CONFIRMED))
    assert {each.type for each in confirmed} == set(LinkType)
    for each in confirmed:
        await links.remove(reader, each.id)
    assert await links.list_links(reader, LinkFilter(status=LinkStatus.CONFIRMED)) == []
    with pytest.raises(NotFound):
        await links.add(await store.kb.reader(SALES), ATTIO.ref, CHATWOOT.ref, LinkType.SAME_AS)
    with pytest.raises(Invalid):
        await links.add(reader, ATTIO.ref, ATTIO.ref, LinkType.SAME_AS)


async def test_s2_7_decisions_about_the_same_evidence_are_learned(database: Database) -> None:
    store = await noted(database)
    for name in ("Tarn", "Osprey", "Merlin"):
        company = entity(f"attio:company:{name}", f"{name} GmbH", location="Kiel")
        customer = entity(f"linear:customer:{name}", name, location="Kiel")
        await put_item(store, SALES, f"{name} GmbH buys.", company)
        await put_item(store, ENG, f"{name} waits.", customer)
    reader = await store.kb.reader(ALL)
    first, *_, last = await proposed(store)
    assert first.confidence == last.confidence
    await store.kb.graph.links.reject(reader, first.id)
    lower = await store.kb.graph.links.get(reader, last.id)
    assert lower.learned < 0
    assert lower.confidence < last.confidence
    sales = await store.kb.reader([*SALES, *ENG])
    assert (await store.kb.graph.links.get(sales, last.id)).learned == lower.learned


async def test_s2_7_of_evidence_in_several_classes_the_strongest_of_each_kind_counts_once(
    database: Database,
) -> None:
    store = await noted(database)
    await put_item(store, ENG, "Tarn GmbH calls.", entity("attio:company:1", "Tarn GmbH"))
    await put_item(store, ENG, "Tarn waits.", entity("linear:customer:1", "Tarn"))
    await put_item(store, SALES, "Tarn GmbH buys.", entity("attio:company:1", "Tarn GmbH"))
    (alone,) = await proposed(store)
    (name,) = alone.evidence
    await database.execute(
        """
        INSERT INTO entity_links (link_id, project_id, from_ref, to_ref, class_id, to_class_id, pair_id, link_type, directional,
                                  confidence, evidence, created_by, status)
        SELECT gen_random_uuid(), link.project_id, from_ref, to_ref, other.class_id, other.class_id, pair_id, link_type,
               directional, link.confidence,
               jsonb_set(evidence, '{points}', '{"same_name": -1, "domain": 2.5}'), created_by, status
        FROM entity_links AS link CROSS JOIN (SELECT DISTINCT class_id FROM profiles) AS other
        WHERE (other.class_id, other.class_id) <> (link.class_id, link.to_class_id)
        """,
        {},
    )
    (link,) = await proposed(store)
    assert {each.name: each.points for each in link.evidence} == {
        name.name: name.points,
        "domain": 2.5,
    }
    assert link.confidence > alone.confidence
    rows = await database.rows(
        "SELECT evidence -> 'points', points, points_rule FROM entity_links", {}
    )
    assert len(rows) > 1
    for said, points, rule in rows:
        assert (points, rule) == (sum(said.values()), " ".join(sorted(said)))


async def test_s2_7_identifiers_and_pages_in_texts_lead_to_items_of_other_systems(
    database: Database,
) -> None:
    store = await noted(database)
    page = "https://chat.example/app/accounts/1/conversations/9"
    issue = entity("linear:issue:uuid", "Fix login", identifier="ENG-12")
    conversation = entity("chatwoot:conversation:1-9", "Login broken", url=page)
    await put_item(store, ENG, f"Fix login. Attachment: {page}", issue)
    await put_item(store, SUPPORT, "Login broken: we track this as ENG-12.", conversation)
    found = await proposed(store)
    assert {(each.type, each.source.ref, each.is_certain) for each in found} == {
        (LinkType.MENTIONS, "chatwoot:conversation:1-9", True),
        (LinkType.MENTIONS, "linear:issue:uuid", True),
    }
    whole = [await store.kb.graph.links.get(await store.kb.reader(ALL), each.id) for each in found]
    assert {quote.text for each in whole for quote in each.quotations} >= {
        "Login broken: we track this as ENG-12.",
        f"Fix login. Attachment: {page}",
    }


async def test_s2_7_weak_proposals_expire_and_return_with_new_evidence(database: Database) -> None:
    store = await noted(database)
    place = {"location": "Kiel"}
    await put_item(store, SALES, "Tarn GmbH buys.", entity("attio:company:1", "Tarn GmbH", **place))
    await put_item(store, ENG, "Tarn waits.", entity("linear:customer:1", "Tarn", **place))
    (weak,) = await proposed(store)
    assert not weak.is_certain
    assert weak.expires_at is not None
    await database.execute("UPDATE entity_links SET expires_at = now() - interval '1 day'", {})
    (expired,) = await proposed(store)
    assert expired.status is LinkStatus.EXPIRED
    phone = {**place, "phone": "+49 431 123456"}
    await put_item(store, SALES, "Tarn GmbH buys.", entity("attio:company:1", "Tarn GmbH", **phone))
    await put_item(store, ENG, "Tarn waits.", entity("linear:customer:1", "Tarn", **phone))
    (again,) = await proposed(store)
    assert (again.status, again.is_certain) == (LinkStatus.PROPOSED, True)


async def test_s2_10_a_renamed_entity_keeps_its_links(database: Database) -> None:
    store = await three_systems(database)
    reader = await store.kb.reader(ALL)
    link = await same_link(store)
    await store.kb.graph.links.confirm(reader, link.id)
    renamed = replace(LINEAR, name="Ostwind AG", attributes={})
    await put_item(store, ENG, "Ostwind AG waits for pumps.", renamed)
    kept = await store.kb.graph.links.get(reader, link.id)
    assert kept.status is LinkStatus.CONFIRMED
    assert {kept.source.name, kept.target.name} == {"Nordwind Energie GmbH", "Ostwind AG"}


async def test_s2_11_only_touched_entities_are_proposed_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await three_systems(database)
    compared: list[str] = []

    def counting(one: LinkSubject, other: LinkSubject) -> list[ScoredLink]:
        compared.append(f"{one.ref} {other.ref}")
        return score_links(one, other)

    monkeypatch.setattr(link_proposer, "score_links", counting)
    await store.ingest()
    assert compared == []
    await put_item(store, SALES, "Tarn GmbH buys.", entity("attio:company:2", "Tarn GmbH"))
    assert compared == []
    await put_item(store, SUPPORT, "Anna Schmidt (anna@nordwind.example) asks again.", CHATWOOT)
    assert all(CHATWOOT.ref in each for each in compared)
    assert compared


YUSUF = entity("attio:member:1", "Yusuf Demir", email="yusuf@halden.example")
KATRIN = entity("attio:person:2", "Katrin Albers")
DEAL = entity("attio:deal:3", "Nordwind southern network")
PROJECT = entity("linear:project:4", "Southern network")


def names(links: list[EntityLink]) -> set[tuple[str, ...]]:
    return {
        (link.type, *sorted(end.name for end in (link.source, link.target)))
        for link in links
        if link.status is LinkStatus.PROPOSED
    }


async def test_s2_7_a_person_works_where_they_belong_to_not_where_they_manage(
    database: Database,
) -> None:
    store = await noted(database)
    manages = stated(ATTIO, LinkType.RELATED_TO, YUSUF)
    works = stated(KATRIN, LinkType.BELONGS_TO, ATTIO)
    await put_item(store, SALES, "Nordwind Energie GmbH", ATTIO, YUSUF, links=[manages])
    await put_item(store, SALES, "Katrin Albers", KATRIN, ATTIO, links=[works])
    await put_item(store, ENG, "Nordwind Energie waits for pumps.", LINEAR)
    same = await same_link(store)
    await store.kb.graph.links.reject(await store.kb.reader(ALL), same.id)
    assert names(await proposed(store)) == {("related_to", "Katrin Albers", "Nordwind Energie")}


async def test_s2_7_what_links_say_through_same_entities_is_not_proposed(
    database: Database,
) -> None:
    store = await noted(database)
    works = stated(KATRIN, LinkType.BELONGS_TO, ATTIO)
    await put_item(store, SALES, "Nordwind Energie GmbH", ATTIO)
    await put_item(store, SALES, "Katrin Albers", KATRIN, ATTIO, links=[works])
    await put_item(store, ENG, "Nordwind Energie waits for pumps.", LINEAR)
    reader, links = await store.kb.reader(ALL), store.kb.graph.links
    same = await same_link(store)
    assert names(await proposed(store)) == {
        ("same_as", "Nordwind Energie", "Nordwind Energie GmbH")
    }
    await links.confirm(reader, same.id)
    assert names(await proposed(store)) == set()
    await links.reject(reader, same.id)
    [works_there] = [each for each in await proposed(store) if each.status is LinkStatus.PROPOSED]
    assert works_there.type is LinkType.RELATED_TO
    await links.confirm(reader, same.id)
    assert (await links.get(reader, works_there.id)).id == works_there.id


async def test_s2_7_of_three_that_are_one_two_links_are_enough(database: Database) -> None:
    store = await three_systems(database)
    third = entity("chatwoot:company:5", "Nordwind Energie", domain="nordwind.example")
    await put_item(store, SUPPORT, "Nordwind Energie still has no invoice.", third)
    reader, links = await store.kb.reader(ALL), store.kb.graph.links
    left: list[int] = []
    for _ in range(3):
        same = await links.list_links(reader, LinkFilter(type=LinkType.SAME_AS))
        left.append(len(same))
        if same:
            await links.confirm(reader, same[0].id)
    assert left == [3, 2, 0]


async def test_s2_7_a_deal_finds_the_project_that_its_title_contains(database: Database) -> None:
    store = await noted(database)
    await put_item(store, SALES, "Nordwind southern network", DEAL)
    await put_item(store, ENG, "Southern network", PROJECT)
    [link] = await proposed(store)
    assert (link.type, link.source.ref, link.target.ref) == (
        LinkType.MAPPED_TO,
        DEAL.ref,
        PROJECT.ref,
    )


async def test_s2_7_what_one_deal_is_compared_with_does_not_grow_with_the_store(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await noted(database)
    compared: list[str] = []

    def counting(one: LinkSubject, other: LinkSubject) -> list[ScoredLink]:
        compared.append(f"{one.ref} {other.ref}")
        return score_links(one, other)

    monkeypatch.setattr(link_proposer, "score_links", counting)
    counts: list[int] = []
    for stop in (20, 60, 240):
        many = [entity(f"linear:project:1{n}", f"Renewal of site{n:03}") for n in range(stop)]
        await put_item(store, ENG, f"{stop} renewals.", PROJECT, *many)
        compared.clear()
        await put_item(
            store, SALES, f"One of {stop}.", entity("attio:deal:7", "Renewal of site007")
        )
        counts.append(len(compared))
    assert counts == [20, 1, 1]

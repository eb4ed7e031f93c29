"""`/links` over the example company's three systems: proposals one after the other, decided once, by whoever may curate."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.answers import INSUFFICIENT
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.links import LinkFilter, LinkStatus
from lightwell.entrypoints.channels.actions import DecideLink, ReviewLink, ShowPlace
from lightwell.entrypoints.channels.link_review import decide, links, review
from lightwell.entrypoints.channels.lookups import brief, promises
from lightwell.entrypoints.channels.source_pictures import show_place
from lightwell.records.database import Database
from lightwell.testing.example_company import ExampleCompany
from tests.channels.company import (
    CURATE,
    READ,
    actions,
    asking,
    buttons,
    change,
    join,
    labels,
    pressed,
    words,
)
from tests.flow.conftest import Project, project_on
from tests.flow.test_three_systems import WIDE, sync_all

DEAL = "Nordwind southern network"


@pytest.fixture
async def company(database: Database) -> Project:
    project = await project_on(database, dimension=WIDE)
    await sync_all(project, ExampleCompany())
    bob, yusuf = await asking(project, "bob"), await asking(project, "yusuf.demir")
    both = bob.reader.tags | yusuf.reader.tags
    await join(project, "eve", both, CURATE)
    await join(project, "fay", both, READ)
    return project


async def proposed(project: Project, reader: Reader) -> int:
    return len(await project.kb.graph.links.list_links(reader, LinkFilter()))


async def test_s2_12_and_s2_13_a_brief_and_promises_cite_three_systems_and_each_sees_their_own(
    company: Project,
) -> None:
    eve, bob = await asking(company, "eve"), await asking(company, "bob")
    yusuf = await asking(company, "yusuf.demir")
    message = await brief(eve, "Nordwind Energie GmbH")
    places = actions(message, ShowPlace)
    assert 3 <= len(places) <= 5
    shown = [words(await show_place(eve, place)) for place in places]
    assert all(shown)
    assert "deal" not in words(await brief(bob, DEAL))
    owed, of_bob = words(await promises(eve, "")), words(await promises(bob, ""))
    of_yusuf = words(await promises(yusuf, ""))
    assert ("30" in owed, "12 June 2026" in owed) == (True, True)
    assert "Task: Hold the training day" in of_yusuf
    assert "12 June 2026" not in of_yusuf
    assert "12 June 2026" in of_bob
    assert "training day" not in of_bob
    assert "12 June 2026" in words(await promises(eve, "the sensors"))
    assert words(await promises(yusuf, "the sensors in the harbour")).startswith(INSUFFICIENT)


async def test_links_of_a_name_are_decided_and_the_next_one_follows(company: Project) -> None:
    eve = await asking(company, "eve")
    about = pressed(await brief(eve, DEAL), "Links to review", ReviewLink)
    message = await review(eve, about)
    assert labels(message) == ["Yes", "No"]
    assert "+ title without company" in words(message)
    done = await decide(eve, pressed(message, "Yes", DecideLink))
    assert words(done).startswith("Confirmed: Nordwind southern network and Southern network")
    assert not done.buttons
    assert "Links to review" not in labels(await brief(eve, DEAL))


async def test_links_of_an_ambiguous_name_are_those_of_what_is_picked(company: Project) -> None:
    eve = await asking(company, "eve")
    several = await links(eve, "Nordwind")
    picks = actions(several, ReviewLink)
    assert len(picks) == len(buttons(several)) > 1
    shown = [words(await review(eve, pick)) for pick in picks]
    assert any("Nordwind Energie GmbH" in text for text in shown)


async def test_the_queue_is_gone_through_and_nothing_is_asked_twice(company: Project) -> None:
    eve = await asking(company, "eve")
    count = await proposed(company, eve.reader)
    message, seen = await links(eve, ""), list[str]()
    for _ in range(count - 1):
        seen.append(words(message))
        message = await review(eve, pressed(message, "Later", ReviewLink))
    assert "Later" not in labels(message)
    assert len({*seen, words(message)}) == count
    message, asked = await links(eve, ""), list[UUID]()
    while decisions := actions(message, DecideLink):
        asked.append(decisions[0].link)
        message = await decide(eve, decisions[len(asked) > 1])  # the first is right
    assert len(set(asked)) == len(asked) >= count
    assert words(message).endswith("Nothing is left to decide.")
    assert await proposed(company, eve.reader) == 0


async def test_what_somebody_else_has_decided_meanwhile_stays_decided(company: Project) -> None:
    eve = await asking(company, "eve")
    (yes, no) = actions(await links(eve, ""), DecideLink)
    await decide(eve, no)
    late = await decide(eve, yes)
    assert words(late).startswith("This was rejected already")
    link = await company.kb.graph.links.get(eve.reader, yes.link)
    assert link.status is LinkStatus.REJECTED


async def test_who_may_not_curate_reads_proposals_and_decides_none(company: Project) -> None:
    eve, fay, bob = [await asking(company, name) for name in ("eve", "fay", "bob")]
    with_buttons, without = await links(eve, ""), await links(fay, "")
    assert words(with_buttons) == words(without)
    assert labels(without) == ["Later"]
    (yes, _) = actions(with_buttons, DecideLink)
    for asker, action in (
        (fay, yes),
        (replace(bob, person=eve.person), yes),
        (eve, replace(yes, link=uuid4())),
    ):
        with pytest.raises(NotFound):
            await decide(asker, action)
    assert await proposed(company, eve.reader) == 4


async def test_links_about_what_one_may_not_see_are_about_nothing(company: Project) -> None:
    bob, eve = await asking(company, "bob"), await asking(company, "eve")
    assert await links(bob, "attio:deal:none") == await links(bob, "no such thing")
    with pytest.raises(Invalid, match="400 characters"):
        await links(bob, "x" * 500)
    deal = (await company.kb.graph.links.list_links(eve.reader, LinkFilter(about=DEAL)))[0]
    with pytest.raises(NotFound):
        await review(bob, ReviewLink(about=str(deal.source.id)))
    with pytest.raises(Invalid):
        await review(bob, ReviewLink(about="", after="nowhere"))
    assert "Nordwind Energie" in words(await links(bob, ""))
    assert "attio" not in words(await links(bob, ""))


async def test_a_person_who_leaves_a_group_presses_old_buttons_in_vain(company: Project) -> None:
    eve = await asking(company, "eve")
    message = await review(eve, pressed(await brief(eve, DEAL), "Links to review", ReviewLink))
    places = actions(await brief(eve, DEAL), ShowPlace)
    eve = await change(company, "eve", PersonChange(acl_tags=frozenset({"team:nobody"})))
    for action in actions(message, DecideLink):
        with pytest.raises(NotFound):
            await decide(eve, action)
    for place in places:
        with pytest.raises(NotFound):
            await show_place(eve, place)
    assert not buttons(await links(eve, ""))

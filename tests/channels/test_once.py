"""What can be done once by a button: sharing an answer, adding a file, deciding about a link."""

import asyncio

import pytest

from lightwell.domain.channels import File, Platform
from lightwell.domain.links import LinkFilter, LinkStatus
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels import conversation
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.knowledge_base.channel_accounts import BoundGroups
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import GROUP, Office, opened, private
from tests.channels.test_picks import two_systems
from tests.flow.conftest import Project

SALES, BOARD = "team:sales", "team:board"
DOCUMENT = make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES])
DISCOUNT = "What discount does Nordwind Energie get?"


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, DOCUMENT)


async def bind(office: Office, *tags: str) -> None:
    groups = BoundGroups(database=office.project.database, project_id=office.project.kb.project_id)
    await groups.bind(Platform.TELEGRAM, GROUP.id, frozenset(tags))


def public(office: Office) -> list[str]:
    """Return what everybody in the group sees."""
    return [post.text for post in office.channel.in_chat(GROUP) if not post.alone]


async def test_an_answer_is_shared_once_where_the_group_sees_its_sources(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT, GROUP)
    assert "bound to no access tags" in await office.press(ada, post, "Share here", GROUP)
    await bind(office, BOARD)
    assert "Not everybody" in await office.press(ada, post, "Share here", GROUP)
    assert public(office) == []
    await bind(office, SALES)
    assert await office.press(ada, post, "Share here", GROUP) == "Shared."
    (shared,) = public(office)
    assert "18 percent" in shared
    assert await office.press(ada, post, "Share here", GROUP) == GONE
    assert len(public(office)) == 1


async def test_what_is_shared_has_no_buttons(office: Office) -> None:
    ada = await office.join("ada", SALES)
    await bind(office, SALES)
    post = await office.say(ada, DISCOUNT, GROUP)
    await office.press(ada, post, "Share here", GROUP)
    assert [p.labels for p in office.channel.in_chat(GROUP) if not p.alone] == [[]]


async def test_a_file_is_added_once_for_whom_its_sender_chose(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_LONGEST_WAIT_FOR_FILE", 0.0)
    ada = await office.join("ada", SALES, "user:ada", scopes=[Scope.READ, Scope.INGEST])
    content = b"Castell Water gets a discount of 25 percent."
    office.channel.files["f"] = content
    await office.send(ada, File(name="castell.txt", size=len(content), handle="f"))
    offer = office.latest(private(ada))
    assert "Who may see it?" in offer.text
    await office.press(ada, offer, "Only me")
    added = office.latest(private(ada))
    assert added.id == offer.id
    assert await office.press(ada, offer, "Only me") == GONE
    await office.project.kb.ingestion.work_until_idle(asyncio.Event(), lambda _: None)
    assert "25 percent" in (await office.say(ada, "What discount does Castell Water get?")).text
    bob = await office.join("bob", SALES)
    post = await office.say(bob, "What discount does Castell Water get?")
    assert "25 percent" not in post.text


async def test_a_link_is_decided_once(database: Database) -> None:
    store = await two_systems(database)
    async with opened(store.project) as office:
        ada = await office.join("ada", SALES, scopes=[Scope.READ, Scope.CURATE])
        post = await office.say(ada, "/links")
        await office.press(ada, post, "No")
        assert await office.press(ada, post, "Yes") == GONE
        reader = (await office.asker(ada)).reader
        links = await store.kb.graph.links.list_links(reader, LinkFilter(status=None))
        assert [link.status for link in links] == [LinkStatus.REJECTED]

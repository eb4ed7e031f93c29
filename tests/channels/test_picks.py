"""A name that means several becomes buttons; what is picked holds for the conversation, and confirms a link where it decides one."""

from collections.abc import Collection

import pytest

from lightwell.domain.directory import PersonChange
from lightwell.domain.links import LinkFilter, LinkStatus
from lightwell.domain.scopes import Scope
from lightwell.records import projects
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import Office, opened, private
from tests.flow.conftest import Project
from tests.flow.linked import entity, put_item
from tests.flow.notes import Noted, noted
from tests.flow.test_ingestion import residue

SALES, OTHERS = "team:sales", "team:others"
DOCUMENTS = (
    make_document(
        "a.md",
        "Nordwind Energie GmbH is a utility. Nordwind Energie GmbH gets a discount of 18 percent.",
        [SALES],
    ),
    make_document(
        "b.md",
        "Nordwind Logistik AG drives lorries. Nordwind Logistik AG gets a discount of 25 percent.",
        [SALES],
    ),
    make_document("c.md", "The canteen is closed on Sundays.", [OTHERS]),
)
QUESTION = "What discount does Nordwind get?"
_UPDATES = "SELECT count(*) FROM channel_chats WHERE picks <> '{}'"


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, *DOCUMENTS)


def label_of(labels: list[str], name: str) -> str:
    return next(label for label in labels if label.startswith(name))


async def test_a_pick_asks_again_and_is_remembered_until_a_new_conversation(
    project: Project,
) -> None:
    async with opened(project) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, QUESTION)
        assert "“Nordwind” may mean several. Which one?" in post.text
        assert await office.press(ada, post, label_of(post.labels, "Nordwind Logistik AG")) == ""
        picked = office.latest(private(ada))
        assert picked.id == post.id
        assert "25 percent" in picked.text
        assert "18 percent" not in picked.text
        again = await office.say(ada, QUESTION)
        assert "25 percent" in again.text
        assert "“nordwind” is Nordwind Logistik AG here" in again.text
        assert not [label for label in again.labels if label.startswith("Nordwind")]
        await office.say(ada, "/new")
        assert "Which one?" in (await office.say(ada, QUESTION)).text


async def test_a_pick_is_of_one_account_alone(project: Project) -> None:
    async with opened(project) as office:
        ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
        post = await office.say(ada, QUESTION)
        await office.press(ada, post, label_of(post.labels, "Nordwind Logistik AG"))
        assert "Which one?" in (await office.say(bob, QUESTION)).text


async def test_what_was_picked_is_forgotten_for_whom_it_is_out_of_sight(project: Project) -> None:
    async with opened(project) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, QUESTION)
        await office.press(ada, post, label_of(post.labels, "Nordwind Logistik AG"))
        await office.change("ada", PersonChange(acl_tags=frozenset({OTHERS})))
        assert "Logistik" not in (await office.say(ada, QUESTION)).text


async def test_erasing_leaves_no_pick_and_no_button_with_its_names(project: Project) -> None:
    async with opened(project) as office:
        ada, bob = await office.join("ada", SALES), await office.join("bob", OTHERS)
        post = await office.say(ada, QUESTION)
        await office.press(ada, post, label_of(post.labels, "Nordwind Logistik AG"))
        await office.say(bob, "/search canteen")
        await project.database.execute("ANALYZE", {})
        assert {"channel_buttons", "channel_chats"} <= set(await residue(project, "logistik"))
        reader = (await office.asker(ada)).reader
        await project.kb.documents.erase(reader, ["file:///shelf/b.md"])
        assert await residue(project, "logistik") == []
        assert await project.database.value(_UPDATES, {}) == 0


@pytest.mark.parametrize("how", ["deleted", "other account", "unlinked"])
async def test_with_its_person_an_accounts_picks_and_buttons_go(project: Project, how: str) -> None:
    async with opened(project) as office:
        ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
        for account in (ada, bob):
            post = await office.say(account, QUESTION)
            await office.press(account, post, label_of(post.labels, "Nordwind Logistik AG"))
        match how:
            case "deleted":
                await office.directory.delete_person("ada@halden.example")
            case "other account":
                await office.change("ada", PersonChange(external_ids={"telegram": "5"}))
            case _:
                await office.say(ada, "/unlink")
        for table in ("channel_chats", "channel_buttons"):
            rows = await project.database.values(f"SELECT DISTINCT account FROM {table}", {})
            assert rows == [bob.id]


async def test_a_project_is_deleted_with_its_chats(project: Project) -> None:
    async with opened(project) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, QUESTION)
        await office.press(ada, post, label_of(post.labels, "Nordwind Logistik AG"))
    await projects.delete(project.database, "tenant", "project")
    assert await residue(project, "nordwind") == []
    assert await residue(project, str(project.kb.project_id)) == []


DEAL = entity("attio:deal:7", "Nordwind Pumps", domain="nordwind.example")
MEANT = entity("linear:project:3", "Nordwind Pumps Osprey", domain="nordwind.example")
OTHER = entity("linear:project:4", "Tarn Valley Osprey", domain="tarn.example")
ABOUT_DEAL = "What is planned in Osprey for the deal Nordwind Pumps?"


async def two_systems(database: Database) -> Noted:
    store = await noted(database)
    await put_item(store, [SALES], "Nordwind Pumps is a deal about nordwind.example.", DEAL)
    await put_item(
        store, [SALES], "Nordwind Pumps Osprey is planned for March: nordwind.example.", MEANT
    )
    await put_item(store, [SALES], "Tarn Valley Osprey is planned for June.", OTHER)
    return store


async def statuses(office: Office) -> Collection[LinkStatus]:
    reader = await office.project.kb.reader([SALES])
    links = await office.project.kb.graph.links.list_links(reader, LinkFilter(status=None))
    return [link.status for link in links]


async def test_s2_7_a_pick_confirms_the_link_that_it_decides(database: Database) -> None:
    store = await two_systems(database)
    async with opened(store.project) as office:
        assert await statuses(office) == [LinkStatus.PROPOSED]
        ada = await office.join("ada", SALES, scopes=[Scope.READ, Scope.CURATE])
        post = await office.say(ada, ABOUT_DEAL)
        await office.press(ada, post, label_of(post.labels, "Nordwind Pumps Osprey"))
        assert "confirms the link between" in office.latest(private(ada)).text
        assert await statuses(office) == [LinkStatus.CONFIRMED]


async def test_a_pick_decides_nothing_for_whoever_may_not_curate(database: Database) -> None:
    store = await two_systems(database)
    async with opened(store.project) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, ABOUT_DEAL)
        await office.press(ada, post, label_of(post.labels, "Nordwind Pumps Osprey"))
        assert "confirms" not in office.latest(private(ada)).text
        assert await statuses(office) == [LinkStatus.PROPOSED]


async def test_a_pick_beside_the_proposal_decides_nothing(database: Database) -> None:
    store = await two_systems(database)
    async with opened(store.project) as office:
        ada = await office.join("ada", SALES, scopes=[Scope.READ, Scope.CURATE])
        post = await office.say(ada, ABOUT_DEAL)
        await office.press(ada, post, label_of(post.labels, "Tarn Valley Osprey"))
        assert await statuses(office) == [LinkStatus.PROPOSED]

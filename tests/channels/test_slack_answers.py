"""People ask in Slack, and each gets what this person may see: the whole server on slack-bolt and a stand-in for Slack."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import pytest

from lightwell.domain.channels import Platform
from lightwell.domain.directory import PersonChange
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.knowledge_base import channel_accounts
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.slack_company import Company, connected
from tests.patience import until
from tests.slack_server.server import slack_server
from tests.slack_server.web_api import BOT_TOKEN
from tests.slack_server.workspace import TEAM, User

SALES, BOARD = "team:sales", "team:board"
DOCUMENTS = (
    make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES]),
    make_document("b.md", "Castell Water gets a discount of 25 percent.", [BOARD]),
)
DISCOUNT = "What discount does Nordwind Energie get?"
HIDDEN = "What discount does Castell Water get?"


@pytest.fixture
async def company(database_url: str) -> AsyncGenerator[Company]:
    async with slack_server() as slack, connected(database_url, slack) as company:
        await fill(company)
        yield company


async def fill(company: Company) -> None:
    source = InMemorySource(documents=DOCUMENTS, scope="file:///shelf/")
    await company.site.kb.ingestion.ingest(source)


async def test_an_answer_grows_in_one_message_with_buttons_for_its_sources(
    company: Company,
) -> None:
    slack, ada = company.slack, await company.join("ada", SALES)
    await slack.say(ada, DISCOUNT)
    answer = await company.said(ada, "18 percent")
    assert len(slack.workspace.seen_by(ada)) == 1
    assert answer.edits >= 1
    await until(lambda: bool(answer.buttons))
    label = answer.buttons[0]["text"]["text"]
    assert await slack.press(ada, slack.workspace.own_chat(ada.id), answer, label)
    await until(lambda: len(slack.workspace.seen_by(ada)) == 2)
    source = slack.workspace.seen_by(ada)[-1]
    assert "18 percent" in source.words
    assert slack.refused_for_pace == 0


async def test_everybody_gets_what_their_own_tags_show(company: Company) -> None:
    slack = company.slack
    ada, bob = await company.join("ada", SALES), await company.join("bob", BOARD)
    await slack.say(ada, HIDDEN)
    await slack.say(bob, HIDDEN)
    await company.said(bob, "25 percent")
    await slack.say(ada, "help")
    assert "/" not in (await company.said(ada, "search WORDS")).words
    assert not any("25 percent" in post.words for post in slack.workspace.seen_by(ada))


async def test_in_a_channel_the_asker_alone_sees_the_answer(company: Company) -> None:
    slack = company.slack
    ada, bob = await company.join("ada", SALES), await company.join("bob", BOARD)
    deals = slack.workspace.add_channel("deals", ada, bob)
    await slack.mention(ada, deals, DISCOUNT)
    answer = await company.said(ada, "18 percent", deals)
    assert answer.alone == ada.id
    assert slack.workspace.seen_by(bob) == []
    label = answer.buttons[0]["text"]["text"]
    await slack.press(bob, deals, answer, label)
    await until(lambda: bool(slack.workspace.notices))
    assert slack.workspace.notices[-1][0] == bob.id
    assert slack.workspace.notices[-1][1]["text"] == GONE
    assert slack.workspace.seen_by(bob) == []


async def test_share_here_posts_what_the_channel_may_see_and_says_why_not(
    company: Company,
) -> None:
    slack, ada = company.slack, await company.join("ada", SALES, BOARD)
    bob = await company.join("bob", SALES)
    deals = slack.workspace.add_channel("deals", ada, bob)
    database, project_id = company.site.keys.database, company.site.kb.project_id
    groups = channel_accounts.BoundGroups(database=database, project_id=project_id)
    await groups.bind(Platform.SLACK, deals.id, frozenset({SALES}))
    await slack.mention(ada, deals, HIDDEN)
    hidden = await company.said(ada, "25 percent", deals)
    await slack.press(ada, deals, hidden, "Share here")
    await until(lambda: bool(slack.workspace.notices))
    assert "Not everybody" in slack.workspace.notices[-1][1]["text"]
    assert slack.workspace.seen_by(bob) == []
    await slack.mention(ada, deals, DISCOUNT)
    answer = await company.said(ada, "18 percent", deals)
    await slack.press(ada, deals, answer, "Share here")
    shared = await company.said(bob, "18 percent", deals)
    assert shared.alone == ""
    assert "Shared by" in shared.words
    assert "25 percent" not in words_of(company, bob)


async def test_a_file_that_is_sent_is_added_for_whom_its_sender_chooses(company: Company) -> None:
    slack, ada = company.slack, await company.join("ada", "user:ada")
    change = PersonChange(scopes=frozenset({Scope.READ, Scope.INGEST}))
    await company.directory.change_person("ada@halden.example", change)
    own = slack.workspace.own_chat(ada.id)
    await slack.share(ada, "pump.txt", b"The pump is blue. It was bought in March.")
    await until(lambda: any(post.buttons for post in slack.workspace.seen_by(ada)))
    offer = slack.workspace.seen_by(ada)[-1]
    question = offer.words
    assert slack.tokens_seen == {}, "fetched before its sender has chosen"
    assert await slack.press(ada, own, offer, offer.buttons[0]["text"]["text"])
    await until(lambda: "files-pri" in slack.tokens_seen and offer.words != question)
    assert slack.tokens_seen["files-pri"] == [f"Bearer {BOT_TOKEN}"]


async def test_a_command_where_the_bot_is_not_is_answered_in_its_own_chat(
    company: Company,
) -> None:
    slack, ada = company.slack, await company.join("ada", SALES)
    elsewhere = slack.workspace.add_channel("elsewhere", ada, bot=False)
    await slack.command(ada, elsewhere, DISCOUNT)
    await company.said(ada, "18 percent")
    assert elsewhere.messages == []


async def test_an_old_button_of_somebody_who_left_shows_nothing(company: Company) -> None:
    slack, ada = company.slack, await company.join("ada", SALES)
    own = slack.workspace.own_chat(ada.id)
    await slack.say(ada, DISCOUNT)
    answer = await company.said(ada, "18 percent")
    await until(lambda: bool(answer.buttons))
    await company.directory.change_person("ada@halden.example", PersonChange(active=False))
    await slack.press(ada, own, answer, answer.buttons[0]["text"]["text"])
    await until(lambda: bool(slack.workspace.notices))
    assert slack.workspace.notices == [
        (ada.id, {"response_type": "ephemeral", "replace_original": False, "text": GONE})
    ]
    assert len(slack.workspace.seen_by(ada)) == 1


async def test_a_member_of_a_trusted_workspace_is_known_by_the_address_and_a_guest_is_not(
    database_url: str,
) -> None:
    trusting = {"channels.slack_trusted_workspaces": TEAM}
    async with slack_server() as slack, connected(database_url, slack, trusting) as company:
        await fill(company)
        ada = await company.join("ada", SALES, is_linked=False)
        await slack.say(ada, DISCOUNT)
        await company.said(ada, "18 percent")
        guest = await company.join("gil", SALES, is_linked=False)
        guest.marks = {"is_restricted": True}
        olga = await company.join("olga", SALES, is_linked=False)
        olga.team = "T0OTHER"
        for stranger in (guest, olga):
            await slack.say(stranger, DISCOUNT)
            await company.said(stranger, "do not know who you are")
            assert "18 percent" not in words_of(company, stranger)


def words_of(company: Company, user: User) -> str:
    return "\n".join(post.words for post in company.slack.workspace.seen_by(user))


async def test_a_server_that_ends_loses_no_message_and_answers_none_twice(
    database_url: str,
) -> None:
    async with slack_server(ack_seconds=1.0) as slack, AsyncExitStack() as first:
        company = await first.enter_async_context(connected(database_url, slack))
        await fill(company)
        ada = await company.join("ada", SALES)
        await slack.say(ada, "status")
        await company.said(ada, "You see 1 document")
        await slack.say(ada, DISCOUNT)
        await first.aclose()
        async with connected(database_url, slack) as second:
            await second.said(ada, "18 percent")
            await slack.say(ada, "help")
            await second.said(ada, "search WORDS")
            assert words_of(second, ada).count("18 percent") == 1
            assert len(slack.workspace.seen_by(ada)) == 3

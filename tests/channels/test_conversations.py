"""A person asks in a chat and gets what that person may see, in one message that grows."""

import asyncio
from dataclasses import replace

import pytest

from lightwell.domain.channels import Account, Platform, Text, Unreadable
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import ChannelFailed, ChannelGone
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels import conversation
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.entrypoints.channels.questions import Questions
from lightwell.entrypoints.channels.reply import BEGIN_PRIVATELY, PRIVATELY
from lightwell.knowledge_base.channel_accounts import OwnAccounts, list_bots
from lightwell.records.channel_updates import TakenUpdate
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.conftest import filled
from tests.channels.memory import GROUP, MemoryChannel, Office, opened, private, update_of
from tests.flow.conftest import Project
from tests.patience import PATIENCE

SALES, BOARD = "team:sales", "team:board"
DOCUMENTS = (
    make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES]),
    make_document("b.md", "Castell Water gets a discount of 25 percent.", [BOARD]),
)
DISCOUNT = "What discount does Nordwind Energie get?"
HIDDEN = "What discount does Castell Water get?"


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, *DOCUMENTS)


# ── answers ───────────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_grows_in_one_message_and_has_its_sources(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    assert "18 percent" in post.text
    assert "[1]" in post.labels
    versions = [written.text for written in office.channel.written]
    assert len(office.channel.posts) == 1
    assert versions[0] == "…"
    assert versions[-1] == post.text
    assert post.chat == private(ada).id


async def test_everybody_gets_what_their_own_tags_show(office: Office) -> None:
    ada, bob = await office.join("ada", SALES), await office.join("bob", BOARD)
    assert "25 percent" not in (await office.say(ada, HIDDEN)).text
    assert "25 percent" in (await office.say(bob, HIDDEN)).text
    assert "18 percent" not in (await office.say(bob, DISCOUNT)).text


async def test_a_refusal_names_what_is_nearest(office: Office) -> None:
    ada = await office.join("ada", SALES)
    refused = await office.say(ada, HIDDEN)
    assert "Insufficient evidence" in refused.text
    assert "Nearest: a: " in refused.text


async def test_what_words_of_a_question_were_taken_for_stands_below_its_answer(
    office: Office,
) -> None:
    issue = make_document("i.md", "Castell Water asked for a discount of 9 percent.", [SALES])
    source = InMemorySource(documents=(replace(issue, system="linear", kind="issue"),))
    await office.project.kb.ingestion.ingest(source)
    ada = await office.join("ada", SALES)
    answered = await office.say(ada, "Which discount did Castell Water ask for in Linear?")
    assert "9 percent" in answered.text
    assert answered.text.count("Only: linear") == 1


async def test_a_follow_up_belongs_to_the_conversation_until_a_new_one_begins(
    office: Office,
) -> None:
    ada = await office.join("ada", SALES)
    await office.say(ada, DISCOUNT)
    await office.say(ada, "And who else?")
    reader = (await office.asker(ada)).reader
    (one,) = await office.project.kb.conversations.list(reader)
    assert one.messages == 4
    await office.say(ada, "/new")
    await office.say(ada, DISCOUNT)
    assert len(await office.project.kb.conversations.list(reader)) == 2


async def test_what_was_answered_leaves_its_key_alone(office: Office) -> None:
    ada = await office.join("ada", SALES)
    await office.say(ada, DISCOUNT)
    rows = await office.project.database.rows(
        "SELECT content, sent, answered_at IS NOT NULL FROM channel_updates", {}
    )
    assert rows == [(None, "", True)]


async def test_the_same_update_again_is_answered_once(office: Office) -> None:
    ada = await office.join("ada", SALES)
    update = await office.send(ada, Text(text=DISCOUNT))
    written = len(office.channel.written)
    await office.deliver(update, update)
    assert len(office.channel.written) == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/help", "/search WORDS"),
        ("help", "/search WORDS"),
        ("/help@lightwell_bot", "/search WORDS"),
        ("/start", "/search WORDS"),
        ("/status", "You see 1 document."),
        ("/new", "new conversation"),
        ("/destroy", "do not know this command"),
        ("x" * 2001, "maximum length"),
    ],
)
async def test_commands_and_mistakes_are_answered(office: Office, text: str, said: str) -> None:
    ada = await office.join("ada", SALES)
    assert said in (await office.say(ada, text)).text


async def test_what_is_not_read_is_declined(office: Office) -> None:
    ada = await office.join("ada", SALES)
    await office.send(ada, Unreadable(kind="voice message"))
    assert "cannot read a voice message" in office.latest(private(ada)).text


async def test_characters_that_no_store_takes_are_left_out(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, "What discount\0 does \ud800Nordwind Energie get?")
    assert "18 percent" in post.text


# ── who asks ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stranger_is_told_how_to_link_once_a_minute_and_asks_nothing(
    office: Office,
) -> None:
    stranger = Account(platform=Platform.TELEGRAM, id="999", name="ada@halden.example")
    post = await office.say(stranger, DISCOUNT)
    assert "link this account" in post.text
    await office.say(stranger, DISCOUNT)
    assert len(office.channel.written) == 1
    assert await office.project.database.values("SELECT 1 FROM rag_queries", {}) == []


async def test_whoever_leaves_loses_access_at_the_next_message_and_the_next_press(
    office: Office,
) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    await office.change("ada", PersonChange(active=False))
    written = len(office.channel.written)
    assert await office.press(ada, post, "[1]") == GONE
    assert len(office.channel.written) == written
    assert "link this account" in (await office.say(ada, DISCOUNT)).text


async def test_other_tags_hold_at_the_next_message(office: Office) -> None:
    ada = await office.join("ada", SALES)
    await office.say(ada, DISCOUNT)
    await office.change("ada", PersonChange(acl_tags=frozenset({BOARD})))
    assert "18 percent" not in (await office.say(ada, DISCOUNT)).text
    assert "25 percent" in (await office.say(ada, HIDDEN)).text


async def test_without_the_scope_to_read_nobody_reads(office: Office) -> None:
    ada = await office.join("ada", SALES, scopes=[Scope.INGEST])
    assert "You may not read here" in (await office.say(ada, DISCOUNT)).text


async def test_too_many_questions_are_declined_politely_and_not_asked(project: Project) -> None:
    async with opened(project, per_minute=2) as office:
        ada = await office.join("ada", SALES)
        for _ in range(2):
            assert "18 percent" in (await office.say(ada, DISCOUNT)).text
        assert "Too many questions; try again in" in (await office.say(ada, DISCOUNT)).text
        written = len(office.channel.written)
        await office.say(ada, DISCOUNT)
        assert len(office.channel.written) == written
        assert len(await project.database.values("SELECT 1 FROM rag_queries", {})) == 2


async def test_an_account_that_is_unlinked_asks_nothing_more(office: Office) -> None:
    ada = await office.join("ada", SALES)
    assert "not linked to you any more" in (await office.say(ada, "/unlink")).text
    assert "link this account" in (await office.say(ada, DISCOUNT)).text


# ── failures ──────────────────────────────────────────────────────────────────────────────────────────


async def test_an_error_is_one_apology_without_what_happened(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"secret words about {DISCOUNT}")

    ada = await office.join("ada", SALES)
    monkeypatch.setattr(Questions, "ask", fail)
    post = await office.say(ada, DISCOUNT)
    assert "Something went wrong here" in post.text
    assert "secret" not in post.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert DISCOUNT not in caplog.text


async def test_a_platform_that_fails_is_answered_later(office: Office) -> None:
    ada = await office.join("ada", SALES)
    failures = ["edit"]

    def fail_once(step: str) -> None:
        if step in failures:
            failures.remove(step)
            raise ChannelFailed("away")

    office.channel.before = fail_once
    post = await office.say(ada, "/status")
    assert "You see 1 document." in post.text
    assert len(office.channel.posts) == 1


async def test_a_chat_that_is_gone_is_given_up(office: Office) -> None:
    def fail(step: str) -> None:
        if step != "run":
            raise ChannelGone("blocked")

    ada = await office.join("ada", SALES)
    office.channel.before = fail
    await office.send(ada, Text(text=DISCOUNT))
    assert office.channel.written == []


# ── groups ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("edits_alone", [True, False])
async def test_in_a_group_the_asker_alone_sees_the_answer(
    project: Project, *, edits_alone: bool
) -> None:
    channel = MemoryChannel(edits_alone=edits_alone)
    async with opened(project, channel) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, DISCOUNT, GROUP)
        assert "18 percent" in post.text
        assert "Share here" in post.labels
        assert {written.alone for written in channel.written} == {ada.id}
        assert len(channel.posts) == 1


@pytest.mark.parametrize("edits_alone", [True, False])
async def test_where_a_group_cannot_the_private_chat_has_the_answer(
    project: Project, *, edits_alone: bool
) -> None:
    channel = MemoryChannel(edits_alone=edits_alone, shows_alone=False)
    async with opened(project, channel) as office:
        ada = await office.join("ada", SALES)
        post = await office.say(ada, DISCOUNT, GROUP)
        assert post.message == PRIVATELY
        (answer,) = channel.in_chat(private(ada))
        assert "18 percent" in answer.text
        assert len(channel.in_chat(GROUP)) == 1


async def test_whoever_has_not_begun_a_private_chat_is_told_to(project: Project) -> None:
    channel = MemoryChannel(shows_alone=False, strangers=True)
    async with opened(project, channel) as office:
        ada = await office.join("ada", SALES)
        assert (await office.say(ada, DISCOUNT, GROUP)).message == BEGIN_PRIVATELY
        assert await project.database.values("SELECT 1 FROM rag_queries", {}) == []


async def test_the_conversation_in_a_group_is_each_ones_own(office: Office) -> None:
    ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
    await office.say(ada, DISCOUNT, GROUP)
    await office.say(bob, "And who else?", GROUP)
    for account in (ada, bob):
        (own,) = await office.project.kb.conversations.list((await office.asker(account)).reader)
        assert own.messages == 2


async def test_nothing_of_a_group_is_kept_but_the_askers_own_exchange(office: Office) -> None:
    stranger = Account(platform=Platform.TELEGRAM, id="998")
    await office.say(stranger, "Zyxwvut", GROUP)
    rows = await office.project.database.rows(
        "SELECT channel_updates::text FROM channel_updates", {}
    )
    assert "Zyxwvut" not in str(rows)


# ── order ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_chat_is_answered_in_order_and_none_waits_for_another(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
    begun, free = asyncio.Event(), asyncio.Event()
    usual = conversation.Conversations.respond

    async def respond(self: conversation.Conversations, taken: TakenUpdate) -> None:
        if taken.update.content == Text(text="slow"):
            begun.set()
            await free.wait()
        await usual(self, taken)

    monkeypatch.setattr(conversation.Conversations, "respond", respond)
    async with opened(office.project, MemoryChannel(platform=Platform.SLACK)) as slow:
        ada, bob = await slow.join("cy", SALES), await slow.join("di", SALES)
        texts = [(ada, "slow"), (ada, "/status"), (bob, "/help")]
        updates = [update_of(account, Text(text=text)) for account, text in texts]
        delivering = asyncio.create_task(slow.deliver(*updates))
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
            while not slow.channel.in_chat(private(bob)) or slow.latest(private(bob)).text == "…":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert slow.channel.in_chat(private(ada)) == []
        free.set()
        await delivering
        first, second = slow.channel.in_chat(private(ada))
        assert "You see" in second.text
        assert int(first.id) < int(second.id)


async def test_another_process_goes_on_where_one_ends(project: Project) -> None:
    async with opened(project) as first:
        ada = await first.join("ada", SALES)
        async with asyncio.timeout(PATIENCE):
            await first.channel.runs.wait()
        async with opened(project) as second:
            assert not second.channel.runs.is_set()
            assert "18 percent" in (await first.say(ada, DISCOUNT)).text
            assert not second.channel.runs.is_set()
    async with opened(project) as third:
        assert "18 percent" in (await third.say(replace(ada), DISCOUNT)).text


async def test_a_trusted_workspace_says_whose_an_account_is(project: Project) -> None:
    channel = MemoryChannel(platform=Platform.SLACK)
    async with opened(project, channel, trusted="T1, T2") as office:
        await office.directory.create_person(
            PersonChange(email="cy@halden.example", acl_tags=frozenset({SALES}))
        )
        own, foreign = (Account(platform=Platform.SLACK, id=f"{team}/U1") for team in ("T1", "T9"))
        channel.emails |= {own.id: "cy@halden.example", foreign.id: "cy@halden.example"}
        assert "link this account" in (await office.say(foreign, DISCOUNT)).text
        assert "18 percent" in (await office.say(own, DISCOUNT)).text
        await office.say(own, "/unlink")
        assert "link this account" in (await office.say(own, DISCOUNT)).text


async def test_a_code_links_an_account_and_is_used_once(project: Project) -> None:
    async with opened(project) as office:
        person = await office.directory.create_person(
            PersonChange(email="cy@halden.example", acl_tags=frozenset({SALES}))
        )
        own = OwnAccounts(
            database=project.database, project_id=project.kb.project_id, person=person.id
        )
        async with asyncio.timeout(PATIENCE):
            while not await list_bots(project.database, project.kb.project_id):  # noqa: ASYNC110 - it notes itself
                await asyncio.sleep(0.02)
        code = (await own.make_code(Platform.TELEGRAM)).secret.text
        cy, eve = (Account(platform=Platform.TELEGRAM, id=number) for number in ("77", "78"))
        assert "private chat" in (await office.say(cy, f"/start {code}", GROUP)).text
        assert "cy@halden.example" in (await office.say(cy, f"/start {code}")).text
        assert "18 percent" in (await office.say(cy, DISCOUNT)).text
        assert "not valid" in (await office.say(eve, f"link {code}")).text

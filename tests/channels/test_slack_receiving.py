"""What people do in Slack arrives as updates: by slack-bolt over Socket Mode, acknowledged when it is stored."""

import asyncio
import json

import pytest

from lightwell.domain.channels import File, Press, Text, Unreadable
from tests.channels.slack_parts import Inbox, account_of, message, own_chat, running
from tests.patience import until
from tests.slack_server.server import Failure, slack_server
from tests.slack_server.workspace import BOT_USER


def texts(inbox: Inbox) -> list[str]:
    return [update.content.text for update in inbox.updates if isinstance(update.content, Text)]


async def test_a_message_in_the_bots_chat_is_received_once_it_is_stored() -> None:
    inbox = Inbox(slow=asyncio.Event())
    async with slack_server() as slack, running(slack, inbox):
        mira = slack.workspace.add_user("mira")
        saying = asyncio.create_task(slack.say(mira, "What does Nordwind owe?"))
        await until(lambda: inbox.offered == 1)
        assert not saying.done(), "acknowledged before it was stored"
        assert inbox.slow is not None
        inbox.slow.set()
        event_id = await saying
        update = inbox.updates[0]
        assert update.key == event_id
        assert update.account == account_of(mira)
        assert update.chat == own_chat(slack, mira)
        assert update.content == Text(text="What does Nordwind owe?")
        assert update.message == slack.workspace.own_chat(mira.id).messages[-1].ts


async def test_what_is_not_stored_is_not_acknowledged_and_comes_again_with_the_same_key() -> None:
    inbox = Inbox(failures=1)
    async with slack_server(ack_seconds=0.3) as slack, running(slack, inbox):
        event_id = await slack.say(slack.workspace.add_user("mira"), "Still there?")
        assert [update.key for update in inbox.updates] == [event_id]
        assert inbox.offered == 2


async def test_mentions_in_channels_and_threads_are_received_without_the_mention() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox):
        mira = slack.workspace.add_user("mira")
        deals = slack.workspace.add_channel("deals", mira)
        await slack.mention(mira, deals, "Who owns &lt;Nordwind&gt; &amp; Co?")
        await slack.mention(mira, deals, "And since when?", thread_ts="1700000000.000100")
        await slack.mention(mira, deals, "")
        first, second, _ = inbox.updates
        assert texts(inbox) == ["Who owns <Nordwind> & Co?", "And since when?", "/help"]
        assert (first.chat.id, first.chat.is_private, first.chat.thread) == (deals.id, False, "")
        assert second.chat.thread == "1700000000.000100"


async def test_what_others_write_and_what_is_about_earlier_messages_is_nothing_for_the_bot() -> (
    None
):
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox):
        mira = slack.workspace.add_user("mira")
        deals = slack.workspace.add_channel("deals", mira)
        await slack.say(mira, "not to the bot", channel=deals)
        await slack.say(mira, "edited", subtype="message_changed")
        await slack.say(mira, "joined", subtype="channel_join")
        await slack.say(mira, "of another bot", bot_id="B0OTHER", subtype="bot_message")
        await slack.say(mira, "its own", bot_id="B0LIGHTWELL", user=BOT_USER)
        await slack.mention(mira, deals, "mentioned later", edited={"user": mira.id, "ts": "1.2"})
        await slack.send_event({"type": "app_home_opened", "user": mira.id, "tab": "home"}, mira)
        await slack.say(mira, "to the bot")
        assert texts(inbox) == ["to the bot"]


async def test_commands_are_answered_where_the_bot_is_and_else_in_its_own_chat() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox):
        mira, jan = slack.workspace.add_user("mira"), slack.workspace.add_user("jan")
        deals = slack.workspace.add_channel("deals", mira, jan)
        between_two = slack.workspace.own_chat(mira.id, jan.id)
        own = slack.workspace.own_chat(mira.id)
        assert await slack.command(mira, deals, "brief Nordwind") == ""
        assert await slack.command(mira, between_two, "Who owns Nordwind?") == (
            "I answer in our own chat."
        )
        assert await slack.command(mira, own, "") == ""
        assert texts(inbox) == ["/brief Nordwind", "Who owns Nordwind?", "/help"]
        chats = [(update.chat.id, update.chat.is_private) for update in inbox.updates]
        assert chats == [(deals.id, False), (own.id, True), (own.id, True)]


async def test_a_press_is_received_with_the_data_and_the_message_of_its_button() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox) as channel:
        mira = slack.workspace.add_user("mira")
        chat = own_chat(slack, mira)
        await channel.send(chat, message("An answer", "Next", "Source 1"))
        posted = slack.workspace.channels[chat.id].messages[-1]
        assert await slack.press(mira, slack.workspace.channels[chat.id], posted, "Source 1")
        update = inbox.updates[-1]
        assert isinstance(update.content, Press)
        assert (update.content.data, update.content.message) == ("data of Source 1", posted.ts)
        assert (update.account.id, update.chat) == (account_of(mira).id, chat)
        await channel.acknowledge(update.content)
        await channel.acknowledge(update.content, "This button <!here> no longer works.")
        notice = {"text": "This button &lt;!here&gt; no longer works."}
        assert slack.workspace.notices == [
            (mira.id, {"response_type": "ephemeral", "replace_original": False, **notice})
        ]


async def test_a_press_under_what_one_account_alone_sees_names_no_message_to_edit() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox) as channel:
        mira = slack.workspace.add_user("mira")
        deals = slack.workspace.add_channel("deals", mira)
        await slack.mention(mira, deals, "Who?", thread_ts="1700000000.000100")
        chat = inbox.updates[-1].chat
        assert await channel.send_alone(chat, account_of(mira), message("You", "Share here"))
        await slack.press(mira, deals, deals.messages[-1], "Share here")
        press = inbox.updates[-1]
        assert isinstance(press.content, Press)
        assert (press.content.message, press.chat) == ("", chat)


async def test_files_are_received_one_by_one_and_sounds_are_not_read() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox) as channel:
        mira = slack.workspace.add_user("mira")
        await slack.share(mira, "terms.txt", b"net 30", text="for sales")
        await slack.share(mira, "memo.m4a", b"...", mimetype="audio/mp4")
        kept, sound = inbox.updates
        assert isinstance(kept.content, File)
        assert (kept.content.name, kept.content.size) == ("terms.txt", 6)
        assert kept.content.caption == "for sales"
        assert sound.content == Unreadable(kind="voice message")
        assert [piece async for piece in channel.download(kept.content)] == [b"net 30"]
        both = {**slack.message(mira, "two"), "subtype": "file_share"}
        both["files"] = [slack.api.described(file) for file in slack.workspace.files.values()]
        event_id = await slack.send_event(both, mira)
        assert [update.key for update in inbox.updates[2:]] == [event_id, f"{event_id}.1"]


async def test_who_writes_from_another_company_has_that_companys_workspace() -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox) as channel:
        guest = slack.workspace.add_user("olga", team="T0OTHER", email="olga@halden.example")
        shared = slack.workspace.add_channel("shared", guest, shared=True)
        await slack.mention(guest, shared, "What do you know of us?")
        await slack.mention(guest, shared, "And now?", user_team="E0GRID", team="T0HALDEN")
        accounts = [update.account.id for update in inbox.updates]
        assert accounts == [f"T0OTHER/{guest.id}", f"E0GRID/{guest.id}"]
        await channel.send(inbox.updates[0].chat, message("?", "Next"))
        await slack.press(guest, shared, shared.messages[-1], "Next")
        assert inbox.updates[-1].account.id == f"T0OTHER/{guest.id}"


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_connection_that_slack_replaces_loses_nothing(reason: str) -> None:
    inbox = Inbox()
    async with slack_server() as slack, running(slack, inbox):
        mira = slack.workspace.add_user("mira")
        await slack.say(mira, "before")
        await slack.disconnect(reason)
        await slack.say(mira, "meanwhile")
        await until(lambda: slack.connections == 2)
        await slack.say(mira, "after")
        assert texts(inbox) == ["before", "meanwhile", "after"]


async def test_a_slack_that_is_away_is_called_again_and_nothing_else_notices() -> None:
    inbox = Inbox()
    async with slack_server() as slack:
        page = Failure(status=503, content_type="text/plain")
        slack.fail("apps.connections.open", Failure(hangs_up=True), Failure(status=503), page)
        async with running(slack, inbox):
            assert not slack.failures["apps.connections.open"]
            await slack.cut()
            await until(lambda: slack.connections == 2)
            await slack.say(slack.workspace.add_user("mira"), "You are back")
            assert texts(inbox) == ["You are back"]


async def test_what_is_malformed_harms_nothing() -> None:
    inbox = Inbox()
    async with slack_server(ack_seconds=0.3) as slack, running(slack, inbox):
        mira = slack.workspace.add_user("mira")
        envelope = {"envelope_id": "1", "type": "events_api"}
        bodies: list[object] = [
            {},
            {"type": "event_callback", "event": []},
            {"type": "event_callback", "event": {"type": ["message"]}},
            {"type": "event_callback", "event_id": 5, "event": {"type": "message"}},
            {"type": "block_actions", "actions": []},
            {"type": "block_actions", "actions": [7], "user": 1, "team": 5},
            {"command": "/lightwell"},
            [],
            5,
            None,
        ]
        for text in ("", "no json", "[1]", "{", '{"type": 1}', "[" * 100_000):
            await slack.send_raw(text)
        for body in bodies:
            await slack.send_raw(json.dumps({**envelope, "payload": body}))
        await slack.say(mira, "fine")
        assert texts(inbox) == ["fine"]
        assert slack.connections == 1

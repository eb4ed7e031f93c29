"""What the bot says in Slack: as text that is nothing else, at Slack's pace, to whom it is for, and with its token for Slack alone."""

import asyncio
import logging
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from lightwell.domain.channels import Account, Bot, Chat, File, Platform, Press
from lightwell.domain.errors import ChannelFailed, ChannelGone
from lightwell.entrypoints.slack.channel import SlackChannel, open_slack
from lightwell.entrypoints.slack.pace import Pace
from tests.channels.slack_parts import (
    SOCKET,
    Inbox,
    account_of,
    message,
    own_chat,
    running,
)
from tests.slack_server.limits import inline
from tests.slack_server.server import Failure, slack_server
from tests.slack_server.web_api import APP_TOKEN, BOT_TOKEN
from tests.slack_server.workspace import TEAM, StoredFile

PICTURE = b"\x89PNG of a page"


async def test_a_message_is_sent_and_edited_as_text_that_is_nothing_else() -> None:
    words = "<!channel> <@U0MIRA> *bold* _it_ :tada: <https://a.example|b> & @here `x`"
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira = slack.workspace.add_user("mira")
        chat = own_chat(slack, mira)
        sent = await channel.send(chat, message("…"))
        assert await channel.edit(chat, sent, message(words, "More")) == sent
        (posted,) = slack.workspace.seen_by(mira)
        assert posted.words == words
        assert {item["type"] for block in posted.blocks for item in inline(block)} == {"text"}
        assert "<" not in posted.text
        assert "&lt;!channel&gt;" in posted.text
        assert [button["value"] for button in posted.buttons] == ["data of More"]
        for method, arguments in slack.api.calls:
            assert arguments["parse"] == "none"
            assert arguments["link_names"] is False
            assert method == "chat.update" or arguments["unfurl_links"] is False


async def test_a_channels_messages_stay_in_the_thread_of_what_they_answer() -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        deals = slack.workspace.add_channel("deals", slack.workspace.add_user("mira"))
        chat = Chat(platform=Platform.SLACK, id=deals.id, is_private=False)
        await channel.send(chat, message("one"), reply_to="1700000000.000100")
        await channel.send(replace(chat, thread="1700000000.000200"), message("two"), reply_to="1")
        threads = [posted.thread for posted in deals.messages]
        assert threads == ["1700000000.000100", "1700000000.000200"]


async def test_messages_keep_slacks_pace_and_wait_where_slack_says_so() -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira, jan = slack.workspace.add_user("mira"), slack.workspace.add_user("jan")
        slack.fail("chat.postMessage", Failure(retry_after=1))
        await channel.send(own_chat(slack, mira), message("one"))
        await asyncio.gather(
            channel.send(own_chat(slack, mira), message("two")),
            channel.send(own_chat(slack, jan), message("to another")),
        )
        assert slack.refused_for_pace == 0
        assert [posted.words for posted in slack.workspace.seen_by(mira)] == ["one", "two"]


async def test_no_minute_has_more_edits_than_slack_takes() -> None:
    now, edits = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(clock=lambda: now, sleep=sleep)
    for number in range(300):
        async with pace.turn(f"D{number % 7}", edits=True):
            edits.append(now)
    assert max(sum(start <= moment < start + 60 for moment in edits) for start in edits) <= 50
    assert edits[9] <= 2, "a few edits need not wait for each other"
    assert edits[-1] < 300 * 1.5 + 1


@pytest.mark.parametrize("word", ["invalid_blocks", "msg_blocks_too_long"])
async def test_blocks_that_slack_refuses_are_written_as_text(word: str) -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira = slack.workspace.add_user("mira")
        slack.fail("chat.postMessage", Failure(word=word))
        await channel.send(own_chat(slack, mira), message("*18* <percent>", "More"))
        (posted,) = slack.workspace.seen_by(mira)
        assert (posted.text, posted.blocks) == ("*18* &lt;percent&gt;", [])
        assert posted.arguments["mrkdwn"] is False


async def test_what_is_for_one_account_is_seen_by_it_alone() -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira, jan = slack.workspace.add_user("mira"), slack.workspace.add_user("jan")
        deals = slack.workspace.add_channel("deals", mira, jan)
        chat = Chat(platform=Platform.SLACK, id=deals.id, is_private=False)
        assert await channel.send_alone(chat, account_of(mira), message("You"), reply_to="1.2")
        assert [posted.words for posted in slack.workspace.seen_by(mira)] == ["You"]
        assert slack.workspace.seen_by(jan) == []
        assert deals.messages[0].thread == "", "nobody sees it in a thread that nobody began"
        with_picture = message("A page")
        with_picture = replace(with_picture, message=replace(with_picture.message, picture=PICTURE))
        assert await channel.send_alone(chat, account_of(mira), with_picture) == ""
        elsewhere = slack.workspace.add_channel("elsewhere", mira, bot=False)
        chat = Chat(platform=Platform.SLACK, id=elsewhere.id, is_private=False)
        assert await channel.send_alone(chat, account_of(mira), message("You")) == ""
        assert await channel.private_chat(account_of(mira)) == own_chat(slack, mira)
        assert len(slack.workspace.seen_by(mira)) == 1


async def test_what_cannot_be_edited_is_sent_anew_to_its_account_and_never_to_a_group() -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira = slack.workspace.add_user("mira")
        private = own_chat(slack, mira)
        sent = await channel.send(private, message("…"))
        slack.workspace.channels[private.id].messages.clear()
        again = await channel.edit(private, sent, message("The answer"))
        assert again != sent
        assert [posted.ts for posted in slack.workspace.seen_by(mira)] == [again]
        deals = slack.workspace.add_channel("deals", mira)
        group = Chat(platform=Platform.SLACK, id=deals.id, is_private=False)
        alone = await channel.send_alone(group, account_of(mira), message("You"))
        with pytest.raises(ChannelGone):
            await channel.edit(group, alone, message("For you alone"))
        assert [posted.words for posted in deals.messages] == ["You"]


async def test_a_picture_is_sent_before_its_words() -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira = slack.workspace.add_user("mira")
        chat = own_chat(slack, mira)
        words = message("Page 3", "Next")
        await channel.send(chat, replace(words, message=replace(words.message, picture=PICTURE)))
        (file,) = slack.workspace.files.values()
        assert (file.content, file.channel) == (PICTURE, chat.id)
        assert [posted.words for posted in slack.workspace.seen_by(mira)] == ["Page 3"]
        assert slack.tokens_seen["upload"] == [""]


@pytest.mark.parametrize(
    ("address", "extra"),
    [
        ("https://files.example.com/x", {}),
        ("http://files.slack.com/files-pri/T-F/x", {}),
        ("https://files.slack.com.example.com/x", {}),
        ("https://files.slack.com@example.com/x", {}),
        ("", {"mode": "external"}),
    ],
)
async def test_files_of_other_hosts_are_not_fetched(address: str, extra: dict[str, str]) -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        slack.workspace.files["F1"] = StoredFile(
            id="F1", name="x", content=b"x", mimetype="text/plain", address=address or "no address"
        )
        slack.workspace.files["F1"].extra = dict(extra)
        with pytest.raises(ChannelFailed, match="host of files"):
            await content(channel, File(name="x", size=1, handle="F1"))


async def content(channel: SlackChannel, file: File) -> bytes:
    return b"".join([piece async for piece in channel.download(file)])


async def test_a_file_that_redirects_that_is_longer_or_that_is_gone_is_refused() -> None:
    async with slack_server() as slack, slack_server() as other:
        files = slack.workspace.files
        files["F1"] = StoredFile(id="F1", name="x", content=b"four", mimetype="text/plain")
        async with open_slack(SOCKET, slack.api_url) as channel:
            with pytest.raises(ChannelFailed, match="larger"):
                await content(channel, File(name="x", size=3, handle="F1"))
            with pytest.raises(ChannelFailed, match="file_not_found"):
                await content(channel, File(name="x", size=3, handle="F2"))
            files["F1"].address = f"{slack.url}/moved?to={other.url}/files-pri/x-F1/x"
            with pytest.raises(ChannelFailed):
                await content(channel, File(name="x", size=4, handle="F1"))
            files["F1"].address, files["F1"].mimetype = f"{slack.url}/login", "application/pdf"
            with pytest.raises(ChannelFailed, match="did not give"):
                await content(channel, File(name="x", size=4, handle="F1"))
        assert other.tokens_seen == {}


async def test_no_call_follows_a_redirect() -> None:
    async with slack_server() as slack, slack_server() as other:
        slack.fail("chat.postMessage", Failure(location=f"{other.api_url}chat.postMessage"))
        async with open_slack(SOCKET, slack.api_url) as channel:
            mira = slack.workspace.add_user("mira")
            with pytest.raises(ChannelFailed):
                await channel.send(own_chat(slack, mira), message("for Mira"))
        assert other.api.calls == []


@pytest.mark.parametrize(
    "handle",
    ["", "https://example.com/x", "http://hooks.slack.com/x", "https://hooks.slack.com@a.example/"],
)
async def test_a_notice_goes_to_slack_alone(handle: str) -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        with pytest.raises(ChannelFailed, match="no address of Slack"):
            await channel.acknowledge(Press(data="x", message="1.2", handle=handle), "No")


@pytest.mark.parametrize(
    "marks",
    [
        {"is_email_confirmed": False},
        {"is_email_confirmed": None},
        {"is_email_confirmed": "true"},
        {"deleted": True},
        {"is_bot": True},
        {"is_app_user": True},
        {"is_restricted": True},
        {"is_ultra_restricted": True},
        {"is_stranger": True},
        {"is_invited_user": True},
        {"team_id": "T0OTHER"},
        {"id": "U0OTHER"},
        {"profile": None},
    ],
)
async def test_only_a_members_confirmed_address_counts(marks: dict[str, object]) -> None:
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        mira = slack.workspace.add_user("mira", email="mira@halden.example")
        assert await channel.verified_email(account_of(mira)) == "mira@halden.example"
        mira.marks = marks
        account = Account(platform=Platform.SLACK, id=f"{TEAM}/U0MIRA")
        assert await channel.verified_email(account) == ""


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(word="channel_not_found"), ChannelGone),
        (Failure(word="is_archived"), ChannelGone),
        (Failure(word="msg_too_long"), ChannelFailed),
        (Failure(word=f"invalid_auth {BOT_TOKEN}"), ChannelFailed),
        (Failure(status=500), ChannelFailed),
        (Failure(status=200), ChannelFailed),
        (Failure(status=503, content_type="text/plain"), ChannelFailed),
        (Failure(hangs_up=True), ChannelFailed),
    ],
)
async def test_what_slack_does_not_take_is_an_error_without_secrets(
    failure: Failure, error: type[ChannelFailed], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with slack_server() as slack, open_slack(SOCKET, slack.api_url) as channel:
        chat = own_chat(slack, slack.workspace.add_user("mira"))
        slack.fail("chat.postMessage", failure)
        with pytest.raises(ChannelFailed) as raised:
            await channel.send(chat, message("for Mira alone"))
        assert type(raised.value) is error or error is ChannelFailed
        assert_no_secret(f"{raised.value!r} {caplog.text}")


async def test_no_secret_and_no_word_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    inbox = Inbox(failures=1)
    with capture_logs() as logs:
        await _fail_in_all_ways(inbox)
    events = {entry["event"] for entry in logs}
    assert {
        "what Slack sent is not stored",
        "a connection to Slack ended and is opened again",
    } <= events
    assert_no_secret(f"{logs} {caplog.text.replace('/link/?ticket=', 'of the stand-in')}")


async def _fail_in_all_ways(inbox: Inbox) -> None:
    async with slack_server(ack_seconds=0.5) as slack, running(slack, inbox) as channel:
        mira = slack.workspace.add_user("mira", email="mira@halden.example")
        await slack.say(mira, "for Mira alone")
        await channel.send(inbox.updates[0].chat, message("for Mira alone"))
        await slack.send_raw('{"type": "events_api", "envelope_id": "1", "payload": 5}')
        slack.api.tickets.clear()
        slack.fail("apps.connections.open", Failure(status=500))
        await slack.cut()
        await slack.say(mira, "for Mira alone")
        assert await channel.identify() == Bot(
            platform=Platform.SLACK, name="lightwell", workspace="Halden"
        )


def assert_no_secret(text: str) -> None:
    for secret in (BOT_TOKEN, APP_TOKEN, "ticket=", "for Mira alone", "mira@halden.example"):
        assert secret not in text


def test_the_secrets_are_not_shown() -> None:
    assert BOT_TOKEN not in repr(SOCKET)

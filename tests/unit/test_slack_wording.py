"""What people type in Slack as plain text and commands, and what Slack sends as updates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from lightwell.domain.errors import ChannelFailed
from lightwell.entrypoints.channels import dispatch
from lightwell.entrypoints.slack.api import answer
from lightwell.entrypoints.slack.payloads import EventBody, moment
from lightwell.entrypoints.slack.socket_mode import pause
from lightwell.entrypoints.slack.wording import WITH_WORDS, as_typed, escaped, plain

BOT = "U0LIGHTWELL"


@given(st.text())
def test_what_is_escaped_is_read_back_and_mentions_nobody(text: str) -> None:
    shown = escaped(text)
    assert "<" not in shown
    assert ">" not in shown
    assert plain(shown, BOT) == text.strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<@{BOT}> Who owns it?", "Who owns it?"),
        (f"Who owns it, <@{BOT}|lightwell>?", "Who owns it,  ?"),
        ("<@U0MIRA> asks", "@U0MIRA asks"),
        ("<@U0MIRA|mira> asks", "@mira asks"),
        ("in <#C0DEALS|deals> and <#C0X>", "in #deals and #C0X"),
        ("<!here> and <!subteam^S1|@sales>", "@here and @sales"),
        ("<https://nordwind.example|nordwind.example>", "nordwind.example"),
        ("<https://nordwind.example/a?b=1&amp;c>", "https://nordwind.example/a?b=1&c"),
        ("<mailto:a@halden.example|a@halden.example>", "a@halden.example"),
        ("&lt;@U0MIRA&gt; &amp;lt; 5", "<@U0MIRA> &lt; 5"),
    ],
)
def test_messages_are_read_as_they_were_typed(text: str, words: str) -> None:
    assert plain(text, BOT) == words


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("", "/help"),
        ("Help", "/help"),
        ("brief Nordwind", "/brief Nordwind"),
        ("Brief  Nordwind Energie ", "/brief Nordwind Energie"),
        ("promises", "/promises"),
        ("promises Nordwind", "/promises Nordwind"),
        ("search discount 2026", "/search discount 2026"),
        ("link 0123456789abcdef0123456789abcdef", "/link 0123456789abcdef0123456789abcdef"),
        ("/brief Nordwind", "/brief Nordwind"),
        ("brief", "/brief"),
        ("links Nordwind", "/links Nordwind"),
        ("New customers this year?", "New customers this year?"),
        ("Status of Nordwind", "Status of Nordwind"),
        ("Links between Nordwind and Castell?", "Links between Nordwind and Castell?"),
        ("Search engines?", "Search engines?"),
        ("What do we owe?", "What do we owe?"),
    ],
)
def test_words_are_a_command_where_they_can_be_nothing_else(words: str, typed: str) -> None:
    assert as_typed(words) == typed


@pytest.mark.parametrize(
    ("team", "user_team", "shared", "actor", "account"),
    [
        ("T1", None, None, None, "T1/U1"),
        (None, None, None, None, "T0/U1"),
        ("T1", "T2", False, None, "T2/U1"),
        ("E1", "E1", False, None, "T0/U1"),
        ("T0", "T2", True, "T2", "T2/U1"),
        ("T0", "E2", True, None, "E2/U1"),
        ("T0", None, True, None, "unknown/U1"),
    ],
)
def test_an_account_is_of_the_workspace_of_who_writes(
    team: str | None, user_team: str | None, shared: object, actor: str | None, account: str
) -> None:
    event = {
        "type": "app_mention",
        "channel": "C1",
        "ts": "1.2",
        "user": "U1",
        "text": "Who?",
        "team": team,
        "user_team": user_team,
    }
    body = {"event_id": "Ev1", "team_id": "T0", "is_ext_shared_channel": shared, "event": event}
    (update,) = EventBody.model_validate(body).updates(BOT, actor)
    assert update.account.id == account


@pytest.mark.parametrize("error", [RecursionError, TypeError, KeyError, ConnectionError])
async def test_an_answer_that_cannot_be_read_is_none(error: type[Exception]) -> None:
    async def call() -> AsyncSlackResponse:
        raise error("xoxb-secret")

    with pytest.raises(ChannelFailed) as raised:
        await answer(call())
    assert str(raised.value) == f"Slack did not answer ({error.__name__})"


@pytest.mark.parametrize("ts", ["", "x", "nan", "1e999", "-1e99"])
def test_a_message_without_a_time_is_of_now(ts: str) -> None:
    assert moment(ts).tzinfo is not None


def test_each_command_of_the_core_is_spelt_on_slack() -> None:
    for name in dispatch.COMMANDS:
        assert as_typed(name) == f"/{name}"
    for name in WITH_WORDS - {"link"}:
        assert name in dispatch.COMMANDS


def test_pauses_grow_to_a_minute_and_differ() -> None:
    assert pause(0) == 0
    for failures in range(1, 40):
        assert 0.25 <= pause(failures) <= 60
    assert min(pause(30) for _ in range(50)) >= 30
    assert len({pause(30) for _ in range(50)}) > 1

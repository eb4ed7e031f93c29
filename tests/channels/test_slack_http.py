"""Slack calls the server: what it signed is stored and answered, as the asking person; everything else gets the same words."""

import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import httpx
import pytest

from lightwell.entrypoints.http.body_limit import MAX_BODY_BYTES
from lightwell.entrypoints.slack.receiving import is_signed
from tests.channels.slack_company import PATH, Company, serving
from tests.patience import until
from tests.slack_server.server import SIGNING_SECRET, Failure, SlackServer, slack_server


@pytest.fixture
async def company(database_url: str) -> AsyncGenerator[Company]:
    async with slack_server() as slack, serving(database_url, slack) as company:
        yield company


async def test_what_slack_signs_is_answered(company: Company) -> None:
    slack = company.slack
    mira = await company.join("mira")
    await slack.say(mira, "help")
    await until(lambda: any("search WORDS" in post.words for post in slack.workspace.seen_by(mira)))
    deals = slack.workspace.add_channel("deals", mira)
    assert await slack.command(mira, deals, "status") == ""
    await until(lambda: any(post.alone == mira.id for post in deals.messages))
    # Slack's library sets the level of the logger with its app's name
    assert logging.getLogger("lightwell.somewhere").isEnabledFor(logging.WARNING)


async def test_an_address_is_verified_only_for_whom_slack_signs(company: Company) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
    reply = await post(company, body, company.slack.signed(body))
    assert (reply.status_code, reply.json()) == (200, {"challenge": "3eZbrw1aB"})
    assert (await post(company, body, {})).status_code == 401


async def test_everything_that_slack_did_not_sign_gets_the_same_reply(company: Company) -> None:
    slack, mira = company.slack, await company.join("mira")
    event = {"type": "event_callback", "event_id": "Ev1", "event": slack.message(mira, "hello")}
    body = json.dumps({**event, "team_id": "T0HALDEN"}).encode()
    now = int(time.time())
    signed = slack.signed(body)
    forged = [
        {},
        slack.signed(body, secret="another"),  # noqa: S106 - of nobody
        slack.signed(body, moment=now - 301),
        slack.signed(body, moment=now + 600),
        slack.signed(body + b" "),
        {**signed, "X-Slack-Request-Timestamp": str(now - 1)},
        {**signed, "X-Slack-Request-Timestamp": "now"},
        {**signed, "X-Slack-Request-Timestamp": "9" * 5000},
        {**signed, "X-Slack-Signature": "v0=\u00e9"},
        {**signed, "X-Slack-Signature": ""},
    ]
    replies = [await post(company, body, headers) for headers in forged]
    async with open_site_without_bot(company) as client:
        replies.append(await client.post(PATH, content=body, headers=signed))
    shown = [{**reply.json(), "requestId": "", "status": reply.status_code} for reply in replies]
    assert shown[0]["status"] == 401
    assert [reply for reply in shown if reply != shown[0]] == []
    too_long = b"x" * (MAX_BODY_BYTES + 1)
    assert (await post(company, too_long, slack.signed(too_long))).status_code == 413


async def test_what_is_malformed_and_signed_harms_nothing(company: Company) -> None:
    for kind, text in (
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", "[" * 100_000),
        ("application/json", '{"type": "event_callback", "event": 5}'),
        ("application/x-www-form-urlencoded", urlencode({"payload": "{"})),
        ("application/x-www-form-urlencoded", urlencode({"payload": "5"})),
        ("application/x-www-form-urlencoded", ""),
    ):
        body = text.encode()
        headers = {**company.slack.signed(body), "Content-Type": kind}
        assert (await post(company, body, headers)).status_code in (200, 400)


async def test_the_same_event_again_is_answered_once(company: Company) -> None:
    slack, mira = company.slack, await company.join("mira")
    event = slack.message(mira, "status")
    for _ in range(3):
        await slack.send_event(event, mira, event_id="Ev7")
    await slack.say(mira, "help")
    await until(lambda: any("search WORDS" in post.words for post in slack.workspace.seen_by(mira)))
    assert len(slack.workspace.seen_by(mira)) == 2


async def test_an_event_is_refused_until_the_bot_knows_who_it_is(company: Company) -> None:
    slack, mira = company.slack, await company.join("mira")
    slack.fail("auth.test", *[Failure(status=500)] * 2)
    event_id = await slack.say(mira, "help")
    await until(lambda: any("search WORDS" in post.words for post in slack.workspace.seen_by(mira)))
    assert event_id


async def post(company: Company, body: bytes, headers: dict[str, str]) -> httpx.Response:
    shown = {"Content-Type": "application/json", **headers}
    raw = {name.encode(): value.encode("latin-1") for name, value in shown.items()}
    return await company.site.client.post(PATH, content=body, headers=raw)


@asynccontextmanager
async def open_site_without_bot(company: Company) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield a client of a server that has no bot: the same, for which its bots are left out."""
    app = company.site.app
    channels, app.state.channels = app.state.channels, {}
    try:
        yield company.site.client
    finally:
        app.state.channels = channels


def test_bytes_that_are_no_text_are_not_signed() -> None:
    headers = SlackServer().signed(b"\xff\xfe")
    assert not is_signed(SIGNING_SECRET, b"\xff\xfe", {k.lower(): headers[k] for k in headers})

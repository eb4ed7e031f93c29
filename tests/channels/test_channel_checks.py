"""`lightwell channels doctor` against stand-ins for Telegram and Slack: what is wrong there, and what to do."""

import time
from collections.abc import Mapping

from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from lightwell.domain.channels import Platform
from lightwell.domain.operations import Check
from lightwell.entrypoints.cli.channel_checks import examine_channels
from lightwell.settings import Settings
from tests.slack_server.server import slack_server
from tests.slack_server.web_api import APP_TOKEN, BOT_TOKEN
from tests.slack_server.workspace import TEAM
from tests.telegram_server.server import BotApi, serving
from tests.telegram_server.state import TOKEN, FakeTelegram


async def examine(
    values: Mapping[str, object], running: tuple[Platform, ...] | None = None
) -> dict[str, Check]:
    secret = ("token", "secret")
    made = {
        name: SecretStr(str(text)) if name.endswith(secret) else text
        for name, text in values.items()
    }
    settings = Settings().with_values(made)
    return {check.name: check async for check in examine_channels(settings, running)}


def failed(checks: Mapping[str, Check]) -> list[str]:
    """Return the names of what is not in order, each of which says what to do."""
    wrong = [check for check in checks.values() if not check.ok]
    assert all(check.fix for check in wrong)
    return [check.name for check in wrong]


async def test_a_bot_of_telegram_in_order_has_nothing_to_mend() -> None:
    async with serving(BotApi(FakeTelegram(clock=time.monotonic))) as url:
        values = {"channels.telegram_token": TOKEN, "channels.telegram_api": url}
        checks = await examine(values, (Platform.TELEGRAM,))
    assert failed(checks) == []
    assert checks["telegram token"].detail == "@halden_bot"
    assert "long polling" in checks["telegram receiving"].detail


async def test_what_is_wrong_with_a_bot_of_telegram_is_said_without_its_token() -> None:
    fake = FakeTelegram(clock=time.monotonic)
    fake.webhook = {"url": "https://elsewhere.example/hook"}
    async with serving(BotApi(fake)) as url:
        values = {"channels.telegram_token": TOKEN, "channels.telegram_api": url}
        checks = await examine(values, ())
        assert failed(checks) == ["telegram receiving", "telegram bot"]
        assert "another server has a webhook" in checks["telegram receiving"].detail
        by_webhook = {**values, "channels.telegram_webhook_secret": "s" * 20}
        named = {**by_webhook, "server.public_url": "https://knowledge.example.com"}
        assert "another address" in (await examine(named))["telegram receiving"].detail
        fake.webhook = {"url": "https://knowledge.example.com/v1/webhooks/telegram"}
        assert failed(await examine(named)) == []
        wrong = {**values, "channels.telegram_token": "1:" + "x" * 35}
        checks = await examine(wrong)
        assert failed(checks) == ["telegram token"]
        assert "x" * 35 not in str(checks)
    checks = await examine(values)
    assert failed(checks) == ["telegram token"]
    assert TOKEN not in str(checks)


async def test_a_bot_of_slack_in_order_has_nothing_to_mend() -> None:
    async with slack_server() as slack:
        values = {
            "channels.slack_bot_token": BOT_TOKEN,
            "channels.slack_app_token": APP_TOKEN,
            "channels.slack_api": slack.api_url,
            "channels.slack_trusted_workspaces": TEAM,
        }
        checks = await examine(values)
    assert failed(checks) == []
    assert TEAM in checks["slack token"].detail


async def test_what_is_wrong_with_a_bot_of_slack_is_said_without_its_token() -> None:
    async with slack_server() as slack:
        values = {"channels.slack_bot_token": BOT_TOKEN, "channels.slack_api": slack.api_url}
        slack.api.scopes_refused = {"files:read", "users:read.email"}
        trusting = {**values, "channels.slack_trusted_workspaces": "T0ELSE"}
        checks = await examine(trusting)
        assert failed(checks) == ["slack scopes", "slack workspace", "slack receiving"]
        assert checks["slack scopes"].detail == "missing: files:read, users:read.email"
        assert "files:read" in (await examine(values))["slack scopes"].detail
        assert "email" not in (await examine(values))["slack scopes"].detail
        wrong = {**values, "channels.slack_app_token": "xapp-wrong"}
        checks = await examine(wrong)
        assert checks["slack receiving"].detail == "invalid_auth"
        assert "xapp-wrong" not in str(checks)
        checks = await examine({**values, "channels.slack_bot_token": "xoxb-wrong"})
        assert failed(checks) == ["slack token"]
        assert "xoxb-wrong" not in str(checks)


async def test_without_tokens_it_is_said_how_to_begin() -> None:
    assert failed(await examine({})) == ["tokens"]


async def test_an_address_that_is_not_the_platforms_is_no_bot() -> None:
    app = web.Application()
    app.router.add_post("/{path:.*}", answer_otherwise)
    async with TestServer(app) as server:
        url = str(server.make_url(""))
        of_telegram = {"channels.telegram_token": TOKEN, "channels.telegram_api": url}
        of_slack = {"channels.slack_bot_token": BOT_TOKEN, "channels.slack_api": url}
        checks = await examine({**of_telegram, **of_slack})
    assert failed(checks) == ["telegram token", "slack token"]


async def answer_otherwise(_: web.Request) -> web.Response:
    return web.json_response({"message": "Not found"})

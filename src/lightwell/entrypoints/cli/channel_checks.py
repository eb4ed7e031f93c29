"""What `channels doctor` examines: tokens, how a bot receives, what it may, and clocks. Asks the platforms; changes nothing there."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import httpx
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from lightwell.domain.channels import Platform
from lightwell.domain.operations import Check
from lightwell.domain.texts import split_at_commas

if TYPE_CHECKING:
    from lightwell.settings import Settings

_TIMEOUT_SECONDS = 15.0
_LARGEST_DIFFERENCE_SECONDS = 60
"""Slack's signatures are valid for five minutes."""

SLACK_SCOPES: frozenset[str] = frozenset(
    "app_mentions:read chat:write commands files:read files:write im:history im:write users:read".split()
)
_SCOPE_OF_ADDRESSES = "users:read.email"
_NOT_UNDERSTOOD = "an answer that is not understood"


class _Reply(BaseModel):
    """What both platforms reply; of the fields of other methods each has some."""

    model_config = ConfigDict(extra="ignore")

    ok: bool = False
    description: str = ""
    error: str = ""
    result: "_Result | None" = None
    user: str = ""
    team: str = ""
    team_id: str = ""


class _Result(BaseModel):
    """Of Telegram: the bot, or its webhook."""

    model_config = ConfigDict(extra="ignore")

    username: str = ""
    can_read_all_group_messages: bool = False
    url: str = ""
    last_error_message: str = ""
    pending_update_count: int = 0


async def examine_channels(
    settings: "Settings", running: Sequence[Platform] | None
) -> AsyncGenerator[Check]:
    """Yield the checks of the platforms whose tokens are set; `running` are those whose bots say that they run, None where there is no store."""
    tokens = settings.channels.bot_tokens
    examined = {Platform.TELEGRAM: ("aiogram", _telegram), Platform.SLACK: ("slack_bolt", _slack)}
    async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
        for name, token in tokens.items():
            platform = Platform(name)
            module, examine = examined[platform]
            yield _extra(platform, module)
            async for check in examine(client, settings, token):
                yield check
    for platform in tokens:
        if running is not None:
            yield _check(
                f"{platform} bot",
                "" if platform in running else "no server has said that it runs in three minutes",
                "it runs",
                "Start the server with the same settings: lightwell serve; its log says why a bot does not run",
            )
    if not tokens:
        yield _check(
            "tokens",
            "neither LIGHTWELL_TELEGRAM_TOKEN nor LIGHTWELL_SLACK_BOT_TOKEN is set",
            "",
            "Set up a bot in ten minutes: docs/channels/README.md",
        )


async def _telegram(
    client: httpx.AsyncClient, settings: "Settings", token: SecretStr
) -> AsyncGenerator[Check]:
    base = f"{settings.channels.telegram_api.rstrip('/')}/bot{token.get_secret_value().strip()}"
    bot, headers, problem = await _ask(client, f"{base}/getMe", {})
    yield _check(
        "telegram token",
        problem,
        f"@{bot.result.username}" if bot and bot.result else "",
        "Set LIGHTWELL_TELEGRAM_TOKEN to the token that @BotFather shows (/mybots, API Token); where there is no"
        " answer, let this machine reach LIGHTWELL_TELEGRAM_API",
    )
    if bot is None or bot.result is None:
        return
    yield _clock(Platform.TELEGRAM, headers)
    yield _check(
        "telegram privacy",
        "the bot gets all messages of its groups" if bot.result.can_read_all_group_messages else "",
        "in groups the bot gets only what is meant for it",
        "Turn privacy mode on with @BotFather (/setprivacy, Enable), then remove the bot from its groups and add it again",
    )
    webhook, _, problem = await _ask(client, f"{base}/getWebhookInfo", {})
    if webhook is None or webhook.result is None:
        yield _check("telegram receiving", problem or "no answer", "", "Try again")
        return
    yield _receiving(settings, webhook.result)


def _receiving(settings: "Settings", webhook: _Result) -> Check:
    """Compare how Telegram sends updates with how the settings say that they come."""
    is_webhook = bool(settings.channels.telegram_webhook_secret.get_secret_value())
    here = settings.server.public_url.rstrip("/")
    waiting = f"{webhook.pending_update_count} updates wait"
    if is_webhook and not (here and webhook.url.startswith(f"{here}/")):
        problem = "Telegram calls another address" if webhook.url else "Telegram calls no address"
    elif not is_webhook and webhook.url:
        problem = "another server has a webhook for this bot, so nothing can be fetched"
    else:
        problem = webhook.last_error_message if is_webhook else ""
    return _check(
        "telegram receiving",
        problem,
        f"by webhook, {waiting}" if is_webhook else f"by long polling, {waiting}",
        "A bot receives in one place: start the server, which sets it up, and end whatever else uses this token;"
        " a webhook needs LIGHTWELL_PUBLIC_URL, which Telegram reaches by https",
    )


async def _slack(
    client: httpx.AsyncClient, settings: "Settings", token: SecretStr
) -> AsyncGenerator[Check]:
    channels = settings.channels
    base = channels.slack_api.rstrip("/")
    bot, headers, problem = await _ask(client, f"{base}/auth.test", _bearer(token))
    yield _check(
        "slack token",
        problem,
        f"@{bot.user} in {bot.team} ({bot.team_id})" if bot else "",
        "Set LIGHTWELL_SLACK_BOT_TOKEN to the Bot User OAuth Token of the app (OAuth & Permissions), xoxb-...",
    )
    if bot is None:
        return
    yield _clock(Platform.SLACK, headers)
    trusted = split_at_commas(channels.slack_trusted_workspaces)
    wanted = SLACK_SCOPES | {_SCOPE_OF_ADDRESSES} if trusted else SLACK_SCOPES
    yield _scopes(headers, wanted)
    if trusted:
        yield _check(
            "slack workspace",
            "" if bot.team_id in trusted else f"{bot.team_id} is not among those that are trusted",
            f"addresses of {bot.team_id} link accounts",
            f"Add {bot.team_id} to LIGHTWELL_SLACK_TRUSTED_WORKSPACES, or empty it: then a code links",
        )
    if channels.slack_app_token is not None:
        _, _, problem = await _ask(
            client, f"{base}/apps.connections.open", _bearer(channels.slack_app_token)
        )
        yield _check(
            "slack receiving",
            problem,
            "by Socket Mode",
            "Set LIGHTWELL_SLACK_APP_TOKEN to an app-level token with the scope connections:write, xapp-..., and turn on Socket Mode",
        )
    else:
        is_set = channels.slack_signing_secret is not None
        yield _check(
            "slack receiving",
            "" if is_set else "neither an app-level token nor a signing secret is set",
            "by HTTP",
            "Set LIGHTWELL_SLACK_APP_TOKEN (Socket Mode), or LIGHTWELL_SLACK_SIGNING_SECRET and LIGHTWELL_PUBLIC_URL",
        )


def _scopes(headers: Mapping[str, str], wanted: frozenset[str]) -> Check:
    """Compare the scopes of the token, which Slack names in a header, with those that the bot needs."""
    granted = frozenset(split_at_commas(headers.get("x-oauth-scopes", "")))
    missing = sorted(wanted - granted)
    return _check(
        "slack scopes",
        f"missing: {', '.join(missing)}" if missing else "",
        f"{len(granted)} granted",
        "Add them to the app (OAuth & Permissions), and install it to the workspace again",
    )


async def _ask(
    client: httpx.AsyncClient, url: str, headers: Mapping[str, str]
) -> tuple[_Reply | None, Mapping[str, str], str]:
    """Return what a platform replies, with its headers, else None and why. The address may have a token: it is never told."""
    try:
        response = await client.post(url, headers=headers)
        reply = _Reply.model_validate_json(response.content)
    except httpx.HTTPError as error:
        return None, {}, f"no answer ({type(error).__name__})"
    except (httpx.InvalidURL, ValidationError):
        return None, {}, _NOT_UNDERSTOOD
    if not reply.ok:
        return None, {}, reply.description or reply.error or _NOT_UNDERSTOOD
    return reply, response.headers, ""


def _clock(platform: Platform, headers: Mapping[str, str]) -> Check:
    """Compare this clock with the platform's."""
    try:
        apart = time.time() - parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        apart = 0.0
    is_off = abs(apart) > _LARGEST_DIFFERENCE_SECONDS
    return _check(
        f"{platform} clock",
        f"this machine is {apart:+.0f} seconds off" if is_off else "",
        "this machine has the same time",
        "Set the clock of this machine by NTP: signatures and codes depend on it",
    )


def _extra(platform: Platform, module: str) -> Check:
    return _check(
        f"{platform} extra",
        "" if find_spec(module) else "not installed",
        "installed",
        f"Install it in Lightwell's checkout: uv tool install '.[{platform}]'",
    )


def _check(name: str, problem: str, fine: str, fix: str) -> Check:
    return Check(name=name, ok=not problem, detail=problem or fine, fix=fix if problem else "")


def _bearer(token: SecretStr) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.get_secret_value().strip()}"}

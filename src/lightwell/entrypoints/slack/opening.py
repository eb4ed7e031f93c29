"""Opens the bot that the settings name."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.slack.channel import SlackChannel, SlackSecrets, open_slack
from lightwell.settings import Settings


@asynccontextmanager
async def open_channel(settings: Settings) -> AsyncGenerator[SlackChannel]:
    """Yield Slack's bot; raise `Invalid` where it is not said how it receives. Slack is not asked yet."""
    channels = settings.channels
    secrets = SlackSecrets(
        bot_token=_secret(channels.slack_bot_token),
        app_token=_secret(channels.slack_app_token),
        signing_secret=_secret(channels.slack_signing_secret),
    )
    _check(secrets)
    async with open_slack(secrets, channels.slack_api) as channel:
        yield channel


def _check(secrets: SlackSecrets) -> None:
    if not secrets.bot_token.startswith("xoxb-"):
        raise Invalid("LIGHTWELL_SLACK_BOT_TOKEN is not a bot's token, which begins with xoxb-")
    if secrets.app_token and not secrets.app_token.startswith("xapp-"):
        raise Invalid("LIGHTWELL_SLACK_APP_TOKEN is no app-level token, which begins with xapp-")
    if not secrets.app_token and not secrets.signing_secret:
        raise Invalid(
            "Slack's bot needs LIGHTWELL_SLACK_APP_TOKEN, to connect to Slack, or LIGHTWELL_SLACK_SIGNING_SECRET,"
            " so that Slack can call this server"
        )


def _secret(value: SecretStr | None) -> str:
    return "" if value is None else value.get_secret_value().strip()

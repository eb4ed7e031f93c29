"""A bot, opened: its session, its pace, its token."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiogram import Bot
from aiogram.client.telegram import TelegramAPIServer
from aiogram.utils.token import TokenValidationError

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.telegram.calls import Calls
from lightwell.entrypoints.telegram.channel import TelegramChannel
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.entrypoints.telegram.receiving import Webhook
from lightwell.entrypoints.telegram.session import BoundedSession
from lightwell.settings import Settings
from lightwell.text.regex import regex

WEBHOOK_PATH = "/v1/webhooks/telegram"

_SECRET = regex(r"[A-Za-z0-9_-]{16,256}")


@asynccontextmanager
async def open_channel(settings: Settings) -> AsyncGenerator[TelegramChannel]:
    """Yield Telegram's bot; raise `Invalid` for a token that is none, or a webhook that Telegram could not call. Telegram is not asked yet."""
    channels = settings.channels
    token = channels.telegram_token.get_secret_value().strip() if channels.telegram_token else ""
    webhook = _webhook(settings)
    async with open_bot(token, channels.telegram_api, webhook, Pace()) as channel:
        yield channel


def _webhook(settings: Settings) -> Webhook | None:
    secret = settings.channels.telegram_webhook_secret.get_secret_value()
    if not secret:
        return None
    if not _SECRET.fullmatch(secret):
        raise Invalid(
            "LIGHTWELL_TELEGRAM_WEBHOOK_SECRET has 16 to 256 letters, digits, _ and -; `openssl rand -hex 32` makes one"
        )
    url = settings.server.public_url.rstrip("/")
    if not url.startswith("https://"):
        raise Invalid(
            "Telegram calls a webhook by https: set LIGHTWELL_PUBLIC_URL, or leave LIGHTWELL_TELEGRAM_WEBHOOK_SECRET away"
        )
    return Webhook(url=f"{url}{WEBHOOK_PATH}", secret=secret)


@asynccontextmanager
async def open_bot(
    token: str, api: str, webhook: Webhook | None, pace: Pace
) -> AsyncGenerator[TelegramChannel]:
    """Yield the bot with this token at a Bot API server; raise `Invalid` for what is no token. Telegram is not asked yet."""
    session = BoundedSession(api=TelegramAPIServer.from_base(api))
    try:
        bot = Bot(token, session=session)
    except TokenValidationError:
        bot = None
    if bot is None:
        raise Invalid(
            "LIGHTWELL_TELEGRAM_TOKEN is not a bot's token: @BotFather shows it, digits, a colon, then letters"
        )
    try:
        yield TelegramChannel(Calls(bot, session, pace), webhook)
    finally:
        await session.close()

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

"""One call of Telegram: at its pace, again after the pause that it asks for, and with failures of ours, which have nothing of the token.

aiogram's and aiohttp's errors can quote the address of a call, of which the token is a part. None of them leaves this module, nor is the
context of one that does.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TypeVar

from aiogram import Bot
from aiogram.exceptions import (
    AiogramError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.methods import TelegramMethod
from aiohttp import ClientError

from lightwell.domain.errors import ChannelFailed, ChannelGone
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.entrypoints.telegram.session import BoundedSession
from lightwell.text.regex import regex

T = TypeVar("T")

_LONGEST_PAUSE = 60
"""Seconds that a call waits because Telegram asks for it; a longer pause is a failure, and the core's to wait for."""

_MOST_PAUSES = 5
_REASON_LENGTH = 200
_NOT_A_LINE = regex(r"[^\x20-\x7e]+")
_FAILURES = (AiogramError, ClientError, OSError, ValueError, TypeError, RecursionError)
"""What aiogram and aiohttp raise: also for replies that are not JSON, not an object, or nested too deep."""

_GONE = (
    "chat not found",
    "user is deactivated",
    "group chat was deactivated",
    "peer_id_invalid",
    "have no rights to send",
    "not enough rights to send",
    "topic_closed",
    "topic_deleted",
    "message thread not found",
)


class RequestRefused(ChannelFailed):
    """Telegram does not take this request. `reason` is in small letters."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason.casefold()


class TokenRefused(ChannelFailed):
    """The token is no bot's."""


class OtherReceiver(ChannelFailed):
    """Another program receives with the same token, or a webhook is set."""


class PauseAsked(ChannelFailed):
    """Telegram asks for a pause."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one bot."""

    bot: Bot
    session: BoundedSession
    pace: Pace = field(default_factory=Pace)

    async def say(self, chat: str, method: TelegramMethod[T]) -> T:
        """Call what shows something in a chat, when it is its turn.

        Raises `ChannelGone`, `RequestRefused`, or another `ChannelFailed`; after that the message may have been sent all the same,
        unless Telegram refused it.
        """
        for _ in range(_MOST_PAUSES):
            await self.pace.turn(chat)
            try:
                return await self.ask(method)
            except PauseAsked as asked:
                if asked.seconds > _LONGEST_PAUSE:
                    raise
                self.pace.hold(chat, asked.seconds)
        raise ChannelFailed(f"Telegram asks for a pause again and again ({method.__api_method__})")

    async def ask(self, method: TelegramMethod[T], *, seconds: int | None = None) -> T:
        """Call once, within so many seconds; raise `ChannelFailed` of some kind."""
        try:
            return await self.bot(method, request_timeout=seconds)
        except _FAILURES as error:
            failure = self._translate(error, method.__api_method__)
        raise failure

    async def download(self, path: str) -> AsyncGenerator[bytes]:
        """Yield the bytes of a file at Telegram's path; raise `ChannelFailed`."""
        try:
            async for part in self.session.download(self.bot, path):
                yield part
        except _FAILURES as error:
            failure = self._translate(error, "download")
        else:
            return
        raise failure

    def _translate(self, error: Exception, call: str) -> ChannelFailed:
        if isinstance(error, TelegramRetryAfter):
            message = f"Telegram asks for a pause of {error.retry_after} s ({call})"
            return PauseAsked(message, error.retry_after)
        if not isinstance(error, TelegramAPIError) or isinstance(error, TelegramNetworkError):
            return ChannelFailed(f"Telegram did not answer ({call}, {type(error).__name__})")
        reason = self._plain(error.message)
        match error:
            case TelegramMigrateToChat():
                return ChannelGone(f"The group has become another one ({call})")
            case TelegramUnauthorizedError():
                return TokenRefused(f"Telegram does not know the bot's token ({call})")
            case TelegramNotFound() if "method" not in reason.casefold():
                return TokenRefused(f"Telegram does not know the bot's token ({call})")
            case TelegramConflictError():
                return OtherReceiver(f"Telegram gives the bot's updates to another ({reason})")
            case TelegramForbiddenError():
                return ChannelGone(f"Telegram refuses the chat ({call}: {reason})")
            case TelegramServerError():
                return ChannelFailed(f"Telegram has a failure ({call}: {reason})")
            case TelegramBadRequest() if any(words in reason.casefold() for words in _GONE):
                return ChannelGone(f"Telegram has no such chat ({call}: {reason})")
            case _:
                return RequestRefused(f"Telegram refuses {call}: {reason}", reason)

    def _plain(self, reason: str | None) -> str:
        """Return Telegram's words as one short line without the token."""
        line = _NOT_A_LINE.sub(" ", (reason or "no reason").replace(self.bot.token, "[token]"))
        return line[:_REASON_LENGTH]

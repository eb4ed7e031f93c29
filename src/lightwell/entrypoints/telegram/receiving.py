"""Receiving: long polling, whose place moves when an update is stored, or a webhook that is set and kept."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiogram.methods import DeleteWebhook, SetMyCommands, SetWebhook
from aiogram.types import BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats

from lightwell.domain.errors import ChannelFailed, LightwellError
from lightwell.entrypoints.channels.platform import Receive
from lightwell.entrypoints.telegram.calls import (
    Calls,
    OtherReceiver,
    PauseAsked,
    RequestRefused,
    TokenRefused,
)
from lightwell.entrypoints.telegram.menu import group_menu, private_menu
from lightwell.entrypoints.telegram.reading import (
    ALLOWED_UPDATES,
    NUMBERS_END,
    Identity,
    read_update,
)
from lightwell.entrypoints.telegram.session import GetRawUpdates
from lightwell.logs import logger

POLL_SECONDS = 50
"""How long Telegram holds a request open in which nothing is new."""

_LONGEST_PAUSE = 60.0
_TOKEN_PAUSE = 900.0
_WEBHOOK_SECONDS = 3600.0
"""After this time the webhook is set again: somebody may have deleted it."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Where Telegram sends updates, and the secret that it sends with them."""

    url: str
    secret: str = field(repr=False)


async def receive_updates(
    calls: Calls,
    identity: Callable[[], Awaitable[Identity]],
    receive: Receive,
    webhook: Webhook | None,
) -> None:
    """Receive until it is cancelled. What fails is said once, and tried again with longer and longer pauses."""
    receiving, troubles = _Receiving(calls, identity, receive, webhook), _Troubles()
    while True:
        try:
            await receiving.step()
        except LightwellError as failure:
            await calls.pace.sleep(troubles.note(failure))
        else:
            troubles.end()


@dataclass(slots=True)
class _Receiving:
    calls: Calls
    identity: Callable[[], Awaitable[Identity]]
    receive: Receive
    webhook: Webhook | None
    offset: int = 0
    is_begun: bool = False

    async def step(self) -> None:
        """Begin; after that, receive what is new, or keep the webhook."""
        bot = await self.identity()
        if not self.is_begun:
            await self._offer_commands()
        if self.webhook is not None:
            await self._set_webhook(self.webhook)
            self.is_begun = True
            await self.calls.pace.sleep(_WEBHOOK_SECONDS)
            return
        if not self.is_begun:
            await self.calls.ask(DeleteWebhook(drop_pending_updates=False))
            self.is_begun = True
        await self._poll(bot)

    async def _poll(self, bot: Identity) -> None:
        """Store each update, and only then have Telegram forget it."""
        waiting = GetRawUpdates(
            offset=self.offset, timeout=POLL_SECONDS, allowed_updates=ALLOWED_UPDATES
        )
        numbered = list[tuple[int, dict[str, object]]]()
        raw_updates = await self.calls.ask(waiting, seconds=POLL_SECONDS + 20)
        for raw in raw_updates:
            if isinstance(number := raw.get("update_id"), int) and 0 < number < NUMBERS_END:
                numbered.append((number, raw))
        if raw_updates and not numbered:
            raise ChannelFailed("Telegram sends updates without numbers")
        for number, raw in sorted(numbered, key=lambda pair: pair[0]):
            if (update := read_update(raw, bot, datetime.now(UTC))) is not None:
                await self.receive(update)
            self.offset = number + 1

    async def _offer_commands(self) -> None:
        try:
            await self.calls.ask(
                SetMyCommands(commands=private_menu(), scope=BotCommandScopeAllPrivateChats())
            )
            await self.calls.ask(
                SetMyCommands(commands=group_menu(), scope=BotCommandScopeAllGroupChats())
            )
        except RequestRefused as refusal:
            _log.warning("telegram offers no commands", reason=str(refusal))

    async def _set_webhook(self, webhook: Webhook) -> None:
        await self.calls.ask(
            SetWebhook(
                url=webhook.url,
                secret_token=webhook.secret,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
            )
        )


@dataclass(slots=True)
class _Troubles:
    """What fails now, so that it is said once, and how often it failed."""

    kind: type[LightwellError] | None = None
    count: int = 0

    def note(self, failure: LightwellError) -> float:
        """Say what fails, once; return how many seconds to wait."""
        if type(failure) is not self.kind:
            _log.warning("telegram is not received", reason=str(failure), remedy=_remedy(failure))
            self.kind, self.count = type(failure), 0
        self.count += 1
        match failure:
            case TokenRefused():
                return _TOKEN_PAUSE
            case PauseAsked():
                return failure.seconds
            case _:
                return min(_LONGEST_PAUSE, 2.0 ** min(self.count - 1, 10))

    def end(self) -> None:
        """Say that it works again, where it did not."""
        if self.kind is not None:
            _log.info("telegram is received again")
            self.kind, self.count = None, 0


def _remedy(failure: LightwellError) -> str:
    match failure:
        case TokenRefused():
            return "set LIGHTWELL_TELEGRAM_TOKEN to the token that @BotFather shows for this bot, and restart"
        case OtherReceiver():
            return "another program receives with this token: stop it, or make a bot for each with @BotFather"
        case _:
            return "none is needed: it is tried again"

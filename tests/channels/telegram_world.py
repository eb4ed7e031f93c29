"""A bot on a stand-in for Telegram, by aiogram itself over real HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lightwell.domain.channels import Account, Chat, Platform, Update
from lightwell.entrypoints.channels.messages import Block, Button, Message, Span
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.telegram.channel import TelegramChannel
from lightwell.entrypoints.telegram.opening import open_bot
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.entrypoints.telegram.receiving import Webhook
from tests.clocks import InstantClock
from tests.patience import PATIENCE
from tests.telegram_server.server import BotApi, serving
from tests.telegram_server.state import TOKEN, FakeTelegram


@dataclass(frozen=True)
class World:
    """A bot, its Telegram, and what the bot received."""

    fake: FakeTelegram
    api: BotApi
    channel: TelegramChannel
    clock: InstantClock
    received: list[Update] = field(default_factory=list[Update])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, update: Update) -> None:
        self.received.append(update)
        self.arrived.set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Receive in the meantime."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.channel.run(self.receive))
            try:
                yield
            finally:
                task.cancel()

    async def take(self, count: int) -> list[Update]:
        """Return the updates when so many were received."""
        async with asyncio.timeout(PATIENCE):
            while len(self.received) < count:
                await self.arrived.wait()
                self.arrived.clear()
        return self.received


@asynccontextmanager
async def opened(*, token: str = TOKEN, webhook: Webhook | None = None) -> AsyncGenerator[World]:
    clock = InstantClock()
    fake = FakeTelegram(clock=clock.now)
    api = BotApi(fake)
    pace = Pace(clock=clock.now, sleep=clock.sleep)
    async with serving(api) as url, open_bot(token, url, webhook, pace) as channel:
        yield World(fake, api, channel, clock)
    assert api.violations == []


def said(*lines: str, buttons: tuple[tuple[Button, ...], ...] = (), data: tuple[tuple[str, ...], ...] = (), picture: bytes = b"") -> Labelled:  # fmt: skip
    blocks = tuple(Block((Span(line),)) for line in lines)
    return Labelled(message=Message(blocks=blocks, buttons=buttons, picture=picture), data=data)


def private(person: int) -> Chat:
    return Chat(platform=Platform.TELEGRAM, id=str(person), is_private=True)


def account(person: int) -> Account:
    return Account(platform=Platform.TELEGRAM, id=str(person))


def group(number: int, *, thread: str = "") -> Chat:
    return Chat(platform=Platform.TELEGRAM, id=str(number), is_private=False, thread=thread)

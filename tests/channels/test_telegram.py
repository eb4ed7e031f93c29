"""The Telegram adapter: aiogram itself over real HTTP against a stand-in that enforces Telegram's limits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from lightwell.domain.channels import Account, Chat, Platform, Press, Text, Update
from lightwell.entrypoints.channels.messages import Block, Button, Message, Span
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.telegram.channel import TelegramChannel
from lightwell.entrypoints.telegram.opening import open_bot
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.entrypoints.telegram.receiving import Webhook
from tests.clocks import InstantClock
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
        task = asyncio.create_task(self.channel.run(self.receive))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def take(self, count: int) -> list[Update]:
        """Return the updates when so many were received."""
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


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    async with opened() as world:
        yield world


def said(*lines: str, buttons: tuple[tuple[Button, ...], ...] = (), data: tuple[tuple[str, ...], ...] = (), picture: bytes = b"") -> Labelled:  # fmt: skip
    blocks = tuple(Block((Span(line),)) for line in lines)
    return Labelled(message=Message(blocks=blocks, buttons=buttons, picture=picture), data=data)


def private(person: int) -> Chat:
    return Chat(platform=Platform.TELEGRAM, id=str(person), is_private=True)


def account(person: int) -> Account:
    return Account(platform=Platform.TELEGRAM, id=str(person))


async def test_a_question_is_received_and_answered_by_a_message_that_is_edited(
    world: World,
) -> None:
    ada = world.fake.person("Ada")
    async with world.running():
        message = world.fake.say(ada, "When does the warranty of the pump end?")
        [update] = await world.take(1)
        assert update.content == Text(text="When does the warranty of the pump end?")
        assert (update.account.id, update.account.name) == (str(ada), "Ada")
        assert update.chat == private(ada)
        assert update.message == str(message["message_id"])
        sent = await world.channel.send(update.chat, said("Looking"), reply_to=update.message)
        assert await world.channel.edit(update.chat, sent, said("In March.", "Source 1")) == sent
    assert world.fake.read(ada) == ["In March.\n\nSource 1"]
    assert world.fake.messages[(ada, int(sent))]["reply_to_message"]["text"].startswith("When")


async def test_a_press_is_received_and_answered(world: World) -> None:
    ada = world.fake.person("Ada")
    buttons = ((Button(label="More"), Button(label="Open", url="https://kb.example/d/1")),)
    sent = await world.channel.send(private(ada), said("One", buttons=buttons, data=(("v1.x.y", ""),)))  # fmt: skip
    async with world.running():
        world.fake.press(ada, "More")
        [update] = await world.take(1)
        assert isinstance(update.content, Press)
        assert (update.content.data, update.content.message) == ("v1.x.y", sent)
        await world.channel.acknowledge(update.content, "Done")
        await world.channel.acknowledge(update.content, "Again")
    assert world.fake.notices == [(ada, "Done")]

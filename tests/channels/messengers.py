"""People on a chat platform: what they type and press there, and what they read. Two platforms, one interface, so that one afternoon happens on both."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import SecretStr

from lightwell.domain.channels import Platform
from lightwell.text.pieces import shorten
from tests.patience import PATIENCE
from tests.slack_server import limits
from tests.slack_server.server import Failure, SlackServer, slack_server
from tests.slack_server.web_api import APP_TOKEN, BOT_TOKEN
from tests.slack_server.workspace import TEAM, Channel, Posted, User
from tests.telegram_server.server import BotApi, Fault, serving
from tests.telegram_server.state import TOKEN, FakeTelegram, Raw

QUOTE = "▸"
"""What begins a quotation; platforms show different lengths of it."""

_AWAY = 1_000
_LONGEST_QUOTE = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A message of the bot as it stands in a chat; `is_alone` where one member of a group sees it."""

    id: str
    text: str
    buttons: tuple[str, ...] = ()
    is_alone: bool = False


class Messenger(Protocol):
    """A platform with people. What they do returns when the bot has it, or will have it when it runs again."""

    platform: Platform
    known: frozenset[str]
    """Those whose accounts are theirs without a code."""

    def settings(self) -> Mapping[str, object]:
        """Return what the server needs to be the bot."""
        ...

    def add(self, name: str, email: str) -> None: ...

    def group(self, title: str, *names: str) -> str:
        """Make a group with the bot; return its id, as administrators bind it."""
        ...

    async def say(self, name: str, text: str, *, in_group: bool = False) -> None: ...

    async def press(self, name: str, label: str, *, in_group: bool = False) -> None:
        """Press the newest button with this label that the person sees."""
        ...

    async def send_file(self, name: str, title: str, content: bytes) -> None: ...

    async def send_voice(self, name: str) -> None: ...

    async def repeat(self) -> None:
        """Have the platform deliver again all that it has delivered, as soon as there is a bot."""
        ...

    def fail(self) -> None:
        """Take nothing that the bot writes, until `recover`."""
        ...

    def recover(self) -> None: ...

    def seen(self, name: str, *, in_group: bool = False) -> list[Shown]:
        """Return what the bot has written that a person sees in the own chat, or in the group."""
        ...

    def notices(self, name: str) -> list[str]:
        """Return what the person was told beside buttons."""
        ...

    async def received(self) -> None:
        """Wait until the bot has stored all that people did."""
        ...


@dataclass(kw_only=True)
class OnTelegram:
    """Telegram, by long polling."""

    api: BotApi
    url: str
    platform: Platform = Platform.TELEGRAM
    known: frozenset[str] = frozenset()
    people: dict[str, int] = field(default_factory=dict[str, int])
    chat: int = 0

    @property
    def fake(self) -> FakeTelegram:
        return self.api.fake

    def settings(self) -> Mapping[str, object]:
        return {"channels.telegram_token": SecretStr(TOKEN), "channels.telegram_api": self.url}

    def add(self, name: str, email: str) -> None:
        self.people[name] = self.fake.person(name)

    def group(self, title: str, *names: str) -> str:
        members = [self.people[name] for name in names]
        self.chat = self.fake.group(title, *members, is_administrator=True)
        return str(self.chat)

    async def say(self, name: str, text: str, *, in_group: bool = False) -> None:
        if in_group:
            self.fake.say(self.people[name], f"@{self.fake.username} {text}", self.chat)
        else:
            self.fake.say(self.people[name], text)

    async def press(self, name: str, label: str, *, in_group: bool = False) -> None:
        self.fake.press(self.people[name], label, self.chat if in_group else 0)

    async def send_file(self, name: str, title: str, content: bytes) -> None:
        self.fake.send_file(self.people[name], title, content)

    async def send_voice(self, name: str) -> None:
        voice = {"file_id": "v", "file_unique_id": "v", "duration": 3}
        self.fake.put(self.people[name], {"voice": voice})

    async def repeat(self) -> None:
        self.fake.repeat()

    def fail(self) -> None:
        for method in ("sendMessage", "editMessageText"):
            self.api.fail(method, Fault(status=502), times=_AWAY)

    def recover(self) -> None:
        self.api.faults.clear()

    def seen(self, name: str, *, in_group: bool = False) -> list[Shown]:
        person = self.people[name]
        return [
            Shown(
                id=str(message["order"]),
                text=("🖼 " if "photo" in message else "") + _telegram_words(message),
                buttons=tuple(
                    button["text"]
                    for row in message.get("reply_markup", {}).get("inline_keyboard", ())
                    for button in row
                ),
                is_alone="receiver" in message,
            )
            for message in self.fake.seen(person, self.chat if in_group else 0)
            if message["from"]["id"] == self.fake.id
        ]

    def notices(self, name: str) -> list[str]:
        return [words for who, words in self.fake.notices if who == self.people[name] and words]

    async def received(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.fake.queue:  # noqa: ASYNC110 - the platform's own state
                await asyncio.sleep(0.02)


@dataclass(kw_only=True)
class OnSlack:
    """Slack, by Socket Mode. What is typed while no bot is connected is delivered when one is."""

    server: SlackServer
    platform: Platform = Platform.SLACK
    known: frozenset[str] = frozenset({"Grace"})
    people: dict[str, User] = field(default_factory=dict[str, User])
    chat: Channel | None = None
    sent: list[tuple[str, dict[str, object], User]] = field(
        default_factory=list[tuple[str, dict[str, object], User]]
    )
    waiting: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])

    def settings(self) -> Mapping[str, object]:
        return {
            "channels.slack_bot_token": SecretStr(BOT_TOKEN),
            "channels.slack_app_token": SecretStr(APP_TOKEN),
            "channels.slack_api": self.server.api_url,
            "channels.slack_trusted_workspaces": TEAM,
        }

    def add(self, name: str, email: str) -> None:
        shown = email if name in self.known or name == "Mallory" else ""
        marks = {"is_email_confirmed": name != "Mallory"}
        self.people[name] = self.server.workspace.add_user(name, email=shown, marks=marks)

    def group(self, title: str, *names: str) -> str:
        members = [self.people[name] for name in names]
        self.chat = self.server.workspace.add_channel(title.casefold(), *members)
        return self.chat.id

    async def say(self, name: str, text: str, *, in_group: bool = False) -> None:
        user, words = self.people[name], text.removeprefix("/").replace("start ", "link ", 1)
        if in_group:
            assert self.chat is not None
            event = self.server.message(user, f"<@U0LIGHTWELL> {words}", channel=self.chat)
            event["type"] = "app_mention"
            del event["channel_type"]
        else:
            event = self.server.message(user, words)
        self._deliver(event, user)

    async def press(self, name: str, label: str, *, in_group: bool = False) -> None:
        user = self.people[name]
        channel = self._chat(name, in_group=in_group)
        for posted in reversed(channel.messages):
            if posted.alone in ("", user.id) and label in _labels(posted):
                assert await self.server.press(user, channel, posted, label)
                return
        raise AssertionError(f"{name} sees no button {label!r}")

    async def send_file(self, name: str, title: str, content: bytes) -> None:
        await self.server.share(self.people[name], title, content)

    async def send_voice(self, name: str) -> None:
        await self.server.share(self.people[name], "audio.m4a", b"x", mimetype="audio/mp4")

    async def repeat(self) -> None:
        for event_id, event, user in self.sent:
            self._start(event_id, event, user)

    def fail(self) -> None:
        for method in ("chat.postMessage", "chat.update"):
            self.server.fail(method, *[Failure(status=503)] * _AWAY)

    def recover(self) -> None:
        self.server.failures.clear()

    def seen(self, name: str, *, in_group: bool = False) -> list[Shown]:
        user, channel = self.people[name], self._chat(name, in_group=in_group)
        pictures = [
            Shown(id=file.id, text="🖼")
            for file in self.server.workspace.files.values()
            if file.channel == channel.id
        ]
        said = [
            Shown(
                id=posted.ts,
                text=_slack_words(posted),
                buttons=tuple(_labels(posted)),
                is_alone=bool(posted.alone),
            )
            for posted in channel.messages
            if posted.user == "U0LIGHTWELL" and posted.alone in ("", user.id)
        ]
        return [*pictures, *said]

    def notices(self, name: str) -> list[str]:
        notices = self.server.workspace.notices
        return [body["text"] for user, body in notices if user == self.people[name].id]

    async def received(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.waiting:
                await asyncio.gather(*self.waiting)

    def _deliver(self, event: dict[str, object], user: User) -> None:
        event_id = f"Ev{self.server.workspace.number():08}"
        self.sent.append((event_id, event, user))
        self._start(event_id, event, user)

    def _start(self, event_id: str, event: dict[str, object], user: User) -> None:
        task: asyncio.Task[object] = asyncio.create_task(self._send(event_id, event, user))
        self.waiting.add(task)
        task.add_done_callback(self.waiting.discard)

    async def _send(self, event_id: str, event: dict[str, object], user: User) -> None:
        """Deliver an event; Slack itself gives up after an hour, not after four tries within seconds."""
        while True:
            with suppress(AssertionError):
                await self.server.send_event(event, user, event_id=event_id)
                return

    def _chat(self, name: str, *, in_group: bool) -> Channel:
        if not in_group:
            return self.server.workspace.own_chat(self.people[name].id)
        assert self.chat is not None
        return self.chat


def _quoted(words: str) -> str:
    """Return how a quotation is written down: by its first words, as it opens on demand."""
    return f"{QUOTE} {shorten(' '.join(words.split()), _LONGEST_QUOTE)}\n"


def _telegram_words(message: Raw) -> str:
    """Return what a message says."""
    text = message.get("text", message.get("caption", ""))
    encoded = text.encode("utf-16-le")
    for entity in reversed(message.get("entities", message.get("caption_entities", ()))):
        if entity["type"].endswith("blockquote"):
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            quote = _quoted(encoded[start:end].decode("utf-16-le")).encode("utf-16-le")
            encoded = encoded[:start] + quote + encoded[end:]
    return encoded.decode("utf-16-le")


def _slack_words(posted: Posted) -> str:
    """Return what a message says, its small print as quotations, which it is for the most part."""
    lines = list[str]()
    for block in posted.blocks:
        mark = f"{QUOTE} " if block["type"] == "context" else ""
        lines += [f"{mark}{line}" for line in limits.words([block]).splitlines()]
    return "\n".join(lines) or posted.text


def _labels(posted: Posted) -> list[str]:
    return [button["text"]["text"] for button in posted.buttons]


@asynccontextmanager
async def telegram() -> AsyncGenerator[OnTelegram]:
    api = BotApi(FakeTelegram(clock=asyncio.get_running_loop().time))
    async with serving(api) as url:
        yield OnTelegram(api=api, url=url)
    assert api.violations == []


@asynccontextmanager
async def slack() -> AsyncGenerator[OnSlack]:
    async with slack_server() as server:
        yield OnSlack(server=server)

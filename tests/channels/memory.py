"""A chat platform in memory, and bots on it that answer people of a project's directory."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

from lightwell.domain.channels import (
    Account,
    Bot,
    Chat,
    Content,
    File,
    Platform,
    Press,
    Text,
    Update,
)
from lightwell.domain.directory import Person, PersonChange
from lightwell.domain.errors import ChannelFailed
from lightwell.domain.rate_limits import RateLimits
from lightwell.domain.scopes import Scope
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.bots import run_bots
from lightwell.entrypoints.channels.messages import Limits, Message
from lightwell.entrypoints.channels.paging import plain_text
from lightwell.entrypoints.channels.people import People
from lightwell.entrypoints.channels.platform import Labelled, Receive
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.rate_limiter import RateLimiter
from tests.flow.conftest import Project
from tests.patience import PATIENCE

TOKEN = "123456:bot"  # noqa: S105 - of no platform
GROUP = Chat(platform=Platform.TELEGRAM, id="-100", is_private=False)
MAX_BYTES = 1_000_000
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message as it stands in a chat; `alone` is the account that sees it, "" for everybody."""

    id: str
    chat: str
    labelled: Labelled
    alone: str = ""

    @property
    def message(self) -> Message:
        return self.labelled.message

    @property
    def text(self) -> str:
        return plain_text(self.message.blocks)

    @property
    def labels(self) -> list[str]:
        return [button.label for row in self.message.buttons for button in row]

    def data(self, label: str) -> str:
        """Return what the platform gives back at a press of the button with this label."""
        data = [number for row in self.labelled.data for number in row]
        return data[self.labels.index(label)]


@dataclass(slots=True, kw_only=True)
class MemoryChannel:
    """Keeps what stands in its chats, and everything that was written, in order."""

    platform: Platform = Platform.TELEGRAM
    limits: Limits = field(
        default_factory=lambda: Limits(characters=2000, counts_utf16=True, buttons=20, label=64)
    )
    edits_alone: bool = True
    shows_alone: bool = True
    strangers: bool = False
    posts: dict[str, Post] = field(default_factory=dict[str, Post])
    written: list[Post] = field(default_factory=list[Post])
    notices: list[str] = field(default_factory=list[str])
    emails: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    before: Callable[[str], None] = lambda _: None
    runs: asyncio.Event = field(default_factory=asyncio.Event)
    receiver: Receive | None = None
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    async def identify(self) -> Bot:
        return Bot(platform=self.platform, name="lightwell_bot")

    async def run(self, receive: Receive) -> None:
        self.before("run")
        self.receiver = receive
        self.runs.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.runs.clear()

    async def send(self, chat: Chat, message: Labelled, *, reply_to: str = "") -> str:
        return self._post("send", chat, message, "")

    async def edit(self, chat: Chat, sent: str, message: Labelled) -> str:
        self.before("edit")
        post = self.posts[sent]
        assert post.chat == chat.id
        self._keep(replace(post, labelled=message))
        self.before("edited")
        return sent

    async def send_alone(
        self, chat: Chat, account: Account, message: Labelled, *, reply_to: str = ""
    ) -> str:
        return self._post("send", chat, message, account.id) if self.shows_alone else ""

    async def private_chat(self, account: Account) -> Chat | None:
        return None if self.strangers else private(account)

    async def verified_email(self, account: Account) -> str:
        return self.emails.get(account.id, "")

    async def acknowledge(self, press: Press, notice: str = "") -> None:
        self.before("acknowledge")
        self.notices.append(notice)

    async def download(self, file: File) -> AsyncIterator[bytes]:
        if file.handle not in self.files:
            raise ChannelFailed("There is no such file")
        yield self.files[file.handle]

    def in_chat(self, chat: Chat) -> list[Post]:
        """Return what stands in a chat, the oldest first."""
        return [post for post in self.posts.values() if post.chat == chat.id]

    def _post(self, step: str, chat: Chat, message: Labelled, alone: str) -> str:
        self.before(step)
        post = Post(id=str(next(self._ids)), chat=chat.id, labelled=message, alone=alone)
        self._keep(post)
        self.before(f"{step} done")
        return post.id

    def _keep(self, post: Post) -> None:
        size = len(post.text.encode("utf-16-le")) // 2
        assert size <= self.limits.characters
        assert len(post.labels) <= self.limits.buttons
        self.posts[post.id] = post
        self.written.append(post)


def private(account: Account) -> Chat:
    return Chat(platform=account.platform, id=f"of {account.id}", is_private=True)


def update_of(account: Account, content: Content, chat: Chat | None = None) -> Update:
    """Return what the account does in a chat, alone with the bot unless one is named, under a key of its own."""
    return Update(
        key=str(next(_NUMBERS)),
        account=account,
        chat=chat or private(account),
        at=datetime.now(UTC),
        content=content,
        message="m",
    )


@dataclass(frozen=True, kw_only=True)
class Office:
    """People who ask a bot; `say` and `press` return when the bot has answered."""

    project: Project
    channel: MemoryChannel
    people: People

    @property
    def directory(self) -> Directory:
        return Directory(database=self.project.database, project_id=self.project.kb.project_id)

    async def join(
        self, name: str, *tags: str, scopes: Collection[Scope] = (Scope.READ,)
    ) -> Account:
        """Add a person with these tags, and return the person's account."""
        account = Account(
            platform=self.channel.platform, id=str(zlib.crc32(name.encode())), name=name
        )
        await self.directory.create_person(
            PersonChange(
                email=f"{name}@halden.example",
                display_name=name.title(),
                external_ids={account.platform: account.id},
                acl_tags=frozenset(tags),
                scopes=frozenset(scopes),
            )
        )
        return account

    async def change(self, name: str, change: PersonChange) -> Person:
        return await self.directory.change_person(f"{name}@halden.example", change)

    async def asker(self, account: Account) -> Asker:
        asker = await self.people.find(account, private(account))
        assert asker is not None
        return asker

    async def say(self, account: Account, text: str, chat: Chat | None = None) -> Post:
        """Say something; return the latest message in the chat where it is answered."""
        await self.send(account, Text(text=text), chat)
        return self.latest(chat or private(account))

    async def press(
        self, account: Account, post: Post, label: str, chat: Chat | None = None
    ) -> str:
        """Press a button; return what the bot tells whoever pressed beside it."""
        return await self.press_data(account, post.data(label), post.id, chat)

    async def press_data(
        self, account: Account, data: str, message: str, chat: Chat | None = None
    ) -> str:
        before = len(self.channel.notices)
        await self.send(account, Press(data=data, message=message, handle="h"), chat)
        (notice,) = self.channel.notices[before:]
        return notice

    async def send(self, account: Account, content: Content, chat: Chat | None = None) -> Update:
        update = update_of(account, content, chat)
        await self.deliver(update)
        return update

    async def deliver(self, *updates: Update) -> None:
        """Give the bot what its platform received, and wait until all is answered."""
        async with asyncio.timeout(PATIENCE):
            for update in updates:
                await self.channel.runs.wait()
                assert self.channel.receiver is not None
                await self.channel.receiver(update)
            while await self.waiting():  # noqa: ASYNC110 - the database says so
                await asyncio.sleep(0.02)

    async def waiting(self) -> int:
        """Return how many updates are not answered."""
        query = "SELECT count(*) FROM channel_updates WHERE answered_at IS NULL"
        return int(await self.project.database.value(query, {}))

    def latest(self, chat: Chat) -> Post:
        """Return what was written last in a chat."""
        return next(post for post in reversed(self.channel.written) if post.chat == chat.id)


def people_of(project: Project, *, per_minute: int = 0, trusted: str = "") -> People:
    return People(
        trusted=frozenset(split_at_commas(trusted)),
        knowledge_base=project.kb,
        database=project.database,
        limiter=RateLimiter(
            database=project.database,
            tenant="tenant",
            limits=RateLimits(per_key=per_minute, per_tenant=0),
        ),
        project="project",
        server="https://lightwell.example",
    )


@asynccontextmanager
async def opened(
    project: Project,
    channel: MemoryChannel | None = None,
    *,
    per_minute: int = 0,
    trusted: str = "",
    audit: str = "",
) -> AsyncGenerator[Office]:
    """Yield an office whose bot runs; without limits of questions unless one is named."""
    used = channel or MemoryChannel()
    log = AuditLog(audit)
    people = replace(people_of(project, per_minute=per_minute, trusted=trusted), audit=log)
    with log:
        async with run_bots([(used, TOKEN)], people, max_bytes=MAX_BYTES, on_work=lambda: None):
            yield Office(project=project, channel=used, people=people)

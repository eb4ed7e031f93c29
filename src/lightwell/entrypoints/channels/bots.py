"""The bots of a server: of all its processes one receives and answers for each, whoever holds its lock in the database."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from lightwell.domain.channels import Platform
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import ProjectId
from lightwell.entrypoints.channels.buttons import Buttons, signing_key
from lightwell.entrypoints.channels.conversation import Conversations
from lightwell.entrypoints.channels.inbox import Inbox
from lightwell.entrypoints.channels.people import People
from lightwell.entrypoints.channels.platform import Channel, Receive
from lightwell.knowledge_base import channel_accounts
from lightwell.logs import logger
from lightwell.records import channel_buttons, channel_updates
from lightwell.records.database import Connection, Database
from lightwell.tasks import cancel_and_wait, first_error, run_together

_STANDBY_SECONDS = 5.0
"""How often a process looks whether it is the one now, and the one whether it still is."""
_NOTE_SECONDS = 60.0
_UPKEEP_SECONDS = 3600.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_KEYS_KEPT = timedelta(days=7)
_AGAIN_SECONDS = 15.0
"""Longer than what is under way may take to end."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """A bot as each process of the server has it: `receive` stores what its platform sends to this one."""

    channel: Channel
    receive: Receive


Receptions = Mapping[Platform, Reception]
"""The bots of a server by their platforms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A bot in a project."""

    channel: Channel
    inbox: Inbox
    database: Database
    project_id: ProjectId

    async def run(self) -> None:
        """Receive and answer whenever this process is the one that does, until it is cancelled. No failure ends it."""
        pause = _FIRST_PAUSE
        while True:
            try:
                if await self._run_locked():
                    pause = _FIRST_PAUSE
                await asyncio.sleep(_STANDBY_SECONDS)
            except Exception as error:  # noqa: BLE001 - a bot that fails must not end the server; it is tried again
                self._log_failure("a bot stopped and is started again", error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _run_locked(self) -> bool:
        """Receive and answer while this process has the lock; return False where another one has it."""
        async with self.database.session() as connection:
            if not await channel_updates.lock(connection, self.project_id, self.channel.platform):
                return False
            await run_together(
                self._watch(connection),
                self._receive(),
                self._tell(),
                self._keep_up(),
                self.inbox.run(),
                again_seconds=_AGAIN_SECONDS,
            )
        return True

    async def _watch(self, connection: Connection) -> None:
        """Raise where the session is lost, and the lock with it: another process receives then."""
        while True:
            await asyncio.sleep(_STANDBY_SECONDS)
            await connection.execute("SELECT 1")

    async def _receive(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self.channel.run(self.inbox.receive)
            except Exception as error:  # noqa: BLE001 - what was received is answered meanwhile
                self._log_failure("a bot does not receive and tries again", error, pause)
            if asyncio.get_running_loop().time() - began > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _tell(self) -> None:
        """Note that the bot runs, by which people link their accounts."""
        while True:
            try:
                bot = await self.channel.identify()
                await channel_accounts.note_bot(self.database, self.project_id, bot)
            except LightwellError as error:
                self._log_failure("a bot does not know its name", error, _NOTE_SECONDS)
            await asyncio.sleep(_NOTE_SECONDS)

    async def _keep_up(self) -> None:
        """Delete what is of no use any more."""
        platform = self.channel.platform
        while True:
            try:
                await channel_updates.forget(self.database, self.project_id, platform, _KEYS_KEPT)
                await channel_buttons.delete_expired(self.database, self.project_id, platform)
            except LightwellError as error:
                self._log_failure("what a bot keeps is tidied later", error, _UPKEEP_SECONDS)
            await asyncio.sleep(_UPKEEP_SECONDS)

    def _log_failure(self, event: str, error: Exception, seconds: float) -> None:
        first = first_error(error)
        is_ours = isinstance(first, LightwellError)
        _log.warning(
            event,
            platform=self.channel.platform,
            error=str(first) if is_ours else type(first).__name__,
            seconds=seconds,
        )


@asynccontextmanager
async def run_bots(
    opened: Sequence[tuple[Channel, str]],
    people: People,
    *,
    max_bytes: int,
    on_work: Callable[[], None],
) -> AsyncGenerator[Receptions]:
    """Run these bots, each with its token, during the block, and yield what receives for them.

    At its end answers under way have some seconds; the others are given back. `max_bytes` and `on_work` are those of `Conversations`.
    """
    bots = [make_bot(channel, token, people, max_bytes, on_work) for channel, token in opened]
    tasks = [asyncio.create_task(bot.run()) for bot in bots]
    try:
        yield {
            bot.channel.platform: Reception(channel=bot.channel, receive=bot.inbox.receive)
            for bot in bots
        }
    finally:
        await cancel_and_wait(*tasks, again_seconds=_AGAIN_SECONDS)


def make_bot(
    channel: Channel, token: str, people: People, max_bytes: int, on_work: Callable[[], None]
) -> Bot:
    """Return the bot with this token; `max_bytes` and `on_work` are those of `Conversations`."""
    database, project_id = people.database, people.knowledge_base.project_id
    conversations = Conversations(
        channel=channel,
        database=database,
        people=people,
        buttons=Buttons(
            database=database, project_id=project_id, key=signing_key(token, project_id)
        ),
        max_bytes=max_bytes,
        on_work=on_work,
    )
    inbox = Inbox(
        database=database,
        project_id=project_id,
        platform=channel.platform,
        respond=conversations.respond,
    )
    return Bot(channel=channel, inbox=inbox, database=database, project_id=project_id)

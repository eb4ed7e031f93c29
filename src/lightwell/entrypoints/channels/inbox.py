"""Updates that wait: each is answered under a lease, in the order in which its account sent it to its chat, and several chats at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from lightwell.domain.channels import Platform, Update
from lightwell.domain.errors import ChannelGone, LeaseLost, LightwellError, StoreFailed
from lightwell.domain.ids import ProjectId
from lightwell.logs import logger, raise_location
from lightwell.records import channel_updates
from lightwell.records.channel_updates import TakenUpdate
from lightwell.records.database import Database
from lightwell.tasks import cancel_and_wait

_LEASE = timedelta(seconds=60)
_HEARTBEATS = 3
_POLL_SECONDS = 1.0
"""How often it is looked for what other processes have received."""
_MOST_CHATS = 4
"""How many are answered at the same time."""
_MOST_ATTEMPTS = 16
_LONGEST_PAUSE = 600
"""Seconds before an update is taken again that a platform did not let answer: 2, 4, 8 and so on, in all somewhat more than an hour."""
_GRACE_SECONDS = 5.0
"""How long answers under way may take to end when the server stops."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """What a bot has received and not answered. `respond` answers; whoever holds the bot's lock runs it until it is cancelled."""

    database: Database
    project_id: ProjectId
    platform: Platform
    respond: Callable[[TakenUpdate], Awaitable[None]]
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, update: Update) -> None:
        """Store an update before its platform is told that it came; once, however often it comes."""
        if await channel_updates.insert(self.database, self.project_id, update):
            self.came.set()

    async def run(self) -> None:
        """Answer what waits until it is cancelled; then let what is under way end, or give it back."""
        tasks = set[asyncio.Task[None]]()
        try:
            while True:
                self.came.clear()
                taken = None if len(tasks) >= _MOST_CHATS else await self._take()
                if taken is None:
                    await self._wait()
                    continue
                task = asyncio.create_task(self._answer(taken))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            if tasks:
                _, late = await asyncio.wait(tasks, timeout=_GRACE_SECONDS)
                await cancel_and_wait(*late)

    async def _take(self) -> TakenUpdate | None:
        return await channel_updates.take(self.database, self.project_id, self.platform, _LEASE)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(_POLL_SECONDS):
                await self.came.wait()
        except TimeoutError:
            return

    async def _answer(self, taken: TakenUpdate) -> None:
        """Answer one update, and close it; what fails is taken again, later each time."""
        try:
            await self._answer_under_lease(taken)
            await channel_updates.close(self.database, taken)
        except LeaseLost:
            _log.warning("another process answers an update of a chat", platform=self.platform)
        except asyncio.CancelledError:
            await self._postpone(taken, timedelta())
            raise
        except ChannelGone:
            await self._give_up(taken)
        except Exception as error:  # noqa: BLE001 - what one chat needs must not end the others
            await self._fail(taken, error)
        finally:
            self.came.set()

    async def _answer_under_lease(self, taken: TakenUpdate) -> None:
        if taken.attempts > _MOST_ATTEMPTS:
            _log.warning("an update of a chat was given up", platform=self.platform)
            return
        answering = asyncio.ensure_future(self.respond(taken))
        holding = asyncio.create_task(self._hold(taken))
        try:
            await asyncio.wait({answering, holding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(*(task for task in (answering, holding) if not task.done()))
        if holding.done() and not holding.cancelled():
            holding.result()
        answering.result()

    async def _hold(self, taken: TakenUpdate) -> None:
        """Renew the lease until it is cancelled; raise `LeaseLost`."""
        while True:
            await asyncio.sleep(_LEASE.total_seconds() / _HEARTBEATS)
            await channel_updates.renew(self.database, taken, _LEASE)

    async def _fail(self, taken: TakenUpdate, error: Exception) -> None:
        seconds = min(2**taken.attempts, _LONGEST_PAUSE)
        _log.warning(
            "an update of a chat waits",
            platform=self.platform,
            error=type(error).__name__,
            at="" if isinstance(error, LightwellError) else raise_location(error),
            seconds=seconds,
        )
        await self._postpone(taken, timedelta(seconds=seconds))

    async def _postpone(self, taken: TakenUpdate, pause: timedelta) -> None:
        """Have the update taken again after the pause; where the database is away, its lease ends by itself."""
        try:
            await channel_updates.renew(self.database, taken, pause)
        except (StoreFailed, LeaseLost):
            return

    async def _give_up(self, taken: TakenUpdate) -> None:
        """Close what cannot be answered: the chat takes nothing any more."""
        try:
            await channel_updates.close(self.database, taken)
        except (StoreFailed, LeaseLost):
            return

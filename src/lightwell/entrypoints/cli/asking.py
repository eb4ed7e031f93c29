"""Runs an operation on the store here, or sends it to a server: `--as` and `--server` say which, for every command alike."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from lightwell.domain.access import TagAuthority
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.owner_door import ask_at_door
from lightwell.entrypoints.cli.progress import WaitingLine
from lightwell.entrypoints.cli.remote import choose_server, open_client, send
from lightwell.entrypoints.cli.store import (
    find_reader_tags,
    open_as,
    open_store_project,
    settings,
    settings_of_store,
)
from lightwell.entrypoints.operations.declaration import Caller, Operation

if TYPE_CHECKING:
    from lightwell.domain.questions import Question
    from lightwell.entrypoints.operations.questions import StreamEvent
    from lightwell.models.meter import Meter
    from lightwell.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


class Asker:
    """Who asks, and where; a command calls it with an operation and its arguments.

    Inside `async with`, the store here is opened by the first call that no server answers which has it open. Raises what the library raises; for a server, `NotFound` and
    `Invalid` alike, else `ServerError`.
    """

    def __init__(self, who: Sequence[str] | None, server: str | None) -> None:
        self._who = who
        self._opened = AsyncExitStack()
        self._caller: Caller | None = None
        self.login = choose_server(server, who)
        """The server to ask, None for the store here."""
        self.meter: Meter | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._opened.__aexit__(kind, error, trace)

    async def __call__(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the reply to an operation."""
        if self.login:
            return await send(operation.call(*args, **kwargs), self.login)
        if self._caller is None and operation.only_reads:
            chosen = settings()
            reply = await ask_at_door(
                lambda: operation.call(*args, **kwargs), find_reader_tags(self._who, chosen), chosen
            )
            if reply:
                return reply[0]
        return await operation.run(await self._open(), *args, **kwargs)

    async def stream(self, question: "Question") -> "AsyncGenerator[StreamEvent]":
        """Yield an answer as events, each sentence when it is checked."""
        from lightwell.entrypoints.operations.questions import StreamEvent

        if self.login:
            async with open_client(self.login) as client, aclosing(client.stream(question)) as sent:
                async for event in sent:
                    yield event
            return
        caller = await self._open()
        answered = caller.knowledge_base.questions.stream(question, caller.reader)
        async with aclosing(answered) as made:
            async for event in made:
                yield caller.reply(StreamEvent, event)

    async def _open(self) -> Caller:
        """Open the store here for somebody who waits for models."""
        return await self.open_store(waiting=WaitingLine().show)

    async def open_store(
        self,
        budget: int | None = None,
        *,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Caller:
        """Open the store here, if it is not open yet.

        `budget` overrides the tokens that models may spend; `waiting` is entered while one is waited for.
        """
        from lightwell.entrypoints.cli.costs import budgeted_meter
        from lightwell.entrypoints.cli.execution import configure_own

        if self._caller is None:
            configure_own()
            self.meter = budgeted_meter(budget, waiting=waiting)
            kb, reader = await self._opened.enter_async_context(open_as(self._who, self.meter))
            # Whoever may open the store may give documents any access tags.
            authority = TagAuthority(tags=reader.tags, is_unlimited=True)
            server = settings_of_store().server.public_url.rstrip("/")
            self._caller = Caller(
                knowledge_base=kb, reader=reader, authority=authority, server=server
            )
        return self._caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """Whoever may open the store here, or has an admin key of a server; called as an `Asker` is.

    `login` is that server, None for the store that `choose_settings` names.
    """

    login: Login | None
    choose_settings: "Callable[[], Settings]" = settings_of_store

    async def __call__(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the reply to an operation."""
        if self.login:
            return await send(operation.call(*args, **kwargs), self.login)
        async with open_store_project(self.choose_settings()) as kb:
            authority = TagAuthority(tags=frozenset(), is_unlimited=True)
            caller = Caller(knowledge_base=kb, reader=await kb.reader(()), authority=authority)
            return await operation.run(caller, *args, **kwargs)

"""Runs an operation on the store here, or sends it to a server: `--as` and `--server` say which, for every command alike."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from lightwell.domain.access import TagAuthority
from lightwell.entrypoints.cli.remote import choose_server, send
from lightwell.entrypoints.cli.store import open_as
from lightwell.entrypoints.operations.declaration import Caller, Operation

if TYPE_CHECKING:
    from lightwell.models.meter import Meter

P = ParamSpec("P")
R = TypeVar("R")


class Asker:
    """Who asks, and where; a command calls it with an operation and its arguments.

    Raises what the library raises; for a server, `NotFound` and `Invalid` alike, else `ServerError`.
    """

    def __init__(self, who: Sequence[str] | None, server: str | None) -> None:
        self._who = who
        self._login = choose_server(server, who)
        self.meter: Meter | None = None

    async def __call__(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the reply to an operation."""
        if self._login:
            return await send(operation.call(*args, **kwargs), self._login)
        from lightwell.entrypoints.cli.costs import budgeted_meter

        self.meter = self.meter or budgeted_meter()
        async with open_as(self._who, self.meter) as (kb, reader):
            # Whoever may open the store may give documents any access tags.
            authority = TagAuthority(tags=reader.tags, is_unlimited=True)
            caller = Caller(knowledge_base=kb, reader=reader, authority=authority)
            return await operation.run(caller, *args, **kwargs)

"""The projects of one server process, each opened once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.api_keys import ApiKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """Knowledge bases by the names of their projects; `keys` lets callers in."""

    keys: ApiKeys
    open_by_name: Callable[[str], Awaitable[KnowledgeBase]]
    opened: dict[str, KnowledgeBase] = field(default_factory=dict[str, KnowledgeBase])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self, name: str) -> KnowledgeBase:
        """Return the project's knowledge base; the first call opens it."""
        if name not in self.opened:
            async with self.lock:
                if name not in self.opened:
                    self.opened[name] = await self.open_by_name(name)
        return self.opened[name]

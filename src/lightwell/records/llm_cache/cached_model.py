"""A model asked through the cache: what was once replied is never asked again."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from lightwell.domain.errors import ModelRefused
from lightwell.domain.ids import ChunkId, ProjectId
from lightwell.ports import ChatModel, Message, Reply, Usage
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cache import CachedReply, CacheKey, CacheType, NewReply

GRACE_SECONDS = 10.0
"""How long a call under way is waited for when its batch is given up: it is paid for, so its reply is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to the model; `chunk` is what it is about, where it is about one.

    A kept reply older than `max_age` seconds is asked for anew; None means that it holds for ever. It is kept under
    `content_hash`, "" for the hash of all that is sent.
    """

    kind: CacheType
    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, object] | None = None
    chunk: ChunkId | None = None
    max_age: float | None = None
    content_hash: str = ""


class CachedModel:
    """Asks `model` for what is not kept yet; belongs to one event loop.

    `slots` calls are handed to the model at once: some more than its endpoint bears, so that the next is at hand when
    one ends, and not all, so that few are lost when ingestion is given up. Each reply is committed before it is
    returned, those that come at once in one transaction. Equal questions under way are asked once. A call that is given up
    has `grace_seconds` to bring its reply home.
    """

    def __init__(
        self,
        database: Database,
        project_id: ProjectId,
        model: ChatModel,
        *,
        slots: int,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.database = database
        self.project_id = project_id
        self.model = model
        self._grace_seconds = grace_seconds
        self._slots = asyncio.Semaphore(slots)
        self._find = Coalescer[Sequence[CacheKey], CachedReply | None](self._look_up)
        self._keep = Coalescer[NewReply, CachedReply](self._store)
        self._under_way: dict[str, asyncio.Task[CachedReply]] = {}
        self._sent: set[str] = set()

    def cache_key(self, request: ModelRequest) -> CacheKey:
        """Return by what the question's reply is kept."""
        return CacheKey(
            kind=request.kind,
            content_hash=request.content_hash
            or cache.content_hash(self.model.model, request.messages, request.schema),
            max_age=request.max_age,
        )

    async def reply(
        self, request: ModelRequest, *, or_kept: Sequence[ModelRequest] = ()
    ) -> CachedReply:
        """Return the kept reply, or ask and keep it; a refusal is a reply too. Raises `ModelFailed`.

        A kept reply to one of `or_kept`, which ask the same in other words, will do as well.
        """
        sought = [self.cache_key(each) for each in (request, *or_kept)]
        key = f"{request.kind} {sought[0].content_hash}"
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait([other])
            if not other.cancelled():
                return other.result()
        own = self._under_way[key] = asyncio.create_task(self._find_or_send(request, sought, key))
        try:
            await asyncio.wait([own])
            return own.result()
        finally:
            await self._finish(own, key)

    async def _find_or_send(
        self, request: ModelRequest, keys: Sequence[CacheKey], key: str
    ) -> CachedReply:
        if known := await self._find(keys):
            return known
        async with self._slots:
            self._sent.add(key)
            reply = await self._send(request)
        return await self._keep(NewReply(key=keys[0], reply=reply, chunk=request.chunk))

    async def _look_up(self, sought: Sequence[Sequence[CacheKey]]) -> list[CachedReply | None]:
        """Return for each of these lists the first reply that is kept."""
        known = iter(await cache.find(self.database, self.project_id, list(chain(*sought))))
        each = [[next(known) for _ in alternatives] for alternatives in sought]
        return [next(filter(None, found), None) for found in each]

    async def _store(self, arrived: Sequence[NewReply]) -> list[CachedReply]:
        return await cache.store(self.database, self.project_id, arrived)

    async def _send(self, request: ModelRequest) -> Reply:
        try:
            return await self.model.reply(
                request.messages, max_tokens=request.max_tokens, schema=request.schema
            )
        except ModelRefused as refusal:
            usage = Usage(
                model=self.model.model,
                input_tokens=refusal.input_tokens,
                output_tokens=refusal.output_tokens,
            )
            return Reply(text=refusal.said, complete=True, usage=usage)

    async def _finish(self, own: asyncio.Task[CachedReply], key: str) -> None:
        """See to it that the call has ended; one that was sent off may still bring its reply home."""
        if not own.done() and key in self._sent:
            await asyncio.wait([own], timeout=self._grace_seconds)
        own.cancel()
        await asyncio.wait([own])
        self._under_way.pop(key, None)
        self._sent.discard(key)

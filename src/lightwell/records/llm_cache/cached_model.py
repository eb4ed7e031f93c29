"""A chat model behind the cache: an equal request is never sent twice."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from lightwell.domain.errors import ModelRefused
from lightwell.domain.ids import ChunkId, ClassId, ProjectId
from lightwell.ports import ChatModel, Message, Reply, Usage
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cache import CachedReply, CacheKey, CacheType, NewReply
from lightwell.tasks import cancel_and_wait

GRACE_SECONDS = 10.0
"""How long a cancelled batch waits for its calls in flight: they are paid for, so their replies are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to the model; `chunk` is what it is about, where it is about one, and `class_id` the access class of its document.

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
    class_id: ClassId | None = None


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
        """Return the key under which the reply to this request is cached."""
        return CacheKey(
            kind=request.kind,
            content_hash=request.content_hash
            or cache.content_hash(self.model.model, request.messages, request.schema),
            max_age=request.max_age,
            class_id=request.class_id,
        )

    async def reply(
        self, request: ModelRequest, *, or_kept: Sequence[ModelRequest] = ()
    ) -> CachedReply:
        """Return the cached reply, or call the model and cache its reply; a refusal is cached too. Raises
        `ModelFailed`.

        A cached reply to one of `or_kept`, which ask the same in other words, is accepted too.
        """
        keys = [self.cache_key(alternative) for alternative in (request, *or_kept)]
        key = f"{request.kind} {keys[0].content_hash} {request.class_id}"
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait([other])
            if not other.cancelled():
                return other.result()
        task = self._under_way[key] = asyncio.create_task(self._find_or_send(request, keys, key))
        try:
            await asyncio.wait([task])
            return task.result()
        finally:
            await self._finish(task, key)

    async def _find_or_send(
        self, request: ModelRequest, keys: Sequence[CacheKey], key: str
    ) -> CachedReply:
        if kept := await self._find(keys):
            return kept
        async with self._slots:
            self._sent.add(key)
            reply = await self._send(request)
        return await self._keep(NewReply(key=keys[0], reply=reply, chunk=request.chunk))

    async def _look_up(self, keys: Sequence[Sequence[CacheKey]]) -> list[CachedReply | None]:
        """Return for each list of keys the first cached reply, None if there is none."""
        replies = iter(await cache.find(self.database, self.project_id, list(chain(*keys))))
        by_request = [[next(replies) for _ in alternatives] for alternatives in keys]
        return [next(filter(None, kept), None) for kept in by_request]

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
            return Reply(text=refusal.response_text, complete=True, usage=usage)

    async def _finish(self, task: asyncio.Task[CachedReply], key: str) -> None:
        """Wait for a call that was sent, up to the grace period, so that its reply is stored; then end the task."""
        if not task.done() and key in self._sent:
            await asyncio.wait([task], timeout=self._grace_seconds)
        await cancel_and_wait(task)
        self._under_way.pop(key, None)
        self._sent.discard(key)

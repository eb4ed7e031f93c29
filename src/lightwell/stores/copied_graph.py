"""`GraphIndex` over a copy in another store, with what only PostgreSQL may decide around it.

PostgreSQL is asked before (which entities are one to this reader, which of the given chunks the copy has right) and after
(which of the found chunks the reader sees, and whether the copy had them right). Where that takes chunks away, more are read.
"""

from collections.abc import Awaitable, Callable, Sequence

from lightwell.domain.access import Reader
from lightwell.domain.errors import GraphFailed
from lightwell.domain.graph import MIN_CONFIDENCE
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.domain.questions import NO_FILTERS, Filters
from lightwell.ports import GraphScope, GraphStore, Neighbourhood, SharedEntity
from lightwell.records.database import Database
from lightwell.records.graph import copies
from lightwell.records.graph.copies import CopyView, Starts
from lightwell.stores.postgres import graph as postgres
from lightwell.stores.postgres.graph import PostgresGraph

Find = Callable[[GraphScope, int], Awaitable[list[ChunkId]]]
"""Returns up to so many chunks of a scope."""


class CopiedGraph:
    """`GraphIndex` that reads the copy in `store`; links, and the sources that people named, come from PostgreSQL.

    So does what is asked of some documents only: of filters the copy knows topics alone.

    Raises `GraphFailed` where the store does not answer, has no complete copy, or is more than a minute late.
    """

    def __init__(self, database: Database, store: GraphStore) -> None:
        self._database = database
        self._store = store
        self._records = PostgresGraph(database)

    async def chunks_mentioning(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        if filters.are_by_document:
            return await self._records.chunks_mentioning(
                reader, entities, limit=limit, filters=filters
            )
        seen = await self._view(reader, Starts(entities=entities))

        async def find(scope: GraphScope, most: int) -> list[ChunkId]:
            return await self._store.mentioning(scope, seen.entities, most)

        return await self._checked(reader, seen, find, filters.topic, limit)

    async def chunks_stating(
        self,
        reader: Reader,
        relations: Sequence[RelationId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        if filters.are_by_document:
            return await self._records.chunks_stating(
                reader, relations, limit=limit, filters=filters
            )
        seen = await self._view(reader, Starts(relations=relations))

        async def find(scope: GraphScope, most: int) -> list[ChunkId]:
            return await self._store.stating(scope, seen.relations, most)

        return await self._checked(reader, seen, find, filters.topic, limit)

    async def chunks_relating(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        if filters.are_by_document:
            return await self._records.chunks_relating(
                reader, entities, limit=limit, filters=filters
            )
        seen = await self._view(reader, Starts(entities=entities))

        async def find(scope: GraphScope, most: int) -> list[ChunkId]:
            return await self._store.relating(scope, entities, seen.entities, most)

        return await self._checked(reader, seen, find, filters.topic, limit)

    async def entities_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[EntityId]:
        return await self._records.entities_of(reader, chunks)

    async def relations_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[RelationId]:
        return await self._records.relations_of(reader, chunks)

    async def linked_entities(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[EntityId]:
        return await self._records.linked_entities(reader, entities, limit=limit)

    async def neighbour_chunks(
        self,
        reader: Reader,
        chunks: Sequence[ChunkId],
        *,
        rarest: int,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        if filters.are_by_document:
            return await self._records.neighbour_chunks(
                reader, chunks, rarest=rarest, limit=limit, filters=filters
            )
        seen = await self._view(reader, Starts(chunks=chunks))
        near = await self._store.mentioned(_scope(reader, seen), seen.chunks)
        shared = [
            SharedEntity(entity=entity, root=root, share=1 / mentions)
            for entity, root, mentions in await copies.list_rare(
                self._database, reader, near, rarest=rarest
            )
        ]

        async def find(scope: GraphScope, most: int) -> list[ChunkId]:
            return await self._store.sharing(scope, shared, most)

        return await self._checked(reader, seen, find, filters.topic, limit)

    async def neighbourhood(
        self, reader: Reader, chunks: Sequence[ChunkId], named: Sequence[EntityId]
    ) -> Neighbourhood:
        seen = await self._view(reader, Starts(chunks=chunks))
        subgraph = await self._store.subgraph(_scope(reader, seen), seen.chunks, MIN_CONFIDENCE)
        right = {
            chunk.bytes
            for chunk in await copies.still_hold(self._database, reader, seen, seen.chunks)
        }
        mentions = {chunk: ids for chunk, ids in subgraph.mentions.items() if chunk in right}
        mentioned = postgres.entity_chunks(chunks, mentions)
        counted = await self._records.count_mentions(
            reader, postgres.linking(mentioned, [entity.bytes for entity in named]), named
        )
        # Which chunk states a relation is not told: where one of them changed meanwhile, none counts.
        relations = subgraph.relations if len(right) == len(seen.chunks) else ()
        return postgres.make_neighbourhood(chunks, mentioned, counted, relations)

    async def _view(self, reader: Reader, starts: Starts) -> CopyView:
        seen = await copies.view(self._database, reader, self._store.name, starts)
        if seen is None or not seen.is_filled:
            raise GraphFailed(
                f"The copy of this project's graph in {self._store.name} is not complete yet; a worker writes it,"
                " or `lightwell graph rebuild`"
            )
        if seen.is_late:
            raise GraphFailed(
                f"The copy of this project's graph in {self._store.name} is more than a minute behind;"
                " a worker brings it up to date, and `lightwell doctor` shows how far it is"
            )
        return seen

    async def _checked(
        self, reader: Reader, seen: CopyView, find: Find, topic: str, limit: int
    ) -> list[ChunkId]:
        """Return the first `limit` chunks that hold; where the check takes some away, read twice as many."""
        scope = _scope(reader, seen, topic)
        most = limit
        while True:
            chunks = await find(scope, most)
            right = await copies.still_hold(self._database, reader, seen, chunks)
            kept = [chunk for chunk in chunks if chunk in right]
            if len(kept) >= limit or len(chunks) < most:
                return kept[:limit]
            most *= 2


def _scope(reader: Reader, seen: CopyView, topic: str = "") -> GraphScope:
    return GraphScope(graph=seen.graph, classes=reader.classes, topic=topic, roots=seen.roots)

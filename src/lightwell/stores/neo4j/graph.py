"""`GraphStore` in a Neo4j server, with the official driver."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, cast
from uuid import UUID

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from lightwell.domain.errors import GraphFailed
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.ports import (
    GraphBatch,
    GraphScope,
    SharedEntity,
    Subgraph,
)
from lightwell.stores.copied_rows import (
    Row,
    id_texts,
    make_edge_rows,
    make_shared_rows,
    make_subgraph,
    name_concepts,
)
from lightwell.stores.neo4j import cypher, nodes

_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.5  # a server that is down is not waited for: the answer comes without the graph
_WRITE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jLogin:
    """Where the server is, and who signs in; `seconds` is the longest that a question waits for it."""

    url: str
    user: str
    password: str
    seconds: float


@asynccontextmanager
async def open_neo4j(login: Neo4jLogin) -> AsyncGenerator["Neo4jGraph"]:
    """Open a connection pool to the server, which need not answer yet; close it at the end. Raises `GraphFailed` for a wrong URL."""
    with _translate_errors(login.url):
        driver = AsyncGraphDatabase.driver(
            login.url,
            auth=(login.user, login.password),
            connection_timeout=_CONNECT_SECONDS,
            connection_acquisition_timeout=login.seconds,
            max_transaction_retry_time=_RETRY_SECONDS,
            liveness_check_timeout=5.0,
            notifications_min_severity="OFF",
            user_agent="lightwell",
        )
    async with driver:
        yield Neo4jGraph(driver, login)


class Neo4jGraph:
    """`GraphStore` on one driver; any number of copies, told apart by a property of every node."""

    name = "neo4j"

    def __init__(self, driver: AsyncDriver, login: Neo4jLogin) -> None:
        self._driver = driver
        self._login = login

    async def prepare(self) -> None:
        for name, (_, properties) in cypher.FULL_TEXT.items():
            rows = await self._run(cypher.INDEXED_PROPERTIES, {"name": name})
            if rows and rows[0]["properties"] != properties:
                await self._run(cypher.DROP_FULL_TEXT[name], {})
        for statement in cypher.SCHEMA:
            await self._run(statement, {})

    async def create(self, graph: UUID) -> None:
        await self._run(cypher.CREATE, {"graph": str(graph)})

    async def has(self, graph: UUID) -> bool:
        return bool(await self._run(cypher.HAS, {"graph": str(graph)}))

    async def write(self, batch: GraphBatch) -> bool:
        async def once(transaction: AsyncManagedTransaction) -> bool:
            return await _write(transaction, batch)

        async with self._limit(_WRITE_SECONDS), self._driver.session() as session:
            return await session.execute_write(once)

    async def drop(self, graph: UUID) -> None:
        facts = {"graph": str(graph)}
        await self._run(cypher.CLOSE, facts)
        while (await self._run(cypher.DROP_SOME, facts))[0]["dropped"]:
            pass

    async def mentioning(
        self, scope: GraphScope, entities: Sequence[EntityId], limit: int
    ) -> list[ChunkId]:
        return await self._chunks(
            cypher.MENTIONING, scope, {"entities": id_texts(entities), "limit": limit}
        )

    async def stating(
        self, scope: GraphScope, relations: Sequence[RelationId], limit: int
    ) -> list[ChunkId]:
        return await self._chunks(
            cypher.STATING, scope, {"relations": id_texts(relations), "limit": limit}
        )

    async def relating(
        self,
        scope: GraphScope,
        named: Sequence[EntityId],
        members: Sequence[EntityId],
        limit: int,
    ) -> list[ChunkId]:
        return await self._chunks(
            cypher.RELATING,
            scope,
            {"named": id_texts(named), "members": id_texts(members), "limit": limit},
        )

    async def mentioned(self, scope: GraphScope, chunks: Sequence[ChunkId]) -> list[EntityId]:
        entities = await self._read(cypher.MENTIONED, scope, {"chunks": id_texts(chunks)})
        return [EntityId(UUID(entity)) for entity in cast("list[str]", entities)]

    async def sharing(
        self, scope: GraphScope, entities: Sequence[SharedEntity], limit: int
    ) -> list[ChunkId]:
        facts = {"shared": make_shared_rows(entities), "limit": limit}
        return await self._chunks(cypher.SHARING, scope, facts)

    async def subgraph(
        self, scope: GraphScope, chunks: Sequence[ChunkId], above: float
    ) -> Subgraph:
        facts = {"chunks": id_texts(chunks), "above": above}
        mentions, relations = await asyncio.gather(
            self._read(cypher.SUBGRAPH_MENTIONS, scope, facts),
            self._read(cypher.SUBGRAPH_RELATIONS, scope, facts),
        )
        return make_subgraph(
            scope,
            cast("list[tuple[str, list[str]]]", mentions),
            cast("list[tuple[str, str, float]]", relations),
        )

    async def _chunks(
        self, query: LiteralString, scope: GraphScope, facts: Mapping[str, object]
    ) -> list[ChunkId]:
        return [
            ChunkId(UUID(chunk))
            for chunk in cast("list[str]", await self._read(query, scope, facts))
        ]

    async def _read(
        self, query: LiteralString, scope: GraphScope, facts: Mapping[str, object]
    ) -> list[Any]:
        rows = await self._run(
            query,
            {
                **facts,
                "graph": str(scope.graph),
                "classes": list(scope.classes),
                "topic": scope.topic,
                "roots": {str(entity): str(root) for entity, root in scope.roots.items()},
            },
            seconds=self._login.seconds,
        )
        if not rows:
            raise GraphFailed(
                f"The Neo4j server at {self._login.url} does not hold this project's graph;"
                " `lightwell graph rebuild` writes it again"
            )
        return rows[0]["found"]

    async def _run(
        self, query: LiteralString, facts: Mapping[str, object], seconds: float = _WRITE_SECONDS
    ) -> list[Any]:
        async def once(transaction: AsyncManagedTransaction) -> list[Any]:
            return [record async for record in await transaction.run(query, dict(facts))]

        async with self._limit(seconds), self._driver.session() as session:
            if not facts:  # of the schema: no transaction of ours
                return [record async for record in await session.run(query)]
            return await session.execute_write(once)

    @asynccontextmanager
    async def _limit(self, seconds: float) -> AsyncGenerator[None]:
        """Wait for the server no longer than this; raise `GraphFailed` for all that it refuses."""
        try:
            with _translate_errors(self._login.url):
                async with asyncio.timeout(seconds):
                    yield
        except TimeoutError:
            raise GraphFailed(
                f"The Neo4j server at {self._login.url} did not answer within {seconds:g} seconds"
            ) from None


@contextmanager
def _translate_errors(url: str) -> Generator[None]:
    """Raise `GraphFailed` for the driver's errors; their own messages may quote what was sent."""
    try:
        yield
    except AuthError:
        raise GraphFailed(
            f"The Neo4j server at {url} refused the user or the password; set LIGHTWELL_NEO4J_USER and LIGHTWELL_NEO4J_PASSWORD"
        ) from None
    except Neo4jError as error:
        raise GraphFailed(f"The Neo4j server at {url} refused a query: {error.code}") from error
    except (DriverError, OSError, ValueError) as error:
        raise GraphFailed(
            f"The Neo4j server at {url} does not answer ({type(error).__name__}); start it, or correct LIGHTWELL_NEO4J_URL"
        ) from error


async def _write(transaction: AsyncManagedTransaction, batch: GraphBatch) -> bool:
    graph = {"graph": str(batch.graph)}
    passed = await transaction.run(cypher.ENTER, {**graph, "fence": batch.fence})
    if await passed.single() is None:
        return False
    touched = [[str(entity), class_id] for entity, class_id in batch.gone.entities]
    await transaction.run(cypher.EMPTY_CONCEPTS, {**graph, "keys": touched})
    for query, facts in _changed(batch):
        record = await (await transaction.run(query, {**graph, **facts})).single(strict=True)
        touched += record["touched"]
    await transaction.run(cypher.FORGET_CHUNKS, {**graph, "ids": id_texts(batch.gone.chunks)})
    await transaction.run(cypher.FORGET_DOCUMENTS, {**graph, "ids": id_texts(batch.gone.documents)})
    for query, rows in _statements(batch):
        if rows:
            await transaction.run(query, {**graph, "rows": rows})
    await transaction.run(cypher.FORGET_CONCEPTS, {**graph, "keys": touched})
    return True


def _changed(batch: GraphBatch) -> list[tuple[LiteralString, Mapping[str, object]]]:
    """Return the statements that forget what the batch replaces or no longer has; each tells which concepts it led to."""
    gone = batch.gone
    relations = [
        *((relation.id, relation.class_id) for relation in batch.relations),
        *gone.relations,
    ]
    return [
        (
            cypher.FORGET_EDGES,
            {"chunks": id_texts([*(chunk.id for chunk in batch.chunks), *gone.chunks])},
        ),
        (
            cypher.FORGET_MENTIONS,
            {
                "documents": id_texts(
                    [*(document.id for document in batch.documents), *gone.documents]
                )
            },
        ),
        (
            cypher.FORGET_RELATIONS,
            {"relations": [[str(relation), of] for relation, of in relations]},
        ),
    ]


def _statements(batch: GraphBatch) -> list[tuple[LiteralString, Sequence[Row]]]:
    """Return the statements that write a batch, each with its rows, in their order."""
    edges = make_edge_rows(batch)
    relations: defaultdict[str, list[Row]] = defaultdict(list)
    for relation in batch.relations:
        relations[relation.predicate].append(nodes.relation_row(relation))
    return [
        (cypher.WRITE_CHUNKS, [nodes.chunk_row(chunk) for chunk in batch.chunks]),
        (cypher.LINK_CHUNKS, nodes.neighbour_rows(batch.chunks)),
        (cypher.WRITE_DOCUMENTS, [nodes.document_row(document) for document in batch.documents]),
        (
            cypher.ADD_CONCEPTS,
            [
                {"id": entity, "class_id": class_id, "name": name}
                for (entity, class_id), name in name_concepts(batch).items()
            ],
        ),
        (cypher.WRITE_CONCEPTS, [nodes.concept_row(entity) for entity in batch.entities]),
        (cypher.WRITE_DISCUSSES, edges.mentions),
        (cypher.WRITE_STATES, edges.statements),
        (cypher.WRITE_MENTIONS, edges.documents),
        *(
            (cypher.WRITE_RELATIONS[predicate], stated)
            for predicate, stated in sorted(relations.items())
        ),
    ]

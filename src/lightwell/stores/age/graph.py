"""`GraphStore` in a PostgreSQL server with the extension Apache AGE."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import LiteralString, cast
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, conninfo, sql

from lightwell.domain.errors import GraphFailed, Invalid
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.ports import GraphBatch, GraphScope, SharedEntity, Subgraph
from lightwell.records.connections import limit_silence, with_keepalives
from lightwell.stores.age import cypher, rows
from lightwell.stores.copied_rows import id_texts, make_shared_rows, make_subgraph

_CONNECT_SECONDS = 2
_WRITE_SECONDS = 120.0
_CONNECTIONS = 8  # of one process; more searches wait for their turn

Values = tuple[object, ...]
"""What one row of an answer holds, parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeLogin:
    """The URL of the database, with user and password; `seconds` is the longest that a question waits for it."""

    url: str
    seconds: float


class AgeGraph:
    """`GraphStore` in one database; each copy is a graph of AGE. Every call opens a connection of its own.

    Raises `Invalid` for a URL that is none.
    """

    name = "age"

    def __init__(self, login: AgeLogin) -> None:
        self._login = login
        self._free = asyncio.Semaphore(_CONNECTIONS)
        try:
            parts = conninfo.conninfo_to_dict(login.url)
        except psycopg.ProgrammingError:
            raise Invalid(
                "LIGHTWELL_AGE_URL is no URL of PostgreSQL: write postgresql://user:password@host:5432/database"
            ) from None
        self._place = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}"

    async def prepare(self) -> None:
        async with self._connection(_WRITE_SECONDS) as connection, connection.transaction():
            for statement in cypher.PREPARE:
                await connection.execute(statement)

    async def create(self, graph: UUID) -> None:
        await self.prepare()
        async with self._connection(_WRITE_SECONDS) as connection, connection.transaction():
            added = await connection.execute(cypher.ADD, {"graph": graph})
            if await added.fetchone() is None:
                return
            for statement in cypher.CREATE:
                await connection.execute(_in_graph(statement, graph))

    async def has(self, graph: UUID) -> bool:
        async with self._connection(_WRITE_SECONDS) as connection:
            return await _has(connection, graph)

    async def write(self, batch: GraphBatch) -> bool:
        async with self._connection(_WRITE_SECONDS) as connection, connection.transaction():
            facts = {"graph": batch.graph, "fence": batch.fence}
            entered = await connection.execute(cypher.ENTER, facts)
            if await entered.fetchone() is None:
                return False
            await _write(connection, batch)
            return True

    async def drop(self, graph: UUID) -> None:
        await self.prepare()
        async with self._connection(_WRITE_SECONDS) as connection, connection.transaction():
            await connection.execute(cypher.CLOSE, {"graph": graph})
            await connection.execute(cypher.DROP, {"name": _name(graph)})

    async def mentioning(
        self, scope: GraphScope, entities: Sequence[EntityId], limit: int
    ) -> list[ChunkId]:
        facts = {"entities": id_texts(entities), "limit": limit}
        return await self._chunks(cypher.MENTIONING, scope, facts)

    async def stating(
        self, scope: GraphScope, relations: Sequence[RelationId], limit: int
    ) -> list[ChunkId]:
        facts = {"relations": id_texts(relations), "limit": limit}
        return await self._chunks(cypher.STATING, scope, facts)

    async def relating(
        self,
        scope: GraphScope,
        named: Sequence[EntityId],
        members: Sequence[EntityId],
        limit: int,
    ) -> list[ChunkId]:
        facts = {"named": id_texts(named), "members": id_texts(members), "limit": limit}
        return await self._chunks(cypher.RELATING, scope, facts)

    async def mentioned(self, scope: GraphScope, chunks: Sequence[ChunkId]) -> list[EntityId]:
        entities = await self._read(cypher.MENTIONED, 1, scope, {"chunks": id_texts(chunks)})
        return [EntityId(UUID(_text(entity))) for (entity,) in entities]

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
            self._read(cypher.SUBGRAPH_MENTIONS, 2, scope, facts),
            self._read(cypher.SUBGRAPH_RELATIONS, 3, scope, facts),
        )
        return make_subgraph(
            scope,
            (
                (_text(chunk), [_text(entity) for entity in cast("list[object]", entities)])
                for chunk, entities in mentions
            ),
            (
                (_text(source), _text(target), float(cast("float", weight)))
                for source, target, weight in relations
            ),
        )

    async def _chunks(
        self, query: LiteralString, scope: GraphScope, facts: Mapping[str, object]
    ) -> list[ChunkId]:
        return [
            ChunkId(UUID(_text(chunk))) for (chunk,) in await self._read(query, 1, scope, facts)
        ]

    async def _read(
        self, query: LiteralString, columns: int, scope: GraphScope, facts: Mapping[str, object]
    ) -> list[Values]:
        parameters = {
            **facts,
            "classes": list(scope.classes),
            "topic": scope.topic,
            "roots": {str(entity): str(root) for entity, root in scope.roots.items()},
        }
        async with self._connection(self._login.seconds) as connection:
            if not await _has(connection, scope.graph):
                raise GraphFailed(
                    f"The AGE server at {self._place} does not hold this project's graph;"
                    " `lightwell graph rebuild` writes it again"
                )
            return await _run(connection, scope.graph, query, parameters, columns)

    @asynccontextmanager
    async def _connection(self, seconds: float) -> AsyncGenerator[AsyncConnection]:
        """Connect for no longer than this; raise `GraphFailed` for all that the server refuses.

        A connection of its own meets no dead one after a restart of the server. Plans are not kept: AGE takes its
        parameters only from the statement at hand.
        """
        try:
            async with (
                asyncio.timeout(seconds),
                self._free,
                await AsyncConnection.connect(
                    with_keepalives(self._login.url),
                    autocommit=True,
                    connect_timeout=_CONNECT_SECONDS,
                    prepare_threshold=None,
                    application_name="lightwell",
                ) as connection,
            ):
                await limit_silence(connection)
                await connection.execute(cypher.SETTINGS)
                yield connection
        except TimeoutError:
            raise GraphFailed(
                f"The AGE server at {self._place} did not answer within {seconds:g} seconds"
            ) from None
        except psycopg.Error as error:
            raise GraphFailed(_explain(error, self._place)) from error


def _explain(error: psycopg.Error, place: str) -> str:
    """Return what to do about an error; the server's own message may quote what was sent."""
    if error.sqlstate is None or isinstance(error, psycopg.OperationalError):
        return (
            f"The AGE server at {place} does not answer, or refuses the user or the password"
            f" ({type(error).__name__}); start it, or correct LIGHTWELL_AGE_URL"
        )
    if isinstance(error, psycopg.errors.FeatureNotSupported | psycopg.errors.InsufficientPrivilege):
        return (
            f"The AGE server at {place} refused a query ({error.sqlstate}): it needs shared_preload_libraries = 'age',"
            " the extension, and a user with CREATE on the database (docs/stores.md)"
        )
    return f"The AGE server at {place} refused a query: {error.sqlstate}"


async def _has(connection: AsyncConnection, graph: UUID) -> bool:
    if await (await connection.execute(cypher.IS_PREPARED)).fetchone() != (True,):
        return False
    return await (await connection.execute(cypher.HAS, {"graph": graph})).fetchone() is not None


async def _write(connection: AsyncConnection, batch: GraphBatch) -> None:
    touched: list[str] = []
    for statement, facts in rows.list_forgetting(batch):
        entities = await connection.execute(_in_graph(statement, batch.graph), facts)
        touched += [str(entity) for row in await entities.fetchall() for entity in row]
    for statement, facts in rows.list_writing(batch):
        await connection.execute(_in_graph(statement, batch.graph), facts)
    await connection.execute(_in_graph(cypher.DELETE_ENTITIES, batch.graph), {"ids": touched})


async def _run(
    connection: AsyncConnection,
    graph: UUID,
    query: LiteralString,
    facts: Mapping[str, object],
    columns: int,
) -> list[Values]:
    """Run one Cypher query and return its rows. What is given travels beside it, as one JSON text."""
    statement = sql.SQL("SELECT * FROM ") + _ask(graph, query, columns)
    cursor = await connection.execute(statement, [json.dumps(facts)])
    return [tuple(_parse(value) for value in row) for row in await cursor.fetchall()]


def _ask(graph: UUID, query: LiteralString, columns: int) -> sql.Composed:
    """Return a Cypher query as a table `new` of SQL with columns c0, c1, ...; its facts are the one parameter."""
    names = sql.SQL(", ").join(
        sql.SQL("{} ag_catalog.agtype").format(sql.Identifier(f"c{column}"))
        for column in range(columns)
    )
    return sql.SQL("ag_catalog.cypher({}, $cypher$ {} $cypher$, %s) AS new ({})").format(
        sql.Literal(_name(graph)), sql.SQL(query), names
    )


def _in_graph(statement: LiteralString, graph: UUID) -> sql.Composed:
    name = _name(graph)
    return sql.SQL(statement).format(name=sql.Literal(name), schema=sql.Identifier(name))


def _name(graph: UUID) -> str:
    """Return the name of the copy in AGE, which is also its schema."""
    return f"lightwell_{graph.hex}"


def _parse(agtype: str | None) -> object:
    """Return a number, a text or a list of these. Vertices, edges and paths are never asked for: they are no JSON."""
    if agtype is None:
        return None
    try:
        return json.loads(agtype)
    except json.JSONDecodeError:
        raise GraphFailed(
            "The AGE server answered with a value that is neither a number, a text nor a list"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise GraphFailed(f"The AGE server answered with {type(value).__name__} in place of an id")
    return value

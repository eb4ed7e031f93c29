"""The graph stores that the contract of `GraphIndex` is checked on; the servers are real."""

from contextlib import AsyncExitStack

import pytest

from lightwell.graph_ports import GraphStore
from lightwell.stores.neo4j.graph import Neo4jGraph, Neo4jLogin, open_neo4j
from tests.neo4j_server.server import PASSWORD, Neo4jServer

STORES = ("postgres", pytest.param("neo4j", marks=pytest.mark.slow))


async def open_store(request: pytest.FixtureRequest, stack: AsyncExitStack) -> GraphStore | None:
    """Return the store that the fixture's parameter names; None for PostgreSQL's own tables."""
    if request.param == "postgres":
        return None
    return await open_neo4j_of(request.getfixturevalue("neo4j_server"), stack)


async def open_neo4j_of(server: Neo4jServer, stack: AsyncExitStack) -> Neo4jGraph:
    login = Neo4jLogin(url=server.url, user="neo4j", password=PASSWORD, seconds=30.0)
    return await stack.enter_async_context(open_neo4j(login))

"""The graph stores that the contract of `GraphIndex` is checked on; the servers are real."""

from contextlib import AsyncExitStack

import pytest

from lightwell.ports import GraphStore
from lightwell.stores.age.graph import AgeGraph, AgeLogin
from lightwell.stores.neo4j.graph import Neo4jGraph, Neo4jLogin, open_neo4j
from tests.age_server.server import AgeServer
from tests.neo4j_server.server import PASSWORD, Neo4jServer

COPIES = ("neo4j", "age")
STORES = ("postgres", *(pytest.param(each, marks=pytest.mark.slow) for each in COPIES))


async def open_store(request: pytest.FixtureRequest, stack: AsyncExitStack) -> GraphStore | None:
    """Return the store that the fixture's parameter names; None for PostgreSQL's own tables."""
    if request.param == "postgres":
        return None
    if request.param == "age":
        return open_age_of(request.getfixturevalue("age_server"))
    return await open_neo4j_of(request.getfixturevalue("neo4j_server"), stack)


async def open_neo4j_of(server: Neo4jServer, stack: AsyncExitStack) -> Neo4jGraph:
    login = Neo4jLogin(url=server.url, user="neo4j", password=PASSWORD, seconds=30.0)
    return await stack.enter_async_context(open_neo4j(login))


def open_age_of(server: AgeServer) -> AgeGraph:
    return AgeGraph(AgeLogin(url=server.url, seconds=30.0))

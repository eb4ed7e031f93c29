"""The combinations of stores that a project may have; the servers are real, and one per module or run."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from lightwell.domain.ids import ProjectId
from lightwell.ports import GraphStore
from lightwell.stores.milvus.collection import MilvusServer
from lightwell.stores.milvus.collection import connect as connect_milvus
from tests.graph_stores import open_age_of, open_neo4j_of

_MILVUS_SECONDS = 120.0
"""Milvus's first answer after a start takes up to a minute of a busy machine."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Where a project keeps its vectors and searches its graph, None for PostgreSQL.

    `projects` are those that keep vectors in Milvus.
    """

    milvus: MilvusServer | None = None
    graph: GraphStore | None = None
    projects: list[ProjectId] | None = None

    def milvus_for(self, project_id: ProjectId) -> MilvusServer | None:
        """Return the server of Milvus for this project, None for PostgreSQL."""
        if self.projects is not None:
            self.projects.append(project_id)
        return self.milvus


POSTGRES = Stores()
_SERVERS = ("milvus", "neo4j", "age", "milvus+neo4j")
on_servers = pytest.mark.parametrize(
    "stores", [pytest.param(each, marks=pytest.mark.slow) for each in _SERVERS], indirect=True
)
"""Runs a test, which takes `stores`, on each combination that needs a server."""
on_each_combination = pytest.mark.parametrize(
    "stores",
    ["postgres", *(pytest.param(each, marks=pytest.mark.slow) for each in _SERVERS)],
    indirect=True,
)

on_each_vector_store = pytest.mark.parametrize(
    "stores", ["postgres", pytest.param("milvus", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    """The stores that the parameter names, by default PostgreSQL; what a test leaves in Milvus is dropped."""
    names = getattr(request, "param", "postgres").split("+")
    async with AsyncExitStack() as stack:
        graph = None
        if "neo4j" in names:
            graph = await open_neo4j_of(request.getfixturevalue("neo4j_server"), stack)
        if "age" in names:
            graph = open_age_of(request.getfixturevalue("age_server"))
        if "milvus" not in names:
            yield Stores(graph=graph)
            return
        url = request.getfixturevalue("milvus_url")
        milvus = await stack.enter_async_context(connect_milvus(url, "", _MILVUS_SECONDS))
        made = list[ProjectId]()
        yield Stores(milvus=milvus, graph=graph, projects=made)
        prefixes = tuple(f"lightwell_{each.hex}_" for each in made)
        for name in await milvus.client.list_collections():
            if name.startswith(prefixes):
                await milvus.client.drop_collection(name)

"""Opens the graph store that the settings name."""

from contextlib import AsyncExitStack

from lightwell.domain.errors import Invalid
from lightwell.ports import GraphStore
from lightwell.records import projects
from lightwell.settings import Settings
from lightwell.wiring.database import open_database

_SEARCH_SECONDS = 5.0
"""Most seconds of one search in the graph store; after that the answer comes without the graph, and has a note."""


async def open_graph_store(settings: Settings, stack: AsyncExitStack) -> GraphStore | None:
    """Return the store that holds copies of graphs, closed with the stack; None for PostgreSQL's own tables.

    The server need not answer now. Raises `Invalid` where the driver, the password or the URL is missing.
    """
    stores = settings.stores
    if stores.graph_store == "postgres":
        return None
    if stores.graph_store == "age":
        if stores.age_url is None:
            raise Invalid(
                "LIGHTWELL_GRAPH_STORE=age needs LIGHTWELL_AGE_URL, such as postgresql://user:password@host:5432/database"
            )
        from lightwell.stores.age.graph import AgeGraph, AgeLogin

        url = stores.age_url.get_secret_value()
        return AgeGraph(AgeLogin(url=url, seconds=_SEARCH_SECONDS))
    try:
        from lightwell.stores.neo4j.graph import Neo4jLogin, open_neo4j
    except ModuleNotFoundError:
        raise Invalid(
            "LIGHTWELL_GRAPH_STORE=neo4j needs the Neo4j driver: in Lightwell's checkout, `uv tool install '.[neo4j]'`"
        ) from None
    if stores.neo4j_password is None:
        raise Invalid(
            "LIGHTWELL_GRAPH_STORE=neo4j needs LIGHTWELL_NEO4J_PASSWORD, the password of LIGHTWELL_NEO4J_USER"
        )
    login = Neo4jLogin(
        url=stores.neo4j_url,
        user=stores.neo4j_user,
        password=stores.neo4j_password.get_secret_value(),
        seconds=_SEARCH_SECONDS,
    )
    return await stack.enter_async_context(open_neo4j(login))


async def rebuild_graph(settings: Settings) -> int:
    """Write the copy of the settings' project anew; return how many chunks it holds. No model is called.

    Raises `Invalid` where the graph is in PostgreSQL's own tables, `GraphFailed` where the store does not answer.
    """
    from lightwell.ingest.graph_copy import GraphCopy

    async with AsyncExitStack() as stack:
        store = await open_graph_store(settings, stack)
        if store is None:
            raise Invalid(
                "LIGHTWELL_GRAPH_STORE is postgres: its tables are the graph itself, so there is no copy to rebuild"
            )
        database = await stack.enter_async_context(open_database(settings))
        project_id = await projects.find(database, settings.tenant, settings.project)
        return await GraphCopy(database=database, project_id=project_id, store=store).rebuild()

"""The one place that picks implementations, and opens and closes what lives."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from lightwell.answer.compose import Answers
from lightwell.connectors.files import Files
from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.ingest.rules import Rules
from lightwell.ingest.way import Way
from lightwell.ingest.work import new_worker
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import ChatModel, Embedder
from lightwell.records import access, spaces
from lightwell.records.database import Database, connected
from lightwell.records.spaces import Space
from lightwell.retrieve.pipeline import Retriever
from lightwell.settings import Settings
from lightwell.stores.postgres.graph import PostgresGraph
from lightwell.stores.postgres.vectors import PostgresVectors


@asynccontextmanager
async def opened(settings: Settings | None = None) -> AsyncGenerator[KnowledgeBase, None]:
    """Open the project that the settings name, its database and its models, and close them at the end.

    Raises `ServerFailed`, `StoreFailed`, `ModelFailed` or `Invalid`, each with a message that says how to mend it.
    """
    chosen = settings or Settings()
    async with AsyncExitStack() as stack:
        conninfo = await stack.enter_async_context(database_server(chosen))
        database = await stack.enter_async_context(connected(conninfo))
        embedder = await _embedder(chosen, stack)
        project_id = await access.project(database, chosen.tenant, chosen.project)
        space = await _space(database, project_id, embedder)
        vectors = PostgresVectors(database)
        await vectors.prepare(space.id, space.dimension)
        way = Way(
            database=database,
            vectors=vectors,
            space=space,
            embedder=embedder,
            extractor=Rules(),
            worker=new_worker(chosen.lease_seconds),
        )
        retriever = Retriever(
            database=database,
            vectors=vectors,
            graph=PostgresGraph(database),
            space=space,
            embedder=embedder,
        )
        answers = Answers(
            embedder=embedder,
            model=await _chat_model(chosen, stack),
            most_tokens=chosen.context_max_tokens,
        )
        yield KnowledgeBase(database, project_id, way, retriever, answers)


def files(root: Path, tags: Tags, settings: Settings) -> Files:
    """Return a folder or a file as a source; `tags` hold where nothing nearer names any."""
    return Files(root=root, default_tags=tags, most_bytes=settings.most_file_bytes)


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncGenerator[str, None]:
    """Yield the connection string of the server in use: the one that is named, or the embedded one, started."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from lightwell.records.server import serve

    server = serve(settings.data)
    conninfo = await asyncio.to_thread(server.__enter__)
    try:
        yield conninfo
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def _space(database: Database, project_id: access.ProjectId, embedder: Embedder) -> Space:
    space = await spaces.active(database, project_id, embedder.model, embedder.dimension)
    if (space.model, space.dimension) != (embedder.model, embedder.dimension):
        raise Invalid(
            f"This project's vectors were made by {space.model} with {space.dimension} dimensions, and the settings"
            f" name {embedder.model} with {embedder.dimension}: vectors of two models cannot be compared."
            " Name the old model again, or another project in LIGHTWELL_PROJECT"
        )
    return space


async def _embedder(settings: Settings, stack: AsyncExitStack) -> Embedder:
    if settings.embedding_url is None:
        from lightwell.models.local import MiniLM

        return MiniLM()
    from lightwell.models.endpoint import connected as endpoint_connected
    from lightwell.models.openai_embedder import OpenAIEmbedder
    from lightwell.models.openai_embedder import Space as Asked

    endpoint = _endpoint(
        settings,
        "EMBEDDING",
        settings.embedding_url,
        settings.embedding_model,
        settings.embedding_api_key,
    )
    connection = await stack.enter_async_context(endpoint_connected(endpoint))
    ...


async def _chat_model(settings: Settings, stack: AsyncExitStack) -> ChatModel | None:
    if settings.chat_url is None:
        return None
    ...

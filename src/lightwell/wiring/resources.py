"""The resources that a process opens once for all its projects."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ParserLimits
from lightwell.models.meter import Meter
from lightwell.ports import ChatModel, Embedder, GraphStore, LateInteraction, Reranker
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.settings import Settings, settings_from_environment
from lightwell.wiring.database import open_database
from lightwell.wiring.embedders import open_embedder, open_models
from lightwell.wiring.graph_stores import open_graph_store
from lightwell.wiring.models import (
    chat_model,
    open_chat_connection,
    open_file_parser,
    open_late_interaction,
    open_reranker,
)
from lightwell.wiring.stores import open_milvus

if TYPE_CHECKING:
    from lightwell.models.endpoint import Connection
    from lightwell.models.file_parser import FileParser
    from lightwell.stores.milvus.collection import MilvusServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The connections, models, limiters and parser processes that all projects of a process share.

    `models` embed documents, questions and the sentences of passages: the one for new projects first. `chat` is the connection to
    the endpoint of chat models, `answer_model` the model that writes answers. `file_parser` reads files in formats that Lightwell does not. `milvus` searches vectors, None where PostgreSQL does. `meter` counts what models
    cost, over all projects.
    `graph_store` holds copies of graphs; None where PostgreSQL's tables are read.
    """

    settings: Settings
    database: Database
    models: tuple[SpaceModel, ...]
    chat: "Connection | None"
    answer_model: ChatModel | None
    reranker: Reranker | None
    late_interaction: LateInteraction | None
    parser: Parser
    file_parser: "FileParser | None"
    meter: Meter
    milvus: "MilvusServer | None" = None
    graph_store: GraphStore | None = None

    @property
    def embedder(self) -> Embedder:
        """The model that the settings name for new projects."""
        return self.models[0].embedder


@asynccontextmanager
async def open_resources(
    settings: Settings | None = None,
    meter: Meter | None = None,
    *,
    around: Callable[[Embedder], Embedder] | None = None,
    around_model: Callable[[ChatModel], ChatModel] | None = None,
) -> AsyncGenerator[Resources, None]:
    """Open the database and the models that the settings name, and close them at the end.

    The budget of `meter` replaces that of the settings. `around` wraps the embedder and `around_model` the
    chat model that writes answers, to measure or to cache.
    Raises `ServerFailed`, `StoreFailed`, `ModelFailed` or `Invalid`, each with a message that says what to do.
    """
    chosen = settings or settings_from_environment()
    counted = meter or Meter(chosen.ingestion.token_budget)
    limits = ParserLimits(max_chunks=chosen.ingestion.max_document_chunks)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(chosen))
        embedder = await open_embedder(chosen, stack, counted)
        embedder = embedder if around is None else around(embedder)
        chat = await open_chat_connection(chosen, stack)
        model = chat_model(chat, counted)
        yield Resources(
            settings=chosen,
            database=database,
            models=await open_models(chosen, stack, counted, embedder),
            chat=chat,
            answer_model=around_model(model) if model and around_model else model,
            reranker=await open_reranker(chosen, stack, counted),
            late_interaction=open_late_interaction(chosen),
            parser=stack.enter_context(closing(Parser(limits))),
            file_parser=await open_file_parser(chosen, stack),
            meter=counted,
            milvus=await open_milvus(chosen, stack),
            graph_store=await open_graph_store(chosen, stack),
        )

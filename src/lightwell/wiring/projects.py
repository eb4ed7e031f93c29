"""Opens a project on open resources, and deletes projects."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from lightwell.answer.piece_comparison import PieceChooser
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.answer.prompt import Budget
from lightwell.answer.verification.second_judge import VerifyBy
from lightwell.domain.business_systems import Source
from lightwell.domain.graph import SourceRetention
from lightwell.domain.ids import ProjectId
from lightwell.ingest.context import ChangeLimits, IngestContext, OpenConnector
from lightwell.ingest.extract.rule_extractor import RuleExtractor
from lightwell.ingest.parser import Parser
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Embedder, GraphIndex, ItemSource, Reranker
from lightwell.records import access_classes, embedding_spaces, projects, sources
from lightwell.records.database import Database, connect
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.records.locks import new_lease_holder
from lightwell.retrieve.channels import Stores
from lightwell.retrieve.pipeline import Ranking, Retriever
from lightwell.settings import Settings
from lightwell.stores.postgres.graph import PostgresGraph
from lightwell.stores.postgres.vectors import PostgresVectors
from lightwell.wiring.database import database_server
from lightwell.wiring.models import (
    extract_by_model,
    ingestion_models,
    is_ordinary_word,
    keyword_model,
    ranking,
    summarizer,
)
from lightwell.wiring.resources import Resources
from lightwell.wiring.stores import open_milvus, profile_index, vector_index
from lightwell.wiring.withdrawals import withdrawal_list

if TYPE_CHECKING:
    from lightwell.ingest.graph_copy import GraphCopy
    from lightwell.ingest.summaries import Summarizer
    from lightwell.stores.milvus.collection import MilvusServer


async def open_project(
    resources: Resources, name: str = "", *, open_source: OpenConnector | None = None
) -> KnowledgeBase:
    """Return the knowledge base of the project with this name, "" for the one that the settings name.

    `open_source` opens the connectors of its sources, by default those of the systems themselves. It takes a few short queries
    and opens nothing that must be closed. It works until the resources are closed. A project that does not exist is created. Raises `StoreFailed`, and `Invalid` where no model makes its vectors.
    """
    settings, database = resources.settings, resources.database
    project_id = await access_classes.get_or_create_project(
        database, settings.tenant, name or settings.project
    )
    await cache.delete_expired(database, project_id)
    model = await _active_model(resources, project_id)
    context, summaries = await _complete_context(resources, project_id, model)
    context = replace(
        context,
        open_source=open_source or _connector_opener(settings, database),
        list_systems=_list_systems,
    )
    chat, meter = resources.chat, resources.meter
    retriever = make_retriever(
        context,
        sentence_embedder=model.sentences,
        keyword_model=keyword_model(settings, database, project_id, chat, meter),
        reranker=resources.reranker,
        ranking=ranking(settings),
    )
    retriever = replace(retriever, is_word=is_ordinary_word)
    return KnowledgeBase(context, retriever, _answer_generator(resources), summarizer=summaries)


async def open_ingestion(resources: Resources, project_id: ProjectId) -> IngestContext:
    """Return what ingestion into an existing project needs, without what questions need. Raises `Invalid` where no model makes its vectors."""
    model = await _active_model(resources, project_id)
    context, _ = await _complete_context(resources, project_id, model)
    return context


async def list_waiting_projects(resources: Resources) -> list[tuple[str, ProjectId]]:
    """Return the names and ids of the projects that have a job which a worker can claim."""
    return await projects.list_waiting(resources.database, resources.settings.tenant)


async def list_changing_projects(resources: Resources) -> list[tuple[str, ProjectId]]:
    """Return the names and ids of the projects whose embedding model is being changed."""
    return await projects.list_changing(resources.database, resources.settings.tenant)


async def list_due_projects(resources: Resources) -> list[tuple[str, ProjectId]]:
    """Return the names and ids of the projects with a source that should be synced now."""
    return await sources.list_due_projects(resources.database, resources.settings.tenant)


async def _complete_context(
    resources: Resources, project_id: ProjectId, model: SpaceModel
) -> "tuple[IngestContext, Summarizer | None]":
    """Return the context with the extractor that the settings name, and what summarises, if a chat model is there."""
    settings, database, chat = resources.settings, resources.database, resources.chat
    chosen = settings.ingestion
    context = await rule_ingest_context(
        database,
        project_id,
        model.embedder,
        resources.parser,
        chosen.lease_seconds,
        resources.milvus,
    )
    context = replace(
        context,
        note_withdrawals=withdrawal_list(settings).note,
        graph_copy=_graph_copy(resources, project_id),
        models=resources.models,
        convert=resources.file_parser and resources.file_parser.convert,
        late_interaction=resources.late_interaction,
        change_limits=ChangeLimits(tokens=chosen.token_budget),
        embedding_batch_size=chosen.embedding_batch_size,
        refresh_batch_size=chosen.graph_batch_size,
        sources=SourceRetention(limit=chosen.max_source_ids, strategy=chosen.source_id_strategy),
    )
    models = (
        ingestion_models(settings, database, project_id, chat, resources.meter) if chat else None
    )
    summaries = summarizer(settings, models) if models else None
    if chosen.extraction == "model":
        context = extract_by_model(replace(context, summarizer=summaries), settings, models)
    return context, summaries


def _connector_opener(settings: Settings, database: Database) -> OpenConnector:
    """Return what opens the connector of a source; connectors are loaded when one is opened."""

    def open_connector(source: Source) -> AbstractAsyncContextManager[ItemSource]:
        from lightwell.wiring.connectors import connector_opener

        return connector_opener(settings, database)(source)

    return open_connector


def _list_systems() -> Sequence[str]:
    from lightwell.wiring.connectors import list_systems

    return list_systems()


def _graph_copy(resources: Resources, project_id: ProjectId) -> "GraphCopy | None":
    """Return the copy of the project's graph, None where PostgreSQL's tables are the graph."""
    if resources.graph_store is None:
        return None
    from lightwell.ingest.graph_copy import GraphCopy

    return GraphCopy(
        database=resources.database, project_id=project_id, store=resources.graph_store
    )


def _answer_generator(resources: Resources) -> AnswerGenerator:
    settings = resources.settings
    return AnswerGenerator(
        model=resources.answer_model,
        chooser=PieceChooser(
            late_interaction=resources.late_interaction,
            is_judged=settings.questions.rerank != "local",
        ),
        budget=Budget(
            max_tokens=settings.context.max_tokens,
            entities=settings.context.entity_ratio,
            relations=settings.context.relation_ratio,
            chunks=settings.context.chunk_ratio,
            min_relevance=settings.context.min_relevance,
        ),
        verify_by=VerifyBy(settings.questions.verify),
        seconds=settings.questions.answer_timeout_seconds,
        separator=settings.ingestion.description_separator,
    )


async def rule_ingest_context(
    database: Database,
    project_id: ProjectId,
    embedder: Embedder,
    parser: Parser,
    lease_seconds: float = 30.0,
    milvus: "MilvusServer | None" = None,
) -> IngestContext:
    """Return the ingestion context of a project that extracts by rules; its places for vectors exist from then on.

    They are in Milvus where a server is given, else in PostgreSQL.
    """
    space = await embedding_spaces.get_or_create_active(
        database, project_id, embedder.model, embedder.dimension
    )
    embedding_spaces.require_model([SpaceModel(embedder=embedder, sentences=embedder)], space)
    vectors = vector_index(database, project_id, milvus)
    profiles = profile_index(database, project_id, milvus)
    await vectors.prepare(space.id, space.dimension)
    await profiles.prepare(space.id, space.dimension)
    return IngestContext(
        project_id=project_id,
        database=database,
        vectors=vectors,
        profiles=profiles,
        space=space,
        embedder=embedder,
        extractor=RuleExtractor(),
        worker=new_lease_holder(lease_seconds),
        parser=parser,
    )


def make_retriever(
    context: IngestContext,
    *,
    sentence_embedder: Embedder | None = None,
    keyword_model: CachedModel | None = None,
    reranker: Reranker | None = None,
    ranking: Ranking | None = None,
) -> Retriever:
    """Return a retriever over what this context ingests; without `keyword_model`, keywords are words of the question.

    No spelling is corrected.
    """
    stores = Stores(
        database=context.database,
        vectors=context.vectors,
        profiles=context.profiles,
        graph=open_graph(context),
        space=context.space,
    )
    return Retriever(
        stores=stores,
        embedder=context.embedder,
        sentence_embedder=sentence_embedder or context.embedder,
        model=keyword_model,
        reranker=reranker,
        ranking=ranking or Ranking(),
        models=context.models,
        late_interaction=context.late_interaction,
    )


def open_graph(context: IngestContext) -> GraphIndex:
    """Return the graph as questions read it: the copy in another store, or PostgreSQL's own tables."""
    if context.graph_copy is not None:
        from lightwell.stores.copied_graph import CopiedGraph

        return CopiedGraph(context.database, context.graph_copy.store)
    return PostgresGraph(context.database)


async def delete_project(settings: Settings) -> None:
    """Delete the project that the settings name, as `delete_project_of` does, on a connection of its own."""
    async with AsyncExitStack() as stack:
        conninfo = await stack.enter_async_context(database_server(settings))
        database = await stack.enter_async_context(connect(conninfo))
        milvus = await open_milvus(settings, stack)
        await _delete(database, milvus, settings.tenant, settings.project)


async def delete_project_of(resources: Resources, name: str) -> None:
    """Delete a project, with all its readers' documents; raise `NotFound`.

    Nothing of it is left: documents, graph, cached replies of models, corrections, conversations, questions, API keys,
    people. It takes no reader, since it is for whoever runs the server.
    """
    await _delete(resources.database, resources.milvus, resources.settings.tenant, name)


async def _delete(
    database: Database, milvus: "MilvusServer | None", tenant: str, name: str
) -> None:
    project_id = await projects.find(database, tenant, name)
    for space in await projects.delete(database, tenant, name):
        await PostgresVectors(database).drop(space)
        await vector_index(database, project_id, milvus).drop(space)
        await profile_index(database, project_id, milvus).drop(space)


async def _active_model(resources: Resources, project_id: ProjectId) -> SpaceModel:
    """Return the model of the project's vectors, or for a new project the one that the settings name; raise `Invalid`."""
    space = await embedding_spaces.find_active(resources.database, project_id)
    first = resources.models[0]
    if space is None or first.fits(space):
        return first
    return embedding_spaces.require_model(resources.models, space)

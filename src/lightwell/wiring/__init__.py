"""The one place that picks implementations, and opens and closes what lives."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

from lightwell.answer.context import Budget
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.connectors.files import Files
from lightwell.connectors.single_document import RequestedDocument
from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ProjectId
from lightwell.domain.requests import IngestRequest
from lightwell.domain.sources import SourceRetention
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.rule_extractor import RuleExtractor
from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ParserLimits
from lightwell.ingest.worker import new_worker
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.meter import Meter
from lightwell.ports import ChatModel, Embedder, Reranker
from lightwell.records import access_classes, embedding_spaces
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import Space
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.retrieve.channels import Stores
from lightwell.retrieve.pipeline import Ranking, Retriever
from lightwell.settings import Settings, settings_from_environment
from lightwell.stores.postgres.graph import PostgresGraph
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.stores.postgres.vectors import PostgresVectors
from lightwell.wiring.database import open_database
from lightwell.wiring.examination import examine
from lightwell.wiring.models import (
    chat_model,
    extract_by_model,
    ingestion_asking,
    keyword_asking,
    open_chat_connection,
    open_embedder,
    open_reranker,
    ranking,
    summarizer,
)
from lightwell.wiring.projects import delete_project

__all__ = [
    "delete_project",
    "examine",
    "files",
    "make_retriever",
    "open_knowledge_base",
    "rule_ingest_context",
]


@asynccontextmanager
async def open_knowledge_base(
    settings: Settings | None = None,
    meter: Meter | None = None,
    *,
    around: Callable[[Embedder], Embedder] | None = None,
    around_model: Callable[[ChatModel], ChatModel] | None = None,
) -> AsyncGenerator[KnowledgeBase, None]:
    """Open the project that the settings name, its database and its models, and close them at the end.

    `meter` collects what calls of models cost; its budget goes before the settings'. `around` puts something
    in front of the embedder, which measures it or remembers what it gave; `around_model` in front of the chat model that
    writes answers.
    Raises `ServerFailed`, `StoreFailed`, `ModelFailed` or `Invalid`, each with a message that says how to mend it.
    """
    chosen = settings or settings_from_environment()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(chosen))
        paid = meter or Meter(chosen.token_budget)
        embedder = _wrapped(await open_embedder(chosen, stack, paid), around)
        project_id = await access_classes.project(database, chosen.tenant, chosen.project)
        await cache.forget_expired(database, project_id)
        space = await _space(database, project_id, embedder)
        chat = await open_chat_connection(chosen, stack)
        ask = ingestion_asking(chosen, database, project_id, chat, paid) if chat else None
        summaries = summarizer(chosen, ask) if ask else None
        parser = stack.enter_context(closing(Parser(_parser_limits(chosen))))
        way = replace(
            await rule_ingest_context(database, space, embedder, parser, chosen.lease_seconds),
            embedding_batch_size=chosen.embedding_batch_size,
            refresh_batch_size=chosen.graph_batch_size,
            sources=_source_retention(chosen),
        )
        if chosen.extraction == "model":
            way = extract_by_model(replace(way, summarizer=summaries), chosen, ask)
        found_by = make_retriever(
            way,
            asking=keyword_asking(chosen, database, project_id, chat, paid),
            reranker=await open_reranker(chosen, stack, paid),
            ranking=ranking(chosen),
        )
        model = chat_model(chat, paid)
        if model and around_model:
            model = around_model(model)
        answers = _answer_generator(chosen, model)
        yield KnowledgeBase(database, project_id, way, found_by, answers, summarizer=summaries)


def _answer_generator(settings: Settings, model: ChatModel | None) -> AnswerGenerator:
    return AnswerGenerator(
        model=model,
        budget=Budget(
            max_tokens=settings.context_max_tokens,
            entities=settings.context_entity_ratio,
            relations=settings.context_relation_ratio,
            chunks=settings.context_chunk_ratio,
        ),
        seconds=settings.answer_timeout_seconds,
        separator=settings.description_separator,
    )


def _wrapped(embedder: Embedder, around: Callable[[Embedder], Embedder] | None) -> Embedder:
    return embedder if around is None else around(embedder)


async def rule_ingest_context(
    database: Database,
    space: Space,
    embedder: Embedder,
    parser: Parser,
    lease_seconds: float = 30.0,
) -> IngestContext:
    """Return a way in that needs no model but the embedder, with room made for its vectors."""
    vectors, profiles = PostgresVectors(database), PostgresProfiles(database)
    await vectors.prepare(space.id, space.dimension)
    await profiles.prepare(space.id, space.dimension)
    return IngestContext(
        database=database,
        vectors=vectors,
        profiles=profiles,
        space=space,
        embedder=embedder,
        extractor=RuleExtractor(),
        worker=new_worker(lease_seconds),
        parser=parser,
    )


def _source_retention(settings: Settings) -> SourceRetention:
    return SourceRetention(limit=settings.max_source_ids, strategy=settings.source_id_strategy)


def _parser_limits(settings: Settings) -> ParserLimits:
    return ParserLimits(
        memory_bytes=settings.parse_memory_mb * 1024**2,
        cpu_seconds=settings.parse_cpu_seconds,
        seconds=settings.parse_seconds,
    )


def make_retriever(
    context: IngestContext,
    *,
    asking: CachedModel | None = None,
    reranker: Reranker | None = None,
    ranking: Ranking | None = None,
) -> Retriever:
    """Return what finds evidence in what this way brings in; `asking` finds keywords where it is given."""
    stores = Stores(
        database=context.database,
        vectors=context.vectors,
        profiles=context.profiles,
        graph=PostgresGraph(context.database),
        space=context.space,
    )
    return Retriever(
        stores=stores,
        embedder=context.embedder,
        model=asking,
        reranker=reranker,
        ranking=ranking or Ranking(),
    )


def requested(request: IngestRequest, settings: Settings) -> RequestedDocument:
    """Return one requested document as a source."""
    return RequestedDocument(request, max_bytes=settings.max_file_bytes)


def files(root: Path, tags: Tags, settings: Settings) -> Files:
    """Return a folder or a file as a source; `tags` hold where nothing nearer names any."""
    return Files(root=root, default_tags=tags, max_bytes=settings.max_file_bytes)


async def _space(database: Database, project_id: ProjectId, embedder: Embedder) -> Space:
    space = await embedding_spaces.active(database, project_id, embedder.model, embedder.dimension)
    if (space.model, space.dimension) != (embedder.model, embedder.dimension):
        raise Invalid(
            f"This project's vectors were made by {space.model} with {space.dimension} dimensions, and the settings"
            f" name {embedder.model} with {embedder.dimension}: vectors of two models cannot be compared."
            " Name the old model again, or another project in LIGHTWELL_PROJECT"
        )
    return space

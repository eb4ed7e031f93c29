"""The one place that picks implementations, and opens and closes what lives."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from lightwell.answer.compose import Answers
from lightwell.answer.context import Budget
from lightwell.connectors.files import Files
from lightwell.domain.access import Tags
from lightwell.domain.calibration import Calibration
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.health import Check
from lightwell.domain.ids import ProjectId
from lightwell.domain.usage import OperationType
from lightwell.ingest.extract import ModelReader
from lightwell.ingest.reading import Form, Wanted
from lightwell.ingest.rules import Rules
from lightwell.ingest.summaries import Summarizer
from lightwell.ingest.way import Way
from lightwell.ingest.work import crowded, new_worker
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.meter import Meter, Metered
from lightwell.ports import ChatModel, Embedder, Message, Reranker
from lightwell.records import access, spaces
from lightwell.records.asking import Asking
from lightwell.records.database import Database, connected
from lightwell.records.health import examination
from lightwell.records.spaces import Space
from lightwell.retrieve.channels import Stores
from lightwell.retrieve.pipeline import Ranking, Retriever
from lightwell.settings import Settings
from lightwell.stores.postgres.graph import PostgresGraph
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.stores.postgres.vectors import PostgresVectors

if TYPE_CHECKING:
    from lightwell.models.endpoint import Connection, Endpoint

_AT_HAND = 4
"""Calls that wait at the endpoint's gate, so that a slot is never empty."""


@asynccontextmanager
async def opened(
    settings: Settings | None = None,
    meter: Meter | None = None,
    *,
    around: Callable[[Embedder], Embedder] = lambda embedder: embedder,
) -> AsyncGenerator[KnowledgeBase, None]:
    """Open the project that the settings name, its database and its models, and close them at the end.

    `meter` collects what the chat model's calls cost; its budget goes before the settings'. `around` puts something
    in front of the embedder, which measures it or remembers what it gave.
    Raises `ServerFailed`, `StoreFailed`, `ModelFailed` or `Invalid`, each with a message that says how to mend it.
    """
    chosen = settings or Settings()
    async with AsyncExitStack() as stack:
        conninfo = await stack.enter_async_context(database_server(chosen))
        database = await stack.enter_async_context(connected(conninfo))
        embedder = around(await _embedder(chosen, stack))
        project_id = await access.project(database, chosen.tenant, chosen.project)
        space = await _space(database, project_id, embedder)
        paid = meter or Meter(chosen.token_budget)
        chat = await _chat_connection(chosen, stack)
        ask = _asker(chosen, database, project_id, chat, paid) if chat else None
        summarizer = _summarizer(chosen, ask) if ask else None
        way = replace(
            await reading_by_rules(database, space, embedder, chosen.lease_seconds),
            embedded_at_once=chosen.embedding_batch_size,
            refreshed_at_once=chosen.graph_batch_size,
        )
        if chosen.extraction == "model":
            way = _read_by_model(replace(way, summarizer=summarizer), chosen, ask)
        found_by = retriever(
            way,
            asking=_keyword_asking(chosen, database, project_id, chat, paid),
            reranker=await _reranker(chosen, stack, paid),
            ranking=_ranking(chosen),
        )
        answers = Answers(
            model=_writer(chat, paid),
            budget=Budget(
                most_tokens=chosen.context_max_tokens,
                entities=chosen.context_entity_ratio,
                relations=chosen.context_relation_ratio,
                chunks=chosen.context_chunk_ratio,
            ),
        )
        yield KnowledgeBase(database, project_id, way, found_by, answers, summarizer=summarizer)


async def reading_by_rules(
    database: Database, space: Space, embedder: Embedder, lease_seconds: float = 30.0
) -> Way:
    """Return a way in that needs no model but the embedder, with room made for its vectors."""
    vectors, profiles = PostgresVectors(database), PostgresProfiles(database)
    await vectors.prepare(space.id, space.dimension)
    await profiles.prepare(space.id, space.dimension)
    return Way(
        database=database,
        vectors=vectors,
        profiles=profiles,
        space=space,
        embedder=embedder,
        extractor=Rules(),
        worker=new_worker(lease_seconds),
    )


def retriever(
    way: Way,
    *,
    asking: Asking | None = None,
    reranker: Reranker | None = None,
    ranking: Ranking | None = None,
) -> Retriever:
    """Return what finds evidence in what this way brings in; `asking` finds keywords where it is given."""
    stores = Stores(
        database=way.database,
        vectors=way.vectors,
        profiles=way.profiles,
        graph=PostgresGraph(way.database),
        space=way.space,
    )
    return Retriever(
        stores=stores,
        embedder=way.embedder,
        asking=asking,
        reranker=reranker,
        ranking=ranking or Ranking(),
    )


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


async def _space(database: Database, project_id: ProjectId, embedder: Embedder) -> Space:
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
    from lightwell.models import endpoint, openai_embedder

    connection = await stack.enter_async_context(
        endpoint.connected(
            _endpoint(
                settings,
                "LIGHTWELL_EMBEDDING",
                (settings.embedding_url, settings.embedding_model, settings.embedding_api_key),
            )
        )
    )
    wanted = settings.embedding_dimension
    return openai_embedder.OpenAIEmbedder(
        connection,
        openai_embedder.Space(
            dimension=wanted or await openai_embedder.dimension_of(connection),
            shortened=wanted > 0,
            batch=settings.embedding_batch_size,
        ),
    )


async def _chat_connection(settings: Settings, stack: AsyncExitStack) -> "Connection | None":
    if settings.chat_url is None:
        return None
    from lightwell.models import endpoint

    named = (settings.chat_url, settings.chat_model, settings.chat_api_key)
    return await stack.enter_async_context(
        endpoint.connected(_endpoint(settings, "LIGHTWELL_CHAT", named))
    )


def _writer(chat: "Connection | None", meter: Meter) -> ChatModel | None:
    if chat is None:
        return None
    from lightwell.models import limiter, openai_chat

    model = openai_chat.OpenAIChat(chat, priority=limiter.Priority.QUESTION)
    return Metered(inner=model, meter=meter, operation=OperationType.QUERY)


def _keyword_asking(
    settings: Settings,
    database: Database,
    project_id: ProjectId,
    chat: "Connection | None",
    meter: Meter,
) -> Asking | None:
    """Return who finds keywords: nobody where no model reads documents, since then nothing is described."""
    if chat is None or not settings.keyword_extraction or settings.extraction != "model":
        return None
    from lightwell.models import limiter, openai_chat

    model = openai_chat.OpenAIChat(chat, priority=limiter.Priority.QUESTION)
    paid = Metered(inner=model, meter=meter, operation=OperationType.KEYWORD_EXTRACTION)
    return Asking(database, project_id, paid, slots=settings.endpoint_concurrency)


async def _reranker(settings: Settings, stack: AsyncExitStack, meter: Meter) -> Reranker | None:
    if settings.rerank in ("local", "none"):
        return None
    from lightwell.models import rerankers

    dialect = "PLAIN" if settings.rerank == "endpoint" else settings.rerank.upper()
    endpoint = rerankers.RerankEndpoint(
        dialect=rerankers.Dialect[dialect],
        api_key=settings.rerank_api_key,
        base_url=settings.rerank_url,
        model=settings.rerank_model,
        scores=rerankers.Scores(settings.rerank_scores),
        concurrency=settings.endpoint_concurrency,
        timeout_seconds=settings.rerank_timeout_ms / 1000,
    )
    calibration = Calibration(a=settings.rerank_scale, b=settings.rerank_shift)
    return await stack.enter_async_context(
        rerankers.reranking(endpoint, calibration=calibration, meter=meter)
    )


def _ranking(settings: Settings) -> Ranking:
    return Ranking(
        fusion=settings.fusion,
        reads=settings.rerank != "none",
        least_score=settings.rerank_min_score,
        keyword_seconds=settings.keyword_cache_seconds,
    )


def _asker(
    settings: Settings,
    database: Database,
    project_id: ProjectId,
    chat: "Connection",
    meter: Meter,
) -> Callable[[OperationType], Asking]:
    """Return how ingestion asks: through the gate that questions go through too, after them."""
    from lightwell.models import limiter, openai_chat

    held = settings.extraction_form == "auto"
    gate = limiter.Priority.INGESTION
    model = openai_chat.OpenAIChat(chat, priority=gate, holds_to_schema=held)
    slots = settings.endpoint_concurrency + _AT_HAND

    def ask(operation: OperationType) -> Asking:
        paid = Metered(inner=model, meter=meter, operation=operation)
        return Asking(database, project_id, paid, slots=slots)

    return ask


def _summarizer(settings: Settings, ask: Callable[[OperationType], Asking]) -> Summarizer:
    return Summarizer(
        asking=ask(OperationType.SUMMARIZATION),
        most_tokens=settings.description_max_tokens,
        language=settings.extraction_language.strip(),
    )


def _read_by_model(
    way: Way, settings: Settings, ask: Callable[[OperationType], Asking] | None
) -> Way:
    if ask is None:
        raise Invalid(
            "LIGHTWELL_EXTRACTION=model needs a chat model: name one in LIGHTWELL_CHAT_URL and LIGHTWELL_CHAT_MODEL"
        )
    reader = ModelReader(
        ask(OperationType.INGESTION),
        wanted(settings),
        passes=settings.gleaning_passes,
        instead=Form.LINES if settings.extraction_form == "auto" else None,
    )
    return crowded(replace(way, extractor=reader), settings.endpoint_concurrency)


def wanted(settings: Settings) -> Wanted:
    """Return what a model is asked to find, and how it is to write."""
    kinds = [kind.strip().casefold() for kind in settings.entity_kinds.split(",")]
    return Wanted(
        kinds=tuple(dict.fromkeys(kind for kind in kinds if kind)),
        language=settings.extraction_language.strip(),
        form=Form.LINES if settings.extraction_form == "lines" else Form.JSON,
    )


def _endpoint(settings: Settings, prefix: str, named: tuple[str, str, SecretStr]) -> "Endpoint":
    from lightwell.models.endpoint import Endpoint

    url, model, key = named
    if not model:
        raise Invalid(
            f"{prefix}_URL is set, and {prefix}_MODEL is not: name the model at that endpoint"
        )
    return Endpoint(
        base_url=url,
        api_key=key,
        model=model,
        setting=prefix,
        concurrency=settings.endpoint_concurrency,
        requests_per_minute=settings.endpoint_requests_per_minute or None,
        tokens_per_minute=settings.endpoint_tokens_per_minute or None,
        timeout_seconds=settings.endpoint_timeout_seconds,
    )


async def examined(settings: Settings) -> list[Check]:
    """Look at everything Lightwell stands on and say what is not well and how to mend it; change nothing.

    Starting the embedded server and answering one word with each model is part of the look.
    """
    checks: list[Check] = []
    async with AsyncExitStack() as stack:
        try:
            conninfo = await stack.enter_async_context(database_server(settings))
            checks += await examination(conninfo)
        except LightwellError as error:
            checks.append(_unwell("database", error))
        for name, look in _LOOKS.items():
            try:
                detail = await look(settings, stack)
                checks.append(Check(name=name, ok=True, detail=detail, mend=""))
            except LightwellError as error:
                checks.append(_unwell(name, error))
    return checks


def _unwell(name: str, error: LightwellError) -> Check:
    return Check(name=name, ok=False, detail="not usable", mend=str(error))


async def _look_at_embedder(settings: Settings, stack: AsyncExitStack) -> str:
    embedder = await _embedder(settings, stack)
    await embedder.query("light")
    return f"{embedder.model}, {embedder.dimension} dimensions"


async def _look_at_chat(settings: Settings, stack: AsyncExitStack) -> str:
    model = _writer(await _chat_connection(settings, stack), Meter())
    if model is None:
        return "none; answers are extracts (set LIGHTWELL_CHAT_URL for written ones)"
    await model.reply([Message(role="user", content="Say yes.")], most_tokens=5)
    return model.model


async def _look_at_reranker(settings: Settings, stack: AsyncExitStack) -> str:
    """Ask for the order of an answer and of a sentence beside the point: some servers score what they cannot judge."""
    reranker = await _reranker(settings, stack, Meter())
    if reranker is None:
        return f"{settings.rerank}; no endpoint"
    asked, answer = "What is the capital of France?", "Paris is the capital of France."
    found = await reranker.rerank(asked, ["Soup is served at noon.", answer])
    if found[0].place != 1:
        raise Invalid(
            "The reranker finds soup nearer to a question about France than its answer: its scores mean nothing."
            " vLLM needs the score template of a Qwen3-Reranker (--chat-template)"
        )
    return settings.rerank


_LOOKS: Mapping[str, Callable[[Settings, AsyncExitStack], Awaitable[str]]] = {
    "embedding model": _look_at_embedder,
    "chat model": _look_at_chat,
    "reranker": _look_at_reranker,
}

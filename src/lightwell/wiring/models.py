"""Which models answer, embed, rank and extract: one function per choice."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import SecretStr

from lightwell.domain.calibration import Calibration
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ProjectId
from lightwell.domain.usage import OperationType
from lightwell.ingest.context import IngestContext
from lightwell.models.meter import Meter, MeteredModel
from lightwell.ports import ChatModel, LateInteraction, Reranker
from lightwell.records.database import Database
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.retrieve.pipeline import Ranking
from lightwell.settings import Settings

if TYPE_CHECKING:
    from lightwell.ingest.extract.extraction_prompt import ExtractionSpec
    from lightwell.ingest.summaries import Summarizer
    from lightwell.models.endpoint import Connection, Endpoint
    from lightwell.models.file_parser import FileParser

_AT_HAND = 4
"""Calls that wait at the limiter, so that no slot of the endpoint stays empty."""


async def open_chat_connection(settings: Settings, stack: AsyncExitStack) -> "Connection | None":
    if settings.chat.url is None:
        return None
    from lightwell.models import endpoint

    named = (settings.chat.url, settings.chat.model, settings.chat.api_key)
    return await stack.enter_async_context(
        endpoint.connect(named_endpoint(settings, "LIGHTWELL_CHAT", named))
    )


def chat_model(chat: "Connection | None", meter: Meter) -> ChatModel | None:
    if chat is None:
        return None
    from lightwell.models import limiter, openai_chat

    model = openai_chat.OpenAIChat(chat, priority=limiter.Priority.QUESTION)
    return MeteredModel(inner=model, meter=meter, operation=OperationType.QUERY)


def keyword_model(
    settings: Settings,
    database: Database,
    project_id: ProjectId,
    chat: "Connection | None",
    meter: Meter,
) -> CachedModel | None:
    """Return the model that names keywords; by default None if rules extract, because profiles then have little text."""
    wanted = settings.questions.keyword_extraction
    if chat is None or not (
        settings.ingestion.extraction == "model" if wanted == "auto" else wanted
    ):
        return None
    from lightwell.models import limiter, openai_chat

    model = openai_chat.OpenAIChat(chat, priority=limiter.Priority.QUESTION)
    paid = MeteredModel(inner=model, meter=meter, operation=OperationType.KEYWORD_EXTRACTION)
    return CachedModel(
        database, project_id, paid, slots=settings.endpoint.concurrency, grace_seconds=0.0
    )


async def open_reranker(settings: Settings, stack: AsyncExitStack, meter: Meter) -> Reranker | None:
    if settings.questions.rerank in ("local", "none"):
        return None
    from lightwell.models import rerankers

    dialect = (
        "PLAIN" if settings.questions.rerank == "endpoint" else settings.questions.rerank.upper()
    )
    endpoint = rerankers.RerankEndpoint(
        dialect=rerankers.Dialect[dialect],
        api_key=settings.reranker.api_key,
        base_url=settings.reranker.url,
        model=settings.reranker.model,
        scores=rerankers.Scores(settings.reranker.scores),
        concurrency=settings.endpoint.concurrency,
        timeout_seconds=settings.reranker.timeout_ms / 1000,
    )
    calibration = Calibration(a=settings.reranker.scale, b=settings.reranker.shift)
    return await stack.enter_async_context(
        rerankers.open_reranker(endpoint, calibration=calibration, meter=meter)
    )


async def open_file_parser(settings: Settings, stack: AsyncExitStack) -> "FileParser | None":
    if settings.parser.url is None:
        return None
    from lightwell.models import file_parser

    address = file_parser.ParserAddress(
        url=settings.parser.url,
        api_key=settings.parser.api_key,
        concurrency=settings.endpoint.concurrency,
    )
    return await stack.enter_async_context(file_parser.open_file_parser(address))


def open_late_interaction(settings: Settings) -> LateInteraction | None:
    """Return the bundled late interaction, also for a reranking endpoint, which then is sent better passages."""
    if settings.questions.rerank == "none":
        return None
    from lightwell.models.late_interaction import LocalLateInteraction

    return LocalLateInteraction()


def is_ordinary_word(word: str) -> bool:
    """Return whether a word in lower case is in the vocabulary of the bundled network, which has terms of the trade, or in the dictionary."""
    from lightwell.models import local
    from lightwell.text import dictionary

    return local.is_word(word) or dictionary.is_word(word)


def ranking(settings: Settings) -> Ranking:
    return Ranking(
        fusion=settings.questions.fusion,
        is_local=settings.questions.rerank != "none",
        min_score=settings.reranker.min_score,
        keyword_seconds=settings.questions.keyword_cache_seconds,
    )


def ingestion_models(
    settings: Settings,
    database: Database,
    project_id: ProjectId,
    chat: "Connection",
    meter: Meter,
) -> Callable[[OperationType], CachedModel]:
    """Return a function from an operation to its model; it shares the limiter with questions, which go first."""
    from lightwell.models import limiter, openai_chat

    requires_schema = settings.ingestion.extraction_form == "auto"
    model = openai_chat.OpenAIChat(
        chat, priority=limiter.Priority.INGESTION, requires_schema=requires_schema
    )
    slots = settings.endpoint.concurrency + _AT_HAND

    def ask(operation: OperationType) -> CachedModel:
        paid = MeteredModel(inner=model, meter=meter, operation=operation)
        return CachedModel(database, project_id, paid, slots=slots)

    return ask


def summarizer(settings: Settings, ask: Callable[[OperationType], CachedModel]) -> "Summarizer":
    from lightwell.ingest.summaries import Summarizer

    return Summarizer(
        model=ask(OperationType.SUMMARIZATION),
        max_tokens=settings.ingestion.description_max_tokens,
        language=settings.ingestion.extraction_language.strip(),
    )


def extract_by_model(
    context: IngestContext, settings: Settings, ask: Callable[[OperationType], CachedModel] | None
) -> IngestContext:
    from lightwell.ingest.extract.extraction_prompt import OutputForm
    from lightwell.ingest.extract.llm_extractor import LLMExtractor
    from lightwell.ingest.worker import with_batches_for

    if ask is None:
        raise Invalid(
            "LIGHTWELL_EXTRACTION=model needs a chat model: name one in LIGHTWELL_CHAT_URL and LIGHTWELL_CHAT_MODEL"
        )
    extractor = LLMExtractor(
        ask(OperationType.INGESTION),
        extraction_spec(settings),
        max_gleanings=settings.ingestion.gleaning_passes
        if settings.ingestion.gleaning_enabled
        else 0,
        fallback_form=OutputForm.LINES if settings.ingestion.extraction_form == "auto" else None,
    )
    return with_batches_for(replace(context, extractor=extractor), settings.endpoint.concurrency)


def extraction_spec(settings: Settings) -> "ExtractionSpec":
    """Return the options of extraction by a model: kinds, language and output format."""
    from lightwell.ingest.extract.extraction_prompt import ExtractionSpec, OutputForm

    kinds = [kind.strip().casefold() for kind in settings.ingestion.entity_kinds.split(",")]
    return ExtractionSpec(
        kinds=tuple(dict.fromkeys(kind for kind in kinds if kind)),
        language=settings.ingestion.extraction_language.strip(),
        form=OutputForm.LINES if settings.ingestion.extraction_form == "lines" else OutputForm.JSON,
    )


def named_endpoint(
    settings: Settings, prefix: str, named: tuple[str, str, SecretStr]
) -> "Endpoint":
    from lightwell.models.endpoint import Endpoint

    url, model, key = named
    if not model:
        raise Invalid(
            f"{prefix}_URL is set, but {prefix}_MODEL is not: name the model at that endpoint"
        )
    return Endpoint(
        base_url=url,
        api_key=key,
        model=model,
        setting=prefix,
        concurrency=settings.endpoint.concurrency,
        requests_per_minute=settings.endpoint.requests_per_minute or None,
        tokens_per_minute=settings.endpoint.tokens_per_minute or None,
        timeout_seconds=settings.endpoint.timeout_seconds,
    )

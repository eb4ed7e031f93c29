"""A project in which a model behind a real endpoint extracts the graph, and the replies of this model."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from pydantic import SecretStr

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.usage import OperationType
from lightwell.ingest.extract.extraction_prompt import ExtractionSpec, OutputForm
from lightwell.ingest.extract.llm_extractor import LLMExtractor
from lightwell.ingest.summaries import WINDOW_TOKENS, Summarizer
from lightwell.ingest.worker import with_batches_for
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.endpoint import Endpoint, RetryPolicy, connect
from lightwell.models.limiter import Priority
from lightwell.models.meter import Meter, MeteredModel
from lightwell.models.openai_chat import OpenAIChat
from lightwell.records.database import Database
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.testing.endpoint import Body
from lightwell.wiring import make_retriever

from .conftest import Project, project_on

SLOTS = 16
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a project extracts; few tests use more than the first two fields."""

    wanted: ExtractionSpec = field(default_factory=ExtractionSpec)
    instead: OutputForm | None = None
    passes: int = 1
    budget: int = 0
    description_tokens: int = 500
    window: int = WINDOW_TOKENS
    timeout_seconds: float = 120.0
    name: str = "project"


@asynccontextmanager
async def read_by_model(
    database: Database, base_url: str, options: Options | None = None
) -> AsyncGenerator[tuple[Project, Meter], None]:
    chosen = options or Options()
    endpoint = Endpoint(
        base_url=base_url,
        api_key=SecretStr("none"),
        model="reader",
        concurrency=SLOTS,
        timeout_seconds=chosen.timeout_seconds,
        retry_policy=RetryPolicy(attempts=2, first_wait=0.01),
    )
    async with connect(endpoint) as connection:
        project = await project_on(database, chosen.name)
        meter = Meter(chosen.budget)
        held = chosen.instead is not None
        chat = OpenAIChat(connection, priority=Priority.INGESTION, requires_schema=held)

        def asking(operation: OperationType) -> CachedModel:
            paid = MeteredModel(inner=chat, meter=meter, operation=operation)
            return CachedModel(database, project.kb.project_id, paid, slots=SLOTS + 4)

        reader = LLMExtractor(
            asking(OperationType.INGESTION),
            chosen.wanted,
            max_gleanings=chosen.passes,
            fallback_form=chosen.instead,
        )
        summarizer = Summarizer(
            model=asking(OperationType.SUMMARIZATION),
            max_tokens=chosen.description_tokens,
            window_tokens=chosen.window,
        )
        context = with_batches_for(
            replace(project.context, extractor=reader, summarizer=summarizer), SLOTS
        )
        answers = AnswerGenerator(model=None)
        kb = KnowledgeBase(
            context,
            make_retriever(context),
            answers,
            summarizer=summarizer,
        )
        yield replace(project, kb=kb, context=context), meter


def content(body: Body, place: int) -> str:
    return cast("list[dict[str, str]]", body["messages"])[place]["content"]


def passage(body: Body) -> str:
    """Return the text between the fences of a request."""
    fence, _, rest = content(body, 1).partition("\n")
    assert set(fence) == {"~"}
    inside, found, _ = rest.partition(f"\n{fence}")
    assert found
    return inside


def names(body: Body) -> str:
    """Reply with every name of the passage, and a relation of each to the first."""
    _, _, text = passage(body).partition("\n\n")
    found = list(dict.fromkeys(_NAME.findall(text)))
    entities = [f"E|{name}|organization|{name} stands in the passage" for name in found]
    relations = [f"R|{found[0]}|{name}|USES|work|They work|5|0.9" for name in found[1:]]
    return "\n".join([*entities, *relations, "END"])
